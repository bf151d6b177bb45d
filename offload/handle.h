/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles: 32-bit numbers that say what they name.
 *
 *     31 30 | 29 ... 19  | 18 .. 16  | 15 ... 0
 *     kind  | generation | interface | index
 *
 * Generations run from 1 to 2046, so no handle looks like PTL_INVALID_HANDLE, PTL_HANDLE_NONE or PTL_EQ_NONE, whose
 * generation bits are all ones.  A handle of another kind, interface or generation finds nothing.
 */
#ifndef PORTALS_OFFLOAD_HANDLE_H
#define PORTALS_OFFLOAD_HANDLE_H

#include "offload/descriptor.h"
#include "offload/match.h"
#include "offload/nic.h"
#include "offload/refusal.h"

#define MAX_INTERFACES 8

enum handle_kind { HANDLE_NI, HANDLE_ME, HANDLE_MD, HANDLE_EQ };

static inline uint32_t handle_make(enum handle_kind kind, uint32_t interface, uint32_t index, uint32_t generation)
{
	return (uint32_t)kind << 30 | generation << 19 | interface << 16 | index;
}

static inline enum handle_kind handle_kind(uint32_t handle)
{
	return (enum handle_kind)(handle >> 30);
}

static inline uint32_t handle_generation(uint32_t handle)
{
	return handle >> 19 & 0x7ff;
}

static inline uint32_t handle_interface(uint32_t handle)
{
	return handle >> 16 & 7;
}

static inline uint32_t handle_index(uint32_t handle)
{
	return handle & 0xffff;
}

/* Handle of a pooled object. */
uint32_t handle_of(const struct nic *, enum handle_kind, const struct pool_item *);

/* The object behind a handle, or NULL; under ownership. */
struct match_entry *handle_me(struct nic *, ptl_handle_me_t);
struct descriptor *handle_md(struct nic *, ptl_handle_md_t);
struct event_queue *handle_eq(struct nic *, ptl_handle_eq_t);

/* The same for queues without ownership: the memory of a queue stays one, its generation tells whether it is alive. */
struct event_queue *handle_eq_unowned(struct nic *, ptl_handle_eq_t);

/* Refused with one of the PTL_*_INVALID codes, reported: `handle` is no live object of the kind that the code names. */
int handle_refuse(int code, ptl_handle_any_t handle);

#endif
