/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes of one node: what the files of this transport share.
 *
 * Every interface owns one segment of memory that its peers map too, a queue of cache lines into which every peer
 * appends (node_queue.c); one datagram socket of the abstract Unix namespace, named after (nid, pid), which is
 * the claim to that pid and the place to meet (node_meet.c); and a doorbell that wakes it when it sleeps (node_name.c).
 *
 * Who writes what in a segment, R being its owner and S any peer:
 *   R as receiver: attention, head, place, claims (with the helper of a claim);   S: tail (compare-and-swap), slots it has won;
 *   R as sender:   intent, slabs, which S only reads.
 * Everything else of the transport is private memory of R, used by the owner of the engine only.  What lies in a segment
 * may have been written by a misbehaving peer: it is copied before it is checked, and never used as an address or
 * an index unchecked.
 */
#ifndef PORTALS_TRANSPORTS_NODE_H
#define PORTALS_TRANSPORTS_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/arch.h"
#include "base/cancel.h"
#include "transports/transport.h"

/* Of struct node_segment and of what is written into it; to be raised with every change. */
#define NODE_LAYOUT_VERSION 3

#define NODE_SLOTS     1024 /* a power of two */
#define NODE_SLABS     64
#define NODE_SLAB_SIZE 16384
#define NODE_SLABS_AHEAD                                                                                               \
	8 /* pieces of long messages that a peer may have unconsumed: more than one, so that both copy at a time */
#define NODE_CLAIMS    64
#define NODE_MAX_PEERS 65535
#define NODE_NO_SENDER 0xffff
#define NODE_QUOTA_MIN 8  /* lines that any sender may have unconsumed */
#define NODE_HASH      64 /* buckets of the table of peers */
#define NODE_STRETCH                                                                                                   \
	64 /* lines whose first and last are on all pages that they are on: 4 KiB, the least that a page is */

/* --- memory that peers map --- */

/* A line of a record; sequence is position + 1 in the high bits, then how many lines (0: not the first of them). */
struct node_slot {
	_Alignas(CACHE_LINE) _Atomic uint64_t sequence;
	uint8_t bytes[CACHE_LINE - sizeof(uint64_t)];
};

/* One long message whose chunks are taken from the front by its reader, from the back by the process it comes from. */
struct node_claim {
	_Alignas(CACHE_LINE) _Atomic uint64_t ends; /* generation, chunks taken from the front, and from the back */
	_Atomic uint64_t done;                      /* generation, chunks that the helper has written; helper only */
	_Atomic uint64_t failed;                    /* generation, and 1 + a chunk that the helper could not write */
};

struct node_segment {
	/* Constants, checked once by the peer that maps them. */
	uint64_t magic, incarnation[2];
	uint32_t nid, pid;

	_Alignas(CACHE_LINE) _Atomic uint64_t attention; /* epoch, and enum node_attention in the low bits */
	_Alignas(CACHE_LINE) _Atomic uint64_t head;      /* everything before it has been consumed */
	_Atomic uint64_t quota;                          /* lines that one sender may have unconsumed */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail;      /* everything before it has been given to some sender */
	_Alignas(CACHE_LINE) _Atomic uint64_t intent;    /* the lines that this process, as a sender, may be writing */
	_Alignas(CACHE_LINE) _Atomic uint32_t place;     /* 1 + the CPU on which it polled last; 0: on none yet */
	struct node_claim claims[NODE_CLAIMS];
	struct node_slot slots[NODE_SLOTS];
	_Alignas(4096) uint8_t slabs[NODE_SLABS][NODE_SLAB_SIZE];
};

enum node_attention {
	NODE_AWAKE,       /* polls */
	NODE_HOST_POLLED, /* polls, or will if it is woken: wake it for what has not been consumed after a while */
	NODE_ASLEEP,      /* wake-ups are needed, one for each epoch from each sender */
	NODE_CLOSED,
	NODE_ATTENTION_BITS = 2
};

static inline enum node_attention node_attention_state(uint64_t attention)
{
	return (enum node_attention)(attention & ((1u << NODE_ATTENTION_BITS) - 1));
}

/* --- peers --- */

enum node_meeting {
	NODE_UNVERIFIED, /* nothing is known, or it has gone */
	NODE_MET,        /* its segment is mapped here; it may send to us */
	NODE_OPEN,       /* and ours there: we may send to it */
	NODE_FOREIGN     /* another user's: not by this transport */
};

