/* SPDX-License-Identifier: BSD-3-Clause */
/* Long data within the node: what the files that move it share.  The design is described in node_copy.c. */
#ifndef PORTALS_TRANSPORTS_NODE_COPY_H
#define PORTALS_TRANSPORTS_NODE_COPY_H

#include "transports/node/node.h"
#include "transports/tuning.h"

#define NODE_READS      NODE_CLAIMS /* a read and its claim have the same index */
#define NODE_HELPS      64
#define NODE_CHUNK_MAX  (256u * 1024)
#define NODE_SPLIT_MIN  (64u * 1024)
#define NODE_SPLIT_MOST 65535u /* chunks of a split read: what a claim's fields can count */
#define NODE_BATCH      8      /* chunks of short messages that one system call copies, NODE_CHUNK_MAX bytes at most */
#define NODE_PULL_MAX   (256u * 1024) /* bytes that one NODE_PULL asks for */
#define NODE_PEER_PULLS 4             /* of them that a reader waits for from one peer */
/* Of a read of pieces: of two neither waits for the other where one of twice as many bytes would be cut in halves. */
#define NODE_LIST_MAX (NODE_SPLIT_MIN / 2)

enum node_read_state {
	READ_FREE,
	READ_READY,    /* bytes or chunks can be got */
	READ_PULLING,  /* the source sends what NODE_PULL asked for */
	READ_SETTLING, /* nothing is left to be taken; a helper may still write */
};

struct node_read {
	struct node_peer *peer;
	const struct transport_segment *local, *remote; /* pieces, `length` bytes at either end; no keys here */
	struct transport_segment one[2];                /* what they are if there is but one of each */
	struct transport_segment *pieces;               /* else these, which stay for the next read of this place */
	uint64_t length;
	uint64_t chunk, total; /* bytes of a chunk, the last may be shorter; how many */
	uint64_t front;        /* chunks that we have taken */
	uint64_t at, end;      /* what is left of the chunk at hand, offsets into the message */
	uint64_t pulled_until; /* what NODE_PULL has asked for ends here */
	uint64_t began;        /* monotonic_ns(), if its time is taken */
	uint64_t patience;     /* STAGED: cycles that the source may let us wait, */
	uint64_t late_at; /* and cycle_clock() when it has; without cross-memory attach there is nothing else to do */
	void *context;
	struct node_claim *claim; /* if it is split; in the segment of that time */
	uint32_t generation;      /* of the read: part of the token in NODE_PULL */
	uint32_t claim_generation;
	uint32_t piece_room;
	uint32_t row; /* of messages that are to go one way (node_choice.c) */
	int status;
	uint8_t state; /* enum node_read_state */
	uint8_t way;   /* enum node_way */
	bool noted;    /* its end is to be told to node_choice.c */
	bool counts;   /* its time says what that way takes */
	bool split;    /* its claim is open to the source's process */
	bool mended;   /* what the helper could not write has been taken over */
	bool orphan;   /* `peer` is a copy of one that is lost, not known to be dead */
	bool blocked;  /* the last attempt found no room in the peer's queue */
};

/* A request to help with a read of the peer's: it names memory there, and a key of ours. */
struct node_help {
	struct node_peer *peer; /* NULL: done with */
	uint64_t key, source, destination, length, chunk;
	uint32_t claim, generation, total, done;
};

/* A request of a peer that cannot read our memory, or does not want to: one for each of its reads. */
struct node_pull {
	struct node_peer *peer;
	uint64_t key, source, length, sent, token;
	bool optional; /* only while a host waits here: the peer can read our memory itself */
	bool blocked;
};

struct node_pair; /* node_choice.c */

struct node_copies {
	struct node_memory_region *memory_regions;
	uint32_t memory_region_room, first_free; /* first_free: index, or memory_region_room */

	struct node_read reads[NODE_READS];
	uint8_t order[NODE_READS]; /* of all indices: first the reads that are alive, the oldest first */
	uint32_t read_count;
	uint32_t served; /* the peer whose read was served last */
	struct node_peer ghosts[NODE_READS];

	struct node_help helps[NODE_HELPS]; /* a ring: a new one takes the place of the oldest */
	uint32_t helps_seen, helps_alive;

	struct node_pull *pulls;
	uint32_t pull_count, pull_room, pull_turn;

	struct node_pair **pairs; /* by transport_address; NULL: no long message has come from there */
	uint32_t pair_room;
	struct node_figures figures[NODE_CLASSES]; /* of the file, or of the pair that has chosen last */
	bool fixed[NODE_CLASSES];                  /* by the file */

	uint32_t helps_first; /* of all helps seen, the oldest that may be alive */
};

/* Is there anything for node_copy_step()? */
static inline bool node_copies_any(const struct node_copies *copies)
{
	return (copies->read_count | copies->pull_count | copies->helps_alive) != 0;
}

/* One chunk of the oldest unfinished read, or of a claim we help with.  Returns how much was done. */
int node_copy_step(struct node *);
bool node_copies_pending(const struct node *);
/* Something waits that nothing will announce (room in a peer's queue): look again later. */
bool node_copies_blocked(const struct node *);
/* A record of one of its kinds; `bytes` are private, a slab is not. */
void node_copy_record(struct node *, struct node_peer *, enum node_kind, const uint8_t *bytes, size_t length);

#endif
