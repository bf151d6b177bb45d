/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long data is always read by the side it goes to: the target of a put reads the exposed source, the initiator of a
 * get reads the exposed answer.  Only that side knows that its own memory is still meant to be written, so nothing
 * can land after PtlMDUnlink; and a key is deregistered only when its reader has said that it is done.  (Measured with
 * libfabric 1.17, tcp and net: using a deregistered key costs the whole connection and silently loses the messages
 * behind it, and closing a registration does not stop a write in progress.  Hence no writes by the target of a get.)
 *
 * CONFIRMING.  A source that has given us up (we stood still, or the network did, for its PTL_PEER_TIMEOUT) has its SEND_END
 * or GET_END, and its memory is used for something else, while its provider may still serve the reads that we had asked
 * for, or that we ask for when we go on: to read well proves nothing.  So if either can be, because the transfer took
 * NIC_DOUBT_NS or because we had stood still so long before, the source is asked by a PING whether it still takes part in
 * the conversation, before the END.  If it does, PONG says so, and until then it had not let go of the memory; if not, STALE
 * ends the conversation here too.  A peer without a NIC thread is not given up for its silence; and we do not part from
 * ourselves.
 *
 * STREAMS.  What has been asked for is ahead of all that its source sends later, so little of it should be in flight; but with less than
 * the connection holds, this is idle from one request to the next.  So the window of a source that sends nothing short meanwhile grows:
 * half of what was read since may be in flight.  Half, because while short messages keep coming, each finds no more ahead of it than
 * has passed since the one before, and with each of them the window becomes less, down to the transport's own.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/report.h"
#include "offload/operation.h"
#include "offload/peer/peer.h"
#include "offload/transfer.h"

#define PIECES 8 /* of a stream in a window at least */

_Static_assert(REGION_MAX_PIECES <= TRANSPORT_PIECES_MAX && WIRE_MAX_SEGMENTS <= TRANSPORT_PIECES_MAX,
	       "any list can be read");

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
static const struct memory_region *local_memory_region(const struct operation *op)
{
	return memory_regions_at(operation_memory_regions(op), op->exposed_from + op->transfer.asked);
}

/* The next piece that is contiguous on both sides. */
static struct transport_read next_piece(struct operation *op)
{
	const struct transfer *transfer = &op->transfer;
	const struct wire_segment *segment = &transfer->segments[transfer->index];
	uint64_t length;
	void *local = region_at(&op->pinned->region, op->info.offset + transfer->asked, &length);

	if (length > segment->length - transfer->within)
		length = segment->length - transfer->within;
	if (length > transfer->total - transfer->asked)
		length = transfer->total - transfer->asked;
	return (struct transport_read){.peer = op->peer->address,
				       .local = local,
				       .length = length,
				       .memory_region = local_memory_region(op),
				       .remote = segment->address + transfer->within,
				       .key = segment->key,
				       .window = op->peer->streamed / 2,
				       .context = op};
}

static unsigned name_remote(const struct transfer *transfer, uint64_t length, struct transport_segment *named)
{
	uint64_t within = transfer->within;
	unsigned count = 0;

	for (unsigned i = transfer->index; length > 0; i++, within = 0) {
		const struct wire_segment *segment = &transfer->segments[i];
		uint64_t take = segment->length - within < length ? segment->length - within : length;

		named[count++] = (struct transport_segment){segment->address + within, segment->key, take};
		length -= take;
	}
	return count;
}

static int ask_list(struct operation *op, uint64_t length)
{
	struct transport *transport = op->peer->transport;
	struct transport_segment remote[WIRE_MAX_SEGMENTS];
	struct iovec local[REGION_MAX_PIECES];
	const struct transport_read_list list = {
		.peer = op->peer->address,
		.local = local,
		.remote = remote,
		.local_count = (unsigned)region_range(&op->pinned->region, op->info.offset + op->transfer.asked, length,
						      local),
		.remote_count = name_remote(&op->transfer, length, remote),
		.length = length,
		.context = op,
	};

	return transport->ops->read_list(transport, &list);
}

void transfer_note_arrival(struct peer *peer, const struct wire_message *message)
{
	const size_t piece = peer->transport->limits.rma_chunk;
	bool lengthy;

	switch (message->operation) {
	case WIRE_PUT_LONG:
		lengthy = message->length >= piece;
		break;
	case WIRE_REPLY_LONG:
		lengthy = message->mlength >= piece;
		break;
	default:
		lengthy = message->operation > WIRE_REPLY_LONG;
		break;
	}
	if (!lengthy)
		peer->streamed = 0;
}

static void note_streamed(struct peer *peer, uint64_t length)
{
	uint64_t most = 2 * (uint64_t)peer->transport->limits.stream_window;

	peer->streamed = peer->streamed + length < most ? peer->streamed + length : most;
}

/* One piece alone is better short: its beginning is there sooner. */
static size_t preferred_length(const struct operation *op, uint64_t window)
{
	const struct transport_limits *limits = &op->peer->transport->limits;
	bool behind_others = op->peer->reads > op->transfer.in_flight;

	return behind_others && window / PIECES >= limits->stream_chunk && limits->stream_chunk > limits->rma_chunk
		       ? limits->stream_chunk
		       : limits->rma_chunk;
}

