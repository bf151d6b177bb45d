/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments. */
#ifndef PORTALS_TRANSPORTS_NODE_SEGMENT_H
#define PORTALS_TRANSPORTS_NODE_SEGMENT_H

#include "transports/node/node.h"

/* Makes our own: sealed, mapped, constants filled in, node.segment_fd and node.segment set.  Reports. */
int node_segment_make(struct node *);

/* Maps a peer's after checking size, seals and constants against its identity.  -EPROTO: it is none of ours. */
int node_segment_map(int fd, const struct node_peer *, struct node_segment **);
void node_segment_unmap(struct node_segment *);

/* Have the constants of our own been changed? */
bool node_segment_spoiled(const struct node *);

#endif
