/* SPDX-License-Identifier: BSD-3-Clause */
/* Put, get and getput seen alike, for what the specification says about requests of any kind, and what they meet. */
#ifndef TESTS_REQUESTS_H
#define TESTS_REQUESTS_H

#include "tests/support/peers.h"

enum request { PUT, GET, GETPUT, REQUESTS };

struct request_kind {
	const char *name;
	unsigned operations;         /* options of a descriptor that responds to it */
	ptl_event_kind_t start, end; /* at the target */
	ptl_event_kind_t answer;     /* the last event at the initiator */
};
extern const struct request_kind request_kinds[REQUESTS];

/* Options of a descriptor that responds to all of them ... */
#define ANY_KIND (PTL_MD_OP_PUT | PTL_MD_OP_GET)
/* ... at the offset which they name ... */
#define ANYWHERE (ANY_KIND | PTL_MD_MANAGE_REMOTE)
/* ... or without logging START events. */
#define ANY_REQUEST (ANY_KIND | PTL_MD_EVENT_START_DISABLE)

#define WORD 8 /* bytes that any of them can move */

/*
 * Issues a request for the whole of a descriptor to the target, a put with PTL_ACK_REQ, a getput with the descriptor at
 * both ends; returns the code.
 */
int issue(enum request, ptl_handle_md_t md, ptl_pt_index_t index, ptl_ac_index_t ac_index, ptl_match_bits_t bits,
	  ptl_size_t offset, ptl_hdr_data_t hdr);
#define ask(request, md, bits, offset) CHECK_OK(issue(request, md, INDEX, 0, bits, offset, 0))

/* What the initiator hears of a request that was accepted, without START events; returns the last: ACK or REPLY_END. */
#define take_answer(request, eq) take_answer_at(__FILE__, __LINE__, request, eq)
ptl_event_t take_answer_at(const char *file, int line, enum request request, ptl_handle_eq_t eq);

/* At the end of the list of INDEX: takes every request for BITS that gets so far, with none of its bytes. */
#define open_net(eq) open_net_at(__FILE__, __LINE__, eq)
struct window open_net_at(const char *file, int line, ptl_handle_eq_t eq);

/* What the interface says of itself: a status register; how many entries an index has. */
ptl_sr_value_t status_register(ptl_sr_index_t);
ptl_sr_value_t list_length(ptl_pt_index_t);

#endif
