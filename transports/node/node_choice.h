/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a long message goes. */
#ifndef PORTALS_TRANSPORTS_NODE_CHOICE_H
#define PORTALS_TRANSPORTS_NODE_CHOICE_H

#include "transports/node/node_copy.h"

/* Sets read.way and .patience, and what it needs when the read has ended. */
void node_choose(struct node *, struct node_read *);
/* It has ended, with that status. */
void node_choice_ended(struct node *, struct node_read *, int status);
/* The source was not there to copy. */
void node_choice_missed(struct node *, struct node_read *);
void node_choice_forget(struct node_copies *, const struct node_peer *);
void node_choice_free(struct node_copies *);
/* For humans; returns what snprintf() would. */
int node_choice_describe(const struct node_copies *, char *text, size_t size);

#endif
