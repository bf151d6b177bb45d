/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message arrives: which peer sent it, what is it, which operation is it for?  Responses find their operation by its token, requests go to their
 * protocol, which has receive.c look for their memory; notices are between NICs.
 */
#include <errno.h>
#include <string.h>

#include "base/report.h"
#include "offload/dispatch.h"
#include "offload/flow.h"
#include "offload/get.h"
#include "offload/get_line.h"
#include "offload/getput.h"
#include "offload/peer/contact.h"
#include "offload/put.h"
#include "offload/put_line.h"
#include "offload/receive.h"
#include "offload/trace.h"
#include "offload/transfer.h"

/* A response moves its operation on.  One whose operation is gone, or that its operation does not expect, is stale. */
static void response_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message,
			     enum operation_event what)
{
	struct operation *op = operation_find(nic, message->token);

	timing_lap(&nic->timing, PTL_STAGE_MATCH);
	nic->counters.responses_received++;
	trace(nic, PTL_DBG_DELIVERY, "%s of " ID_TEXT ", %llu bytes", wire_operation_name(message->operation),
	      ID_PARTS(peer->id), (unsigned long long)message->mlength);
	if (!op || op->peer != peer || operation_advance(nic, op, what, message)) {
		nic->counters.stale++;
		return;
	}
	timing_lap(&nic->timing, PTL_STAGE_EVENT);
}

static void request_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message,
			    enum operation_event unused)
{
	(void)unused;
	nic->counters.requests_received++;
	switch (message->operation) {
	case WIRE_GET:
		get_arrived(nic, peer, message);
		break;
	case WIRE_GETPUT:
		getput_arrived(nic, peer, message);
		break;
	default:
		put_arrived(nic, peer, message);
		break;
	}
}

static void ping_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message,
			 enum operation_event unused)
{
	(void)unused;
	nic->counters.notices_received++;
	if (!contact_misses(nic, peer, message))
		peer_answer(nic, peer, WIRE_PONG, message->token, 0, 0);
}

static void pong_arrived(struct nic *nic, struct peer *peer, const struct wire_message *message,
			 enum operation_event unused)
{
	(void)unused;
	nic->counters.notices_received++;
	if (contact_misses(nic, peer, message))
		return;
	struct operation *op = operation_find(nic, message->token);

	if (op && op->peer == peer)
		transfer_confirmed(nic, op);
}

/* What belongs to a conversation; everything without a row is a notice about conversations (contact.c). */
static const struct {
	void (*handle)(struct nic *, struct peer *, const struct wire_message *, enum operation_event);
	enum operation_event event;
} conversation[WIRE_OPERATION_COUNT] = {
	[WIRE_PUT] = {request_arrived, 0},
	[WIRE_PUT_LONG] = {request_arrived, 0},
	[WIRE_GET] = {request_arrived, 0},
	[WIRE_GETPUT] = {request_arrived, 0},
	[WIRE_ACK] = {response_arrived, OP_ACK},
	[WIRE_REPLY] = {response_arrived, OP_REPLY},
	[WIRE_REPLY_LONG] = {response_arrived, OP_REPLY_LONG},
	[WIRE_SOURCE_FREE] = {response_arrived, OP_SOURCE_FREE},
	[WIRE_DISCARDED] = {response_arrived, OP_DISCARDED},
	[WIRE_PING] = {ping_arrived, 0},
	[WIRE_PONG] = {pong_arrived, 0},
};

/* A transport that has named the source of a message before names that of all of them. */
static bool comes_from(struct peer *peer, transport_address from)
{
	if (unlikely(from != peer->address))
		return from == TRANSPORT_ADDRESS_UNKNOWN && !peer->source_shown[peer->path];
	peer->source_shown[peer->path] = true;
	return true;
}

static bool belongs(const struct nic *nic, struct peer *peer, const struct wire_message *message,
		    transport_address from)
{
	return peer && peer_met_us(peer) && peer->path == nic->drive.polling &&
	       peer->remote_tag == message->source_tag && peer->local_tag == message->target_tag &&
	       comes_from(peer, from);
}

/*
 * What is checked and then believed must not change in between: a list in memory that its sender can still reach is
 * copied.  A message that leaves out its source must be from a peer that was met.
 */
static int decode(const struct transport *transport, transport_address from, const void *bytes, size_t length,
		  const void *body, size_t body_length, struct wire_message *message, uint8_t *segments)
{
	if (body && wire_names_segments(bytes, length)) {
		if (body_length > WIRE_MAX_SEGMENTS * WIRE_SEGMENT_SIZE)
			return -EBADMSG;
		body = memcpy(segments, body, body_length);
	}
	int rc = wire_decode_apart(bytes, length, body, body_length, message);

	return rc == 0 && message->compact && (from == TRANSPORT_ADDRESS_UNKNOWN || !transport->limits.compact)
		       ? -EBADMSG
		       : rc;
}

