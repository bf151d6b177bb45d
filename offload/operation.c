/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/operation.h"

#include <errno.h>
#include <stdlib.h>

#include "base/report.h"
#include "offload/peer.h"

void operation_append(struct operation_list *list, struct operation *op)
{
	op->list = list;
	op->next = NULL;
	op->previous = list->tail;
	*(list->tail ? &list->tail->next : &list->head) = op;
	list->tail = op;
}

void operation_unlist(struct operation *op)
{
	struct operation_list *list = op->list;

	if (!list)
		return;
	*(op->previous ? &op->previous->next : &list->head) = op->next;
	*(op->next ? &op->next->previous : &list->tail) = op->previous;
	op->list = NULL;
}

struct operation *operation_new(struct nic *nic, struct peer *peer, const struct protocol *protocol)
{
	uint32_t used = nic->operations.used;
	struct operation *op = pool_take(&nic->operations);

	if (!op) {
		report_error(-ENOMEM, "%u operations are under way, no more are possible", nic->operations.live);
		return NULL;
	}
	nic->counters.allocations += nic->operations.used != used;
	op->peer = peer;
	op->protocol = protocol;
	op->state = STATE_QUEUED;
	return op;
}

static void operation_leave(struct operation *op)
{
	operation_unlist(op);
	if (op->windowed) {
		op->windowed = false;
		op->peer->outstanding--;
	}
}

void operation_free(struct nic *nic, struct operation *op)
{
	operation_leave(op);
	operation_withdraw(nic, op);
	if (op->transfer.segments != &op->transfer.one)
		free(op->transfer.segments);
	pool_give(&nic->operations, op);
}

int operation_advance(struct nic *nic, struct operation *op, enum occurrence what, const struct wire_message *message)
{
	const struct transition *transition = &op->protocol->on[op->state][what];
	bool done = transition->next == STATE_DONE;

	if (!transition->allowed)
		return -EPROTO;
	op->state = transition->next;
	if (done)
		operation_leave(op);
	if (transition->action)
		transition->action(nic, op, message);
	if (done)
		operation_free(nic, op);
	return 0;
}

struct operation *operation_find(struct nic *nic, uint32_t token)
{
	return pool_find(&nic->operations, token & ((1u << NIC_TOKEN_INDEX_BITS) - 1), token >> NIC_TOKEN_INDEX_BITS);
}

struct descriptor *operation_live_md(struct descriptor *md, uint32_t generation)
{
	if (!md || !md->item.live || !md->active ||
	    atomic_load_explicit(&md->item.generation, memory_order_relaxed) != generation)
		return NULL;
	return md;
}

void operation_unpin(struct nic *nic, struct operation *op, ptl_event_kind_t kind, ptl_ni_fail_t failure)
{
	struct descriptor *md = op->pinned;

	op->pinned = NULL;
	operation_end(nic, md, kind, &op->info, failure);
}

static int expose_piece(struct nic *nic, struct operation *op, const struct iovec *piece, unsigned uses,
			struct exposure *exposure)
{
	struct transport *transport = op->peer->transport;
	uint64_t start = timing_start(&nic->timing);
	int rc = transport->ops->expose(transport, piece->iov_base, piece->iov_len, uses, exposure);

	op->exposures.transport = transport;
	timing_stop(&nic->timing, PTL_STAGE_REGISTER, start);
	return rc;
}

static int expose_many(struct nic *nic, struct operation *op, const struct iovec *iov, unsigned count, unsigned uses)
{
	struct exposures *exposures = &op->exposures;

	exposures->many = calloc(count, sizeof(*exposures->many));
	exposures->lengths = calloc(count, sizeof(*exposures->lengths));
	if (!exposures->many || !exposures->lengths)
		return report_error(-ENOMEM, "no memory to expose %u pieces", count);
	for (unsigned i = 0; i < count; i++) {
		int rc = expose_piece(nic, op, &iov[i], uses, &exposures->many[i]);
		if (rc)
			return rc;
		exposures->lengths[i] = iov[i].iov_len;
		exposures->count = i + 1;
	}
	return 0;
}