static void note_asked(struct operation *op, uint64_t length)
{
	struct transfer *transfer = &op->transfer;

	transfer->in_flight++;
	op->peer->reads++;
	note_streamed(op->peer, length);
	transfer->asked += length;
	transfer->within += length;
	while (transfer->index < transfer->count && transfer->within >= transfer->segments[transfer->index].length)
		transfer->within -= transfer->segments[transfer->index++].length;
}

/* Asks for the next piece that is contiguous on both sides, or for some of them if they are short. */
static int ask_pieces(struct operation *op)
{
	struct transport *transport = op->peer->transport;
	const uint64_t left = op->transfer.total - op->transfer.asked, most = transport->limits.list_max;
	struct transport_read read = next_piece(op);
	bool list = read.length < left && read.length < most;

	if (list)
		read.length = left < most ? left : most;
	else if (read.length > preferred_length(op, read.window))
		read.length = preferred_length(op, read.window);
	int rc = list ? ask_list(op, read.length) : transport->ops->read(transport, &read);

	if (rc == 0)
		note_asked(op, read.length);
	return rc;
}

static void stall(struct nic *nic, struct operation *op)
{
	if (op->transfer.stalled)
		return;
	op->transfer.stalled = true;
	op->transfer.next_stalled = NULL;
	*(nic->stalled.first ? nic->stalled.end : &nic->stalled.first) = op;
	nic->stalled.end = &op->transfer.next_stalled;
}

static bool needs_confirmation(const struct nic *nic, const struct operation *op)
{
	const struct transfer *transfer = &op->transfer;

	return transfer->status == 0 && transfer->total > 0 && nic->mode != NIC_MODE_HOST &&
	       op->peer->path != PATH_SELF &&
	       (transfer->was_suspended || nic->suspension.seen || monotonic_ns() - transfer->began >= NIC_DOUBT_NS);
}

static void ask_whether_valid(struct nic *nic, struct operation *op)
{
	peer_ask(nic, op->peer, operation_token(op));
}

static void transfer_end(struct nic *nic, struct operation *op)
{
	op->transfer.unconfirmed = false;
	operation_deregister(op);
	operation_advance(nic, op, OP_PULLED, NULL);
}

void transfer_confirmed(struct nic *nic, struct operation *op)
{
	if (op->transfer.unconfirmed)
		transfer_end(nic, op);
}

void transfers_ask_again(struct nic *nic, struct peer *peer)
{
	for (struct operation *op = peer->active.head, *next; op; op = next) {
		next = op->next;
		if (op->transfer.unconfirmed)
			ask_whether_valid(nic, op);
	}
}

/*
 * Reads that the transport has begun may still write into the user's memory, so the END waits for the transport to end
 * them, which it does when the connection breaks.
 */
void transfer_abandon(struct nic *nic, struct operation *op, const struct wire_message *message)
{
	(void)message;
	op->transfer.status = op->transfer.status ? op->transfer.status : -ECONNRESET;
	if (op->transfer.unconfirmed)
		transfer_end(nic, op);
}

/* Asks for as much as may be in flight; ends the transfer when nothing is left to ask or to wait for. */
static void transfer_progress(struct nic *nic, struct operation *op)
{
	struct transfer *transfer = &op->transfer;
	size_t depth = op->peer->transport->limits.rma_depth;

	while (transfer->status == 0 && transfer->asked < transfer->total && transfer->in_flight < depth) {
		int rc = ask_pieces(op);

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
	if (unlikely(needs_confirmation(nic, op))) {
		transfer->unconfirmed = true;
		ask_whether_valid(nic, op);
	} else {
		transfer_end(nic, op);
	}
}

void transfer_start(struct nic *nic, struct operation *op, const struct wire_message *message, uint64_t total)
{
	struct transfer *transfer = &op->transfer;
	int rc = keep_segments(transfer, message);

	transfer->total = total;
	transfer->started = timing_start(&nic->timing);
	transfer->began = monotonic_ns();
	nic_note_time(nic, transfer->began);
	transfer->was_suspended = nic->suspension.seen;
	nic->counters.long_messages++;
	if (!rc && total > 0 && op->peer->transport->limits.local_registration &&
	    operation_expose(nic, op, op->info.offset, total, REGION_LOCAL))
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

static void note_read(struct peer *peer, int status)
{
	peer->reads--;
	peer->reads_ended++;
	if (status == 0)
		peer->arrivals++; /* a sign of life, though the peer's answers to PING may be far behind its data */
}

void transfer_done(void *owner, void *context, int status)
{
	struct operation *op = context;

	op->transfer.in_flight--;
	if (!op->failure) /* else it was asked for in an earlier conversation */
		note_read(op->peer, status);
	if (status && op->transfer.status == 0)
		op->transfer.status = status;
	transfer_progress(owner, op);
}

/* In the order in which they stalled, so that the oldest message gets the room. */
int transfers_resume(struct nic *nic)
{
	struct operation *op = nic->stalled.first;
	int moved = 0;

	nic->stalled.first = NULL;
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
