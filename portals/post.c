/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting a receive in one step: one command to the engine (offload/post.c). */
#include "offload/post.h"
#include "portals/commands.h"
#include "portals/refuse.h"

static int run(ptl_handle_ni_t ni_handle, struct post_arguments *arguments, ptl_handle_me_t *me_handle,
	       ptl_handle_md_t *md_handle)
{
	struct nic *nic;

	if (!me_handle || !md_handle)
		return refuse_null("me_handle or md_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	if (arguments->me.pt_index > (uint32_t)nic->limits.max_pt_index)
		return refuse_pt_index(nic, arguments->me.pt_index);
	int code = commands_post_receive(nic, post_entry, arguments, PTL_MD_ILLEGAL);

	code = commands_queue_code(nic, code, arguments->md.foreign_queue, arguments->md.md->eq_handle);
	if (code == PTL_OK) {
		*me_handle = arguments->me.handle;
		*md_handle = arguments->md.handle;
	}
	return code;
}

int PtlMEMDPost(ptl_handle_ni_t ni_handle, ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink_op, ptl_ins_pos_t position, ptl_md_t md,
		ptl_unlink_t md_unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle,
		ptl_handle_eq_t eq_handle)
{
	struct post_arguments arguments = {.make_entry = me_insert,
					   .me = {.base = base,
						  .match_id = match_id,
						  .match_bits = match_bits,
						  .ignore_bits = ignore_bits,
						  .unlink = me_unlink_op,
						  .position = position},
					   .md = {.md = &md, .unlink = md_unlink_op},
					   .test_queue = eq_handle};

	return run(ni_handle, &arguments, me_handle, md_handle);
}

int PtlMEMDInsert(ptl_handle_ni_t ni_handle, ptl_handle_me_t base, ptl_process_id_t match_id,
		  ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink_op,
		  ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t md_unlink_op, ptl_handle_me_t *me_handle,
		  ptl_handle_md_t *md_handle)
{
	return PtlMEMDPost(ni_handle, base, match_id, match_bits, ignore_bits, me_unlink_op, position, md, md_unlink_op,
			   me_handle, md_handle, PTL_EQ_NONE);
}

int PtlMEMDAttach(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		  ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink_op,
		  ptl_ins_pos_t position, ptl_md_t md, ptl_unlink_t md_unlink_op, ptl_handle_me_t *me_handle,
		  ptl_handle_md_t *md_handle)
{
	struct post_arguments arguments = {.make_entry = me_attach,
					   .me = {.pt_index = pt_index,
						  .match_id = match_id,
						  .match_bits = match_bits,
						  .ignore_bits = ignore_bits,
						  .unlink = me_unlink_op,
						  .position = position},
					   .md = {.md = &md, .unlink = md_unlink_op},
					   .test_queue = PTL_EQ_NONE};

	return run(ni_handle, &arguments, me_handle, md_handle);
}
