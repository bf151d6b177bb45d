/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads of long messages. */
#ifndef PORTALS_TRANSPORTS_NODE_READ_H
#define PORTALS_TRANSPORTS_NODE_READ_H

#include "transports/node/node_copy.h"

int node_read(struct transport *, const struct transport_read *);
int node_read_list(struct transport *, const struct transport_read_list *);

/* The next to be got is this chunk of it. */
static inline void node_read_chunk(struct node_read *read, uint64_t chunk)
{
	read->at = chunk * read->chunk;
	read->end = read->at + read->chunk < read->length ? read->at + read->chunk : read->length;
	read->state = READ_READY;
}

/* Everything is taken.  True: the read has ended, or has become ready for what its helper failed to write. */
bool node_read_settle(struct node *, struct node_read *);
/* Nothing is to be got any more, because we have everything or because of `status`: ends the read if no helper writes to it. */
void node_read_finish(struct node *, struct node_read *, int status);
/* No helper writes to it any more. */
void node_read_end(struct node *, struct node_read *, int status);

/* It waits for its source, but need not: sooner or later it reads by itself. */
static inline bool node_read_impatient(const struct node_read *read)
{
	return read->state == READ_PULLING && read->way == NODE_STAGED && read->peer->cross_memory;
}

/* The source does not copy into its slabs, or not soon: we read the rest ourselves. */
void node_read_alone(struct node *, struct node_read *);

#endif
