/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put, both ends.
 *
 *   short:  PUT with payload            ->  match, copy, events;  ACK or DISCARDED only if an ACK was asked for
 *   long:   PUT_LONG with the segments  ->  match, START, read by RDMA, END
 *           <-  SOURCE_FREE (and ACK in one), or DISCARDED
 *
 * SEND_END of a short put is posted when the transport has copied it, of a long one when the target has read it.
 *
 * PLACED.  A short put that is not very short may be sent from where it is; then SEND_END waits until it has left this
 * process, as a rule before the call returns.  If the conversation ends before, the transport may still read the memory,
 * so SEND_END, failed by then, waits for it to let go, which it does when the connection breaks.  An answer proves that all has left.
 */
#include <errno.h>

#include "offload/drop.h"
#include "offload/flow.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"
#include "offload/put.h"
#include "offload/put_line.h"
#include "offload/receive.h"
#include "offload/transfer.h"

enum {
	PUT_QUEUED = STATE_QUEUED,
	PUT_EXPOSED,
	PUT_ACK_DUE,
	PUT_PLACED,   /* the transport has its payload */
	PUT_GIVEN_UP, /* so it has, but the conversation is over */
	PUT_LEFT,     /* it needs it no longer, and will say so */
	PUT_PULLING = STATE_QUEUED
};

static void send_ended(struct nic *nic, struct operation *op, ptl_ni_fail_t failure)
{
	operation_deregister(op);
	operation_unpin(nic, op, PTL_EVENT_SEND_END, failure);
}

static void put_sent(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	send_ended(nic, op, PTL_NI_OK);
}

static void put_failed(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	send_ended(nic, op, op->failure);
}

/* An ACK is an operation of its own on the initiator's descriptor: it takes a unit, and finds it gone or not. */
static void log_ack(struct nic *nic, struct operation *op, uint64_t mlength, ptl_ni_fail_t failure)
{
	struct descriptor *md = operation_live_md(op->md, op->md_generation);
	struct event_info info = op->info;

	if (!md || !md->eq) {
		if (!failure) {
			drop_tell(nic, op->peer, WIRE_ACK, "its descriptor is gone, or has no event queue");
			drop_count(nic, 0);
		}
		return;
	}
	info.initiator = op->peer->id;
	info.uid = op->peer->uid;
	info.jid = op->peer->jid;
	info.link = event_link(nic);
	info.mlength = mlength < info.rlength ? mlength : info.rlength;
	info.hdr_data = 0;
	descriptor_start(md, &info, false);
	operation_end(nic, md, PTL_EVENT_ACK, &info, failure);
}

static void put_acknowledged(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	log_ack(nic, op, message->mlength, PTL_NI_OK);
}

static void put_left_acknowledged(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	put_sent(nic, op, message);
	put_acknowledged(nic, op, message);
}

static void put_ack_failed(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	log_ack(nic, op, 0, op->failure);
}

static void put_source_free(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	send_ended(nic, op, message->flags & WIRE_FAILED ? PTL_NI_PROTOCOL : PTL_NI_OK);
	if (message->flags & WIRE_ACKED && op->message.flags & WIRE_WANTS_ACK)
		log_ack(nic, op, message->mlength, message->flags & WIRE_FAILED ? PTL_NI_PROTOCOL : PTL_NI_OK);
}

static operation_action put_lengthen;

static const struct protocol put_short = {
	.name = "short put",
	.on =
		{
			[PUT_QUEUED] = {[OP_SENT] = ON(put_sent, STATE_DONE),
					[OP_PLACED] = IGNORED(PUT_PLACED),
					[OP_TOO_LONG] = ON(put_lengthen, PUT_QUEUED),
					[OP_FAILED] = ON(put_failed, STATE_DONE)},
			[PUT_PLACED] = {[OP_SENT] = ON(put_sent, STATE_DONE), [OP_FAILED] = IGNORED(PUT_GIVEN_UP)},
			[PUT_GIVEN_UP] = {[OP_SENT] = ON(put_failed, STATE_DONE), [OP_FAILED] = IGNORED(PUT_GIVEN_UP)},
		},
};

