/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about match entries: nic_command's, whose results refusal.h describes. */
#ifndef PORTALS_OFFLOAD_ME_H
#define PORTALS_OFFLOAD_ME_H

#include "offload/nic.h"

struct me_arguments {
	ptl_pt_index_t pt_index;
	ptl_handle_me_t base;
	ptl_process_id_t match_id;
	ptl_match_bits_t match_bits, ignore_bits;
	ptl_unlink_t unlink;
	ptl_ins_pos_t position;
	ptl_handle_me_t handle; /* result */
};

/*
 * A new entry: at an end of the list of pt_index; at an end of the first list without entries, whose index is a result;
 * beside `base`.
 */
int me_attach(struct nic *, void *);
int me_attach_any(struct nic *, void *);
int me_insert(struct nic *, void *);
/* Given a handle: its end. */
int me_unlink(struct nic *, void *);

#endif
