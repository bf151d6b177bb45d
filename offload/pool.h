/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of equal objects behind numbers: match entries, descriptors, event queues, operations.
 *
 * Type-stable: address space for the most there may ever be is reserved at once and touched lazily, so an index is
 * an address without a look-up and a stale index always points at an object of the right type, whose generation
 * then tells that it is not the one meant.
 *
 * An object's number is its index and its generation, which changes when it is freed.  An index has its turn, in which it
 * goes through all generations, and then it rests: for POOL_REST_NS, and until all others that are free have had theirs.
 * So a dead number does not name anything else before that time is over, nor before `generations` allocations for each
 * index that is free, but for POOL_RESERVE: capacity * generations where few objects live.  If every free index has rested
 * less than that, no object is to be had: for a program that keeps nearly all and replaces the rest thousands of times
 * a second.
 *
 * Within its turn an index is reused first-in first-out, once POOL_RESERVE of them wait.  What is in its turn is
 * therefore few and close together.  When a whole group of neighbours rests its memory goes back to the system.  Each index
 * is one of these: never used (>= used), live, in the list of the free, in the ring of the resting.
 */
#ifndef PORTALS_OFFLOAD_POOL_H
#define PORTALS_OFFLOAD_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_RESERVE 256
#define POOL_GROUP   256 /* neighbours, whose memory comes and goes together */
#define POOL_REST_NS UINT64_C(1000000000)
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
	uint32_t capacity, used; /* used: indexes that have had a turn, or have it */
	uint32_t live, free_count;
	uint32_t free_head, free_tail;
	uint32_t generations; /* generations run from 1 to this */
	uint32_t first;       /* of every turn */
	bool restless;        /* a turn follows the other at once: of numbers that only our own peers can name */
	uint16_t *busy;       /* of each group, how many are in their turn */
	uint64_t *resting;    /* a ring: since when, and in the lowest bits the index */
	uint32_t rest_head, rest_count;
};

/* Turns begin with generation `first`, so that the objects of two pools in turn do not look alike. */
int pool_open(struct pool *, size_t object_size, uint32_t capacity, uint32_t generations, uint32_t first);
void pool_close(struct pool *);

/* An object, zeroed behind its pool_item up to `zeroed` (all of it by default), or NULL: `capacity` live, or the others rest. */
void *pool_take(struct pool *);
bool pool_is_empty(const struct pool *); /* would pool_take() give none? */
void pool_give(struct pool *, void *object);

/* -ENOSPC, with a report on why there is none: "match entries", of which the limit "max_mes" allows `most`. */
int pool_refuse(const struct pool *, int most, const char *objects, const char *limit);

/* The live object of that index and generation, or NULL. */
static inline void *pool_find(const struct pool *pool, uint32_t index, uint32_t generation)
{
	if (index >= pool->used)
		return NULL;
	struct pool_item *item = (struct pool_item *)(pool->objects + (size_t)index * pool->object_size);
	return item->live && atomic_load_explicit(&item->generation, memory_order_relaxed) == generation ? item : NULL;
}

/* The most generations that an index has gone through in its present turn. */
uint32_t pool_spent(const struct pool *);

/* Walks the live objects: start with *index = 0; NULL at the end. */
void *pool_next(const struct pool *, uint32_t *index);

#endif
