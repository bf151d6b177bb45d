/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock-free queue of cache lines between two cores, without anything around it: the least that a message through
 * shared memory can cost.
 */
#ifndef PTLBENCH_SLOTS_H
#define PTLBENCH_SLOTS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/arch.h"

#define SLOTS         256
#define SLOT_PATIENCE 4096 /* looks in vain, then another process is let in: it may have the other side's CPU */
#define SLOTS_AHEAD   16   /* fetched for writing so long before they are written */

/* One 64-byte message: the sequence word is written last and says that the rest is there. */
struct slot {
	_Alignas(CACHE_LINE) _Atomic uint64_t sequence;
	char payload[CACHE_LINE - sizeof(uint64_t)];
};

struct word {
	_Alignas(CACHE_LINE) _Atomic uint64_t value;
};

/* One direction.  As a queue that has several senders and survives them needs it: places are claimed. */
struct slot_queue {
	struct word tail;   /* all before it has been given to some sender */
	struct word intent; /* the place that the sender may be writing, should it die */
	struct word head;   /* all before it has been read; lags behind */
	struct slot slot[SLOTS];
};

/* Writes the payload, then publishes it; pairs with the acquire load in slot_take(). */
static inline void slot_put(struct slot *slots, uint64_t position, const char *payload)
{
	struct slot *slot = &slots[position % SLOTS];

	memcpy(slot->payload, payload, sizeof(slot->payload));
	atomic_store_explicit(&slot->sequence, position + 1, memory_order_release);
}

static inline void slot_take(struct slot *slots, uint64_t position, char *payload)
{
	struct slot *slot = &slots[position % SLOTS];

	for (unsigned turn = 1; atomic_load_explicit(&slot->sequence, memory_order_acquire) != position + 1; turn++)
		if (turn % SLOT_PATIENCE == 0)
			sched_yield();
	memcpy(payload, slot->payload, sizeof(slot->payload));
}

/* Waits until the reader has left the place; pairs with the release store in slot_left(). */
static inline void slot_wait_for_room(struct slot_queue *queue, uint64_t position, uint64_t *head_seen)
{
	for (unsigned turn = 1; position - *head_seen >= SLOTS; turn++) {
		*head_seen = atomic_load_explicit(&queue->head.value, memory_order_acquire);
		if (turn % SLOT_PATIENCE == 0)
			sched_yield();
	}
}

/* The reader says now and then how far it has come. */
static inline void slot_left(struct slot_queue *queue, uint64_t position)
{
	if ((position + 1) % (SLOTS / 4) == 0)
		atomic_store_explicit(&queue->head.value, position + 1, memory_order_release);
}

/*
 * Claims a place and fills it.  The intent stands before the claim, so that a place of the dead can be told.  The claim
 * waits until all earlier stores are visible, the line of the message before it included: unless that line is here by
 * then, every message pays for its way.
 */
static inline void slot_send(struct slot_queue *queue, const char *payload, uint64_t *head_seen)
{
	uint64_t position = atomic_load_explicit(&queue->tail.value, memory_order_relaxed);

	do {
		slot_wait_for_room(queue, position, head_seen);
		atomic_store_explicit(&queue->intent.value, position + 1, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&queue->tail.value, &position, position + 1,
							memory_order_acq_rel, memory_order_relaxed));
	__builtin_prefetch(&queue->slot[(position + SLOTS_AHEAD) % SLOTS], 1);
	slot_put(queue->slot, position, payload);
}

static inline void slot_receive(struct slot_queue *queue, uint64_t position, char *payload)
{
	slot_take(queue->slot, position, payload);
	slot_left(queue, position);
}

#endif
