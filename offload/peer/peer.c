/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A conversation with a peer, from first contact to its end.
 *
 * No addresses are exchanged beforehand.  The first operation towards a process makes a `struct peer` in state
 * UNKNOWN and starts contact: HELLO goes to the address that (nid, pid) suggests, again and again until a process
 * answers WELCOME or PTL_CONNECT_TIMEOUT is over; meanwhile operations wait in `requests`.  HELLO and WELCOME both
 * carry the sender's whole identity, and knowing the identity of the other side is all that READY means.  Hence
 *   - a HELLO that arrives makes its sender READY here (or HOLDING, if it says that it wants no requests yet), and is answered by WELCOME before anything else: on the
 *     ordered path to the sender our identity precedes our first request;
 *   - two processes that greet each other at the same instant need no shared state: each becomes READY by what
 *     arrives first, and the second introduction repeats what is known.
 * A transport that connects processes with proof of their identity may carry both by itself: contact.c.
 *
 * Each side chose a random tag for the conversation; every later message carries both tags.  A message whose tags
 * do not fit comes from, or is meant for, an earlier incarnation or a conversation that one side has given up; it is
 * dropped, counted and answered by STALE, whose receiver fails what it had under way and greets again.  A HELLO with
 * a new tag or incarnation does the same.  What was queued but never sent survives: it was addressed to (nid, pid).
 *
 * WHAT IS MISSING.  A connection that breaks between two processes that both live (a reset, a NAT that forgets it) takes
 * with it what was on its way, and the next one is made without a word: an answer that is lost with it, or whose request
 * is, would be waited for for ever, as PINGs go on well.  So both count the requests and answers of a conversation that
 * they have handed to the transport and that have come, and PING and PONG carry the former.  A transport keeps the order,
 * so a peer that has heard less than that will not hear the rest: it says STALE, and the conversation ends at both ends.
 * Neither end can tell what was done and what was not, so nothing is sent again.  (What of an earlier connection is read only
 * after a PING of the next one comes too late, and is dropped.)
 *
 * Order: `requests` is the order of the calls, whatever their kind and size; nothing is sent past its head.
 * `responses` (answers and notices) may overtake requests.  They must: requests beyond PEER_WINDOW unanswered ones
 * wait for answers, and two processes that wait for each other's answers have to be able to give them.  A transport
 * that refuses one of them stops both.
 */
#include "offload/peer/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "offload/drop.h"
#include "offload/flow.h"
#include "offload/trace.h"

#define PATIENT_REFUSALS     256 /* retried at every poll; after that with growing pauses */
#define UNVERIFIED_TRIES     12
#define PAUSE_MIN_NS         50000u
#define PAUSE_MAX_NS         50000000u
#define SHORT_BEFORE_OPENING 1024 /* what every transport takes: for peers whose transport is still opening */

/* --- sending --- */

/* Bytes of user data that leave with the message, or are offered to be read. */
static uint64_t data_length(const struct wire_message *message)
{
	switch (message->operation) {
	case WIRE_PUT:
	case WIRE_PUT_LONG:
	case WIRE_GETPUT:
		return message->length;
	case WIRE_REPLY:
	case WIRE_REPLY_LONG:
		return message->mlength;
	default:
		return 0;
	}
}

/* What went in lines is the rest: nic_counters(). */
static void count_way(ptl_nic_counters_t *counters, const struct transport *transport, unsigned operation,
		      uint64_t header, uint64_t data)
{
	if (operation == WIRE_PUT_LONG || operation == WIRE_REPLY_LONG)
		counters->bytes_exposed += data;
	else if (header + data > transport->limits.inline_max)
		counters->bytes_copied += data;
}

static void count_sent(struct nic *nic, const struct transport *transport, const struct wire_message *message,
		       uint64_t header)
{
	ptl_nic_counters_t *counters = &nic->counters;
	uint64_t data = data_length(message);

	if (message->operation <= WIRE_GETPUT)
		counters->requests_sent++;
	else if (message->operation <= WIRE_DISCARDED)
		counters->responses_sent++;
	else
		counters->notices_sent++;
	counters->bytes_sent += data;
	nic->lengths.send += data;
	count_way(counters, transport, message->operation, header, data);
}

