/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of equal objects behind numbers: match entries, descriptors, event queues, operations.
 *
 * Type-stable: address space for the most there may ever be is reserved at once and touched lazily, so an index is
 * an address without a look-up and a stale index always points at an object of the right type, whose generation
 * then tells that it is not the one meant.  Freed objects are reused first-in first-out and only once POOL_RESERVE
 * of them are waiting: a handle has to be stale for at least POOL_RESERVE * (generations - 1) further allocations
 * before its number can name something else.
 */
#ifndef PORTALS_OFFLOAD_POOL_H
#define PORTALS_OFFLOAD_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_RESERVE 256
#define POOL_NONE    UINT32_MAX

/* First member of every pooled object. */
struct pool_item {
	uint32_t index;
	_Atomic uint32_t generation; /* 1 .. limit while alive or free; changes when the object is freed */
	uint32_t next_free;
	bool live;
};

struct pool {
	char *objects;
	size_t object_size;
	size_t zeroed; /* bytes of an object that are cleared when it is taken; behind them is scratch space */
	uint32_t capacity, used; /* used: objects touched so far */
	uint32_t live, free_count;
	uint32_t free_head, free_tail;
	uint32_t generations; /* generations run from 1 to this */
	uint32_t first;       /* of every object */
};

/* Generations count from `first`, so that the objects of two pools in turn do not look alike. */
int pool_open(struct pool *, size_t object_size, uint32_t capacity, uint32_t generations, uint32_t first);
void pool_close(struct pool *);

/* An object, zeroed behind its pool_item up to `zeroed` (all of it by default), or NULL if `capacity` are alive. */
void *pool_take(struct pool *);
void pool_give(struct pool *, void *object);

/* The live object of that index and generation, or NULL. */
static inline void *pool_find(const struct pool *pool, uint32_t index, uint32_t generation)
{
	if (index >= pool->used)
		return NULL;
	struct pool_item *item = (struct pool_item *)(pool->objects + (size_t)index * pool->object_size);
	return item->live && atomic_load_explicit(&item->generation, memory_order_relaxed) == generation ? item : NULL;
}

/* Walks the live objects: start with *index = 0; NULL at the end. */
void *pool_next(const struct pool *, uint32_t *index);

#endif
