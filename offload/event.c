/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/event.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct event_slot) == 2 * CACHE_LINE, "a slot is two cache lines");

/* Rings given back, waiting for an equal request.  Never unmapped before event_rings_free(): readers may look. */
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct event_ring *spare_rings;

static size_t ring_bytes(uint64_t size)
{
	return sizeof(struct event_ring) + size * sizeof(struct event_slot);
}

static struct event_ring *spare_ring(uint64_t size)
{
	struct event_ring *ring = NULL;

	pthread_mutex_lock(&spare_lock);
	for (struct event_ring **at = &spare_rings; *at && !ring; at = &(*at)->next) {
		if ((*at)->size == size) {
			ring = *at;
			*at = ring->next;
			break;
		}
	}
	pthread_mutex_unlock(&spare_lock);
	for (uint64_t i = 0; ring && i < size; i++)
		atomic_store_explicit(&ring->slots[i].sequence, 0, memory_order_relaxed);
	return ring;
}

struct event_ring *event_ring_get(uint64_t count)
{
	uint64_t size = 2;

	if (count > UINT32_MAX)
		return NULL;
	while (size < count)
		size *= 2;
	struct event_ring *ring = spare_ring(size);

	if (ring)
		return ring;
	/* Fresh pages are zero, which is what an empty slot holds: a large queue costs what is used of it. */
	ring = mmap(NULL, ring_bytes(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring == MAP_FAILED)
		return NULL;
	ring->size = size;
	return ring;
}

void event_ring_put(struct event_ring *ring)
{
	pthread_mutex_lock(&spare_lock);
	ring->next = spare_rings;
	spare_rings = ring;
	pthread_mutex_unlock(&spare_lock);
}

void event_rings_free(void)
{
	while (spare_rings) {
		struct event_ring *ring = spare_rings;

		spare_rings = ring->next;
		munmap(ring, ring_bytes(ring->size));
	}
}

void event_rings_lock(bool lock)
{
	if (lock)
		pthread_mutex_lock(&spare_lock);
	else
		pthread_mutex_unlock(&spare_lock);
}

uint64_t event_unread(const struct event_queue *eq)
{
	return atomic_load_explicit(&eq->posted, memory_order_relaxed) -
	       atomic_load_explicit(&eq->taken, memory_order_relaxed);
}

static void *pointer_in(uint64_t word)
{
	return (void *)(uintptr_t)word;
}

/* What event_post() packed. */
static void unpack(const uint64_t *words, struct event_record *record)
{
	*record = (struct event_record){
		.info = {.initiator = {(uint32_t)words[0], (uint32_t)(words[0] >> 32)},
			 .uid = (uint32_t)words[1],
			 .jid = (uint32_t)(words[1] >> 32),
			 .pt_index = (uint32_t)words[2],
			 .link = (uint32_t)(words[2] >> 32),
			 .match_bits = words[3],
			 .rlength = words[4],
			 .mlength = words[5],
			 .offset = words[6],
			 .hdr_data = words[7]},
		.md_start = pointer_in(words[8]),
		.md_user_ptr = pointer_in(words[9]),
		.md_length = words[10],
		.md_max_size = words[11],
		.md_handle = (uint32_t)words[12],
		.md_options = (uint32_t)(words[12] >> 32),
		.md_threshold = (int32_t)(uint32_t)words[13],
		.kind = (uint16_t)(words[13] >> 32),
		.ni_fail = (uint16_t)(words[13] >> 48),
	};
}

static bool copy_slot(struct event_slot *slot, uint64_t number, struct event_record *record)
{
	uint64_t words[EVENT_WORDS];

	/* Pairs with the release store at the end of event_post(). */
	if (atomic_load_explicit(&slot->sequence, memory_order_acquire) != number + 1)
		return false;
	for (int i = 0; i < EVENT_WORDS; i++)
		words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
	/* Pairs with the release fence in event_post(). */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != number + 1)
		return false;
	unpack(words, record);
	return true;
}

static void expand(const struct event_record *record, uint32_t eq_handle, uint64_t number, ptl_event_t *event)
{
	const struct event_info *info = &record->info;

	*event = (ptl_event_t){
		.type = (ptl_event_kind_t)record->kind,
		.initiator = info->initiator,
		.uid = info->uid,
		.jid = info->jid,
		.pt_index = info->pt_index,
		.match_bits = info->match_bits,
		.rlength = info->rlength,
		.mlength = info->mlength,
		.offset = info->offset,
		.md_handle = record->md_handle,
		.md = {.start = record->md_start,
		       .length = record->md_length,
		       .threshold = record->md_threshold,
		       .max_size = record->md_max_size,
		       .options = record->md_options,
		       .user_ptr = record->md_user_ptr,
		       .eq_handle = eq_handle},
		.hdr_data = info->hdr_data,
		.link = info->link,
		.ni_fail_type = record->ni_fail,
		.sequence = (ptl_seq_t)(number + 1),
	};
}

/*
 * Mostly the oldest event is the next one, and its slot says so itself: `posted` is a line that travels from core to
 * core with every event, so it is looked at only when the slot does not hold what was expected.
 */
static bool next_is_there(struct event_ring *ring, uint64_t taken, struct event_record *record)
{
	return ring && copy_slot(&ring->slots[taken & (ring->size - 1)], taken, record);
}

/* Finds the oldest event still there: copies it and says which number it has and how many were consumed before. */
static int event_find(struct event_queue *eq, struct event_record *record, uint64_t *taken, uint64_t *number)
{
	struct event_ring *ring = atomic_load_explicit(&eq->ring, memory_order_acquire);

	do {
		/* Taken before posted: the difference may then be too large, never negative. */
		*number = *taken = atomic_load_explicit(&eq->taken, memory_order_acquire);
		if (next_is_there(ring, *taken, record))
			return 0;
		uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_acquire);
		if (posted == *taken || !ring)
			return -EAGAIN;
		*number = posted - *taken > ring->size ? posted - ring->size : *taken;
	} while (!copy_slot(&ring->slots[*number & (ring->size - 1)], *number, record));
	return 0;
}

static bool same_generation(struct event_queue *eq, uint32_t generation)
{
	/* Pairs with the release store in pool_give(). */
	return atomic_load_explicit(&eq->item.generation, memory_order_acquire) == generation;
}

int event_take(struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	struct event_record record;
	uint64_t taken, number;

	do {
		if (!same_generation(eq, generation))
			return -EBADF;
		int rc = event_find(eq, &record, &taken, &number);
		if (rc)
			return rc;
		/* Consumes it; the acquire/release only orders readers among themselves. */
	} while (!atomic_compare_exchange_weak_explicit(&eq->taken, &taken, number + 1, memory_order_acq_rel,
							memory_order_relaxed));
	if (!same_generation(eq, generation))
		return -EBADF; /* freed under our eyes: what we took may be another queue's */
	expand(&record, eq->handle, number, event);
	return number == taken ? 0 : -EOVERFLOW;
}

int event_peek(struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	struct event_record record;
	uint64_t taken, number;

	if (!same_generation(eq, generation))
		return -EBADF;
	int rc = event_find(eq, &record, &taken, &number);
	if (rc)
		return rc;
	expand(&record, eq->handle, number, event);
	return number == taken ? 0 : -EOVERFLOW;
}
