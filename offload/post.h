/* SPDX-License-Identifier: BSD-3-Clause */
/* The command that posts a receive: a nic_command, whose results refusal.h describes. */
#ifndef PORTALS_OFFLOAD_POST_H
#define PORTALS_OFFLOAD_POST_H

#include "offload/md.h"
#include "offload/me.h"

struct post_arguments {
	nic_command *make_entry; /* me_attach or me_insert */
	struct me_arguments me;
	struct md_arguments md;
	ptl_handle_eq_t test_queue;
};

/* Given a struct post_arguments.  All of it is done, or nothing. */
int post_entry(struct nic *, void *);

#endif
