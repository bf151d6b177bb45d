/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations under way: whatever outlives the call or the arrival that began it.  An operation belongs to one peer,
 * runs one protocol, and stands in one state of it; events move it on through the protocol's table.
 */
#ifndef PORTALS_OFFLOAD_OPERATION_H
#define PORTALS_OFFLOAD_OPERATION_H

#include "offload/descriptor.h"
#include "offload/memory_region.h"
#include "offload/nic.h"
#include "offload/registration.h"
#include "offload/wire.h"

/* What can happen to an operation. */
enum operation_event {
	OP_SENT,        /* its message has been accepted by the transport, and its payload is free */
	OP_PLACED,      /* likewise, but its payload is the transport's until OP_SENT */
	OP_ACK,         /* ACK arrived */
	OP_SOURCE_FREE, /* SOURCE_FREE arrived: the exposed memory is not read any more */
	OP_REPLY,       /* REPLY arrived, with the data */
	OP_REPLY_LONG,  /* REPLY_LONG arrived: the data waits to be read */
	OP_DISCARDED,   /* DISCARDED arrived: no other answer will come */
	OP_TOO_LONG,    /* its message is longer than what the transport takes, though it was not where it was made */
	OP_PULLED,      /* our reads of its data have ended, well or badly */
	OP_FAILED,      /* its peer is dead or gone; see operation.failure */
	OPERATION_EVENTS
};

/* A protocol's states are its own enumeration; these two are common. */
enum { STATE_QUEUED = 0, STATE_DONE = 7, STATES = 7 };

typedef void operation_action(struct nic *, struct operation *, const struct wire_message *);

/* next is entered before the action runs; a STATE_DONE operation is freed after its action.  No row: impossible. */
struct transition {
	operation_action *action;
	uint8_t next;
	bool allowed;
};
#define ON(action_, next_)                                                                                             \
	{                                                                                                              \
		.action = (action_), .next = (next_), .allowed = true                                                  \
	}
#define IGNORED(next_)                                                                                                 \
	{                                                                                                              \
		.action = NULL, .next = (next_), .allowed = true                                                       \
	}

struct protocol {
	const char *name;
	struct transition on[STATES][OPERATION_EVENTS];
};

/* Whose operation it is, while it occupies a place in its peer's account. */
enum operation_hold { HELD_NOWHERE, HELD_REQUESTED, HELD_OWED };

/* A message that is over when it has been sent. */
extern const struct protocol operation_once;

/* Reading the peer's segments into our region, piece by piece (transfer.c). */
struct transfer {
	struct wire_segment one, *segments;
	unsigned count, index; /* segments, and the one we are at */
	uint64_t within;       /* bytes of that segment already asked for */
	uint64_t asked, total; /* bytes */
	unsigned in_flight;
	int status;
	bool stalled;
	bool was_suspended; /* the source may have given us up before we asked: see transfer.c */
	bool unconfirmed;   /* all is read, and the source asked whether it was still its memory */
	uint64_t started;   /* timing */
	uint64_t began;     /* monotonic_ns */
	struct operation *next_stalled;
};

struct operation {
	struct pool_item item;
	struct operation *next, *previous; /* in one of its peer's lists */
	struct operation_list *list;
	struct peer *peer;
	const struct protocol *protocol;
	uint8_t state;
	bool counted;          /* wants an answer: occupies one place of the peer's window once sent */
	bool windowed;         /* does so now */
	uint8_t held;          /* enum operation_hold: where it counts */
	ptl_ni_fail_t failure; /* why OP_FAILED */
	struct descriptor *md; /* whose operation it is; may be gone: see md_generation */
	uint32_t md_generation;
	struct descriptor *pinned;   /* between start and end: md, or what PtlMDUpdate made of its predecessor */
	struct descriptor *reply_md; /* getput: where the old bytes go */
	uint32_t reply_generation;
	uint64_t reply_offset;
	struct event_info info;
	struct wire_message message;             /* what is to be sent */
	uint64_t payload_offset, payload_length; /* part of md's region sent behind the header */
	uint16_t inline_length;                  /* or this many bytes of `inline_data` */
	struct memory_regions memory_regions;    /* of this operation alone, */
	struct registration *registration;       /* or its descriptor's */
	uint64_t exposed_from;                   /* where in either the operation's bytes begin */
	void *packed; /* a copy of the source, if its pieces are too many for one message to name */
	struct transfer transfer;
	uint64_t flow;                      /* timing: of a long put that has come, see FLOWS in timeline.h */
	uint8_t inline_data[WIRE_SWAP_MAX]; /* last, and not cleared: see nic_open() */
};