/*
 * The sender of a HELLO is perhaps not there, and every try may cost an attempt to connect: after UNVERIFIED_TRIES, 150
 * ms, we wait until it says so again.
 */
static void doubt_unverified(struct nic *nic, struct peer *peer)
{
	if (peer->refusals < UNVERIFIED_TRIES) {
		uint64_t pause = (uint64_t)PAUSE_MIN_NS << peer->refusals;

		peer->retry_at = monotonic_ns() + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS);
		nic_timer_at(nic, peer->retry_at);
		return;
	}
	peer_fail_list(nic, &peer->responses, PTL_NI_UNREACHABLE);
	peer->refusals = 0;
	peer->retry_at = 0;
}

/*
 * The way is open, and full: every drive looks, because looking costs little and the peer makes room without a word.  A
 * sleeper is not told either, and looks again after an eighth of the time that it has been full: so a queue that was full for
 * T is found to have room T / 8 later at most (and PAUSE_MAX_NS), and a peer that has stopped costs a few wakes.
 */
static void note_full(struct nic *nic, struct peer *peer)
{
	uint64_t now = monotonic_ns(), pause;

	if (!peer->full_since)
		peer->full_since = now;
	pause = (now - peer->full_since) / 8;
	if (pause < PAUSE_MIN_NS)
		pause = PAUSE_MIN_NS;
	nic_timer_at(nic, now + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS));
}

/* It may be connecting or dead: it is asked less and less often. */
static void note_unreached(struct nic *nic, struct peer *peer)
{
	peer->full_since = 0;
	if (peer->refusals <= PATIENT_REFUSALS) {
		nic_timer_at(nic, monotonic_ns() + PAUSE_MIN_NS);
		return;
	}
	unsigned doublings = (peer->refusals - PATIENT_REFUSALS) / 4;
	uint64_t pause = doublings < 10 ? (uint64_t)PAUSE_MIN_NS << doublings : PAUSE_MAX_NS;

	peer->retry_at = monotonic_ns() + pause;
	nic_timer_at(nic, peer->retry_at);
}

static bool is_refusal(int rc)
{
	return rc == -EAGAIN || rc == -ENOBUFS;
}

static void note_refusal(struct nic *nic, struct peer *peer, int rc)
{
	nic->counters.retries++;
	peer->refusals++;
	if (peer->unverified)
		doubt_unverified(nic, peer);
	else if (rc == -ENOBUFS)
		note_full(nic, peer);
	else
		note_unreached(nic, peer);
}

/*
 * There is no such process any more.  We may be in the middle of anything, so liveness_tick() ends the conversation; it
 * asks the transport nothing, but gives what has arrived meanwhile the benefit of the doubt.
 */
static int note_gone(struct nic *nic, struct peer *peer)
{
	peer->refused_probes = PEER_PROBES_REFUSED;
	nic_timer_at(nic, 0);
	return -EAGAIN;
}

static bool in_compact_form(const struct transport *transport, enum wire_operation operation)
{
	return transport->limits.compact && operation < WIRE_COMPACT_COUNT;
}

/* `placed`: whose payload may stay where it is, or NULL. */
static int hand_over(const struct peer *peer, const void *header, size_t size, const struct iovec *payload, int count,
		     struct operation *placed)
{
	struct transport *transport = peer->transport;

	return placed ? transport->ops->send_placed(transport, peer->address, header, size, payload, count, placed)
		      : transport->ops->send(transport, peer->address, header, size, payload, count);
}

/* 0, or -EINPROGRESS: the transport has taken it. */
static int transmit(struct nic *nic, struct peer *peer, struct wire_message *message, const struct iovec *payload,
		    int count, struct operation *placed)
{
	uint8_t header[WIRE_MAX_HEADER];

	message->source_tag = peer->local_tag;
	message->target_tag = peer->remote_tag;
	message->said = peer->said;
	message->compact = in_compact_form(peer->transport, message->operation);
	if (!message->compact) {
		message->source_nid = nic->self.id.nid;
		message->source_pid = nic->self.id.pid;
		message->attempt = (uint8_t)peer->transport->ops->own_attempt(peer->transport);
	}
	size_t size = wire_encode(message, header);
	uint64_t start = timing_start(&nic->timing);
	int rc = hand_over(peer, header, size, payload, count, placed);

	timing_stop(&nic->timing, PTL_STAGE_SEND, start);
	if (unlikely(rc != 0) && rc != -EINPROGRESS)
		return rc == -ENOENT && peer_met_us(peer) ? note_gone(nic, peer) : rc;
	peer_note_sent(peer, message->operation);
	peer->reached = true;
	/* What we send ourselves makes no descriptor readable, and what a transport keeps may do so no longer. */
	if (peer->path == PATH_SELF || (placed && peer->transport->kept))
		nic->drive.needs_rearm = true;
	count_sent(nic, peer->transport, message, size);
	if (unlikely(start != 0))
		flow_sent(nic, peer, message, start);
	return rc;
}

