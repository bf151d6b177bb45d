/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of several pieces of memory. */
#ifndef PORTALS_TRANSPORTS_NODE_LIST_H
#define PORTALS_TRANSPORTS_NODE_LIST_H

#include "transports/node/node_copy.h"

/* A way through [at, at + left) of pieces that are that long at least. */
struct node_walk {
	const struct transport_segment *piece;
	uint64_t at, left;
};

/* The next part that lies in one piece.  False: there is none. */
static inline bool node_walk_next(struct node_walk *walk, struct transport_segment *part)
{
	if (walk->left == 0)
		return false;
	while (walk->at >= walk->piece->length)
		walk->at -= walk->piece++->length;
	uint64_t rest = walk->piece->length - walk->at;

	*part = (struct transport_segment){walk->piece->address + walk->at, walk->piece->key,
					   rest < walk->left ? rest : walk->left};
	walk->left -= part->length;
	walk->at += part->length;
	return true;
}

/* The memory of all of them; returns how many parts. */
static inline unsigned node_walk_iovec(struct node_walk walk, struct iovec *iov)
{
	struct transport_segment part;
	unsigned count = 0;

	while (node_walk_next(&walk, &part))
		iov[count++] = (struct iovec){(void *)(uintptr_t)part.address, part.length};
	return count;
}

/* Copies the pieces into the read's own.  0 or -ENOMEM. */
int node_read_pieces(struct node_read *, const struct transport_read_list *);

static inline bool node_read_is_list(const struct node_read *read)
{
	return read->local != read->one;
}

#endif
