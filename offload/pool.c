/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arch.h"
#include "base/report.h"
#include "offload/pages.h"

#define INDEX_MASK                                                                                                     \
	((UINT64_C(1) << 20) - 1) /* of an entry of the ring of the resting: its time is good to a millisecond */

/* The ring and the counters lie behind the objects. */
static size_t objects_bytes(const struct pool *pool)
{
	return (pool->object_size * pool->capacity + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

static size_t pool_bytes(const struct pool *pool)
{
	return objects_bytes(pool) + pool->capacity * sizeof(*pool->resting) +
	       (pool->capacity / POOL_GROUP + 1) * sizeof(*pool->busy);
}

int pool_open(struct pool *pool, size_t object_size, uint32_t capacity, uint32_t generations, uint32_t first)
{
	struct pool made = {.object_size = object_size,
			    .zeroed = object_size,
			    .capacity = capacity,
			    .free_head = POOL_NONE,
			    .free_tail = POOL_NONE,
			    .generations = generations,
			    .first = first % generations + 1};
	size_t bytes = pool_bytes(&made);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return report_error(-ENOMEM, "cannot reserve %zu bytes of address space for %u objects: %s", bytes,
				    capacity, strerror(errno));
	*pool = made;
	pool->objects = memory;
	pool->resting = (uint64_t *)(void *)(pool->objects + objects_bytes(pool));
	pool->busy = (uint16_t *)(pool->resting + capacity);
	return 0;
}

void pool_close(struct pool *pool)
{
	if (pool->objects)
		munmap(pool->objects, pool_bytes(pool));
	*pool = (struct pool){0};
}

static struct pool_item *item_at(const struct pool *pool, uint32_t index)
{
	return (struct pool_item *)(pool->objects + (size_t)index * pool->object_size);
}

/* --- turns --- */

/* Has the index that rests for longest rested long enough?  Only asked when no index is left that has had no turn yet. */
static bool is_rested(const struct pool *pool)
{
	return pool->rest_count > 0 && monotonic_ns() >= (pool->resting[pool->rest_head] | INDEX_MASK) + POOL_REST_NS;
}

static uint32_t end_rest(struct pool *pool)
{
	uint32_t index = (uint32_t)(pool->resting[pool->rest_head] & INDEX_MASK);

	pool->rest_head = pool->rest_head + 1 < pool->capacity ? pool->rest_head + 1 : 0;
	pool->rest_count--;
	return index;
}

/* An index that has rested looks like a new one, but for its memory: that of a group may have stayed. */
static struct pool_item *begin_turn(struct pool *pool)
{
	bool new = pool->used < pool->capacity;
	uint32_t index = new ? pool->used++ : end_rest(pool);
	struct pool_item *item = item_at(pool, index);

	pool->busy[index / POOL_GROUP]++;
	if (!new)
		memset(item + 1, 0, pool->zeroed - sizeof(*item));
	item->index = index;
	atomic_store_explicit(&item->generation, pool->first, memory_order_relaxed);
	return item;
}

static void end_turn(struct pool *pool, uint32_t index)
{
	uint32_t group = index / POOL_GROUP, from = group * POOL_GROUP;
	uint32_t to = pool->capacity - from > POOL_GROUP ? from + POOL_GROUP : pool->capacity;
	uint64_t tail = (uint64_t)pool->rest_head + pool->rest_count++;

	pool->resting[tail < pool->capacity ? tail : tail - pool->capacity] = (monotonic_ns() & ~INDEX_MASK) | index;
	if (--pool->busy[group] > 0 || to > pool->used)
		return;
	char *begin = (char *)item_at(pool, from), *end = (char *)item_at(pool, to);

	pages_give_back(&begin, &end);
}

/* --- within a turn --- */

static struct pool_item *take_freed(struct pool *pool)
{
	struct pool_item *item = item_at(pool, pool->free_head);

	pool->free_head = item->next_free;
	if (pool->free_head == POOL_NONE)
		pool->free_tail = POOL_NONE;
	pool->free_count--;
	memset(item + 1, 0, pool->zeroed - sizeof(*item));
	return item;
}

static void append_freed(struct pool *pool, struct pool_item *item)
{
	item->next_free = POOL_NONE;
	if (pool->free_tail == POOL_NONE)
		pool->free_head = item->index;
	else
		item_at(pool, pool->free_tail)->next_free = item->index;
	pool->free_tail = item->index;
	pool->free_count++;
}

bool pool_is_empty(const struct pool *pool)
{
	return pool->free_count == 0 && pool->used >= pool->capacity && !is_rested(pool);
}

void *pool_take(struct pool *pool)
{
	struct pool_item *item;

	if (pool->free_count < POOL_RESERVE && (pool->used < pool->capacity || is_rested(pool)))
		item = begin_turn(pool);
	else if (pool->free_count > 0)
		item = take_freed(pool);
	else
		return NULL;
	item->live = true;
	pool->live++;
	return item;
}

void pool_give(struct pool *pool, void *object)
{
	struct pool_item *item = object;
	uint32_t generation = atomic_load_explicit(&item->generation, memory_order_relaxed);

	generation = generation < pool->generations ? generation + 1 : 1;
	item->live = false;
	pool->live--;
	/* Pairs with the acquire in event_take(): a freed queue is seen. */
	atomic_store_explicit(&item->generation, generation, memory_order_release);
	if (unlikely(generation == pool->first) && !pool->restless)
		end_turn(pool, item->index);
	else
		append_freed(pool, item);
}

int pool_refuse(const struct pool *pool, int most, const char *objects, const char *limit)
{
	if (pool->live < (uint32_t)most)
		return report_error(-ENOSPC,
				    "%u %s exist, %s is %d, but the handles of all others were used up within the last "
				    "second: wait, or keep fewer",
				    pool->live, objects, limit, most);
	return report_error(-ENOSPC, "%u %s exist, more are not allowed (%s)", pool->live, objects, limit);
}

uint32_t pool_spent(const struct pool *pool)
{
	uint32_t most = 0;

	for (uint32_t index = 0; index < pool->used; index++) {
		if (index % POOL_GROUP == 0 && pool->busy[index / POOL_GROUP] == 0) {
			index += POOL_GROUP - 1;
			continue;
		}
		const struct pool_item *item = item_at(pool, index);
		uint32_t now = atomic_load_explicit(&item->generation, memory_order_relaxed);
		uint32_t spent = now >= pool->first ? now - pool->first : now + pool->generations - pool->first;

		spent += item->live;
		most = spent > most ? spent : most;
	}
	return most;
}

void *pool_next(const struct pool *pool, uint32_t *index)
{
	while (*index < pool->used) {
		if (*index % POOL_GROUP == 0 && pool->busy[*index / POOL_GROUP] == 0) {
			*index += POOL_GROUP; /* all of them rest, and have no memory */
			continue;
		}
		struct pool_item *item = item_at(pool, (*index)++);

		if (item->live)
			return item;
	}
	return NULL;
}
