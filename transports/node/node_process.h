/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers as processes: whether they are the ones that were met, and whether their memory can be read. */
#ifndef PORTALS_TRANSPORTS_NODE_PROCESS_H
#define PORTALS_TRANSPORTS_NODE_PROCESS_H

#include "transports/node/node.h"

/* 0: the peer's os_pid is the process that we have met; -ECONNRESET: certainly not; -EPERM...: not to be known. */
int node_identify(const struct node_peer *);
/* Is there proof that nothing of the process that we met can write to our memory any more? */
bool node_proven_gone(struct node *, struct node_peer *);
/* From now on the peer's memory is out of reach, for this reason. */
void node_refuse_cross_memory(struct node *, struct node_peer *, int error);
/* Tries whether the peer's memory can be read: `nonce` is the address of its incarnation there. */
void node_copy_probe(struct node *, struct node_peer *, uint64_t nonce);

#endif
