/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual put in one go.  Owner only. */
#ifndef PORTALS_OFFLOAD_PUT_LINE_H
#define PORTALS_OFFLOAD_PUT_LINE_H

#include "offload/operation.h"

/* At the initiator.  False: it is not as usual, and nothing has happened. */
bool put_line(struct nic *, const struct put_arguments *);

/* At the target, likewise.  The bytes are private; `from` proves the sender if it is an address at which we met a peer. */
bool put_line_arrived(struct nic *, transport_address from, const void *bytes, size_t length, const void *body,
		      size_t body_length);

#endif
