/* SPDX-License-Identifier: BSD-3-Clause */
/* A segment in place of one that was spoiled. */
#ifndef PORTALS_TRANSPORTS_NODE_RENEW_H
#define PORTALS_TRANSPORTS_NODE_RENEW_H

#include "transports/node/node.h"

/* Looks whether ours was. */
void node_note_spoiled(struct node *);
bool node_renewal_due(const struct node *);

/* Renews it, if that is due.  From poll() only.  Returns how much was done. */
int node_renew(struct node *);

#endif
