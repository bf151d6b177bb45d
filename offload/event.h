/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues: a ring written by the owner of the engine and read by any host thread without a lock.
 *
 * `posted` counts events ever written, `taken` those ever consumed; event number n lives in slot (n - front) % size.  The
 * writer never waits: on a full ring it overwrites the oldest event.  A slot is a seqlock of its own: its sequence
 * is n + 1 when it holds event n, 0 while it is being written.  Readers copy a slot with relaxed loads, check that
 * the sequence did not change meanwhile, and own the event once their compare-and-swap has moved `taken` past it;
 * if that jump skipped events they were lost, and the reader says so (PTL_EQ_DROPPED).
 * Both begin where no queue at that place has been for as long as handles are unlike: with the generation in the highest
 * bits.  So a reader that stood still while its queue was freed, and another allocated there, takes none of that one's.
 *
 * FRONT.  A queue that is found empty goes on in its first slot, so that a large one whose events are soon taken uses few pages.
 * The writer moves `front` to the number that it writes next, and only if `taken` is that number: nothing is unread then, and
 * the slot that it writes to holds no event that is still to be taken; a reader that copies one that another has taken finds another
 * sequence there, and its compare-and-swap fails anyway.  A reader with the old front looks into a slot that does not hold the
 * number that it looks for, as slots know the numbers of their events and no number is in two.  So it looks at `posted`, an acquire
 * which the writer's release comes behind `front`: either nothing is unread, or it sees the new front, and looks again.
 *
 * HAND-OVER.  An event for which a thread waits that drives the engine itself, and which it would take next, never sees the
 * ring: the owner writes it where that thread wants it, and moves `taken` and `posted` past it.  It may store `taken`
 * although readers move it by compare-and-swap: while nothing is unread there is no event for which one could.  It stores `taken`
 * first, so that no reader looks for the event in its slot; a reader that comes between the two stores finds more taken
 * than posted, and that is nothing unread.
 *
 * Rings stay mapped until PtlFini, and queues while a reader may have found their interface (portals/hazard.c): one that
 * races PtlEQFree or PtlNIFini reads old or empty slots,
 * finds the generation changed or no ring, and never faults.
 */
#ifndef PORTALS_OFFLOAD_EVENT_H
#define PORTALS_OFFLOAD_EVENT_H

#include <portals3.h>
#include <stdatomic.h>

#include "base/arch.h"
#include "base/tsan.h"
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
	int32_t threshold; /* the descriptor's, right after the operation took its unit: descriptor_start() */
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

#define EVENTS_BETWEEN_LOOKS 32 /* a small page of them */

/* Before a loop over them: else gcc makes an array of what it had in registers, and copies that. */
#ifdef __clang__
#define EVENT_EACH_WORD _Pragma("unroll")
#else
#define EVENT_EACH_WORD _Pragma("GCC unroll 14")
#endif

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
	_Atomic int event_fd;   /* an event loop's descriptor, plus one; 0: none.  These two: event_fd.c */
	_Atomic bool announced; /* it is readable */
	_Atomic bool overflow_told;
	_Atomic uint64_t
		front; /* number of an event that is in the first slot, or was: the next ones follow behind it */
	/* Lines that one side writes and the other reads are apart from those that only one side uses. */
	_Alignas(CACHE_LINE) _Atomic uint64_t posted; /* written by the engine */
	_Alignas(CACHE_LINE) _Atomic uint64_t taken;  /* written by readers */
	_Atomic uint64_t wanted_since;                /* likewise, timing: no event was there since then; 0: one was */
	_Alignas(CACHE_LINE)
		uint64_t underway; /* operations started, whose last event here is still to come; engine only */
	uint64_t looked;           /* number of the event before which the engine has looked whether it is empty */
	uint32_t waiters;          /* threads blocked on it, and its event_fd; engine only */
};

/*
 * An empty ring for at least `count` events, at an address that stays mapped until event_rings_free().  NULL: no memory.
 * What is used of it costs memory, which goes back to the system with event_ring_put(): a system call, not for owners.
 */
struct event_ring *event_ring_get(uint64_t count);
void event_ring_put(struct event_ring *);
void event_rings_free(void);
void event_rings_lock(bool lock); /* around fork */

