/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting a receive in one step: entry, descriptor, and the test that no message came before.  With separate calls a
 * message could match the entry before its descriptor is there, or arrive unexpected between the test and the posting.
 */
#include "portals/commands.h"
#include "portals/refuse.h"

struct post_arguments {
	nic_command *make_entry; /* me_attach or me_insert */
	struct me_arguments me;
	struct md_arguments md;
	ptl_handle_eq_t test_queue;
};

/* The list the entry is to go to, or NULL. */
static struct match_list *list_for(struct nic *nic, const struct post_arguments *post)
{
	if (post->make_entry == me_attach)
		return &nic->portals[post->me.pt_index];
	const struct match_entry *base = handle_me(nic, post->me.base);
	return base ? base->list : NULL;
}

static int post(struct nic *nic, void *argument)
{
	struct post_arguments *post = argument;
	struct match_list *list = list_for(nic, post);

	if (!list)
		return refuse_handle(PTL_ME_INVALID, post->me.base);
	uint32_t greatest = list->greatest_length;
	int code = md_queue_test(nic, post->test_queue);

	if (code || (code = post->make_entry(nic, &post->me)))
		return code;
	post->md.object = post->me.handle;
	if ((code = md_attach(nic, &post->md))) {
		me_unlink(nic, &post->me.handle);
		list->greatest_length = greatest; /* nothing was created */
	}
	return code;
}

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
	int code = commands_post_receive(nic, post, arguments, PTL_MD_ILLEGAL);

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
