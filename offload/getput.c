/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GetPut, both ends: always short (at most WIRE_SWAP_MAX bytes), swapped under the engine's ownership, which makes
 * it atomic against every other operation that this NIC performs on the same bytes.
 *
 *   GETPUT with payload  ->  match, START, swap, END
 *   <-  REPLY with the old bytes, or DISCARDED
 *
 * SEND events are the put descriptor's, REPLY events the get descriptor's; both may be the same descriptor.
 */
#include <errno.h>

#include "offload/drop.h"
#include "offload/getput.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"
#include "offload/receive.h"

enum { SWAP_QUEUED = STATE_QUEUED, SWAP_WAITING };

/* PtlMDUpdate may have made the region shorter meanwhile. */
static uint64_t room_at(const struct region *region, uint64_t offset)
{
	return offset < region->length ? region->length - offset : 0;
}

static void reply(struct nic *nic, struct operation *op, const struct wire_message *message, ptl_ni_fail_t failure)
{
	struct descriptor *md = operation_live_md(op->reply_md, op->reply_generation);
	uint64_t mlength = message ? message->mlength : 0;
	struct event_info info = op->info;

	if (!md) {
		if (message) {
			drop_tell(nic, op->peer, WIRE_REPLY, "its descriptor is gone");
			drop_count(nic, mlength);
		}
		return;
	}
	if (mlength > op->info.rlength)
		mlength = op->info.rlength;
	info.initiator = op->peer->id;
	info.uid = op->peer->uid;
	info.jid = op->peer->jid;
	info.link = event_link(nic);
	info.mlength = room_at(&md->region, op->reply_offset);
	if (info.mlength > mlength)
		info.mlength = mlength;
	info.offset = op->reply_offset;
	info.hdr_data = 0;
	descriptor_start(md, &info, false);
	descriptor_log(nic, md, PTL_EVENT_REPLY_START, &info, PTL_NI_OK);
	if (message)
		region_write(&md->region, info.offset, message->body, info.mlength);
	operation_end(nic, md, PTL_EVENT_REPLY_END, &info, failure);
}

static void swap_sent(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	operation_unpin(nic, op, PTL_EVENT_SEND_END, PTL_NI_OK);
}

static void swap_replied(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	reply(nic, op, message, PTL_NI_OK);
}

static void swap_reply_failed(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	reply(nic, op, NULL, op->failure);
}

static void swap_failed(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	operation_unpin(nic, op, PTL_EVENT_SEND_END, op->failure);
	swap_reply_failed(nic, op, message);
}

static const struct protocol getput_outgoing = {
	.name = "getput",
	.on =
		{
			[SWAP_QUEUED] =
				{[OP_SENT] = ON(swap_sent, SWAP_WAITING), [OP_FAILED] = ON(swap_failed, STATE_DONE)},
			[SWAP_WAITING] = {[OP_REPLY] = ON(swap_replied, STATE_DONE),
					  [OP_DISCARDED] = IGNORED(STATE_DONE),
					  [OP_FAILED] = ON(swap_reply_failed, STATE_DONE)},
		},
};

int getput_issue(struct nic *nic, const struct put_arguments *swap)
{
	struct peer *peer = peer_get(nic, swap->target);
	struct operation *op = peer ? operation_new(nic, peer, &getput_outgoing) : NULL;

	if (!op)
		return -ENOMEM;
	op->md = swap->md;
	op->md_generation = atomic_load_explicit(&swap->md->item.generation, memory_order_relaxed);
	op->reply_md = swap->reply_md;
	op->reply_generation = atomic_load_explicit(&swap->reply_md->item.generation, memory_order_relaxed);
	op->reply_offset = swap->reply_offset;
	op->pinned = swap->md;
	op->info = operation_request_info(nic, swap);
	op->message = operation_request(swap, WIRE_GETPUT);
	op->message.token = operation_token(op);
	op->payload_offset = swap->local_offset;
	op->payload_length = swap->length;
	op->counted = true;
	descriptor_start(op->md, &op->info, false);
	descriptor_log(nic, op->md, PTL_EVENT_SEND_START, &op->info, PTL_NI_OK);
	contact_request(nic, op);
	return 0;
}

/* --- target --- */

void getput_arrived(struct nic *nic, struct peer *peer, const struct wire_message *request)
{
	struct event_info info;
	struct operation *op = operation_owed(nic, peer, &operation_once);
	struct descriptor *md = op ? receive_match(nic, peer, request, PTL_MD_OP_PUT | PTL_MD_OP_GET, &info) : NULL;

	if (!op) {
		drop_tell(nic, peer, WIRE_GETPUT, OPERATIONS_OWED_TEXT);
		drop_count(nic, request->length);
	}
	if (!md) {
		if (op)
			operation_free(nic, op);
		peer_answer(nic, peer, WIRE_DISCARDED, request->token, 0, 0);
		return;
	}
	descriptor_log(nic, md, PTL_EVENT_GETPUT_START, &info, PTL_NI_OK);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	region_read(&md->region, info.offset, op->inline_data, info.mlength);
	region_write(&md->region, info.offset, request->body, info.mlength);
	timing_lap(&nic->timing, PTL_STAGE_COPY);
	operation_end(nic, md, PTL_EVENT_GETPUT_END, &info, PTL_NI_OK);
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
	op->inline_length = (uint16_t)info.mlength;
	op->message = (struct wire_message){.operation = WIRE_REPLY, .token = request->token, .mlength = info.mlength};
	peer_respond(nic, op);
	timing_lap(&nic->timing, PTL_STAGE_ACK);
}
