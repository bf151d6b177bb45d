/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs have made of an interface, and the operations under way.  Owner only. */
#ifndef PORTALS_OFFLOAD_STATE_OBJECTS_H
#define PORTALS_OFFLOAD_STATE_OBJECTS_H

#include <portals3.h>

#include "offload/match.h"
#include "offload/pool.h"

#define NIC_PORTALS        64 /* portal table entries */
#define NIC_ACL_ENTRIES    8
#define NIC_MAX_OBJECTS    65536 /* of a kind, as far as handles go */
#define NIC_MAX_QUEUES     1024
#define NIC_MAX_REQUESTS   (1 << 19) /* that are ours, at a time: see operation.c */
#define NIC_MAX_OPERATIONS (1 << 20) /* these and what others ask of us */

/* Generations of objects and operations; with the index they make handles (offload/handle.h) and tokens. */
#define NIC_HANDLE_GENERATIONS 2046
#define NIC_TOKEN_INDEX_BITS   20
#define NIC_TOKEN_GENERATIONS  ((1 << (32 - NIC_TOKEN_INDEX_BITS)) - 1)

struct acl_entry {
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
};

struct objects {
	struct match_list portals[NIC_PORTALS];
	struct acl_entry acl[NIC_ACL_ENTRIES];
	struct pool entries, descriptors, queues, operations;
};

#endif
