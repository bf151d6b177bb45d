/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher runs the fence, as part of which it counts processes, not calls: a process that has come cannot take that back.  So
 * a caller that gave up waiting has come all the same, and its next call goes on with that fence, also if it is over
 * by then.  Fences are numbered: `begun` by us, `ended` by a thread of the launcher's library, `told` to a caller.  At most
 * one is under way, begun <= told + 1; threads that call at the same time come to the same one.
 *
 * No wake-up is lost: a waiter sleeps on `ended` itself, unless it has changed.
 */
#include "portals/runtime/fence.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arch.h"
#include "base/cancel.h"
#include "base/report.h"
#include "offload/futex.h"
#include "portals/runtime/launcher.h"

#define POLL_INTERVAL_NS 1000000u /* between two steps of an engine that no other thread drives */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of begun and told; not held while the launcher is called */
static uint32_t begun, told;
static _Atomic uint32_t ended;
static _Atomic int result; /* of the last that has ended; written before `ended`, which publishes it */

static void end_with(int rc)
{
	atomic_store_explicit(&result, rc, memory_order_relaxed);
	/* Release pairs with the acquire in is_over(). */
	atomic_fetch_add_explicit(&ended, 1, memory_order_release);
	futex_wake(&ended, INT_MAX);
}

/* The number of the fence that this call comes to. */
static uint32_t join(void)
{
	pthread_mutex_lock(&lock);
	bool begin = begun == told;
	uint32_t number = begin ? ++begun : begun;

	pthread_mutex_unlock(&lock);
	if (begin) {
		int rc = launcher_fence(end_with);

		if (rc)
			end_with(rc);
	}
	return number;
}

static bool is_over(uint32_t number, uint32_t *seen)
{
	*seen = atomic_load_explicit(&ended, memory_order_acquire);
	return (int32_t)(*seen - number) >= 0;
}

static void tell(uint32_t number)
{
	pthread_mutex_lock(&lock);
	if ((int32_t)(number - told) > 0)
		told = number;
	pthread_mutex_unlock(&lock);
}

int fence_wait(uint64_t timeout_ns, void (*progress)(void *), void *argument)
{
	UNCANCELLED;
	uint64_t now = monotonic_ns(), deadline = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
	uint32_t number = join(), seen;

	while (!is_over(number, &seen)) {
		if (progress)
			progress(argument);
		now = monotonic_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		futex_wait(&ended, seen,
			   progress && deadline - now > POLL_INTERVAL_NS ? now + POLL_INTERVAL_NS : deadline);
	}
	tell(number);
	int rc = atomic_load_explicit(&result, memory_order_relaxed);

	return rc ? report_error(rc, "the launcher gave up the fence (error %d): perhaps a process of the job has died",
				 -rc)
		  : 0;
}
