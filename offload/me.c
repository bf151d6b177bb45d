/* SPDX-License-Identifier: BSD-3-Clause */
/* Match entries: what is done to them under ownership. */
#include "offload/me.h"

#include "base/report.h"
#include "offload/handle.h"
#include "offload/trace.h"

static int create(struct nic *nic, struct me_arguments *arguments, struct match_list *list, struct match_entry *base)
{
	struct match_entry *me;

	if (list->length >= (uint32_t)nic->limits.max_me_list)
		return report_error(refusal(PTL_ME_LIST_TOO_LONG),
				    "the list has %u match entries, more are not allowed (max_me_list)", list->length);
	if (nic->objects.entries.live >= (uint32_t)nic->limits.max_mes || !(me = pool_take(&nic->objects.entries)))
		return pool_refuse(&nic->objects.entries, nic->limits.max_mes, "match entries", "max_mes");
	me->match_bits = arguments->match_bits;
	me->must_match = ~arguments->ignore_bits;
	me->source = arguments->match_id;
	me->unlink = arguments->unlink == PTL_UNLINK;
	me->handle = arguments->handle = handle_of(nic, HANDLE_ME, &me->item);
	match_list_insert(list, me, base, arguments->position);
	trace(nic, PTL_DBG_ME, "me 0x%x, bits 0x%llx, index %td", me->handle, (unsigned long long)me->match_bits,
	      list - nic->objects.portals);
	return 0;
}

int me_attach(struct nic *nic, void *arguments)
{
	struct me_arguments *me = arguments;

	return create(nic, me, &nic->objects.portals[me->pt_index], NULL);
}

int me_attach_any(struct nic *nic, void *arguments)
{
	struct me_arguments *me = arguments;

	for (me->pt_index = 0; me->pt_index <= (uint32_t)nic->limits.max_pt_index; me->pt_index++)
		if (!nic->objects.portals[me->pt_index].head)
			return create(nic, me, &nic->objects.portals[me->pt_index], NULL);
	return report_error(refusal(PTL_PT_FULL), "all %d portal table entries have match entries",
			    nic->limits.max_pt_index + 1);
}

int me_insert(struct nic *nic, void *arguments)
{
	struct me_arguments *me = arguments;
	struct match_entry *base = handle_me(nic, me->base);

	return base ? create(nic, me, base->list, base) : handle_refuse(PTL_ME_INVALID, me->base);
}

int me_unlink(struct nic *nic, void *arguments)
{
	struct match_entry *me = handle_me(nic, *(ptl_handle_me_t *)arguments);

	if (!me)
		return handle_refuse(PTL_ME_INVALID, *(ptl_handle_me_t *)arguments);
	if (me->descriptor && me->descriptor->pending > 0)
		return report_nothing(refusal(PTL_ME_IN_USE));
	if (me->descriptor) {
		descriptor_unlink(nic, me->descriptor, true);
	} else {
		trace(nic, PTL_DBG_UNLINK, "me 0x%x", me->handle);
		match_list_remove(me);
		pool_give(&nic->objects.entries, me);
	}
	return 0;
}
