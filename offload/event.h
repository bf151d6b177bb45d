/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues: a ring written by the owner of the engine and read by any host thread without a lock.
 *
 * `posted` counts events ever written, `taken` those ever consumed; event number n lives in slot n % size.  The
 * writer never waits: on a full ring it overwrites the oldest event.  A slot is a seqlock of its own: its sequence
 * is n + 1 when it holds event n, 0 while it is being written.  Readers copy a slot with relaxed loads, check that
 * the sequence did not change meanwhile, and own the event once their compare-and-swap has moved `taken` past it;
 * if that jump skipped events they were lost, and the reader says so (PTL_EQ_DROPPED).
 *
 * Rings and queues stay mapped until PtlFini, so a reader that races PtlEQFree or PtlNIFini reads old memory, finds
 * the generation changed, and never faults.
 */
#ifndef PORTALS_OFFLOAD_EVENT_H
#define PORTALS_OFFLOAD_EVENT_H

#include <portals3.h>
#include <stdatomic.h>

#include "base/arch.h"
#include "offload/pool.h"

/*
 * What the events of one operation have in common.  Fields that are set one by one and then make one word of a slot are not
 * neighbours: a load of both would wait until both stores have left the store buffer.
 */
struct event_info {
	ptl_process_id_t initiator;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
	uint64_t match_bits, rlength, mlength, offset, hdr_data;
	ptl_seq_t link;
	int32_t threshold; /* the descriptor's, before the operation took its unit: descriptor_start() */
};

/* An event as the ring stores it: PTL's structure without what the reader can work out. */
struct event_record {
	struct event_info info;
	void *md_start, *md_user_ptr;
	uint64_t md_length, md_max_size;
	uint32_t md_handle, md_options;
	int32_t md_threshold;
	uint16_t kind, ni_fail;
};

#define EVENT_WORDS 14

struct event_slot {
	_Alignas(2 * CACHE_LINE) _Atomic uint64_t sequence;
	_Atomic uint64_t words[EVENT_WORDS];
};

struct event_ring {
	uint64_t size; /* a power of two */
	struct event_ring *next;
	struct event_slot slots[];
};

struct event_queue {
	struct pool_item item;
	uint32_t handle;
	_Atomic(ptl_eq_handler_t) handler;
	_Atomic(struct event_ring *) ring;
	/* Lines that one side writes and the other reads are apart from those that only one side uses. */
	_Alignas(CACHE_LINE) _Atomic uint64_t posted; /* written by the engine */
	_Alignas(CACHE_LINE) _Atomic uint64_t taken;  /* written by readers */
	_Alignas(CACHE_LINE)
		uint64_t underway; /* operations started, whose last event here is still to come; engine only */
	uint32_t waiters;          /* threads blocked on it; engine only */
};

/* A ring for at least `count` events, from memory that lives until event_rings_free().  NULL: no memory. */
struct event_ring *event_ring_get(uint64_t count);
void event_ring_put(struct event_ring *);
void event_rings_free(void);
void event_rings_lock(bool lock); /* around fork */

static inline uint64_t event_word(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

/*
 * Engine only.  In the header, so that a record that was only just put together goes from registers to the slot; read back
 * by unpack() in event.c.
 */
static inline void event_post(struct event_queue *eq, const struct event_record *record)
{
	struct event_ring *ring = atomic_load_explicit(&eq->ring, memory_order_relaxed);
	uint64_t number = atomic_load_explicit(&eq->posted, memory_order_relaxed);
	struct event_slot *slot = &ring->slots[number & (ring->size - 1)];
	const struct event_info *info = &record->info;
	const uint64_t words[EVENT_WORDS] = {
		event_word(info->initiator.nid, info->initiator.pid),
		event_word(info->uid, info->jid),
		event_word(info->pt_index, info->link),
		info->match_bits,
		info->rlength,
		info->mlength,
		info->offset,
		info->hdr_data,
		(uintptr_t)record->md_start,
		(uintptr_t)record->md_user_ptr,
		record->md_length,
		record->md_max_size,
		event_word(record->md_handle, record->md_options),
		event_word((uint32_t)record->md_threshold, record->kind | (uint32_t)record->ni_fail << 16),
	};

	/* A reader that copies the overwritten event must see 0 or the new number at its second look: the fence keeps
	 * the words behind this store, and pairs with the acquire fence in copy_slot(). */
	atomic_store_explicit(&slot->sequence, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (int i = 0; i < EVENT_WORDS; i++)
		atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
	/* Publishes the words; pairs with the acquire load in copy_slot(). */
	atomic_store_explicit(&slot->sequence, number + 1, memory_order_release);
	/* Pairs with the acquire loads of `posted` in event_ready() and event_find(). */
	atomic_store_explicit(&eq->posted, number + 1, memory_order_release);
}

/* Exact under ownership, as far as posting goes; others may see more than there are, never less than they know of. */
uint64_t event_unread(const struct event_queue *);

/* True if a take would find something; any thread. */
static inline bool event_ready(const struct event_queue *eq)
{
	return atomic_load_explicit(&eq->posted, memory_order_acquire) !=
	       atomic_load_explicit(&eq->taken, memory_order_relaxed);
}

/*
 * Takes the oldest event; any thread.  0, -EAGAIN (empty), -EOVERFLOW (taken, but events before it were lost), or
 * -EBADF (the queue is not of that generation any more).
 */
int event_take(struct event_queue *, uint32_t generation, ptl_event_t *);

/* The same without consuming it. */
int event_peek(struct event_queue *, uint32_t generation, ptl_event_t *);

#endif
