/* SPDX-License-Identifier: BSD-3-Clause */
/* Match entries.  Each call is one command to the engine. */
#include <errno.h>

#include "base/report.h"
#include "offload/trace.h"
#include "portals/commands.h"
#include "portals/refuse.h"

static int create(struct nic *nic, struct me_arguments *arguments, struct match_list *list, struct match_entry *base)
{
	struct match_entry *me;

	if (list->length >= (uint32_t)nic->limits.max_me_list)
		return report_error(PTL_ME_LIST_TOO_LONG,
				    "the list has %u match entries, more are not allowed (max_me_list)", list->length);
	if (nic->entries.live >= (uint32_t)nic->limits.max_mes || !(me = pool_take(&nic->entries)))
		return pool_refuse(&nic->entries, nic->limits.max_mes, "match entries", "max_mes");
	me->match_bits = arguments->match_bits;
	me->must_match = ~arguments->ignore_bits;
	me->source = arguments->match_id;
	me->unlink = arguments->unlink == PTL_UNLINK;
	me->handle = arguments->handle = handle_of(nic, HANDLE_ME, &me->item);
	match_list_insert(list, me, base, arguments->position);
	trace(nic, PTL_DBG_ME, "me 0x%x, bits 0x%llx, index %td", me->handle, (unsigned long long)me->match_bits,
	      list - nic->portals);
	return PTL_OK;
}

int me_attach(struct nic *nic, void *arguments)
{
	struct me_arguments *me = arguments;

	return create(nic, me, &nic->portals[me->pt_index], NULL);
}

static int attach_any(struct nic *nic, void *arguments)
{
	struct me_arguments *me = arguments;

	for (me->pt_index = 0; me->pt_index <= (uint32_t)nic->limits.max_pt_index; me->pt_index++)
		if (!nic->portals[me->pt_index].head)
			return create(nic, me, &nic->portals[me->pt_index], NULL);
	return report_error(PTL_PT_FULL, "all %d portal table entries have match entries",
			    nic->limits.max_pt_index + 1);
}

int me_insert(struct nic *nic, void *arguments)
{
	struct me_arguments *me = arguments;
	struct match_entry *base = handle_me(nic, me->base);

	return base ? create(nic, me, base->list, base) : refuse_handle(PTL_ME_INVALID, me->base);
}

int me_unlink(struct nic *nic, void *arguments)
{
	struct match_entry *me = handle_me(nic, *(ptl_handle_me_t *)arguments);

	if (!me)
		return refuse_handle(PTL_ME_INVALID, *(ptl_handle_me_t *)arguments);
	if (me->descriptor && me->descriptor->pending > 0)
		return report_nothing(PTL_ME_IN_USE);
	if (me->descriptor) {
		descriptor_unlink(nic, me->descriptor, true);
	} else {
		trace(nic, PTL_DBG_UNLINK, "me 0x%x", me->handle);
		match_list_remove(me);
		pool_give(&nic->entries, me);
	}
	return PTL_OK;
}

int PtlMEAttach(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me_handle)
{
	struct me_arguments arguments = {.pt_index = pt_index,
					 .match_id = match_id,
					 .match_bits = match_bits,
					 .ignore_bits = ignore_bits,
					 .unlink = unlink,
					 .position = position};
	struct nic *nic;

	if (!me_handle)
		return refuse_null("me_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	if (pt_index > (uint32_t)nic->limits.max_pt_index)
		return refuse_pt_index(nic, pt_index);
	int code = commands_post_receive(nic, me_attach, &arguments, PTL_FAIL);

	if (code == PTL_OK)
		*me_handle = arguments.handle;
	return code;
}

int PtlMEAttachAny(ptl_handle_ni_t ni_handle, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
		   ptl_handle_me_t *me_handle)
{
	struct me_arguments arguments = {.match_id = match_id,
					 .match_bits = match_bits,
					 .ignore_bits = ignore_bits,
					 .unlink = unlink,
					 .position = PTL_INS_AFTER};
	struct nic *nic;

	if (!me_handle || !pt_index)
		return refuse_null("me_handle or pt_index");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	int code = commands_post_receive(nic, attach_any, &arguments, PTL_FAIL);

	if (code == PTL_OK) {
		*pt_index = arguments.pt_index;
		*me_handle = arguments.handle;
	}
	return code;
}

int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me_handle)
{
	struct me_arguments arguments = {.base = base,
					 .match_id = match_id,
					 .match_bits = match_bits,
					 .ignore_bits = ignore_bits,
					 .unlink = unlink,
					 .position = position};
	struct nic *nic;

	if (!me_handle)
		return refuse_null("me_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(base)))
		return refuse_handle(PTL_ME_INVALID, base);
	int code = commands_post_receive(nic, me_insert, &arguments, PTL_FAIL);

	if (code == PTL_OK)
		*me_handle = arguments.handle;
	return code;
}

int PtlMEUnlink(ptl_handle_me_t me_handle)
{
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(me_handle)))
		return refuse_handle(PTL_ME_INVALID, me_handle);
	return process_code(nic_call(nic, me_unlink, &me_handle), PTL_FAIL);
}