static inline uint64_t event_word(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

static inline uint32_t event_low(uint64_t word)
{
	return (uint32_t)word;
}

static inline uint32_t event_high(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* In the header, as what follows, so that a record that was only just put together goes from registers to where it is wanted. */
static inline void event_pack(const struct event_record *record, uint64_t words[EVENT_WORDS])
{
	const struct event_info *info = &record->info;

	words[0] = event_word(info->initiator.nid, info->initiator.pid);
	words[1] = event_word(info->uid, info->jid);
	words[2] = event_word(info->pt_index, info->link);
	words[3] = info->match_bits;
	words[4] = info->rlength;
	words[5] = info->mlength;
	words[6] = info->offset;
	words[7] = info->hdr_data;
	words[8] = (uintptr_t)record->md_start;
	words[9] = (uintptr_t)record->md_user_ptr;
	words[10] = record->md_length;
	words[11] = record->md_max_size;
	words[12] = event_word(record->md_handle, record->md_options);
	words[13] = event_word((uint32_t)record->md_threshold, record->kind | (uint32_t)record->ni_fail << 16);
}

/* What event_pack() made, as the user sees it. */
static inline void event_expand(const uint64_t words[EVENT_WORDS], uint32_t eq_handle, uint64_t number,
				ptl_event_t *event)
{
	event->type = (ptl_event_kind_t)(event_high(words[13]) & 0xffff);
	event->initiator = (ptl_process_id_t){.nid = event_low(words[0]), .pid = event_high(words[0])};
	event->uid = event_low(words[1]);
	event->jid = event_high(words[1]);
	event->pt_index = event_low(words[2]);
	event->match_bits = words[3];
	event->rlength = words[4];
	event->mlength = words[5];
	event->offset = words[6];
	event->md_handle = event_low(words[12]);
	event->md.start = (void *)(uintptr_t)words[8];
	event->md.length = words[10];
	event->md.threshold = (int)event_low(words[13]);
	event->md.max_size = words[11];
	event->md.options = event_high(words[12]);
	event->md.user_ptr = (void *)(uintptr_t)words[9];
	event->md.eq_handle = eq_handle;
	event->hdr_data = words[7];
	event->link = event_high(words[2]);
	event->ni_fail_type = event_high(words[13]) >> 16;
	event->sequence = (ptl_seq_t)(number + 1);
}

static inline struct event_slot *event_slot_of(const struct event_queue *eq, struct event_ring *ring, uint64_t number)
{
	return &ring->slots[(number - atomic_load_explicit(&eq->front, memory_order_relaxed)) & (ring->size - 1)];
}

/*
 * A queue that is found empty goes on in its first slot, so that a large one whose events are soon taken uses few pages: each
 * costs a fault.  Now and then only, for `taken` is the readers' line.
 * A reader that has the old front finds no slot with the number that it looks for, and looks again behind `posted`.
 */
static inline void event_look_for_front(struct event_queue *eq, uint64_t number)
{
	if (likely(number - eq->looked < EVENTS_BETWEEN_LOOKS))
		return;
	eq->looked = number;
	if (atomic_load_explicit(&eq->taken, memory_order_relaxed) == number)
		atomic_store_explicit(&eq->front, number, memory_order_relaxed);
}

/* Engine only. */
static inline void event_post(struct event_queue *eq, const struct event_record *record)
{
	struct event_ring *ring = atomic_load_explicit(&eq->ring, memory_order_relaxed);
	uint64_t number = atomic_load_explicit(&eq->posted, memory_order_relaxed), words[EVENT_WORDS];

	event_look_for_front(eq, number);
	struct event_slot *slot = event_slot_of(eq, ring, number);

	event_pack(record, words);
	/* A reader that copies the overwritten event must see 0 or the new number at its second look: the fence keeps
	 * the words behind this store, and pairs with the acquire fence in copy_slot(). */
	atomic_store_explicit(&slot->sequence, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	EVENT_EACH_WORD
	for (int i = 0; i < EVENT_WORDS; i++)
		atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
	tsan_release(slot);
	/* Publishes the words; pairs with the acquire load in copy_slot(). */
	atomic_store_explicit(&slot->sequence, number + 1, memory_order_release);
	/* Pairs with the acquire loads of `posted` in event_ready() and event_find(). */
	atomic_store_explicit(&eq->posted, number + 1, memory_order_release);
}

/* Engine only: gives the event to a waiter.  False: others come before it, nothing was done. */
static inline bool event_hand_over(struct event_queue *eq, const struct event_record *record, ptl_event_t *event)
{
	uint64_t number = atomic_load_explicit(&eq->posted, memory_order_relaxed), words[EVENT_WORDS];

	/* Acquire and release as in event_take(): among readers. */
	if (atomic_load_explicit(&eq->taken, memory_order_acquire) != number)
		return false;
	event_pack(record, words);
	event_expand(words, eq->handle, number, event);
	atomic_store_explicit(&eq->taken, number + 1, memory_order_release);
	/* Release: a thread that sees it sees `taken` too; pairs with the acquire loads of `posted`. */
	atomic_store_explicit(&eq->posted, number + 1, memory_order_release);
	return true;
}

/* Before anything is posted to a queue that was allocated: where its events are counted from. */
void event_number(struct event_queue *);

/* Exact under ownership, as far as posting goes; others may see more than there are, never less than they know of. */
uint64_t event_unread(const struct event_queue *);

/* True if a take would find something; any thread. */
static inline bool event_ready(const struct event_queue *eq)
{
	return (int64_t)(atomic_load_explicit(&eq->posted, memory_order_acquire) -
			 atomic_load_explicit(&eq->taken, memory_order_relaxed)) > 0;
}

/*
 * Takes the oldest event; any thread.  0, -EAGAIN (empty), -EOVERFLOW (taken, but events before it were lost), or
 * -EBADF (the queue is not of that generation any more).
 */
int event_take(struct event_queue *, uint32_t generation, ptl_event_t *);

/* The same without consuming it. */
int event_peek(struct event_queue *, uint32_t generation, ptl_event_t *);

#endif
