/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Match lists: one per portal table entry.  A search gives the entries that match a request in list order, from the
 * head; the first whose descriptor accepts wins.  Pure: no locks, no input or output; engine only.
 *
 * Every entry carries an order label, increasing from head to tail, so that the order of two entries can be told
 * without walking.  Lists that are walked far again and again get an index (match_index.h), which changes what a
 * search costs and never what it finds.
 */
#ifndef PORTALS_OFFLOAD_MATCH_H
#define PORTALS_OFFLOAD_MATCH_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"
#include "offload/pool.h"

/* Entries that a search may walk without a note of it. */
#define MATCH_GLANCE 8

/* Classes of entries that an index tells apart; the rest of the list it walks. */
#define MATCH_CLASSES 32

struct descriptor;
struct match_index;
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

	/* Of the list's index, if it has one. */
	uint8_t kind;                                    /* or MATCH_CLASSES */
	struct match_entry *group_next, *group_previous; /* entries of one key, in list order */
	struct match_entry *group_tail, *next_group;     /* of the first of a group only */
};

struct match_list {
	struct match_entry *head, *tail;
	uint32_t length, greatest_length;
	uint32_t patience;         /* entries that a search walks before it asks the index, and 1; 0: there is none */
	unsigned doublings;        /* of the price of the next index: the last one did not help */
	uint64_t walked;           /* entries that searches have looked at since the last index was made */
	struct match_index *index; /* or NULL */
};

/* Inserts before or after `base`; with base NULL before the head or after the tail. */
void match_list_insert(struct match_list *, struct match_entry *entry, struct match_entry *base, ptl_ins_pos_t);
void match_list_remove(struct match_entry *);

/* Gives back what the list holds besides its entries. */
void match_list_free(struct match_list *);

/* Does a request with these bits, from this process, satisfy the entry?  (Portals 3.3, address translation.) */
static inline bool match_entry_matches(const struct match_entry *me, ptl_process_id_t from, uint64_t bits)
{
	return ((bits ^ me->match_bits) & me->must_match) == 0 &&
	       (me->source.nid == from.nid || me->source.nid == PTL_NID_ANY) &&
	       (me->source.pid == from.pid || me->source.pid == PTL_PID_ANY);
}

/*
 * A search walks the first entries, where most receives are found.  If the list has an index, it is asked after so many of
 * them as cost about what it costs: a search takes at worst twice as long as the better of the two ways.
 */
struct match_search {
	struct match_list *list;
	ptl_process_id_t from;
	uint64_t bits;
	struct match_entry *next; /* to be walked next; NULL: the end */
	uint32_t left;            /* to be walked before the index goes on */
	uint32_t walked;          /* entries looked at, */
	uint32_t unindexed;       /* and those of them that the index should know and does not */
	bool indexed;             /* the candidates are set */
	struct match_entry *candidates[MATCH_CLASSES + 1];
};

/* The rest of match_next(): what the index knows of entries behind `next`. */
struct match_entry *match_next_indexed(struct match_search *);

/* See match_end(). */
void match_account(const struct match_search *);

static inline void match_begin(struct match_search *search, struct match_list *list, ptl_process_id_t from,
			       uint64_t bits)
{
	search->list = list;
	search->from = from;
	search->bits = bits;
	search->next = list->head;
	search->left = list->patience - 1; /* without an index, more than there are */
	search->walked = search->unindexed = 0;
	search->indexed = false;
}

/* The next entry that matches, or NULL.  The list must not change during a search. */
static inline struct match_entry *match_next(struct match_search *search)
{
	while (search->next && search->left > 0) {
		struct match_entry *me = search->next;

		search->next = me->next;
		search->left--;
		search->walked++;
		if (match_entry_matches(me, search->from, search->bits))
			return me;
	}
	return likely(!search->next) ? NULL : match_next_indexed(search);
}

/* The search is over.  What it cost decides whether the list gets an index, or a better one. */
static inline void match_end(const struct match_search *search)
{
	if (unlikely(search->walked > MATCH_GLANCE))
		match_account(search);
}

#endif
