/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting: connecting with a peer, and control messages. */
#ifndef PORTALS_TRANSPORTS_NODE_MEET_H
#define PORTALS_TRANSPORTS_NODE_MEET_H

#include "transports/node/node.h"

/* Called to send to a peer that is not OPEN: takes the next step.  -EAGAIN, -ENOENT or -EHOSTUNREACH. */
int node_connect(struct node *, struct node_peer *);

/* Reads control messages: introductions, wake-ups, deaths.  Returns how many; never blocks. */
int node_read_control(struct node *);

/* Tells all peers that we leave. */
void node_disconnect(struct node *);

#endif