static uint64_t least_of(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* For payload, behind so long a header. */
static uint64_t room_of(const struct transport *transport, size_t header)
{
	return least_of(transport->limits.short_max - header, transport->limits.payload_max);
}

/* What every transport that may carry the message takes, if that is not decided yet. */
static uint64_t least_room(const struct nic *nic, const struct peer *peer, enum wire_operation operation)
{
	const size_t header = wire_header_size(operation, false);
	const uint64_t unopened = least_of(SHORT_BEFORE_OPENING - header, nic->settings->short_max);
	uint64_t least = UINT64_MAX;

	for (enum nic_path path = 0; path < NIC_TRANSPORTS; path++) {
		const struct transport *transport = nic->transports[path];

		if (!peer_reachable(nic, peer, path))
			continue;
		least = least_of(least, transport ? room_of(transport, header) : unopened);
	}
	return least < UINT64_MAX ? least : unopened;
}

uint64_t peer_short_max(const struct nic *nic, const struct peer *peer, enum wire_operation operation)
{
	if (unlikely(peer->state != PEER_READY))
		return least_room(nic, peer, operation);
	return room_of(peer->transport, wire_header_size(operation, in_compact_form(peer->transport, operation)));
}

static bool is_behind(const struct peer *peer)
{
	return peer->transport->ops->behind(peer->transport, peer->address, peer->active.head != NULL);
}

/* By PTL_SHORT_MAX.  A tuning file says what is the quickest to a peer that keeps up. */
static bool is_forbidden(const struct transport_limits *limits, uint64_t length)
{
	return length > limits->payload_max && !limits->payload_tuned;
}

bool peer_far(const struct nic *nic, const struct peer *peer, enum wire_operation operation, uint64_t length)
{
	if (likely(length <= peer_short_max(nic, peer, operation)))
		return false;
	if (peer->state != PEER_READY)
		return true;
	const struct transport_limits *limits = &peer->transport->limits;

	return length > limits->behind_max || is_forbidden(limits, length) || !is_behind(peer);
}

static bool is_request(const struct wire_message *message)
{
	return message->operation <= WIRE_GETPUT;
}

int peer_send_now(struct nic *nic, struct peer *peer, struct wire_message *message, const struct iovec *payload,
		  int count)
{
	if (peer->state != PEER_READY || peer->responses.head || peer->refusals ||
	    (is_request(message) && peer->requests.head))
		return -EAGAIN;
	int rc = transmit(nic, peer, message, payload, count, NULL);

	if (is_refusal(rc))
		note_refusal(nic, peer, rc);
	return rc;
}

int peer_send_notice(struct nic *nic, struct peer *peer, struct wire_message *message)
{
	int rc = transmit(nic, peer, message, NULL, 0, NULL);

	peer->refusals += rc != 0;
	nic->counters.retries += rc != 0;
	return rc;
}

/* The segments of a long message are exposed when it is sent: only then its transport is known to be open. */
static int expose_source(struct nic *nic, struct operation *op, uint8_t *bytes, struct iovec *iov)
{
	struct wire_segment segments[WIRE_MAX_SEGMENTS];
	int rc = operation_expose_source(nic, op);

	if (rc)
		return rc;
	unsigned count =
		memory_regions_name(operation_memory_regions(op), op->exposed_from, op->payload_length, segments);

	op->message.segment_count = (uint16_t)count;
	*iov = (struct iovec){bytes, wire_encode_segments(segments, count, bytes)};
	return 0;
}

static int report_unsendable(const struct operation *op, int rc)
{
	return report_error(rc, "message to " ID_TEXT " cannot be sent: error %d", ID_PARTS(op->peer->id), -rc);
}

/* Its protocol waits until its payload has left, and it is long enough to be left where it is. */
static bool may_be_placed(const struct operation *op)
{
	return op->protocol->on[STATE_QUEUED][OP_PLACED].allowed && peer_places(op->peer, op->payload_length);
}

/* What cannot be sent is reported, unless it is too long: some can be announced instead (OP_TOO_LONG). */
static int transmit_operation(struct nic *nic, struct operation *op)
{
	uint8_t bytes[WIRE_MAX_SEGMENTS * WIRE_SEGMENT_SIZE];
	struct iovec iov[REGION_MAX_PIECES];
	int count = 1;

	if (op->message.operation == WIRE_PUT_LONG || op->message.operation == WIRE_REPLY_LONG) {
		int rc = expose_source(nic, op, bytes, &iov[0]);
		if (rc)
			return rc;
	} else if (op->inline_length) {
		iov[0] = (struct iovec){op->inline_data, op->inline_length};
	} else {
		count = op->payload_length
				? region_range(&op->pinned->region, op->payload_offset, op->payload_length, iov)
				: 0;
	}
	int rc = transmit(nic, op->peer, &op->message, iov, count, may_be_placed(op) ? op : NULL);

	return rc && rc != -EMSGSIZE && rc != -EINPROGRESS && !is_refusal(rc) ? report_unsendable(op, rc) : rc;
}

/* Sends the head of a list.  0: sent, failed for good, or made fit to be sent; else the transport refuses it now. */
static int send_head(struct nic *nic, struct peer *peer, struct operation *op)
{
	int rc = transmit_operation(nic, op);

	if (is_refusal(rc)) {
		note_refusal(nic, peer, rc);
		return rc;
	}
	if (rc == -EMSGSIZE) {
		if (operation_advance(nic, op, OP_TOO_LONG, NULL) == 0)
			return 0;
		report_unsendable(op, rc);
	}
	operation_unlist(op);
	operation_append(&peer->active, op);
	if (rc == -EINPROGRESS) {
		operation_advance(nic, op, OP_PLACED, NULL);
	} else if (rc) {
		op->failure = rc == -EHOSTUNREACH ? PTL_NI_UNREACHABLE : PTL_NI_FAIL;
		/* For an answer there is no way; what failed for another reason is answered so. */
		if (rc == -EHOSTUNREACH && !is_request(&op->message))
			peer_note_unsaid(peer, op->message.operation);
		operation_advance(nic, op, OP_FAILED, NULL);
	} else {
		operation_advance(nic, op, OP_SENT, NULL);
	}
	return 0;
}

static struct operation *next_to_send(const struct peer *peer)
{
	if (peer->address == TRANSPORT_ADDRESS_UNKNOWN || !peer->transport)
		return NULL;
	if (peer->responses.head)
		return peer->responses.head;
	return peer->state == PEER_READY ? peer->requests.head : NULL;
}

/*
 * Every drive tries again to send to the peers whose next message could go now, if its transport or the peer's window had
 * room.  It leaves out the other peers with something under way, which may be thousands: a peer that has not been met is
 * flushed when it is, one that waits for its retry_at by peers_tick(), which also looks at all others now and then.
 */
static void note_unsent(struct nic *nic, struct peer *peer)
{
	bool wanted = !peer->retry_at && next_to_send(peer);

	if (likely(wanted == (peer->unsent_at != NULL)))
		return;
	if (!wanted) {
		peer_unlist_unsent(peer);
		return;
	}
	peer->next_unsent = nic->peers.unsent;
	peer->unsent_at = &nic->peers.unsent;
	if (nic->peers.unsent)
		nic->peers.unsent->unsent_at = &peer->next_unsent;
	nic->peers.unsent = peer;
}

int peer_flush(struct nic *nic, struct peer *peer)
{
	struct operation *op;
	int sent = 0;

	if (peer->retry_at && monotonic_ns() < peer->retry_at) {
		note_unsent(nic, peer); /* off the list: peers_tick() asks it */
		return 0;
	}
	while ((op = next_to_send(peer))) {
		if (is_request(&op->message) && !op->windowed) {
			if (op->counted && peer->outstanding >= PEER_WINDOW)
				break;
			op->windowed = op->counted;
			peer->outstanding += op->counted;
		}
		if (send_head(nic, peer, op))
			break;
		sent++;
	}
	note_unsent(nic, peer);
	return sent;
}

void peer_respond(struct nic *nic, struct operation *op)
{
	struct peer *peer = op->peer;
	bool first = !peer->responses.head;

	operation_append(&peer->responses, op);
	peer_mark_busy(nic, peer);
	if (first)
		peer_flush(nic, peer);
}

/* See HOW MANY EACH MAY HOLD in operation.c. */
static void leave_unsaid(struct nic *nic, struct peer *peer, enum wire_operation what)
{
	drop_tell_answer(nic, peer, what, OPERATIONS_OWED_TEXT);
	nic->counters.drops++;
	peer_note_unsaid(peer, what);
}

void peer_answer(struct nic *nic, struct peer *peer, enum wire_operation what, uint32_t token, uint8_t flags,
		 uint64_t mlength)
{
	struct wire_message message = {.operation = (uint8_t)what, .flags = flags, .token = token, .mlength = mlength};

	/* A conversation that is over wants no answers. */
	if (!peer_met_us(peer) || peer_send_now(nic, peer, &message, NULL, 0) == 0)
		return;
	struct operation *op = wire_is_counted(what) ? operation_owed(nic, peer, &operation_once)
						     : operation_for_notice(nic, peer, &operation_once);
	if (!op) {
		if (wire_is_counted(what))
			leave_unsaid(nic, peer, what);
		return;
	}
	op->message = message;
	peer_respond(nic, op);
}

/* However often it is asked for, one that still waits is enough. */
static struct operation *waiting_notice(const struct peer *peer, enum wire_operation what, uint32_t token)
{
	struct operation *op = peer->responses.head;

	while (op && (op->message.operation != what || op->message.token != token))
		op = op->next;
	return op;
}

void peer_queue_notice(struct nic *nic, struct peer *peer, const struct wire_message *notice)
{
	struct operation *waiting = waiting_notice(peer, notice->operation, notice->token);

	if (waiting) {
		waiting->message = *notice;
		return;
	}
	struct operation *op = operation_for_notice(nic, peer, &operation_once);

	if (!op)
		return;
	op->message = *notice;
	peer_respond(nic, op);
}

void peer_ask(struct nic *nic, struct peer *peer, uint32_t token)
{
	if (!waiting_notice(peer, WIRE_PING, token))
		peer_answer(nic, peer, WIRE_PING, token, 0, 0);
}

/* --- the end of conversations --- */

void peer_fail_list(struct nic *nic, struct operation_list *list, ptl_ni_fail_t failure)
{
	struct operation *op = list->head, *next;

	for (; op; op = next) {
		next = op->next;
		op->failure = failure;
		operation_advance(nic, op, OP_FAILED, NULL);
	}
}

void peer_end(struct nic *nic, struct peer *peer, ptl_ni_fail_t failure)
{
	peer->state = PEER_UNKNOWN;
	peer->local_tag = peer->remote_tag = 0;
	peer->said = peer->heard = 0;
	peer->examined = false;
	peer->refusals = 0;
	peer->retry_at = peer->full_since = 0;
	/* Reads that have yet to end tell nothing of the process that comes next, nor does how long they have not ended. */
	peer->reads = 0;
	peer->streamed = 0;
	peer->reads_stuck_since = peer->reads_overdue_since = 0;
	peer_fail_list(nic, &peer->active, failure);
	peer_fail_list(nic, &peer->responses, failure);
	peer_mark_busy(nic, peer); /* the next tick forgets it, if nothing begins anew until then */
	nic_timer_at(nic, 0);
}

void peer_fail(struct nic *nic, struct peer *peer, ptl_ni_fail_t failure, const char *why)
{
	report(LOG_INFO, "peer " ID_TEXT " failed: %s", ID_PARTS(peer->id), why);
	trace(nic, PTL_DBG_SHUTDOWN, "lost " ID_TEXT ": %s", ID_PARTS(peer->id), why);
	peer_end(nic, peer, failure);
	peer_fail_list(nic, &peer->requests, failure);
}

void peer_reset(struct nic *nic, struct peer *peer)
{
	report(LOG_INFO, "peer " ID_TEXT " started a new conversation", ID_PARTS(peer->id));
	peer_end(nic, peer, PTL_NI_PEER_DIED);
}
