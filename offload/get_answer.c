/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer to a get whose START has been told: short or long (get.c), at once or later, and the END. */
#include "offload/get_answer.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"

enum { ANSWER_QUEUED = STATE_QUEUED, ANSWER_EXPOSED, ANSWER_PLACED, ANSWER_GIVEN_UP }; /* PLACED: see put.c */

static void answer_ended(struct nic *nic, struct operation *op, ptl_ni_fail_t failure)
{
	operation_deregister(op);
	operation_unpin(nic, op, PTL_EVENT_GET_END, failure);
}

static void answer_sent(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	answer_ended(nic, op, PTL_NI_OK);
}

static void answer_read(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	answer_ended(nic, op, message->flags & WIRE_FAILED ? PTL_NI_PROTOCOL : PTL_NI_OK);
}

static void answer_failed(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	answer_ended(nic, op, op->failure);
	/* If the trouble is ours (memory that cannot be exposed), the initiator has to know. */
	if (op->failure == PTL_NI_FAIL)
		peer_answer(nic, op->peer, WIRE_REPLY, op->message.token, WIRE_FAILED, 0);
}

/* The conversation that knew the initiator's token is over. */
static void answer_given_up(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	answer_ended(nic, op, op->failure);
}

static const struct protocol answer_short = {
	.name = "short reply",
	.on =
		{
			[ANSWER_QUEUED] = {[OP_SENT] = ON(answer_sent, STATE_DONE),
					   [OP_PLACED] = IGNORED(ANSWER_PLACED),
					   [OP_FAILED] = ON(answer_failed, STATE_DONE)},
			[ANSWER_PLACED] =
				{[OP_SENT] = ON(answer_sent, STATE_DONE), [OP_FAILED] = IGNORED(ANSWER_GIVEN_UP)},
			[ANSWER_GIVEN_UP] =
				{[OP_SENT] = ON(answer_given_up, STATE_DONE), [OP_FAILED] = IGNORED(ANSWER_GIVEN_UP)},
		},
};

static const struct protocol answer_long = {
	.name = "long reply",
	.on =
		{
			[ANSWER_QUEUED] =
				{[OP_SENT] = IGNORED(ANSWER_EXPOSED), [OP_FAILED] = ON(answer_failed, STATE_DONE)},
			[ANSWER_EXPOSED] = {[OP_SOURCE_FREE] = ON(answer_read, STATE_DONE),
					    [OP_FAILED] = ON(answer_failed, STATE_DONE)},
		},
};

static int answer_at_once(struct nic *nic, struct peer *peer, uint32_t token, struct descriptor *md,
			  const struct event_info *info)
{
	struct wire_message reply = {.operation = WIRE_REPLY, .token = token, .mlength = info->mlength};
	struct iovec iov[REGION_MAX_PIECES];
	int count = region_range(&md->region, info->offset, info->mlength, iov);
	int rc = peer_send_now(nic, peer, &reply, iov, count);

	timing_lap(&nic->timing, PTL_STAGE_COPY);
	if (rc == 0)
		operation_end(nic, md, PTL_EVENT_GET_END, info, PTL_NI_OK);
	return rc;
}

static void answer_later(struct nic *nic, struct peer *peer, uint32_t token, struct descriptor *md,
			 const struct event_info *info, const struct protocol *protocol)
{
	struct operation *op = operation_owed(nic, peer, protocol);

	if (!op) {
		operation_end(nic, md, PTL_EVENT_GET_END, info, PTL_NI_FAIL);
		peer_answer(nic, peer, WIRE_REPLY, token, WIRE_FAILED, 0);
		return;
	}
	op->pinned = md;
	op->info = *info;
	op->message = (struct wire_message){
		.operation = protocol == &answer_long ? WIRE_REPLY_LONG : WIRE_REPLY,
		.token = token,
		.reply_token = operation_token(op),
		.mlength = info->mlength,
	};
	op->payload_offset = info->offset;
	op->payload_length = info->mlength;
	peer_respond(nic, op);
}

/* It is copied if no operation is left that would keep it. */
static bool stays_in_place(const struct nic *nic, const struct peer *peer, uint64_t length)
{
	return peer_places(peer, length) && operation_is_left(nic, peer, HELD_OWED);
}

void get_answer(struct nic *nic, struct peer *peer, uint32_t token, struct descriptor *md,
		const struct event_info *info)
{
	if (stays_in_place(nic, peer, info->mlength) || answer_at_once(nic, peer, token, md, info) != 0)
		answer_later(nic, peer, token, md, info, &answer_short);
}

void get_answer_long(struct nic *nic, struct peer *peer, uint32_t token, struct descriptor *md,
		     const struct event_info *info)
{
	answer_later(nic, peer, token, md, info, &answer_long);
}
