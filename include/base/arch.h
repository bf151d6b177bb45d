/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between processors: the cycle clock, the pause hint, the cache line. */
#ifndef PORTALS_BASE_ARCH_H
#define PORTALS_BASE_ARCH_H

#include <stdint.h>
#include <time.h>

#define CACHE_LINE          64
#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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

/* About how far the cycle clock goes in so many nanoseconds: for polling intervals, not for measuring. */
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
