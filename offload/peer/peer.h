/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: which processes they are, how we reach them, what waits for them.  The life of a conversation is described in peer.c.
 */
#ifndef PORTALS_OFFLOAD_PEER_H
#define PORTALS_OFFLOAD_PEER_H

#include "offload/operation.h"

/* Operations towards one peer that may await an answer at a time: bounds what a target can owe an initiator. */
#define PEER_WINDOW 256

#define PEER_TICK_NS UINT64_C(250000000) /* between two looks at busy peers, at most */

/* So many refused probes in a row are proof: the first may be an echo of the time before a restart. */
#define PEER_PROBES_REFUSED 2

/*
 * Operations that one peer's messages may hold here: of one that keeps to its window some more than PEER_WINDOW, for
 * what it has freed may be on its way still.  What others ask for is dropped, so that they cannot use up other peers' share.
 * Notices leave half of it to answers: they are repeated, and those are not.
 */
#define PEER_OWED_MAX   (4 * PEER_WINDOW)
#define PEER_NOTICE_MAX (PEER_OWED_MAX / 2)

/* From HOLDING on there is a conversation; a peer that holds wants no requests yet (hold.c). */
enum peer_state {
	PEER_UNKNOWN,
	PEER_CONTACTING,
	PEER_BROKEN, /* we cannot keep our side of the conversation that was: its end is due */
	PEER_HOLDING,
	PEER_READY
};

/* Where a peer was when reads of its memory were left behind, and cut; counts as a use of the address. */
struct peer_lost {
	struct peer_lost *next;
	struct transport *transport; /* NULL: closed */
	transport_address address;
};

struct peer {
	struct peer *next; /* same hash bucket */
	struct peer *next_busy;
	ptl_process_id_t id;
	enum peer_state state;
	bool busy;                   /* on nic->peers.busy; taken off lazily, by its timer */
	bool held_back;              /* it was told that we hold, and nothing else since */
	struct transport *transport; /* of `path`; NULL: none yet */
	enum nic_path path;
	transport_address address;              /* held[path] */
	transport_address held[NIC_TRANSPORTS]; /* in use at the transports, by path: see peer_table.c */
	unsigned attempt;                       /* which of its addresses that is */
	uint16_t local_tag, remote_tag, abilities;
	uint32_t said, heard; /* requests and answers of this conversation */
	ptl_uid_t uid;
	ptl_jid_t jid;
	uint64_t incarnation[2];

	struct operation_list requests;  /* not sent yet, in the order of the calls */
	struct operation_list responses; /* likewise; they overtake requests, never each other */
	struct operation_list active;    /* sent, unfinished */
	unsigned outstanding;            /* operations that occupy the window */

	int offered;         /* what came of offering HELLO the last time */
	unsigned refusals;   /* consecutive ones of the transport */
	uint64_t full_since; /* they are -ENOBUFS since then; 0: they are not */
	uint64_t retry_at;   /* do not try to send before */
	uint64_t contact_deadline, slice_end;
	uint64_t looked_at; /* after that, last_looks times so far */
	unsigned last_looks;
	unsigned slice;
	uint32_t arrivals, arrivals_seen, arrivals_visited;
	bool examined; /* nothing is under way, but is it still there? */
	bool source_shown
		[NIC_TRANSPORTS]; /* the transport has named it as the source of a message: it can be told apart */
	uint16_t unverified; /* place on nic->unverified + 1; 0: it has proven to be there, or we have asked for it */
	bool reached;        /* its transport has taken a message for it: a process is at its address */
	unsigned owed;       /* operations held for what it has sent, at most PEER_OWED_MAX */
	unsigned requested;  /* operations towards it that are ours */
	uint64_t cut_at[NIC_TRANSPORTS];            /* when we severed what connects us last, by path; 0: never */
	uint64_t silent_since, pinged_at, asked_at; /* asked_at: what unconfirmed transfers want to know */
	unsigned pings, refused_probes;
	uint32_t oldest;       /* token of what had been under way for longest when we looked last, 0: nothing was */
	uint64_t oldest_since; /* when we saw it first */
	unsigned reads;        /* of its memory, under way in this conversation */
	uint32_t reads_ended, reads_ended_seen; /* so many of them have, so many when we looked last */
	uint64_t streamed;                      /* bytes of them since it last sent something short (transfer.c) */
	uint64_t reads_stuck_since;             /* 0: not looked at yet */
	uint64_t reads_overdue_since;           /* seen to be stuck for too long; 0: they are not */
	struct peer_lost *lost;                 /* while reads of its memory have yet to end */
	struct peer *next_unsent, **unsent_at;  /* on nic->peers.unsent; unsent_at NULL: it is not */
};

static inline bool peer_met_us(const struct peer *peer)
{
	return peer->state >= PEER_HOLDING;
}

