/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index of a long match list.
 *
 * Entries that ignore the same bits and leave open the same halves of the source form a class: of a request they all
 * look at the same fields.  Within a class those fields are a key, and all entries of one key are a group, in list order, found by
 * hashing.  The first match of a list is then the first (by its label) of the first entries of at most one group a class.
 *
 * Each class costs every search a look-up, so only MATCH_CLASSES have a row: those that have the most entries when the index
 * is made, if one has more than its share (Misra and Gries' heavy hitters).  Entries of all other classes are one more
 * group, which searches walk.  When they walk it too much, a new index is made for the classes of that time
 * (match_account()).  So a list whose entries all ignore different bits costs what walking it costs.
 *
 * Inserting into a group and removing from it take constant time, but for an entry that is put in the middle of its group:
 * its place is sought from both ends of the group and outward from the entry in the list at once.
 */
#ifndef PORTALS_OFFLOAD_MATCH_INDEX_H
#define PORTALS_OFFLOAD_MATCH_INDEX_H

#include "offload/match.h"

/* Of all entries of the list.  NULL: no memory. */
struct match_index *match_index_make(const struct match_list *);
void match_index_free(struct match_index *);

/* An entry that has its place in the list, or still has it. */
void match_index_insert(struct match_index *, struct match_entry *);
void match_index_remove(struct match_index *, struct match_entry *);

/* Look-ups that a search takes. */
unsigned match_index_classes(const struct match_index *);
/* Entries that searches have to walk. */
uint32_t match_index_rest(const struct match_index *);

#endif
