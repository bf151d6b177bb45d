/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Match lists: one per portal table entry, walked from the head; the first entry that matches and whose descriptor
 * accepts wins.  Pure: no locks, no input or output; engine only.
 *
 * Every entry carries an order label, increasing from head to tail, so that the order of two entries can be told
 * without walking.
 */
#ifndef PORTALS_OFFLOAD_MATCH_H
#define PORTALS_OFFLOAD_MATCH_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/pool.h"

struct descriptor;
struct match_list;

struct match_entry {
	struct pool_item item;
	struct match_entry *next, *previous;
	uint64_t match_bits, must_match; /* must_match: the complement of the ignore bits */
	ptl_process_id_t source;         /* either half may be a wildcard */
	struct descriptor *descriptor;   /* or NULL: matches nothing */
	struct match_list *list;
	uint64_t label;
	uint32_t handle;
	bool unlink; /* goes when its descriptor is unlinked */
};

struct match_list {
	struct match_entry *head, *tail;
	uint32_t length, greatest_length;
};

/* Inserts before or after `base`; with base NULL before the head or after the tail. */
void match_list_insert(struct match_list *, struct match_entry *entry, struct match_entry *base, ptl_ins_pos_t);
void match_list_remove(struct match_entry *);

/* Does a request with these bits, from this process, satisfy the entry?  (Portals 3.3, address translation.) */
static inline bool match_entry_matches(const struct match_entry *me, ptl_process_id_t from, uint64_t bits)
{
	return ((bits ^ me->match_bits) & me->must_match) == 0 &&
	       (me->source.nid == from.nid || me->source.nid == PTL_NID_ANY) &&
	       (me->source.pid == from.pid || me->source.pid == PTL_PID_ANY);
}

#endif
