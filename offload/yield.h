/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Giving the core away while polling, no more often than another thread wants it: a yield that comes back at once found
 * no other ready to run, so the next one is twice as far away; one that took longer ran another, and the next
 * follows soon.  The distance is a time and not a number of polls, because polls cost 20 ns in a host that watches its
 * queue and 400 ns in a NIC thread, behind which a host on the same core may just have been woken.
 *
 * What "at once" means is learnt: see yield.c.
 *
 * A partner that was seen on another CPU does not need this core, but others may without which it does not get on: the
 * third in a ring, another thread of this process.  So past such a partner yields take a fixed small part of the time, whatever
 * one costs: a thread that computes here and takes whole slices gets few, one that only passes a message on gets the core soon.
 *
 * Where others compute, a yield costs a time slice of each of them, milliseconds; so a thread that counts polls, to read the clock
 * every so many only, reads it after such a yield and one poll, and finds that it has polled in vain for long enough to sleep:
 * a sleeper that is woken gets its core within microseconds.
 */
#ifndef PORTALS_OFFLOAD_YIELD_H
#define PORTALS_OFFLOAD_YIELD_H

#include <stdbool.h>

#include "base/arch.h"

struct yielder {
	uint64_t next;     /* cycle_clock() */
	uint64_t spared;   /* likewise: no yield past a partner elsewhere before */
	uint32_t interval; /* ticks of it */
	uint16_t dear;     /* yields in a row that seem to have run another thread */
	/* A thread that waits keeps here, because a thread has few bytes (base/hot.h), how many waits it is in. */
	volatile uint16_t waits;
};

/* The rest of adaptive_yield(). */
bool yield_core(struct yielder *, uint32_t partner);

/*
 * To be called once a fruitless poll.  `partner`: where the process was seen that is waited for, as 1 + its CPU; 0: not
 * known.  True: another thread has had the core, so the clock is to be read.
 */
static inline bool adaptive_yield(struct yielder *yielder, uint32_t partner)
{
	return cycle_clock() >= yielder->next && yield_core(yielder, partner);
}

#endif
