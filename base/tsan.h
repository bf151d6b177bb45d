/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling ThreadSanitizer what it cannot see: a program that is compiled for it links with this library, which is not.  Its
 * run-time sees our memcpy() into the program's buffers, for it stands before that function, but not the atomics by
 * which they are handed over, and would report every delivered byte as a race.  What is told here is true: each of
 * these stands where an acquire or a release of ours does.
 *
 * The run-time's functions are there if the program has it; else this is one load and a branch.  A library that is compiled for
 * the sanitizer itself says nothing: there its own atomics are what is tested.
 */
#ifndef PORTALS_BASE_TSAN_H
#define PORTALS_BASE_TSAN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PORTALS_UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(PORTALS_UNDER_TSAN)

static inline void tsan_acquire(const void *address)
{
	(void)address;
}

static inline void tsan_release(const void *address)
{
	(void)address;
}

#else

/* NOLINTBEGIN(bugprone-reserved-identifier): the sanitizer's names. */
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier) */

/* All that was done before tsan_release() of the same address comes before what follows. */
static inline void tsan_acquire(const void *address)
{
	if (__builtin_expect(__tsan_acquire != NULL, 0))
		__tsan_acquire((void *)(uintptr_t)address);
}

static inline void tsan_release(const void *address)
{
	if (__builtin_expect(__tsan_release != NULL, 0))
		__tsan_release((void *)(uintptr_t)address);
}

#endif
#endif