/* A response can be sent at once: nothing waits before it, and the transport refused nothing when it was asked last. */
static inline bool peer_takes_responses(const struct peer *peer)
{
	return peer->state == PEER_READY && !peer->responses.head && !peer->refusals;
}

/* Likewise a request. */
static inline bool peer_takes_requests(const struct peer *peer)
{
	return peer_takes_responses(peer) && !peer->requests.head;
}

/* An answer of ours that will not be said is as good as lost on its way: the peer is told that it is missing. */
static inline void peer_note_unsaid(struct peer *peer, unsigned operation)
{
	peer->said += wire_is_counted(operation);
}

/* The transport has taken a message. */
static inline void peer_note_sent(struct peer *peer, unsigned operation)
{
	peer->said += wire_is_counted(operation);
	peer->refusals = 0;
	peer->retry_at = peer->full_since = 0;
}

/* A message of the conversation has come. */
static inline void peer_note_arrival(struct peer *peer, unsigned operation)
{
	peer->arrivals++;
	peer->heard += wire_is_counted(operation);
}

/* A put with so much data, by a transport that needs no more. */
static inline void peer_note_put(struct nic *nic, struct peer *peer, uint64_t data)
{
	peer_note_sent(peer, WIRE_PUT);
	nic->counters.requests_sent++;
	nic->counters.bytes_sent += data;
	nic->lengths.send += data;
}

/* Likewise a reply. */
static inline void peer_note_reply(struct nic *nic, struct peer *peer, uint64_t data)
{
	peer_note_sent(peer, WIRE_REPLY);
	nic->counters.responses_sent++;
	nic->counters.bytes_sent += data;
	nic->lengths.send += data;
}

/* --- conversations (peer.c) --- */

/* The peer that we met at that address, if at any of a transport with compact headers. */
static inline struct peer *peer_met_at(const struct nic *nic, enum nic_path path, transport_address address)
{
	return address < nic->peers.met[path].room ? nic->peers.met[path].peers[address] : NULL;
}

/* Of the transport with compact headers being polled: the peer that we met there, or NULL. */
static inline struct peer *peer_met(const struct nic *nic, transport_address address)
{
	struct peer *peer = peer_met_at(nic, nic->drive.polling, address);

	return peer && peer->path == nic->drive.polling && peer->address == address ? peer : NULL;
}

/* Is a payload of that length better sent from where it is?  Then an operation has to keep it (OP_PLACED). */
static inline bool peer_places(const struct peer *peer, uint64_t length)
{
	return peer->state == PEER_READY && peer->transport->limits.placed_min > 0 &&
	       length >= peer->transport->limits.placed_min;
}

/*
 * Failed, but our reads of the peer's memory have yet to end, or what is sent from its place to leave: what comes after
 * them is behind them.
 */
static inline bool peer_reads_hang(const struct peer *peer)
{
	return peer->active.head && peer->active.head->failure;
}

/* Most bytes that travel to the peer behind the header of such a message. */
uint64_t peer_short_max(const struct nic *, const struct peer *, enum wire_operation);
/* Is a message with so much payload to be announced, for the peer to read it? */
bool peer_far(const struct nic *, const struct peer *, enum wire_operation, uint64_t length);

/* Queues the operation's response, or sends it at once if nothing is in its way. */
void peer_respond(struct nic *, struct operation *);

/* Queues a response without a body for the peer.  An answer for which there is no room will be missed there. */
void peer_answer(struct nic *, struct peer *, enum wire_operation, uint32_t token, uint8_t flags, uint64_t mlength);

/* Queues a notice, in the place of one of its kind that still waits. */
void peer_queue_notice(struct nic *, struct peer *, const struct wire_message *);

/* PING about an operation, 0: none.  It is not asked if that question waits already, or if there is no room for it now. */
void peer_ask(struct nic *, struct peer *, uint32_t token);

/* Sends a message without an operation; only if nothing waits before it.  0, or -EAGAIN: use contact_request(). */
int peer_send_now(struct nic *, struct peer *, struct wire_message *, const struct iovec *payload, int count);

/* Sends a notice past everything that waits.  0 or what the transport says; peer->refusals counts in a row. */
int peer_send_notice(struct nic *, struct peer *, struct wire_message *);

/* Sends what waits, as far as it goes.  Returns how many messages went. */
int peer_flush(struct nic *, struct peer *);

/* Everything under way with the peer fails; the next operation begins with first contact. */
void peer_fail(struct nic *, struct peer *, ptl_ni_fail_t, const char *why);

/* The peer lost or forgot its state (restart): what it was sent fails, what still waits goes to its successor. */
void peer_reset(struct nic *, struct peer *);

/* The same for another reason, silently; and all of one of its lists fails. */
void peer_end(struct nic *, struct peer *, ptl_ni_fail_t);
void peer_fail_list(struct nic *, struct operation_list *, ptl_ni_fail_t);

#endif
