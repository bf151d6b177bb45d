/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/report.h"

int pool_open(struct pool *pool, size_t object_size, uint32_t capacity, uint32_t generations, uint32_t first)
{
	size_t bytes = object_size * capacity;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return report_error(-ENOMEM, "cannot reserve %zu bytes of address space for %u objects: %s", bytes,
				    capacity, strerror(errno));
	*pool = (struct pool){.objects = memory,
			      .object_size = object_size,
			      .zeroed = object_size,
			      .capacity = capacity,
			      .free_head = POOL_NONE,
			      .free_tail = POOL_NONE,
			      .generations = generations,
			      .first = first % generations + 1};
	return 0;
}

void pool_close(struct pool *pool)
{
	if (pool->objects)
		munmap(pool->objects, pool->object_size * pool->capacity);
	*pool = (struct pool){0};
}

static struct pool_item *item_at(const struct pool *pool, uint32_t index)
{
	return (struct pool_item *)(pool->objects + (size_t)index * pool->object_size);
}

static struct pool_item *take_fresh(struct pool *pool)
{
	struct pool_item *item = item_at(pool, pool->used);

	item->index = pool->used++;
	atomic_store_explicit(&item->generation, pool->first, memory_order_relaxed);
	return item;
}

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

void *pool_take(struct pool *pool)
{
	struct pool_item *item;

	if (pool->used < pool->capacity && pool->free_count < POOL_RESERVE)
		item = take_fresh(pool);
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

	item->live = false;
	atomic_store_explicit(&item->generation, generation < pool->generations ? generation + 1 : 1,
			      memory_order_release); /* pairs with the acquire in event_take(): a freed queue is seen */
	item->next_free = POOL_NONE;
	if (pool->free_tail == POOL_NONE)
		pool->free_head = item->index;
	else
		item_at(pool, pool->free_tail)->next_free = item->index;
	pool->free_tail = item->index;
	pool->free_count++;
	pool->live--;
}

void *pool_next(const struct pool *pool, uint32_t *index)
{
	while (*index < pool->used) {
		struct pool_item *item = item_at(pool, (*index)++);

		if (item->live)
			return item;
	}
	return NULL;
}
