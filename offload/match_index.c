/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/match_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

/* What the entries of a class look at.  The wildcards are masks as well: all bits, or none. */
struct match_class {
	uint64_t must_match;
	uint64_t must_be_from; /* nid above, pid below */
	uint32_t members;
};

struct match_index {
	unsigned classes;
	struct match_class kind[MATCH_CLASSES];
	struct match_entry *rest; /* first entry of those without a class */
	uint32_t rest_length, groups;
	uint32_t mask; /* of buckets */
	struct match_entry **buckets;
};

static uint64_t source_key(ptl_process_id_t id)
{
	return (uint64_t)id.nid << 32 | id.pid;
}

static uint64_t source_mask(ptl_process_id_t id)
{
	return (id.nid == PTL_NID_ANY ? 0 : UINT64_C(0xffffffff) << 32) |
	       (id.pid == PTL_PID_ANY ? 0 : UINT64_C(0xffffffff));
}

static uint64_t scatter(uint64_t key)
{
	key *= UINT64_C(0x9E3779B97F4A7C15);
	return key ^ key >> 32;
}

static struct match_entry **bucket_of(const struct match_index *index, unsigned kind, uint64_t bits, uint64_t source)
{
	const struct match_class *fields = &index->kind[kind];
	uint64_t hash = scatter(scatter((bits & fields->must_match) + kind) + (source & fields->must_be_from));

	return &index->buckets[(uint32_t)scatter(hash) & index->mask];
}

/* Where the first entry of the group with these values hangs, or would: then *link is NULL. */
static struct match_entry **find_group(struct match_index *index, unsigned kind, uint64_t bits, uint64_t source)
{
	const struct match_class *fields = &index->kind[kind];
	struct match_entry **link = bucket_of(index, kind, bits, source);

	while (*link && ((*link)->kind != kind || (((*link)->match_bits ^ bits) & fields->must_match) != 0 ||
			 ((source_key((*link)->source) ^ source) & fields->must_be_from) != 0))
		link = &(*link)->next_group;
	return link;
}

static struct match_entry **group_of(struct match_index *index, const struct match_entry *entry)
{
	return entry->kind == MATCH_CLASSES
		       ? &index->rest
		       : find_group(index, entry->kind, entry->match_bits, source_key(entry->source));
}

/* --- groups --- */

static bool same_group(const struct match_index *index, const struct match_entry *a, const struct match_entry *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == MATCH_CLASSES)
		return true;
	const struct match_class *fields = &index->kind[a->kind];

	return ((a->match_bits ^ b->match_bits) & fields->must_match) == 0 &&
	       ((source_key(a->source) ^ source_key(b->source)) & fields->must_be_from) == 0;
}

/* The entry of its group before which this one goes, NULL: behind the last.  Whatever is nearest tells, see match_index.h. */
static struct match_entry *find_successor(const struct match_index *index, struct match_entry *first,
					  const struct match_entry *entry)
{
	struct match_entry *front = first, *back = first->group_tail;
	struct match_entry *before = entry->previous, *after = entry->next;

	for (;;) {
		if (back->label < entry->label)
			return back->group_next;
		if (front->label > entry->label)
			return front;
		if (before && same_group(index, before, entry))
			return before->group_next;
		if (after && same_group(index, after, entry))
			return after;
		back = back->group_previous;
		front = front->group_next;
		before = before ? before->previous : NULL;
		after = after ? after->next : NULL;
	}
}

static void begin_group(struct match_entry **link, struct match_entry *entry)
{
	entry->group_next = entry->group_previous = entry->next_group = NULL;
	entry->group_tail = entry;
	*link = entry;
}

static void join_group(const struct match_index *index, struct match_entry **link, struct match_entry *entry)
{
	struct match_entry *first = *link, *successor = find_successor(index, first, entry);

	entry->group_next = successor;
	entry->group_previous = successor ? successor->group_previous : first->group_tail;
	if (successor)
		successor->group_previous = entry;
	else
		first->group_tail = entry;
	if (successor != first) {
		entry->group_previous->group_next = entry;
		return;
	}
	entry->group_tail = first->group_tail;
	entry->next_group = first->next_group;
	*link = entry;
}

static void leave_group(struct match_entry **link, struct match_entry *entry)
{
	struct match_entry *first = *link, *next = entry->group_next;

	if (next)
		next->group_previous = entry->group_previous;
	else
		first->group_tail = entry->group_previous;
	if (entry->group_previous) {
		entry->group_previous->group_next = next;
		return;
	}
	if (next) {
		next->group_tail = entry->group_tail;
		next->next_group = entry->next_group;
	}
	*link = next ? next : entry->next_group;
}

/* --- the index --- */

/* Longer chains cost time, never correctness: without memory the table stays as it is. */
static void grow(struct match_index *index)
{
	uint32_t old_size = index->mask + 1;
	struct match_entry **old = index->buckets,
			   **buckets = calloc(2 * (size_t)old_size, sizeof(struct match_entry *));

	if (!buckets)
		return;
	index->buckets = buckets;
	index->mask = 2 * old_size - 1;
	for (uint32_t i = 0; i < old_size; i++) {
		for (struct match_entry *first = old[i], *next; first; first = next) {
			struct match_entry **bucket =
				bucket_of(index, first->kind, first->match_bits, source_key(first->source));

			next = first->next_group;
			first->next_group = *bucket;
			*bucket = first;
		}
	}
	free(old);
}

