/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of one message taken from both ends. */
#ifndef PORTALS_TRANSPORTS_NODE_SPLIT_H
#define PORTALS_TRANSPORTS_NODE_SPLIT_H

#include "transports/node/node_copy.h"

/* Opens the read's claim and asks the source's process for help.  False: it was not asked. */
bool node_split_open(struct node *, struct node_read *);
/* Takes the next chunk from the front.  1; 0: all are taken; -EPROTO: the counters make no sense. */
int node_split_take(struct node_read *);
/* Takes whatever is left, so that the helper gets nothing more. */
void node_split_close(struct node_read *);
/*
 * What has become of a read of which everything is taken.  -EAGAIN: the helper still owes chunks; -EPROTO; 0: no helper
 * writes to it any more, and *failed is the chunk that the helper could not write, or the number of chunks.
 */
int node_split_result(const struct node_read *, uint64_t *failed);

void node_help_asked(struct node *, struct node_peer *, const uint8_t *bytes, size_t length);
/* One chunk for a peer, if a host waits here.  Returns how many. */
int node_help_step(struct node *);
bool node_help_pending(const struct node *);

#endif