static void arrived(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
		    size_t body_length)
{
	struct nic *nic = owner;
	struct wire_message message;
	uint8_t segments[WIRE_MAX_SEGMENTS * WIRE_SEGMENT_SIZE];

	if (likely(put_line_arrived(nic, from, bytes, length, body, body_length) ||
		   (!body && get_line_arrived(nic, from, bytes, length))))
		return;
	timing_begin(&nic->timing);
	int rc =
		decode(nic->transports[nic->drive.polling], from, bytes, length, body, body_length, &message, segments);

	if (rc) {
		timing_dismiss(&nic->timing);
		nic->counters.malformed++;
		if (rc == -EPROTONOSUPPORT)
			contact_answer_version(nic, &message, from);
		return;
	}
	if (!conversation[message.operation].handle) {
		timing_dismiss(&nic->timing);
		nic->counters.notices_received++;
		contact_notice(nic, &message, from);
		return;
	}
	struct peer *peer = message.compact
				    ? peer_met(nic, from)
				    : peer_find(nic, (ptl_process_id_t){message.source_nid, message.source_pid});

	if (unlikely(!belongs(nic, peer, &message, from))) {
		timing_dismiss(&nic->timing);
		nic->counters.stale++;
		contact_dropped(nic, peer, &message, from);
		return;
	}
	peer_note_arrival(peer, message.operation);
	if (unlikely(peer->streamed > 0))
		transfer_note_arrival(peer, &message);
	if (unlikely(peer->unverified))
		peer_prove(nic, peer);
	trace(nic, PTL_DBG_PARSE, "%s from " ID_TEXT ", %zu bytes", wire_operation_name(message.operation),
	      ID_PARTS(peer->id), length + body_length);
	if (timing_on(&nic->timing))
		flow_arrived(nic, peer, &message);
	timing_lap(&nic->timing, PTL_STAGE_INSPECT);
	conversation[message.operation].handle(nic, peer, &message, conversation[message.operation].event);
	timing_end(&nic->timing);
}

/* A conversation that is broken may not have ended yet: what waits for that is for the successor as well. */
static bool was_met(const struct peer *peer)
{
	return peer_met_us(peer) || peer->state == PEER_BROKEN;
}

/*
 * Several ids may share an address while they are being looked for there; only a peer that was met can be gone.  The peer that we met
 * is found by its address where messages are compact; elsewhere among those with anything under way, which peer_met()
 * misses.
 */
static void peer_gone(void *owner, transport_address address)
{
	struct nic *nic = owner;
	struct peer *met = peer_met(nic, address);

	/* Though nothing is under way: what is sent next is for its successor, so that it begins with HELLO. */
	if (met && was_met(met))
		contact_give_up(nic, met, "its process has ended");
	if (nic->transports[nic->drive.polling]->limits.compact)
		return;
	for (struct peer *peer = nic->peers.busy; peer; peer = peer->next_busy)
		if (was_met(peer) && peer->address == address && peer->path == nic->drive.polling)
			contact_give_up(nic, peer, "its transport says it is gone");
}

/*
 * A thread inside PtlEQWait or PtlEQPoll, or this very one, which wants events in PtlEQGet or PtlProgress: it is
 * given back after this step, whatever it does next.  A dedicated NIC thread has its own core to spend.
 */
static bool host_waits(void *owner)
{
	const struct nic *nic = owner;

	return nic->waiting.looking || nic->waiting.polled || nic->mode == NIC_MODE_DEDICATED ||
	       atomic_load_explicit(&nic->hosts.waiting, memory_order_relaxed) > 0;
}

static void partner_seen(void *owner, uint32_t place)
{
	struct nic *nic = owner;

	atomic_store_explicit(&nic->hosts.partner_place, place, memory_order_relaxed);
}

static void greet(void *owner, uint32_t nid, uint32_t pid, struct transport_greeting *greeting)
{
	contact_greet(owner, (ptl_process_id_t){nid, pid}, greeting);
}

static void connected(void *owner, transport_address from, const struct transport_connection *connection)
{
	contact_connected(owner, from, connection);
}

static void sent(void *owner, void *context)
{
	operation_advance(owner, context, OP_SENT, NULL);
}

const struct transport_sink dispatch_sink = {.arrived = arrived,
					     .rdma_done = transfer_done,
					     .sent = sent,
					     .peer_gone = peer_gone,
					     .host_waits = host_waits,
					     .partner_seen = partner_seen,
					     .greet = greet,
					     .connected = connected};
