/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of peers. */
#ifndef PORTALS_TRANSPORTS_NODE_NUMBER_H
#define PORTALS_TRANSPORTS_NODE_NUMBER_H

#include "transports/node/node.h"

/* Gives the peer a number unless it has one.  False: there is none, or no memory. */
bool node_number_give(struct node *, struct node_peer *);

/*
 * The number that control messages tell the peer and by which we know it; none, if it is only kept for one that was
 * lost.
 */
uint16_t node_number_shown(const struct node *, const struct node_peer *);

/* No sender will append to our queue any more under that number. */
void node_number_return(struct node *, uint16_t number);

/* The queue is a new one: nothing lies in it. */
void node_numbers_restart(struct node *);
void node_numbers_free(struct node *);

#endif