struct node_peer {
	struct node_segment *segment; /* from MET on */
	uint64_t head_seen;           /* its head when we looked last */
	uint64_t woken_from;          /* the epoch of its sleep for which we have woken it */
	uint64_t deferred;            /* end of our newest record while it was HOST_POLLED; 0: nothing to wake for */
	uint64_t deferred_at;         /* cycle_clock() when it is to be woken; 0: not looked at yet */
	uint64_t deferred_head;       /* its head as it was known when deferred_at was set */
	uint64_t mark;                /* fairness: a position; and how many of our lines lie before it, and behind */
	uint32_t before_mark, behind_mark, quota;
	uint16_t slabs;     /* of ours that it has not consumed yet */
	uint16_t untouched; /* stretches of its queue that have not been written to here: a bit each */
	uint16_t sender;    /* by which it knows us: goes into our records */
	uint16_t number;    /* by which we know it: the sender of its records */
	uint16_t former;    /* which it may still take for that, because we have forgotten it: node_number.c */
	uint8_t meeting;    /* enum node_meeting */
	bool cross_memory;  /* process_vm_readv() and process_vm_writev() reach it */
	bool listed;        /* among node.deferring */
	bool failed;        /* its segment is corrupt or closed: lost when what it had sent is consumed */
	bool draining;      /* `last_tail` is set */

	uint32_t nid, pid;
	pid_t os_pid; /* 0: not visible here (another pid namespace) */
	int pidfd;    /* negative: none */
	uint64_t incarnation[2];
	uint64_t nonce;           /* where its incarnation lies in its own memory */
	uint64_t last_tail;       /* of our queue, after it had failed: nothing that it sent is behind that */
	int doorbell;             /* wake-ups are written to it; -1: by control message */
	uint64_t connect_sent_at; /* monotonic_ns(), and how often in the low bits */
	uint32_t index;           /* its transport_address */
	uint32_t uses;            /* of that by the engine */
	bool to_be_told;          /* the engine, that it was lost */
	bool spare;               /* on the list of those that nothing keeps, or was when it came there: node_peers.c */
	struct node_peer *next_deferring, *next_same_hash, *next_spare;
};

/* --- the transport --- */

enum node_kind {
	NODE_MESSAGE,      /* for the engine; the payload behind the header */
	NODE_MESSAGE_SLAB, /* for the engine; the payload in a slab of the sender's, named before the header */
	NODE_HELP,         /* node_copy.c: take chunks of a claim; empty: look at your claims */
	NODE_PULL,         /* node_copy.c: copy exposed memory for us, we cannot read it, or not as quickly */
	NODE_PULLED,       /* node_copy.c: a piece of it, in a slab */
	NODE_KINDS
};

struct node_memory_region {
	const uint8_t *base;
	uint64_t length;
	uint32_t generation, next_free;
	bool live;
};
struct node_read;   /* node_copy.c */
struct node_number; /* node_number.c */

struct node {
	struct transport base;
	const struct transport_sink *sink;
	void *owner;
	struct node_segment *segment;
	uint64_t head;      /* next line to consume; segment->head follows */
	uint64_t attention; /* what segment->attention holds */
	uint64_t stuck_at;  /* since when the line at `stuck_head` is missing though it was given out; 0: it is not */
	uint64_t stuck_head;
	uint32_t fruitless;       /* polls in a row */
	uint64_t control_late_at; /* cycle_clock() when control messages are to be read, however few the polls were */
	uint32_t polls;
	bool host_polled;
	unsigned home;          /* struct transport_config's */
	bool control_due;       /* the wait descriptor is known to be readable */
	bool any_failed;        /* peers */
	bool spoiled, renewing; /* node_renew.c */
	struct node_segment *retired;
	uint64_t renew_at, renew_pause; /* ns */
	struct node_peer **peers;       /* by transport_address */
	uint32_t peer_count, peer_room;
	uint32_t looked_at; /* peers, since the beginning */
	struct node_peer *by_pid[NODE_HASH];
	struct node_peer *first_spare, *last_spare;
	struct node_peer **senders; /* by number; NULL: none, or gone */
	struct node_peer *partner;  /* with which the last message was exchanged */
	uint32_t partner_place;     /* as the engine knows it */
	uint32_t sender_count, active_senders;
	struct {
		struct node_number *table;
		uint32_t spare;
		uint16_t first, last; /* spare ones, in the order they were given back */
	} numbers;
	struct node_peer *deferring;
	struct {
		struct node_peer *peer;
		uint64_t end; /* free when that peer's head is there */
	} slab_users[NODE_SLABS];
	uint32_t next_slab;
	struct node_copies *copies; /* node_copy.c's */
	/* node_copy_record(), which the queue below it calls. */
	void (*copy_record)(struct node *, struct node_peer *, enum node_kind, const uint8_t *bytes, size_t length);
	const char *tuning_save; /* PTL_TUNING_SAVE */

	uint32_t nid, pid;
	uint64_t incarnation[2]; /* also the nonce by which peers find out whether they can read our memory */
	int segment_fd, socket;
	int doorbell;                   /* an eventfd, to which peers write */
	int wait_fd;                    /* an epoll object over socket, doorbell and the peers' pidfds */
	bool told_shortage;             /* of descriptors */
	const char *cross_memory_error; /* why not, of the last peer asked; NULL: none was refused */
	struct {
		uint64_t malformed, skipped, refused_uid, wakes, slab_bodies, chunks_helped, renewals;
	} counters;
};

