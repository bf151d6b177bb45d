/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Get, both ends.
 *
 *   GET  ->  match, START
 *   <-  REPLY with payload;  END                                      (short answer)
 *   <-  REPLY_LONG with the segments, the initiator reads them,
 *       SOURCE_FREE  ->  END                                          (long answer)
 *   <-  DISCARDED                                                     (nothing matched)
 *
 * Which one the target decides: only it knows how much there is.  The request pins nothing at the initiator: its
 * descriptor may be unlinked before the answer, which is then dropped (and a long one released by SOURCE_FREE).
 */
#include <errno.h>

#include "offload/drop.h"
#include "offload/get.h"
#include "offload/get_answer.h"
#include "offload/get_line.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"
#include "offload/receive.h"
#include "offload/transfer.h"

enum { GET_QUEUED = STATE_QUEUED, GET_WAITING, GET_PULLING };

/* A reply begins: it takes a unit of the descriptor, if that still lives.  False: dropped. */
static bool reply_begin(struct nic *nic, struct operation *op, uint64_t mlength)
{
	struct descriptor *md = operation_live_md(op->md, op->md_generation);

	if (!md)
		return false;
	if (op->info.offset > md->region.length)
		mlength = 0; /* PtlMDUpdate shrank it meanwhile */
	else if (mlength > md->region.length - op->info.offset)
		mlength = md->region.length - op->info.offset;
	op->info.mlength = mlength < op->info.rlength ? mlength : op->info.rlength;
	op->info.initiator = op->peer->id;
	op->info.uid = op->peer->uid;
	op->info.jid = op->peer->jid;
	op->info.link = event_link(nic);
	descriptor_start(md, &op->info, false);
	op->pinned = md;
	descriptor_log(nic, md, PTL_EVENT_REPLY_START, &op->info, PTL_NI_OK);
	return true;
}

static void reply_end(struct nic *nic, struct operation *op, ptl_ni_fail_t failure)
{
	operation_unpin(nic, op, PTL_EVENT_REPLY_END, failure);
}

static void get_failed(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	if (reply_begin(nic, op, 0))
		reply_end(nic, op, op->failure);
}

static void get_reply(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	bool failed = message->flags & WIRE_FAILED;

	if (!reply_begin(nic, op, message->mlength)) {
		drop_tell(nic, op->peer, WIRE_REPLY, "its descriptor is gone");
		drop_count(nic, message->mlength);
		return;
	}
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	region_write(&op->pinned->region, op->info.offset, message->body, op->info.mlength);
	timing_lap(&nic->timing, PTL_STAGE_COPY);
	reply_end(nic, op, failed ? PTL_NI_FAIL : PTL_NI_OK);
}

static void get_reply_long(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	op->message.reply_token = message->reply_token;
	if (reply_begin(nic, op, message->mlength)) {
		transfer_start(nic, op, message, op->info.mlength);
	} else {
		drop_tell(nic, op->peer, WIRE_REPLY_LONG, "its descriptor is gone");
		drop_count(nic, message->mlength);
		operation_advance(nic, op, OP_PULLED, NULL);
	}
}

static void get_pulled(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	bool failed = op->transfer.status != 0;

	(void)message;
	if (op->pinned)
		reply_end(nic, op, transfer_failure(op));
	if (!op->failure) /* else the conversation that knew the token is over */
		peer_answer(nic, op->peer, WIRE_SOURCE_FREE, op->message.reply_token, failed ? WIRE_FAILED : 0,
			    op->info.mlength);
}

/*
 * The Cray XT's dialect counts a get as two operations of its descriptor: sending the request, with a SEND pair and a
 * unit of its own, and receiving the reply.
 */
static void begin_request(struct nic *nic, struct operation *op)
{
	descriptor_start(op->md, &op->info, false);
	op->pinned = op->md;
	descriptor_log(nic, op->md, PTL_EVENT_SEND_START, &op->info, PTL_NI_OK);
}

static void end_request(struct nic *nic, struct operation *op, ptl_ni_fail_t failure)
{
	if (op->pinned)
		operation_unpin(nic, op, PTL_EVENT_SEND_END, failure);
}

static void get_sent(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	end_request(nic, op, PTL_NI_OK);
}

static void get_not_sent(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	end_request(nic, op, op->failure);
	get_failed(nic, op, message);
}

static const struct protocol get_outgoing = {
	.name = "get",
	.on =
		{
			[GET_QUEUED] =
				{[OP_SENT] = ON(get_sent, GET_WAITING), [OP_FAILED] = ON(get_not_sent, STATE_DONE)},
			[GET_WAITING] = {[OP_REPLY] = ON(get_reply, STATE_DONE),
					 [OP_REPLY_LONG] = ON(get_reply_long, GET_PULLING),
					 [OP_DISCARDED] = IGNORED(STATE_DONE),
					 [OP_FAILED] = ON(get_failed, STATE_DONE)},
			[GET_PULLING] = {[OP_PULLED] = ON(get_pulled, STATE_DONE),
					 [OP_FAILED] = ON(transfer_abandon, GET_PULLING)},
		},
};

int get_issue(struct nic *nic, const struct put_arguments *get)
{
	struct peer *peer = peer_get(nic, get->target);
	struct operation *op = peer ? operation_new(nic, peer, &get_outgoing) : NULL;

	if (!op)
		return -ENOMEM;
	op->md = get->md;
	op->md_generation = atomic_load_explicit(&get->md->item.generation, memory_order_relaxed);
	op->info = operation_request_info(nic, get);
	op->message = operation_request(get, WIRE_GET);
	op->message.token = operation_token(op);
	op->counted = true;
	if (unlikely(nic->cray))
		begin_request(nic, op);
	if (unlikely(!get_line(nic, op)))
		contact_request(nic, op);
	return 0;
}

/* --- target --- */

void get_arrived(struct nic *nic, struct peer *peer, const struct wire_message *request)
{
	struct event_info info;
	struct descriptor *md = receive_match(nic, peer, request, PTL_MD_OP_GET, &info);

	if (!md) {
		peer_answer(nic, peer, WIRE_DISCARDED, request->token, 0, 0);
		return;
	}
	bool far = peer_far(nic, peer, WIRE_REPLY, info.mlength);

	descriptor_log(nic, md, PTL_EVENT_GET_START, &info, PTL_NI_OK);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	if (far)
		get_answer_long(nic, peer, request->token, md, &info);
	else
		get_answer(nic, peer, request->token, md, &info);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
}
