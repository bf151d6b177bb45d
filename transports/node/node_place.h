/* SPDX-License-Identifier: BSD-3-Clause */
/* Where processes run. */
#ifndef PORTALS_TRANSPORTS_NODE_PLACE_H
#define PORTALS_TRANSPORTS_NODE_PLACE_H

#include "transports/node/node.h"

/* An answer of the partner, and what comes before it: that its source is free, a report of another kind. */
#define NODE_SINGLY 4

/* Says in our segment where we poll, and to the engine where our partner did.  From poll() only. */
void node_note_places(struct node *);

/* Says in our segment where we are, to a peer that is woken: it may get this very core. */
void node_note_place(struct node *);

/* Was the peer seen last on the CPU that we are on? */
bool node_shares_core(const struct node_peer *);

#endif