struct operation_list {
	struct operation *head, *tail;
};

void operation_append(struct operation_list *, struct operation *);
void operation_unlist(struct operation *);

/* For a request of ours.  NULL if that would leave too few for others (reported). */
struct operation *operation_new(struct nic *, struct peer *, const struct protocol *);
/*
 * For something that the peer asked for.  NULL if it has asked for more than any honest peer does, which is dropped; or
 * if there is none left at all: then the conversation is broken, so that the peer hears of it.
 */
struct operation *operation_owed(struct nic *, struct peer *, const struct protocol *);
/* For a notice, which is said again if it is not said now.  NULL: there is no room for it now. */
struct operation *operation_for_notice(struct nic *, struct peer *, const struct protocol *);
/* Is there one to be had, for a request (HELD_REQUESTED) or for something that the peer asked for (HELD_OWED)? */
bool operation_is_left(const struct nic *, const struct peer *, enum operation_hold);
void operation_free(struct nic *, struct operation *);

/* Moves the operation on.  -EPROTO if its state does not expect this. */
int operation_advance(struct nic *, struct operation *, enum operation_event, const struct wire_message *);

static inline uint32_t operation_token(const struct operation *op)
{
	return op->item.index | atomic_load_explicit(&op->item.generation, memory_order_relaxed)
					<< NIC_TOKEN_INDEX_BITS;
}

struct operation *operation_find(struct nic *, uint32_t token);

/* The descriptor if it still lives and takes another operation, or NULL. */
struct descriptor *operation_live_md(struct descriptor *, uint32_t generation);

/* Exposes a range of the pinned descriptor's region to the peer's transport; reports why it cannot. */
int operation_expose(struct nic *, struct operation *, uint64_t offset, uint64_t length, enum memory_region_use);
/* Exposes the payload to be read, or a contiguous copy if its pieces are more than a message can name. */
int operation_expose_source(struct nic *, struct operation *);
void operation_deregister(struct operation *);

static inline const struct memory_regions *operation_memory_regions(const struct operation *op)
{
	return op->registration ? &op->registration->memory_regions : &op->memory_regions;
}

/* What a put, a get or a swap was called with. */
struct put_arguments {
	struct descriptor *md, *reply_md; /* reply_md: getput only */
	uint64_t local_offset, length;
	uint64_t reply_offset; /* in reply_md */
	bool ack;
	ptl_process_id_t target;
	ptl_pt_index_t pt_index;
	ptl_ac_index_t ac_index;
	uint64_t match_bits, remote_offset, hdr_data;
};

/* The request's header and the fields of the initiator's events, as the caller gave them. */
struct wire_message operation_request(const struct put_arguments *, enum wire_operation);
static inline struct event_info operation_request_info(struct nic *nic, const struct put_arguments *arguments)
{
	return (struct event_info){
		.initiator = nic->self.id,
		.uid = nic->self.uid,
		.jid = nic->self.jid,
		.pt_index = arguments->pt_index,
		.link = event_link(nic),
		.match_bits = arguments->match_bits,
		.rlength = arguments->length,
		.mlength = arguments->length,
		.offset = arguments->local_offset,
		.hdr_data = arguments->hdr_data,
	};
}

/* END of a failed or completed operation. */
static inline void operation_end(struct nic *nic, struct descriptor *md, ptl_event_kind_t kind,
				 const struct event_info *info, ptl_ni_fail_t failure)
{
	descriptor_end(md);
	descriptor_log(nic, md, kind, info, failure);
	descriptor_settle(nic, md);
}

/* The same for the descriptor that an operation pins, which is pinned no longer. */
void operation_unpin(struct nic *, struct operation *, ptl_event_kind_t, ptl_ni_fail_t);

#endif
