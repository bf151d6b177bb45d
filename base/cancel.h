/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pthread_cancel() must not end a thread that owns an engine, holds a lock, or is known as a waiter: no other thread
 * could do its part.  No Portals call is a cancellation point, but system calls and libfabric are full of
 * them.  Changing the state has a price, so it is not done around calls, but around what may enter the kernel: in the
 * function that calls such a point, or in one that only leads there.  tests/behaviour/guarded stands before all of them
 * and finds a call that is not guarded.
 */
#ifndef PORTALS_BASE_CANCEL_H
#define PORTALS_BASE_CANCEL_H

#include <pthread.h>

static inline int cancel_forbid(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restore(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

/* To the end of the block. */
#define UNCANCELLED __attribute__((cleanup(cancel_restore), unused)) const int cancel_before = cancel_forbid()

#endif
