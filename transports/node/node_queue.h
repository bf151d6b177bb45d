/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of an interface: records that peers append, and that it consumes. */
#ifndef PORTALS_TRANSPORTS_NODE_QUEUE_H
#define PORTALS_TRANSPORTS_NODE_QUEUE_H

#include "transports/node/node.h"

/* What a NODE_MESSAGE_SLAB (and NODE_PULLED) begins with. */
struct node_slab_place {
	uint32_t slab, length;
};

#define NODE_MAX_LINES   4
#define NODE_LINE_BYTES  (CACHE_LINE - sizeof(uint64_t))
#define NODE_RECORD_HEAD 4 /* bytes of a record's first line before its data: sender, kind, length */
#define NODE_FIRST_BYTES (NODE_LINE_BYTES - NODE_RECORD_HEAD)
#define NODE_MAX_RECORD  (NODE_MAX_LINES * NODE_LINE_BYTES - NODE_RECORD_HEAD)

/* Appends a record to an OPEN peer's queue: head and parts, together at most NODE_MAX_RECORD bytes.  0 or -ENOBUFS. */
int node_append(struct node *, struct node_peer *, enum node_kind, const void *head, size_t head_length,
		const struct iovec *parts, int count);

/* A message whose first line is in words, at most NODE_MAX_RECORD bytes, as transport_ops.send_line() has it.  0 or -ENOBUFS. */
int node_append_line(struct node *, struct node_peer *, const uint64_t words[TRANSPORT_LINE_WORDS], size_t length,
		     const uint8_t *rest);

/*
 * The same with the parts, at most NODE_SLAB_SIZE bytes, in a slab; the record begins with its place, which its head
 * follows, at most NODE_MAX_RECORD - 8 bytes.  0 or -ENOBUFS.
 */
int node_append_slab(struct node *, struct node_peer *, enum node_kind, const void *head, size_t head_length,
		     const struct iovec *parts, int count);

/* Is the newest slab one that this peer has yet to consume? */
bool node_behind(struct node *, const struct node_peer *);

/* Hands at most `budget` records to the engine or to node_copy.c; returns how many.  From poll() only. */
int node_consume(struct node *, int budget);

/* Nothing is in our queue, nor will be by a sender that has begun to append: safe to sleep, or to forget a peer. */
bool node_queue_empty(struct node *);

/* A line that was given out does not come: passes over it if its sender has died. */
void node_recover(struct node *);

/* As a sender: we write nothing to the peer of that number of ours. */
void node_intend_nothing(struct node *, uint16_t number);

/* Do the control words of our queue say what we have said, and what can be? */
bool node_queue_spoiled(const struct node *);

/*
 * Wakes peers that have not consumed in time what we sent while they were HOST_POLLED; `at_once`: even if it is not
 * late yet.
 */
void node_wake_deferred(struct node *, bool at_once);

/* Says in our segment what we do; a new epoch if we go to sleep. */
void node_attend(struct node *, enum node_attention);

#endif
