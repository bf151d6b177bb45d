/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping on a word of this process, until an absolute time of monotonic_ns() (UINT64_MAX: for ever). */
#ifndef PORTALS_OFFLOAD_FUTEX_H
#define PORTALS_OFFLOAD_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* May return early (signal, spurious): callers look again. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until)
{
	const struct timespec at = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, until == UINT64_MAX ? NULL : &at, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

static inline void futex_wake(_Atomic uint32_t *word, int waiters)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

#endif
