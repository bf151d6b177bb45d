/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting a receive in one step: entry, descriptor, and the test that no message came before.  With separate calls a
 * message could match the entry before its descriptor is there, or arrive unexpected between the test and the posting.
 */
#include "offload/post.h"

#include "offload/handle.h"

/* The list the entry is to go to, or NULL. */
static struct match_list *list_for(struct nic *nic, const struct post_arguments *post)
{
	if (post->make_entry == me_attach)
		return &nic->objects.portals[post->me.pt_index];
	const struct match_entry *base = handle_me(nic, post->me.base);
	return base ? base->list : NULL;
}

int post_entry(struct nic *nic, void *argument)
{
	struct post_arguments *post = argument;
	struct match_list *list = list_for(nic, post);

	if (!list)
		return handle_refuse(PTL_ME_INVALID, post->me.base);
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
