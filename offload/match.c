/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/match.h"

#include "offload/match_index.h"

/*
 * An index costs a few times what walking the list once costs, so it is made when searches have walked INDEX_PAYS times
 * its length, of lists that are longer than it takes a search to find out; the next one, for other classes, likewise.
 */
#define INDEX_PAYS  16
#define INDEX_FROM  (4 * MATCH_GLANCE)
#define NO_PATIENCE 32 /* doublings of the price after which no more is tried */

/* Room left between neighbours, so that about 2^32 appends and 32 bisections of one gap need no relabelling. */
#define LABEL_GAP   (UINT64_C(1) << 31)
#define LABEL_FIRST (UINT64_C(1) << 62)

static void relabel(struct match_list *list)
{
	uint64_t label = LABEL_FIRST;

	for (struct match_entry *me = list->head; me; me = me->next)
		me->label = label += LABEL_GAP;
}

/* Gives a linked entry a label between its neighbours' or, if none is left, every entry a new one. */
static void label_entry(struct match_list *list, struct match_entry *entry)
{
	uint64_t below = entry->previous ? entry->previous->label : 0;
	uint64_t above = entry->next ? entry->next->label : UINT64_MAX;

	if (!entry->previous && !entry->next)
		entry->label = LABEL_FIRST;
	else if (!entry->next && below < UINT64_MAX - LABEL_GAP)
		entry->label = below + LABEL_GAP;
	else if (!entry->previous && above > LABEL_GAP)
		entry->label = above - LABEL_GAP;
	else if (above - below > 1)
		entry->label = below + (above - below) / 2;
	else
		relabel(list);
}

void match_list_insert(struct match_list *list, struct match_entry *entry, struct match_entry *base,
		       ptl_ins_pos_t position)
{
	struct match_entry *previous;

	if (base)
		previous = position == PTL_INS_AFTER ? base : base->previous;
	else
		previous = position == PTL_INS_AFTER ? list->tail : NULL;
	entry->list = list;
	entry->previous = previous;
	entry->next = previous ? previous->next : list->head;
	*(previous ? &previous->next : &list->head) = entry;
	*(entry->next ? &entry->next->previous : &list->tail) = entry;
	label_entry(list, entry);
	if (++list->length > list->greatest_length)
		list->greatest_length = list->length;
	if (unlikely(list->index != NULL))
		match_index_insert(list->index, entry);
}

/* Without an index, and as if nothing had been walked. */
static void forget_index(struct match_list *list)
{
	match_index_free(list->index);
	list->index = NULL;
	list->patience = 0;
	list->walked = 0;
}

void match_list_remove(struct match_entry *entry)
{
	struct match_list *list = entry->list;

	if (unlikely(list->index != NULL))
		match_index_remove(list->index, entry);
	*(entry->previous ? &entry->previous->next : &list->head) = entry->next;
	*(entry->next ? &entry->next->previous : &list->tail) = entry->previous;
	entry->list = NULL;
	if (--list->length == 0)
		match_list_free(list);
}

void match_list_free(struct match_list *list)
{
	forget_index(list);
	list->doublings = 0;
}

static void make_index(struct match_list *list)
{
	uint32_t rest = list->index ? match_index_rest(list->index) : list->length;

	forget_index(list);
	list->index = match_index_make(list);
	if (list->index)
		list->patience = 1 + MATCH_GLANCE + match_index_classes(list->index);
	if (!list->index || match_index_rest(list->index) > rest / 2)
		list->doublings++;
	else
		list->doublings = 0;
}

void match_account(const struct match_search *search)
{
	struct match_list *list = search->list;

	if (list->length < INDEX_FROM || list->doublings > NO_PATIENCE)
		return;
	list->walked += list->index ? search->unindexed : search->walked;
	if (list->walked > (uint64_t)list->length * INDEX_PAYS << list->doublings)
		make_index(list);
}
