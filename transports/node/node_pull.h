/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying for peers that cannot read our memory. */
#ifndef PORTALS_TRANSPORTS_NODE_PULL_H
#define PORTALS_TRANSPORTS_NODE_PULL_H

#include "transports/node/node_copy.h"

/*
 * Asks the source for what comes next.  -EAGAIN: not before it has answered others; -ENOBUFS: its queue is full; -EFAULT:
 * our own memory is not there.
 */
int node_pull_ask(struct node *, struct node_read *);
/* A piece of what was asked for, from a NODE_PULLED.  False: it does not fit. */
bool node_pulled_piece(struct node *, struct node_peer *, const uint8_t *bytes, size_t length);
void node_pull_asked(struct node *, struct node_peer *, const uint8_t *bytes, size_t length);
/* A piece for a peer.  Returns how many. */
int node_pull_step(struct node *);

#endif
