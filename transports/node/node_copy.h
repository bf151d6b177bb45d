/* SPDX-License-Identifier: BSD-3-Clause */
/* Long data within the node: what the files that move it share.  The design is described in node_copy.c. */
#ifndef PORTALS_TRANSPORTS_NODE_COPY_H
#define PORTALS_TRANSPORTS_NODE_COPY_H

#include "transports/node/node.h"

#define NODE_READS      NODE_CLAIMS /* a read and its claim have the same index */
#define NODE_HELPS      64
#define NODE_CHUNK_MAX  (256u * 1024)
#define NODE_SPLIT_MIN  (64u * 1024)
#define NODE_SPLIT_MOST 65535u        /* chunks of a split read: what a claim's fields can count */
#define NODE_PULL_MAX   (256u * 1024) /* bytes that one NODE_PULL asks for */
#define NODE_PEER_PULLS 4             /* of them that a reader waits for from one peer */
/* Of a read of pieces: of two neither waits for the other where one of twice as many bytes would be cut in halves. */
#define NODE_LIST_MAX (NODE_SPLIT_MIN / 2)

/* How a long message travels, the cheapest for the processors first. */
enum node_way {
	NODE_UNCHOSEN,
	NODE_ALONE,  /* its reader reads the source's memory */
	NODE_SPLIT,  /* and the source's process writes into the reader's, if a host waits there */
	NODE_STAGED, /* through the source's slabs */
	NODE_WAYS
};

#define NODE_CLASSES 11 /* of lengths: from 4 KiB on, each twice as long as the one before; the last has no end */

/* What a class of lengths takes in each of the ways, in ns (0: not known), and which one is taken. */
struct node_figures {
	uint32_t ns[NODE_WAYS];
	enum node_way way;
};

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
	struct transport_segment *pieces;               /* else these, which are the read's */
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
};

/* The exposed memory [address, address + length) under that key.  NULL: there is none. (node_expose.c) */
const uint8_t *node_exposed(const struct node_copies *, uint64_t key, uint64_t address, uint64_t length);

/* Is there anything for node_copy_step()? */
static inline bool node_copies_any(const struct node_copies *copies)
{
	return (copies->read_count | copies->pull_count | copies->helps_alive) != 0;
}

/* --- pieces of memory (node_list.c) --- */

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

/* Makes the pieces the read's own.  0 or -ENOMEM. */
int node_read_pieces(struct node_read *, const struct transport_read_list *);

/* --- reads (node_read.c) --- */

/* The next to be got is this chunk of it. */
static inline void node_read_chunk(struct node_read *read, uint64_t chunk)
{
	read->at = chunk * read->chunk;
	read->end = read->at + read->chunk < read->length ? read->at + read->chunk : read->length;
	read->state = READ_READY;
}

/* Everything is taken.  True: the read has ended, or has become ready for what its helper failed to write. */
bool node_read_settle(struct node *, struct node_read *);
/* Nothing is to be got any more, because we have everything or because of `status`: ends the read if nobody writes to it. */
void node_read_finish(struct node *, struct node_read *, int status);
/* Nobody writes to it any more. */
void node_read_end(struct node *, struct node_read *, int status);

/* It waits for its source, but need not: sooner or later it reads by itself. */
static inline bool node_read_impatient(const struct node_read *read)
{
	return read->state == READ_PULLING && read->way == NODE_STAGED && read->peer->cross_memory;
}

/* The source does not copy into its slabs, or not soon: we read the rest ourselves. */
void node_read_alone(struct node *, struct node_read *);

/* --- which way (node_choice.c) --- */

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
/* The shortest of a class. */
uint64_t node_class_length(unsigned class);
extern const char *const node_way_names[NODE_WAYS];

/* --- the file of figures (node_tuning.c) --- */

/* Takes figures from the file that PTL_TUNING_FILE names.  What cannot be used is warned about and left out. */
void node_tuning_read(struct node_copies *, const char *path);
/* Writes figures to the file that PTL_TUNING_SAVE names, if there are any.  0, or a negative errno value, reported. */
int node_tuning_write(const struct node_copies *, const char *path);

/* --- processes (node_process.c) --- */

/* 0: the peer's os_pid is the process that we have met; -ECONNRESET: certainly not; -EPERM...: nobody knows. */
int node_identify(const struct node_peer *);
/* Is there proof that nothing of the process that we met can write to our memory any more? */
bool node_proven_gone(struct node *, struct node_peer *);
/* From now on the peer's memory is out of reach, for this reason. */
void node_refuse_cross_memory(struct node *, struct node_peer *, int error);

/* --- chunks of one message taken from both ends (node_split.c) --- */

/* Opens the read's claim and asks the source's process for help.  False: nobody was asked. */
bool node_split_open(struct node *, struct node_read *);
/* Takes the next chunk from the front.  1; 0: all are taken; -EPROTO: the counters make no sense. */
int node_split_take(struct node_read *);
/* Takes whatever is left, so that the helper gets nothing more. */
void node_split_close(struct node_read *);
/*
 * What has become of a read of which everything is taken.  -EAGAIN: the helper still owes chunks; -EPROTO; 0: nobody
 * writes to it any more, and *failed is the chunk that the helper could not write, or the number of chunks.
 */
int node_split_result(const struct node_read *, uint64_t *failed);

void node_help_asked(struct node *, struct node_peer *, const uint8_t *bytes, size_t length);
/* One chunk for somebody else, if a host waits here.  Returns how many. */
int node_help_step(struct node *);
bool node_help_pending(const struct node *);

/* --- copying for peers that cannot read our memory (node_pull.c) --- */

/*
 * Asks the source for what comes next.  -EAGAIN: not before it has answered others; -ENOBUFS: its queue is full; -EFAULT:
 * our own memory is not there.
 */
int node_pull_ask(struct node *, struct node_read *);
/* A piece of what was asked for, from a NODE_PULLED.  False: it does not fit. */
bool node_pulled_piece(struct node *, struct node_peer *, const uint8_t *bytes, size_t length);
void node_pull_asked(struct node *, struct node_peer *, const uint8_t *bytes, size_t length);
/* A piece for somebody else.  Returns how many. */
int node_pull_step(struct node *);

/* --- what the rest of the transport calls (node_copy.c, node_copy_life.c, node_expose.c, node_read.c, node_process.c) --- */

int node_copies_open(struct node *);
void node_copies_close(struct node *); /* waits for helpers that are writing into our memory */
int node_read(struct transport *, const struct transport_read *);
int node_read_list(struct transport *, const struct transport_read_list *);
int node_register(struct transport *, void *base, size_t length, unsigned uses, struct memory_region *);
void node_deregister(struct transport *, struct memory_region *);
/* One chunk of the oldest unfinished read, or of a claim we help with.  Returns how much was done. */
int node_copy_step(struct node *);
bool node_copies_pending(const struct node *);
/* Something waits that nothing will announce (room in a peer's queue): look again later. */
bool node_copies_blocked(const struct node *);
/* A record of one of its kinds; `bytes` are private, a slab is not. */
void node_copy_record(struct node *, struct node_peer *, enum node_kind, const uint8_t *bytes, size_t length);
void node_copies_peer_lost(struct node *, struct node_peer *);
/* Does a helper still say in that segment what it has done for us? */
bool node_copies_use(const struct node *, const struct node_segment *);
/* Tries whether the peer's memory can be read: `nonce` is the address of its incarnation there. */
void node_copy_probe(struct node *, struct node_peer *, uint64_t nonce);

#endif