static const struct protocol put_short_acked = {
	.name = "short put with ACK",
	.on =
		{
			[PUT_QUEUED] = {[OP_SENT] = ON(put_sent, PUT_ACK_DUE),
					[OP_PLACED] = IGNORED(PUT_PLACED),
					[OP_TOO_LONG] = ON(put_lengthen, PUT_QUEUED),
					[OP_FAILED] = ON(put_failed, STATE_DONE)},
			[PUT_PLACED] = {[OP_SENT] = ON(put_sent, PUT_ACK_DUE),
					[OP_ACK] = ON(put_left_acknowledged, PUT_LEFT),
					[OP_DISCARDED] = ON(put_sent, PUT_LEFT),
					[OP_FAILED] = IGNORED(PUT_GIVEN_UP)},
			[PUT_GIVEN_UP] = {[OP_SENT] = ON(put_failed, STATE_DONE), [OP_FAILED] = IGNORED(PUT_GIVEN_UP)},
			[PUT_LEFT] = {[OP_SENT] = IGNORED(STATE_DONE), [OP_FAILED] = IGNORED(PUT_LEFT)},
			[PUT_ACK_DUE] = {[OP_ACK] = ON(put_acknowledged, STATE_DONE),
					 [OP_DISCARDED] = IGNORED(STATE_DONE),
					 [OP_FAILED] = ON(put_ack_failed, STATE_DONE)},
		},
};

static const struct protocol put_long = {
	.name = "long put",
	.on =
		{
			[PUT_QUEUED] = {[OP_SENT] = IGNORED(PUT_EXPOSED), [OP_FAILED] = ON(put_failed, STATE_DONE)},
			[PUT_EXPOSED] = {[OP_SOURCE_FREE] = ON(put_source_free, STATE_DONE),
					 [OP_DISCARDED] = ON(put_sent, STATE_DONE),
					 [OP_FAILED] = ON(put_failed, STATE_DONE)},
		},
};

/*
 * It was short for the way on which it was queued.  That conversation has ended, and the next is over a transport with shorter
 * messages.
 */
static void put_lengthen(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)nic, (void)message;
	op->protocol = &put_long;
	op->message.operation = WIRE_PUT_LONG;
	op->counted = true;
}

static void put_begin(struct nic *nic, struct descriptor *md, struct event_info *info)
{
	descriptor_start(md, info, false);
	descriptor_log(nic, md, PTL_EVENT_SEND_START, info, PTL_NI_OK);
}

/* The short one leaves nothing behind: header and payload are in the transport when the call returns. */
static int put_at_once(struct nic *nic, struct peer *peer, const struct put_arguments *put,
		       struct wire_message *message, struct event_info *info)
{
	struct iovec iov[REGION_MAX_PIECES];
	int count = region_range(&put->md->region, put->local_offset, put->length, iov);
	int rc = peer_send_now(nic, peer, message, iov, count);

	if (rc)
		return rc;
	put_begin(nic, put->md, info);
	operation_end(nic, put->md, PTL_EVENT_SEND_END, info, PTL_NI_OK);
	return 0;
}

static int put_later(struct nic *nic, struct peer *peer, const struct put_arguments *put,
		     const struct wire_message *message, const struct event_info *info, const struct protocol *protocol)
{
	struct operation *op = operation_new(nic, peer, protocol);

	if (!op)
		return -ENOMEM;
	op->md = put->md;
	op->md_generation = atomic_load_explicit(&put->md->item.generation, memory_order_relaxed);
	op->pinned = put->md;
	op->info = *info;
	op->message = *message;
	op->message.token = operation_token(op);
	op->payload_offset = put->local_offset;
	op->payload_length = put->length;
	op->counted = protocol != &put_short;
	put_begin(nic, op->md, &op->info);
	contact_request(nic, op);
	return 0;
}

/* Without an acknowledgement.  It is copied, too, if no operation is left that would keep it in its place. */
static bool leaves_at_once(const struct nic *nic, const struct peer *peer, uint64_t length)
{
	return !peer_places(peer, length) || !operation_is_left(nic, peer, HELD_REQUESTED);
}