static uint8_t class_of(const struct match_index *index, const struct match_entry *entry)
{
	uint64_t source = source_mask(entry->source);
	uint8_t kind = 0;

	while (kind < index->classes &&
	       (index->kind[kind].must_match != entry->must_match || index->kind[kind].must_be_from != source))
		kind++;
	return kind < index->classes ? kind : MATCH_CLASSES;
}

void match_index_insert(struct match_index *index, struct match_entry *entry)
{
	entry->kind = class_of(index, entry);
	if (entry->kind == MATCH_CLASSES)
		index->rest_length++;
	struct match_entry **link = group_of(index, entry);

	if (*link) {
		join_group(index, link, entry);
		return;
	}
	begin_group(link, entry);
	if (entry->kind != MATCH_CLASSES && ++index->groups > index->mask)
		grow(index);
}

void match_index_remove(struct match_index *index, struct match_entry *entry)
{
	bool alone = entry->group_next == NULL && entry->group_previous == NULL;

	/* Only the ends of a group need to know where it hangs. */
	if (entry->group_next && entry->group_previous) {
		entry->group_next->group_previous = entry->group_previous;
		entry->group_previous->group_next = entry->group_next;
	} else {
		leave_group(group_of(index, entry), entry);
	}
	if (entry->kind == MATCH_CLASSES)
		index->rest_length--;
	else if (alone)
		index->groups--;
}

/* Misra and Gries: every class with more than a (MATCH_CLASSES + 1)th of the entries keeps its row. */
static void note_class(struct match_index *index, uint32_t *weights, const struct match_entry *entry)
{
	uint8_t kind = class_of(index, entry);

	if (kind < index->classes) {
		weights[kind]++;
		return;
	}
	for (kind = 0; kind < index->classes && weights[kind] > 0;)
		kind++;
	if (kind < MATCH_CLASSES) {
		index->kind[kind] = (struct match_class){.must_match = entry->must_match,
							 .must_be_from = source_mask(entry->source)};
		weights[kind] = 1;
		index->classes = kind < index->classes ? index->classes : kind + 1u;
		return;
	}
	for (kind = 0; kind < MATCH_CLASSES; kind++)
		weights[kind]--;
}

struct match_index *match_index_make(const struct match_list *list)
{
	struct match_index *index = calloc(1, sizeof(*index));
	uint32_t weights[MATCH_CLASSES] = {0};

	if (!index)
		return NULL;
	index->mask = FIRST_BUCKETS - 1;
	index->buckets = calloc(FIRST_BUCKETS, sizeof(struct match_entry *));
	if (!index->buckets) {
		free(index);
		return NULL;
	}
	for (struct match_entry *me = list->head; me; me = me->next)
		note_class(index, weights, me);
	for (struct match_entry *me = list->head; me; me = me->next)
		match_index_insert(index, me);
	return index;
}

void match_index_free(struct match_index *index)
{
	if (index)
		free(index->buckets);
	free(index);
}

unsigned match_index_classes(const struct match_index *index)
{
	return index->classes;
}

uint32_t match_index_rest(const struct match_index *index)
{
	return index->rest_length;
}

/* --- searching --- */

/* Of each group the first entry behind those that were walked. */
static void find_candidates(struct match_index *index, struct match_search *search)
{
	uint64_t source = source_key(search->from), walked = search->next->label;

	for (unsigned kind = 0; kind <= index->classes; kind++) {
		bool rest = kind == index->classes;
		struct match_entry *me = rest ? index->rest : *find_group(index, kind, search->bits, source);

		while (me && me->label < walked)
			me = me->group_next;
		search->candidates[kind] = me;
	}
	search->indexed = true;
}

/* Of the entries without a class only those before `found` are looked at. */
static void walk_rest(struct match_search *search, struct match_entry **rest, const struct match_entry *found)
{
	struct match_entry *me = *rest;

	while (me && (!found || me->label < found->label) && !match_entry_matches(me, search->from, search->bits)) {
		me = me->group_next;
		search->walked++;
		search->unindexed++;
	}
	*rest = me;
}

struct match_entry *match_next_indexed(struct match_search *search)
{
	struct match_index *index = search->list->index;
	struct match_entry *found = NULL;
	unsigned from = 0;

	if (!search->indexed)
		find_candidates(index, search);
	for (unsigned kind = 0; kind < index->classes; kind++) {
		struct match_entry *me = search->candidates[kind];

		if (me && (!found || me->label < found->label)) {
			found = me;
			from = kind;
		}
	}
	struct match_entry **rest = &search->candidates[index->classes];

	walk_rest(search, rest, found);
	if (*rest && (!found || (*rest)->label < found->label)) {
		found = *rest;
		from = index->classes;
	}
	if (!found) {
		search->next = NULL;
		return NULL;
	}
	search->candidates[from] = found->group_next;
	search->walked += from < index->classes;
	return found;
}
