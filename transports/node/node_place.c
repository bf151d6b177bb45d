/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where processes run, as far as it matters to those that wait for them.
 *
 * A thread that polls in vain may give its core away.  That is right if the process it waits for, its partner, wants
 * this very core, and costs a time slice of another thread that computes here if it does not.  So each process says in
 * its segment on which CPU it polls, and the engine is told where its partner, the peer with which the last message was
 * exchanged, was seen last.
 *
 * A peer that it wakes is told as well, because one that finds no other core gets this one; what they copy together
 * they would copy in turns (node_choice.c).
 *
 * It is a hint: a process that believes a stale one, or that of a misbehaving peer, polls for PTL_SPIN and sleeps, or
 * yields in vain, or takes its next few messages one at a poll.  No sleep and no wake-up depends on it, so that relaxed loads and stores do.  Where the kernel
 * registers restartable sequences, to ask for one's CPU is a load.
 */
#include <sched.h>

#include "transports/node/node.h"
#include "transports/node/node_place.h"

static void publish(struct node *node, uint32_t place)
{
	_Atomic uint32_t *published = &node->segment->place;

	/* Stored when it changes only: the line stays with its readers. */
	if (atomic_load_explicit(published, memory_order_relaxed) != place)
		atomic_store_explicit(published, place, memory_order_relaxed);
}

void node_note_place(struct node *node)
{
	publish(node, (uint32_t)sched_getcpu() + 1);
}

bool node_shares_core(const struct node_peer *peer)
{
	uint32_t here = (uint32_t)sched_getcpu() + 1;

	return here != 0 && peer->segment && atomic_load_explicit(&peer->segment->place, memory_order_relaxed) == here;
}

void node_note_places(struct node *node)
{
	const struct node_peer *partner = node->partner;
	uint32_t here = (uint32_t)sched_getcpu() + 1, there = 0;

	publish(node, here);
	if (partner && partner->segment)
		there = atomic_load_explicit(&partner->segment->place, memory_order_relaxed);
	node->singly = here != 0 && there == here ? NODE_SINGLY : 0; /* 0: the kernel does not tell */
	if (likely(there == node->partner_place))
		return;
	node->partner_place = there;
	if (node->sink->partner_seen)
		node->sink->partner_seen(node->owner, there);
}
