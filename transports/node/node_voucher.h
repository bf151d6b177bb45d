/* SPDX-License-Identifier: BSD-3-Clause */
/* The page by which a process vouches for itself. */
#ifndef PORTALS_TRANSPORTS_NODE_VOUCHER_H
#define PORTALS_TRANSPORTS_NODE_VOUCHER_H

#include "transports/node/node.h"

/* Makes ours: node.voucher and node.voucher_fd.  Where the system refuses there is none, and peers ask. */
void node_voucher_make(struct node *);
/* Unmaps and closes it, if there is one. */
void node_voucher_drop(struct node *);
/* Maps a peer's, for reading.  -EPROTO: it is none. */
int node_voucher_map(int fd, const struct node_voucher **);
/* If there is one. */
void node_voucher_unmap(const struct node_voucher *);

#endif
