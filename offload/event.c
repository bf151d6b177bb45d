/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/event.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "offload/pages.h"

_Static_assert(sizeof(struct event_slot) == 2 * CACHE_LINE, "a slot is two cache lines");

#define NUMBER_BITS 53 /* of the events of one queue; the rest is its generation (NIC_HANDLE_GENERATIONS) */

/* Rings given back, empty, waiting for an equal request.  Never unmapped before event_rings_free(): readers may look. */
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
	return ring;
}

static void empty_slots(struct event_ring *ring, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		atomic_store_explicit(&ring->slots[i].sequence, 0, memory_order_relaxed);
}

/* Empties a ring that may be larger than memory; what pages_give_back() cannot is written. */
static void ring_clear(struct event_ring *ring)
{
	char *slots = (char *)ring->slots, *end = slots + ring->size * sizeof(struct event_slot);
	char *given = slots, *given_end = end;

	pages_give_back(&given, &given_end);
	empty_slots(ring, 0, (uint64_t)(given - slots) / sizeof(struct event_slot));
	empty_slots(ring, (uint64_t)(given_end - slots) / sizeof(struct event_slot), ring->size);
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
	ring_clear(ring);
	pthread_mutex_lock(&spare_lock);
	ring->next = spare_rings;
	spare_rings = ring;
	pthread_mutex_unlock(&spare_lock);
}

void event_rings_free(void)
{
	pthread_mutex_lock(&spare_lock);
	while (spare_rings) {
		struct event_ring *ring = spare_rings;

		spare_rings = ring->next;
		munmap(ring, ring_bytes(ring->size));
	}
	pthread_mutex_unlock(&spare_lock);
}

void event_rings_lock(bool lock)
{
	if (lock)
		pthread_mutex_lock(&spare_lock);
	else
		pthread_mutex_unlock(&spare_lock);
}

void event_number(struct event_queue *eq)
{
	uint64_t first = (uint64_t)atomic_load_explicit(&eq->item.generation, memory_order_relaxed) << NUMBER_BITS;

	atomic_store_explicit(&eq->posted, first, memory_order_relaxed);
	atomic_store_explicit(&eq->taken, first, memory_order_relaxed);
	atomic_store_explicit(&eq->wanted_since, 0, memory_order_relaxed);
	atomic_store_explicit(&eq->front, first, memory_order_relaxed);
	eq->looked = first;
}

uint64_t event_unread(const struct event_queue *eq)
{
	return atomic_load_explicit(&eq->posted, memory_order_relaxed) -
	       atomic_load_explicit(&eq->taken, memory_order_relaxed);
}

static inline bool copy_slot(struct event_slot *slot, uint64_t number, uint64_t words[EVENT_WORDS])
{
	/* Pairs with the release store at the end of event_post(). */
	if (atomic_load_explicit(&slot->sequence, memory_order_acquire) != number + 1)
		return false;
	EVENT_EACH_WORD
	for (int i = 0; i < EVENT_WORDS; i++)
		words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
	/* Pairs with the release fence in event_post(). */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != number + 1)
		return false;
	tsan_acquire(slot);
	return true;
}

/*
 * Mostly the oldest event is the next one, and its slot says so itself: `posted` is a line that travels from core to
 * core with every event, so it is looked at only when the slot does not hold what was expected.
 */
static inline bool next_is_there(const struct event_queue *eq, struct event_ring *ring, uint64_t taken,
				 uint64_t words[EVENT_WORDS])
{
	return ring && copy_slot(event_slot_of(eq, ring, taken), taken, words);
}

static bool same_generation(struct event_queue *eq, uint32_t generation)
{
	/* Pairs with the release store in pool_give(). */
	return atomic_load_explicit(&eq->item.generation, memory_order_acquire) == generation;
}

/*
 * Finds the oldest event still there: copies it and says which number it has and how many were consumed before.  These
 * numbers are the queue's of that generation, no other's: a reader that moves `taken` from there has not taken its
 * successor's.
 */
static inline int event_find(struct event_queue *eq, uint32_t generation, uint64_t words[EVENT_WORDS], uint64_t *taken,
			     uint64_t *number)
{
	struct event_ring *ring;

	do {
		/* Each time: the slots of a queue that was freed meanwhile read as empty, and it has no ring. */
		ring = atomic_load_explicit(&eq->ring, memory_order_acquire);
		/* Taken before posted: the difference may then be too large, and negative only in the middle of a hand-over. */
		*number = *taken = atomic_load_explicit(&eq->taken, memory_order_acquire);
		if (!same_generation(eq, generation))
			return -EBADF;
		if (next_is_there(eq, ring, *taken, words))
			return 0;
		uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_acquire);
		if ((int64_t)(posted - *taken) <= 0 || !ring)
			return -EAGAIN;
		*number = posted - *taken > ring->size ? posted - ring->size : *taken;
	} while (!copy_slot(event_slot_of(eq, ring, *number), *number, words));
	return 0;
}

int event_take(struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	uint64_t words[EVENT_WORDS], taken, number;

	do {
		int rc = event_find(eq, generation, words, &taken, &number);
		if (rc)
			return rc;
		/* Consumes it; the acquire/release only orders readers among themselves. */
	} while (!atomic_compare_exchange_weak_explicit(&eq->taken, &taken, number + 1, memory_order_acq_rel,
							memory_order_relaxed));
	if (!same_generation(eq, generation))
		return -EBADF; /* freed under our eyes: what we copied may be another queue's */
	event_expand(words, eq->handle, number, event);
	return number == taken ? 0 : -EOVERFLOW;
}

int event_peek(struct event_queue *eq, uint32_t generation, ptl_event_t *event)
{
	uint64_t words[EVENT_WORDS], taken, number;

	do {
		int rc = event_find(eq, generation, words, &taken, &number);
		if (rc)
			return rc;
		/* Behind the fence in copy_slot(): if no reader took one meanwhile, it is the oldest still. */
	} while (atomic_load_explicit(&eq->taken, memory_order_relaxed) != taken);
	if (!same_generation(eq, generation))
		return -EBADF; /* as in event_take() */
	event_expand(words, eq->handle, number, event);
	return number == taken ? 0 : -EOVERFLOW;
}
