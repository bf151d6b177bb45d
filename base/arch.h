/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between processors, all of it (tests/ci/layers.py keeps it so): the cycle clock, the pause hint, the
 * prefetch.  A processor that is not named here takes the last branch everywhere, which is plain C.  Barriers are those
 * of C11 and byte order is the wire's own business (offload/wire.c), so neither needs a helper.
 */
#ifndef PORTALS_BASE_ARCH_H
#define PORTALS_BASE_ARCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Lengths, addresses and match bits are 64 bits wide on the wire and in shared memory, and size_t and void * hold them. */
_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "portals3 needs a 64-bit processor and ABI (LP64)");
/* Queues in shared memory and the ownership word are 64-bit atomics that processes and threads must not lock for. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_POINTER_LOCK_FREE == 2, "portals3 needs lock-free 64-bit atomics");

/* The unit of layout.  Where lines are longer (128 bytes on ppc64le, 256 on s390x) neighbours share one: slower, not wrong. */
#define CACHE_LINE          64
#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
#define CYCLE_CLOCK_NAME "rdtsc"
#elif defined(__aarch64__)
#define CYCLE_CLOCK_NAME "cntvct_el0"
#else
#define CYCLE_CLOCK_NAME "clock_gettime"
#endif

/* A cheap, monotonic counter of unknown frequency; timing.c calibrates it against monotonic_ns(). */
static inline uint64_t cycle_clock(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return monotonic_ns();
#endif
}

/*
 * About how far the cycle clock goes in so many nanoseconds (at most hours of them): for polling intervals, not for
 * measuring.  aarch64 says how fast its counter is, from 1 MHz to 1 GHz, so that an interval can come out as nothing.
 */
static inline uint64_t cycles_in(uint64_t ns)
{
#if defined(__x86_64__)
	return ns * 2;
#elif defined(__aarch64__)
	uint64_t frequency;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
	return ns * (frequency / 1000) / 1000000;
#else
	return ns;
#endif
}

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause");
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Asks for a line to be written soon; compilers' own prefetch asks for a copy only, unless told of the processor. */
static inline void prefetch_for_write(const void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

#endif
