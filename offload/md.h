/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about memory descriptors: nic_command's, whose results refusal.h describes. */
#ifndef PORTALS_OFFLOAD_MD_H
#define PORTALS_OFFLOAD_MD_H

#include "offload/nic.h"

struct md_arguments {
	ptl_handle_any_t object; /* the entry it is about */
	const ptl_md_t *md;
	ptl_unlink_t unlink;
	ptl_handle_md_t handle; /* result */
	bool foreign_queue;     /* result: the queue's handle is of another interface */
};

struct md_update {
	ptl_handle_md_t md_handle;
	ptl_md_t *old_md;
	const ptl_md_t *new_md;
	ptl_handle_eq_t test_queue;
	bool foreign_queue; /* result, as above */
};

/* A new one: for the entry `object`, which must have none; or for no entry. */
int md_attach(struct nic *, void *);
int md_bind(struct nic *, void *);
/* Given a struct md_update. */
int md_update(struct nic *, void *);
/* Given a handle: its end. */
int md_unlink(struct nic *, void *);

/*
 * The test of a conditional update: refused with PTL_MD_NO_UPDATE while the queue has unread events or operations have
 * started that will still log one there; with PTL_EQ_INVALID if it is no queue of this interface, nor PTL_EQ_NONE.
 */
int md_queue_test(struct nic *, ptl_handle_eq_t);

#endif
