/* SPDX-License-Identifier: BSD-3-Clause */
/* Match entries.  Each call is one command to the engine (offload/me.c). */
#include "offload/me.h"
#include "portals/commands.h"
#include "portals/refuse.h"

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
	int code = commands_post_receive(nic, me_attach_any, &arguments, PTL_FAIL);

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
