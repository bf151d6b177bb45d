/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Giving the core away while polling, no more often than somebody wants it: a yield that comes back at once found
 * nobody else ready to run, so the next one is twice as far away; one that took longer ran somebody, and the next
 * follows soon.  The distance is a time and not a number of polls, because polls cost 20 ns in a host that watches its
 * queue and 400 ns in a NIC thread, behind which a host on the same core may just have been woken.
 */
#ifndef PORTALS_OFFLOAD_YIELD_H
#define PORTALS_OFFLOAD_YIELD_H

#include <sched.h>

#include "base/arch.h"

/*
 * Nanoseconds, give or take a factor of two.  By measurement: with 4 us instead of 0.5, two pairs of processes on two
 * cores need 1.9 us a message instead of 0.55; below 0.5 a yield that ran somebody is taken for one that did not.
 */
#define YIELD_QUICK  500
#define YIELD_SOON   500
#define YIELD_RARELY 32000

struct yielder {
	uint64_t interval; /* ns */
	uint64_t next;     /* cycle_clock() */
};

/* To be called once a fruitless poll. */
static inline void adaptive_yield(struct yielder *yielder)
{
	uint64_t now = cycle_clock(), after;

	if (now < yielder->next)
		return;
	sched_yield();
	after = cycle_clock();
	yielder->interval *= 2;
	if (yielder->interval == 0 || after - now > cycles_in(YIELD_QUICK))
		yielder->interval = YIELD_SOON;
	else if (yielder->interval > YIELD_RARELY)
		yielder->interval = YIELD_RARELY;
	yielder->next = after + cycles_in(yielder->interval);
}

#endif
