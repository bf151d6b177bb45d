/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes of one node: what the files of this transport share.
 *
 * Every interface owns one segment of memory that its peers map too, a queue of cache lines into which every peer
 * appends (node_queue.c); one datagram socket of the abstract Unix namespace, named after (nid, pid), which is
 * the claim to that pid and the place to meet (node_meet.c); and a doorbell that wakes it when it sleeps (node_name.c).
 *
 * Writers of each part of a segment, R being its owner and S any peer:
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
#include "base/robust.h"
#include "transports/transport.h"

/* Of struct node_segment, of what is written into it, and of control messages; to be raised with every change. */
#define NODE_LAYOUT_VERSION 7

#define NODE_SLOTS     1024 /* a power of two */
#define NODE_SLABS     64
#define NODE_SLAB_SIZE 32768
#define NODE_PIECE_MAX 16384 /* of a message that is staged: half a slab, so that both ends copy at a time */
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

/* In a memory file of its own, which peers can only read (node_voucher.c). */
struct node_voucher {
	_Atomic uint32_t thread;   /* the NIC thread's id until it ends (base/robust.h), or 0: it would not tell */
	_Atomic uint32_t renewals; /* of the segment */
	struct robust robust;      /* of that thread: the owner's and the kernel's */
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
	bool unreported;    /* the engine does not know its greeting yet */
	uint32_t index;     /* its transport_address: here, with what every record of its asks for */

	uint32_t nid, pid;
	pid_t os_pid; /* 0: not visible here (another pid namespace) */
	int pidfd;    /* negative: none */
	uint64_t incarnation[2];
	uint64_t nonce;                     /* where its incarnation lies in its own memory */
	const struct node_voucher *voucher; /* while its segment is mapped; NULL: it has sent none */
	uint64_t sign;            /* node_sign() when its process was known to be the one we met; 0: nothing */
	uint64_t last_tail;       /* of our queue, after it had failed: nothing that it sent is behind that */
	int doorbell;             /* wake-ups are written to it; -1: by control message */
	uint64_t connect_sent_at; /* monotonic_ns(), and how often in the low bits */
	uint32_t uses;            /* of that by the engine */
	bool to_be_told;          /* the engine, that it was lost */
	bool spare;               /* on the list of those that nothing keeps, or was when it came there: node_peers.c */
	struct node_peer *next_deferring, *next_same_hash, *next_spare;
	struct transport_greeting ours, theirs; /* of this connection; version 0: none yet */
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
	uint32_t lead;        /* records by which we are taken to be behind before a drive has found any: is_behind() */
	uint32_t full_drives; /* in a row, which found as much as they may handle */
	uint32_t fruitless;   /* polls in a row */
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
	uint32_t singly; /* node_consume() takes one message so many times more: the partner polls on this CPU too */
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
	struct node_voucher *voucher; /* NULL: the system refuses what it takes */
	int voucher_fd;
};

static inline struct node *node_of(struct transport *transport)
{
	return (struct node *)(void *)transport;
}

/* Tells the engine the greeting of a peer that is met.  From poll() only. */
static inline void node_report_connected(struct node *node, struct node_peer *peer)
{
	const struct transport_connection connection = {
		.nid = peer->nid, .pid = peer->pid, .ours = peer->ours, .theirs = peer->theirs};

	peer->unreported = false;
	if (node->sink->connected)
		node->sink->connected(node->owner, peer->index, &connection);
}

#endif