int put_issue(struct nic *nic, const struct put_arguments *put)
{
	if (likely(put_line(nic, put)))
		return 0;
	struct peer *peer = peer_get(nic, put->target);
	bool ack = put->ack && put->md->eq;

	if (!peer)
		return -ENOMEM;
	bool far = peer_far(nic, peer, WIRE_PUT, put->length);
	struct event_info info = operation_request_info(nic, put);
	struct wire_message message = operation_request(put, far ? WIRE_PUT_LONG : WIRE_PUT);

	message.flags = ack ? WIRE_WANTS_ACK : 0;
	if (!far && !ack && leaves_at_once(nic, peer, put->length) && put_at_once(nic, peer, put, &message, &info) == 0)
		return 0;
	return put_later(nic, peer, put, &message, &info, far ? &put_long : ack ? &put_short_acked : &put_short);
}

/* --- target --- */

static void put_pulled(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	bool failed = op->transfer.status != 0;
	bool ack = (op->message.flags & WIRE_WANTS_ACK) && !(op->pinned->options & PTL_MD_ACK_DISABLE);
	uint8_t flags = (uint8_t)((ack ? WIRE_ACKED : 0) | (failed ? WIRE_FAILED : 0));

	(void)message;
	operation_unpin(nic, op, PTL_EVENT_PUT_END, transfer_failure(op));
	if (unlikely(op->flow != 0))
		flow_landed(nic, op);
	if (!op->failure) /* else the conversation that knew the token is over */
		peer_answer(nic, op->peer, WIRE_SOURCE_FREE, op->message.token, flags, op->info.mlength);
}

static const struct protocol put_incoming = {
	.name = "incoming long put",
	.on = {[PUT_PULLING] =
		       {[OP_PULLED] = ON(put_pulled, STATE_DONE), [OP_FAILED] = ON(transfer_abandon, PUT_PULLING)}},
};

static void discard(struct nic *nic, struct peer *peer, const struct wire_message *message)
{
	if (message->operation == WIRE_PUT_LONG || message->flags & WIRE_WANTS_ACK)
		peer_answer(nic, peer, WIRE_DISCARDED, message->token, 0, 0);
}

static void put_short_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message,
			      struct descriptor *md, const struct event_info *info)
{
	bool ack = message->flags & WIRE_WANTS_ACK;
	bool refused = md->options & PTL_MD_ACK_DISABLE;

	descriptor_log(nic, md, PTL_EVENT_PUT_START, info, PTL_NI_OK);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	region_write(&md->region, info->offset, message->body, info->mlength);
	timing_lap(&nic->timing, PTL_STAGE_COPY);
	operation_end(nic, md, PTL_EVENT_PUT_END, info, PTL_NI_OK);
	if (timing_on(&nic->timing))
		flow_landed(nic, NULL);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	if (ack) {
		peer_answer(nic, peer, refused ? WIRE_DISCARDED : WIRE_ACK, message->token, 0, info->mlength);
		timing_lap(&nic->timing, PTL_STAGE_ACK);
	}
}

static void put_long_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message,
			     struct descriptor *md, const struct event_info *info, struct operation *op)
{
	op->md = md;
	op->md_generation = atomic_load_explicit(&md->item.generation, memory_order_relaxed);
	op->pinned = md;
	op->info = *info;
	op->message.flags = message->flags;
	op->message.token = message->token;
	operation_append(&peer->active, op);
	peer_mark_busy(nic, peer);
	if (timing_on(&nic->timing))
		op->flow = flow_current(nic);
	descriptor_log(nic, md, PTL_EVENT_PUT_START, info, PTL_NI_OK);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	transfer_start(nic, op, message, info->mlength);
	timing_lap(&nic->timing, PTL_STAGE_COPY);
}

void put_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message)
{
	struct event_info info;
	struct descriptor *md;
	struct operation *op = NULL;

	if (message->operation == WIRE_PUT_LONG && !(op = operation_owed(nic, peer, &put_incoming))) {
		drop_tell(nic, peer, message->operation, OPERATIONS_OWED_TEXT);
		drop_count(nic, message->length);
		discard(nic, peer, message);
		return;
	}
	md = receive_match(nic, peer, message, PTL_MD_OP_PUT, &info);
	if (!md) {
		if (op)
			operation_free(nic, op);
		discard(nic, peer, message);
	} else if (op) {
		put_long_arrived(nic, peer, message, md, &info, op);
	} else {
		put_short_arrived(nic, peer, message, md, &info);
	}
}
