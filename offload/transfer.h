/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a peer's segments into our own memory. */
#ifndef PORTALS_OFFLOAD_TRANSFER_H
#define PORTALS_OFFLOAD_TRANSFER_H

#include "offload/operation.h"

/* Begins reading `total` bytes of the message's segments into md's region at info.offset; ends with OP_PULLED. */
void transfer_start(struct nic *, struct operation *, const struct wire_message *, uint64_t total);
/* What its END has to say. */
ptl_ni_fail_t transfer_failure(const struct operation *);
/* The conversation is over.  Ends with OP_PULLED as well, when the transport has let go of our memory. */
void transfer_abandon(struct nic *, struct operation *, const struct wire_message *);
/* The source still takes part in the conversation. */
void transfer_confirmed(struct nic *, struct operation *);
/* Asks again, for those whose question or answer was lost. */
void transfers_ask_again(struct nic *, struct peer *);
/* A message has come of a peer whose memory we read: see STREAMS. */
void transfer_note_arrival(struct peer *, const struct wire_message *);
void transfer_done(void *owner, void *context, int status); /* transport_sink.rdma_done */
int transfers_resume(struct nic *);

#endif