static inline struct node *node_of(struct transport *transport)
{
	return (struct node *)(void *)transport;
}

/* --- kinds of record --- */

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

/* --- where processes run (node_place.c) --- */

/* Says in our segment where we poll, and to the engine where our partner did.  From poll() only. */
void node_note_places(struct node *);

/* --- segments (node_segment.c) --- */

/* Makes our own: sealed, mapped, constants filled in, node.segment_fd and node.segment set.  Reports. */
int node_segment_make(struct node *);
/* Maps a peer's after checking size, seals and constants against its identity.  -EPROTO: it is none of ours. */
int node_segment_map(int fd, const struct node_peer *, struct node_segment **);
void node_segment_unmap(struct node_segment *);
/* Have the constants of our own been changed? */
bool node_segment_spoiled(const struct node *);

/* --- a segment in place of one that was spoiled (node_renew.c) --- */

/* Looks whether ours was. */
void node_note_spoiled(struct node *);
bool node_renewal_due(const struct node *);
/* Renews it, if that is due.  From poll() only.  Returns how much was done. */
int node_renew(struct node *);

/* --- names, doorbells, life and death (node_name.c) --- */

/* Whose event in the wait descriptor; a pidfd's is its peer's index. */
#define NODE_SOCKET_EVENT   UINT64_MAX
#define NODE_DOORBELL_EVENT (UINT64_MAX - 1)

struct sockaddr_un;

/* The length of the name of (nid, pid). */
socklen_t node_name(uint32_t nid, uint32_t pid, struct sockaddr_un *);

/* Binds the name of (nid, pid) and makes doorbell and wait descriptor.  -EADDRINUSE: another process has it. */
int node_name_claim(struct node *, uint32_t pid);
void node_name_release(struct node *);

/* Wakes a peer that sleeps. */
void node_wake(struct node *, struct node_peer *);

/* Takes back all wake-ups; were there any?  From poll() only. */
bool node_doorbell_empty(struct node *);

/* May wake-ups be written to what a peer has sent as its doorbell? */
bool node_is_doorbell(int fd);

/* Watches the process that sent a control message.  False: it has gone since. */
bool node_watch(struct node *, struct node_peer *, pid_t);

/* Watches its process no longer, and gives back its doorbell. */
void node_unwatch(struct node *, struct node_peer *);

/* Is there proof that the process has ended? */
bool node_peer_dead(struct node *, struct node_peer *);

/* The proof that its pidfd gives. */
bool node_pidfd_ended(const struct node_peer *);

/* There is other proof: node_peer_dead() from now on. */
void node_peer_ended(struct node *, struct node_peer *);

/* Wakes it by control message from now on. */
void node_doorbell_close(struct node_peer *);

/* No process has its name. -ENOENT. */
int node_nobody_there(struct node *, struct node_peer *);

/* --- meeting (node_meet.c) --- */

/* Called to send to a peer that is not OPEN: takes the next step.  -EAGAIN, -ENOENT or -EHOSTUNREACH. */
int node_connect(struct node *, struct node_peer *);

/* Reads control messages: introductions, wake-ups, deaths.  Returns how many; never blocks. */
int node_read_control(struct node *);

/* Tells all peers that we leave. */
void node_disconnect(struct node *);

/* --- the table of peers (node_peers.c) --- */

/* The peer of (nid, pid), or NULL. */
struct node_peer *node_peer_find(const struct node *, uint32_t nid, uint32_t pid);
/* The peer of (nid, pid), made if need be.  NULL: no memory, or too many. */
struct node_peer *node_peer_get(struct node *, uint32_t nid, uint32_t pid);
/* The engine knows its address once more, or once less. */
void node_peer_use(struct node_peer *);
void node_peer_disuse(struct node *, struct node_peer *);
/* Its entry is for others, unless something keeps it. */
void node_peer_rest(struct node *, struct node_peer *);
/* Its segment has just been mapped. */
void node_peer_met(struct node *, struct node_peer *);
/* What it sent is delivered, and it has gone or is to be met anew: all forget it, and the engine is told if `tell`. */
void node_peer_lost(struct node *, struct node_peer *, bool tell);
/* Says in our segment how much of the queue each of the peers may have. */
void node_share_queue(struct node *);
void node_peers_free(struct node *);

/* --- numbers of peers (node_number.c) --- */

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

/* --- long data (node_copy.c) --- */

int node_copies_open(struct node *);
void node_copies_close(struct node *); /* waits for helpers that are writing into our memory */
int node_read(struct transport *, const struct transport_read *);
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
