/* SPDX-License-Identifier: BSD-3-Clause */
/* Where processes run. */
#ifndef PORTALS_TRANSPORTS_NODE_PLACE_H
#define PORTALS_TRANSPORTS_NODE_PLACE_H

#include "transports/node/node.h"

/* An answer of the partner, and what comes before it: that its source is free, a report of another kind. */
#define NODE_SINGLY 4

/* Says in our segment where we poll, and to the engine where our partner did.  From poll() only. */
void node_note_places(struct node *);

#endif
