/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of peers. */
#ifndef PORTALS_TRANSPORTS_NODE_PEERS_H
#define PORTALS_TRANSPORTS_NODE_PEERS_H

#include "transports/node/node.h"

/* The peer of (nid, pid), or NULL. */
struct node_peer *node_peer_find(const struct node *, uint32_t nid, uint32_t pid);

/* The peer of (nid, pid), made if need be.  NULL: no memory, or too many. */
struct node_peer *node_peer_get(struct node *, uint32_t nid, uint32_t pid);

/* The engine knows its address once more, or once less. */
void node_peer_use(struct node_peer *);
void node_peer_disuse(struct node *, struct node_peer *);

/* Its entry is for others, unless something keeps it. */
void node_peer_rest(struct node *, struct node_peer *);

/* Its segment has just been mapped. */
void node_peer_met(struct node *, struct node_peer *);

/* What it sent is delivered, and it has gone or is to be met anew: all forget it, and the engine is told if `tell`. */
void node_peer_lost(struct node *, struct node_peer *, bool tell);

/* Says in our segment how much of the queue each of the peers may have. */
void node_share_queue(struct node *);
void node_peers_free(struct node *);

#endif
