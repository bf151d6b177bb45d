/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of commands that several files need; all of them under ownership, returning PTL_* codes or negative errno. */
#ifndef PORTALS_COMMANDS_H
#define PORTALS_COMMANDS_H

#include "portals/process.h"

struct me_arguments {
	ptl_pt_index_t pt_index;
	ptl_handle_me_t base;
	ptl_process_id_t match_id;
	ptl_match_bits_t match_bits, ignore_bits;
	ptl_unlink_t unlink;
	ptl_ins_pos_t position;
	ptl_handle_me_t handle; /* result */
};

struct md_arguments {
	ptl_handle_any_t object; /* the entry it is about */
	const ptl_md_t *md;
	ptl_unlink_t unlink;
	ptl_handle_md_t handle; /* result */
};

/*
 * nic_command's.  me_attach: a new entry at an end of the list of pt_index; me_insert: beside `base` of its struct me_arguments; me_unlink: the end of the one whose
 * handle it is given; md_attach: a descriptor for the entry `object` of its struct md_arguments, which must have none.
 */
int me_attach(struct nic *nic, void *arguments);
int me_insert(struct nic *nic, void *arguments);
int me_unlink(struct nic *nic, void *arguments);
int md_attach(struct nic *nic, void *argument);

/*
 * Runs the command, charging it to the host stage "post receive": posting is PtlME... and PtlMDAttach, or PtlMEMDPost.
 * Returns its PTL_* code; `invalid` is what -EINVAL means to this call, as for process_code().
 */
int commands_post_receive(struct nic *, nic_command *, void *arguments, int invalid);

/*
 * The test of a conditional update: PTL_MD_NO_UPDATE while the queue has unread events or operations have started that
 * will still log one there; PTL_EQ_INVALID if it is no queue of this interface, nor PTL_EQ_NONE.
 */
int md_queue_test(struct nic *, ptl_handle_eq_t);

#endif