int operation_expose(struct nic *nic, struct operation *op, const struct region *region, uint64_t offset,
		     uint64_t length, unsigned uses)
{
	struct iovec iov[REGION_MAX_PIECES];
	unsigned count = (unsigned)region_range(region, offset, length, iov);
	int rc = 0;

	if (count == 1) {
		rc = expose_piece(nic, op, &iov[0], uses, &op->exposures.one);
		op->exposures.count = rc == 0;
		op->exposures.one_length = length;
	} else if (count > 1) {
		rc = expose_many(nic, op, iov, count, uses);
	}
	if (rc)
		operation_withdraw(nic, op);
	return rc;
}

int operation_expose_packed(struct nic *nic, struct operation *op, const struct region *region, uint64_t offset,
			    uint64_t length)
{
	struct exposures *exposures = &op->exposures;
	struct iovec piece = {malloc(length), length};

	if (!piece.iov_base)
		return report_error(-ENOMEM, "no memory to pack %llu bytes", (unsigned long long)length);
	region_read(region, offset, piece.iov_base, length);
	exposures->packed = piece.iov_base;
	exposures->one_length = length;
	int rc = expose_piece(nic, op, &piece, EXPOSE_READ, &exposures->one);

	exposures->count = rc == 0;
	if (rc)
		operation_withdraw(nic, op);
	return rc;
}

void operation_withdraw(struct nic *nic, struct operation *op)
{
	struct exposures *exposures = &op->exposures;
	struct transport *transport = exposures->transport;

	(void)nic;
	for (unsigned i = 0; i < exposures->count; i++)
		transport->ops->withdraw(transport, exposures->many ? &exposures->many[i] : &exposures->one);
	free(exposures->many);
	free(exposures->lengths);
	free(exposures->packed);
	*exposures = (struct exposures){0};
}

struct wire_message request_of(const struct put_arguments *arguments, enum wire_operation operation)
{
	return (struct wire_message){
		.operation = (uint8_t)operation,
		.pt_index = arguments->pt_index < UINT16_MAX ? (uint16_t)arguments->pt_index : UINT16_MAX,
		.ac_index = arguments->ac_index < UINT16_MAX ? (uint16_t)arguments->ac_index : UINT16_MAX,
		.match_bits = arguments->match_bits,
		.offset = arguments->remote_offset,
		.length = arguments->length,
		.hdr_data = arguments->hdr_data,
	};
}

struct event_info request_info(struct nic *nic, const struct put_arguments *arguments)
{
	return (struct event_info){
		.initiator = nic->id,
		.uid = nic->uid,
		.jid = nic->jid,
		.pt_index = arguments->pt_index,
		.link = event_link(nic),
		.match_bits = arguments->match_bits,
		.rlength = arguments->length,
		.mlength = arguments->length,
		.offset = arguments->local_offset,
		.hdr_data = arguments->hdr_data,
	};
}

const struct protocol protocol_once = {
	.name = "message",
	.on = {[STATE_QUEUED] = {[OP_SENT] = IGNORED(STATE_DONE), [OP_FAILED] = IGNORED(STATE_DONE)}},
};

void respond(struct nic *nic, struct peer *peer, enum wire_operation what, uint32_t token, uint8_t flags,
	     uint64_t mlength)
{
	struct wire_message message = {.operation = (uint8_t)what, .flags = flags, .token = token, .mlength = mlength};

	/* A conversation that is over wants no answers. */
	if (peer->state != PEER_READY || peer_send_now(nic, peer, &message, NULL, 0) == 0)
		return;
	struct operation *op = operation_new(nic, peer, &protocol_once);
	if (!op)
		return; /* the initiator's window makes this impossible for 1 000 peers at once; then its timeout helps */
	op->message = message;
	peer_respond(nic, op);
}
