/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long data is always read by the side it goes to: the target of a put reads the exposed source, the initiator of a
 * get reads the exposed answer.  Only that side knows that its own memory is still meant to be written, so nothing
 * can land after PtlMDUnlink; and a key is withdrawn only when its reader has said that it is done.  (Measured with
 * libfabric 1.17, tcp and net: using a withdrawn key costs the whole connection and silently loses the messages
 * behind it, and closing a registration does not stop a write in progress.  Hence no writes by the target of a get.)
 */
#include <errno.h>
#include <stdlib.h>

#include "base/report.h"
#include "offload/operation.h"
#include "offload/peer.h"

static int keep_segments(struct transfer *transfer, const struct wire_message *message)
{
	transfer->count = message->segment_count;
	transfer->segments = &transfer->one;
	if (transfer->count > 1) {
		transfer->segments = calloc(transfer->count, sizeof(*transfer->segments));
		if (!transfer->segments) {
			transfer->segments = &transfer->one;
			return report_error(-ENOMEM, "no memory for %u remote segments", transfer->count);
		}
	}
	for (unsigned i = 0; i < transfer->count; i++)
		transfer->segments[i] = wire_segment(message, i);
	return 0;
}

/* For providers that register local buffers too. */
static const struct exposure *local_exposure(const struct operation *op)
{
	return exposures_at(operation_exposures(op), op->exposed_from + op->transfer.asked);
}

/* Asks for the next piece that is contiguous on both sides. */
static int ask_piece(struct operation *op)
{
	struct transfer *transfer = &op->transfer;
	struct transport *transport = op->peer->transport;
	const struct wire_segment *segment = &transfer->segments[transfer->index];
	uint64_t length;
	void *local = region_at(&op->pinned->region, op->info.offset + transfer->asked, &length);

	if (length > segment->length - transfer->within)
		length = segment->length - transfer->within;
	if (length > transfer->total - transfer->asked)
		length = transfer->total - transfer->asked;
	if (length > transport->limits.rma_chunk)
		length = transport->limits.rma_chunk;
	int rc = transport->ops->read(transport, op->peer->address, local, length, local_exposure(op),
				      segment->address + transfer->within, segment->key, op);
	if (rc)
		return rc;
	transfer->in_flight++;
	transfer->asked += length;
	transfer->within += length;
	if (transfer->within == segment->length) {
		transfer->index++;
		transfer->within = 0;
	}
	return 0;
}

static void stall(struct nic *nic, struct operation *op)
{
	if (op->transfer.stalled)
		return;
	op->transfer.stalled = true;
	op->transfer.next_stalled = NULL;
	*(nic->stalled ? nic->stalled_end : &nic->stalled) = op;
	nic->stalled_end = &op->transfer.next_stalled;
}

/* Asks for as much as may be in flight; ends the transfer when nothing is left to ask or to wait for. */
static void transfer_progress(struct nic *nic, struct operation *op)
{
	struct transfer *transfer = &op->transfer;
	size_t depth = op->peer->transport->limits.rma_depth;

	while (transfer->status == 0 && transfer->asked < transfer->total && transfer->in_flight < depth) {
		int rc = ask_piece(op);

		if (rc == -EAGAIN) {
			stall(nic, op);
			return;
		}
		if (rc)
			transfer->status = rc;
	}
	if (transfer->in_flight > 0 || transfer->stalled ||
	    (transfer->status == 0 && transfer->asked < transfer->total))
		return;
	timing_stop(&nic->timing, PTL_STAGE_RDMA, transfer->started);
	operation_withdraw(op);
	operation_advance(nic, op, OP_PULLED, NULL);
}

void transfer_start(struct nic *nic, struct operation *op, const struct wire_message *message, uint64_t total)
{
	struct transfer *transfer = &op->transfer;
	int rc = keep_segments(transfer, message);

	transfer->total = total;
	transfer->started = timing_start(&nic->timing);
	nic->counters.long_messages++;
	if (!rc && total > 0 && op->peer->transport->limits.local_registration &&
	    operation_expose(nic, op, op->info.offset, total, EXPOSE_LOCAL))
		rc = -ENOMEM; /* whatever the reason, which is reported: the trouble is ours */
	transfer->status = rc;
	transfer_progress(nic, op);
}

ptl_ni_fail_t transfer_failure(const struct operation *op)
{
	switch (op->transfer.status) {
	case 0:
		return PTL_NI_OK;
	case -ECONNRESET:
	case -ECANCELED:
	case -ENOTCONN:
		return op->failure ? op->failure : PTL_NI_PEER_DIED;
	case -ENOMEM:
		return op->failure ? op->failure : PTL_NI_FAIL;
	default:
		return op->failure ? op->failure : PTL_NI_PROTOCOL;
	}
}

void transfer_done(void *owner, void *context, int status)
{
	struct operation *op = context;

	op->transfer.in_flight--;
	if (status == 0)
		op->peer->arrivals++; /* a sign of life, though the peer's answers to PING may be far behind its data */
	else if (op->transfer.status == 0)
		op->transfer.status = status;
	transfer_progress(owner, op);
}

/* In the order in which they stalled, so that the oldest message gets the room. */
int transfers_resume(struct nic *nic)
{
	struct operation *op = nic->stalled;
	int moved = 0;

	nic->stalled = NULL;
	while (op) {
		struct operation *next = op->transfer.next_stalled;

		op->transfer.stalled = false;
		uint64_t asked = op->transfer.asked;

		transfer_progress(nic, op);
		moved += !op->item.live || op->transfer.asked > asked;
		op = next;
	}
	return moved;
}
