/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/match.h"

/* Room left between neighbours, so that about 2^32 appends and 32 bisections of one gap need no relabelling. */
#define LABEL_GAP   (UINT64_C(1) << 31)
#define LABEL_FIRST (UINT64_C(1) << 62)

static void relabel(struct match_list *list)
{
	uint64_t label = LABEL_FIRST;

	for (struct match_entry *me = list->head; me; me = me->next)
		me->label = label += LABEL_GAP;
}

/* Gives a linked entry a label between its neighbours' or, if none is left, everyone a new one. */
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
}

void match_list_remove(struct match_entry *entry)
{
	struct match_list *list = entry->list;

	*(entry->previous ? &entry->previous->next : &list->head) = entry->next;
	*(entry->next ? &entry->next->previous : &list->tail) = entry->previous;
	entry->list = NULL;
	list->length--;
}
