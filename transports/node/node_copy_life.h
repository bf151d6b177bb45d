/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and what serves them: opened and closed with the interface, and told of lost peers. */
#ifndef PORTALS_TRANSPORTS_NODE_COPY_LIFE_H
#define PORTALS_TRANSPORTS_NODE_COPY_LIFE_H

#include "transports/node/node.h"

int node_copies_open(struct node *);
void node_copies_close(struct node *); /* waits for helpers that are writing into our memory */
void node_copies_peer_lost(struct node *, struct node_peer *);
/* Does a helper still say in that segment what it has done for us? */
bool node_copies_use(const struct node *, const struct node_segment *);

#endif
