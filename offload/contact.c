/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First contact, the notices about it, and liveness.  See the essay in peer.c.
 *
 * A process can be reachable at one of several addresses (its preferred port may have been taken by a stranger), so
 * HELLO goes to candidate 0 half of the time and to the others in turn, in slices of SLICE_NS: 0 1 0 2 0 3 ...
 * Whoever lives at a wrong candidate answers REFUSED, which ends the slice at once.
 */
#include <errno.h>
#include <sys/random.h>

#include "base/report.h"
#include "offload/peer.h"

#define SLICE_NS           100000000u
#define HELLO_AGAIN_NS     200000000u
#define SILENCE_NS         1000000000u
#define PINGS_BEFORE_DEATH 3

/* HELLO and WELCOME: who we are, and whom we take the other for. */
static struct wire_message introduction(const struct nic *nic, const struct peer *peer, enum wire_operation what)
{
	return (struct wire_message){
		.operation = (uint8_t)what,
		.wanted_nid = peer->id.nid,
		.wanted_pid = peer->id.pid,
		.uid = nic->uid,
		.jid = nic->jid,
		.incarnation_high = nic->incarnation[0],
		.incarnation_low = nic->incarnation[1],
		.abilities = nic->mode == NIC_MODE_HOST ? 0 : WIRE_HAS_NIC_THREAD,
	};
}

static uint16_t random_tag(uint16_t other_than)
{
	uint16_t tag = 0;

	while (tag == 0 || tag == other_than)
		if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
			tag = (uint16_t)(cycle_clock() >> 3);
	return tag;
}

static bool choose_transport(struct nic *nic, struct peer *peer)
{
	bool self = peer->id.nid == nic->id.nid && peer->id.pid == nic->id.pid;

	peer->transport = self ? nic->self : nic->network_up ? nic->network : NULL;
	return peer->transport != NULL;
}

static void greet(struct nic *nic, struct peer *peer, uint64_t now)
{
	static const uint64_t pauses[] = {50000, 200000, 1000000, 5000000, 20000000, 50000000};
	unsigned step;

	struct wire_message hello = introduction(nic, peer, WIRE_HELLO);

	/* HELLO is repeated until it is answered, so a full transport costs nothing but time. */
	peer_send_notice(nic, peer, &hello);
	step = peer->refusals / 4;
	if (peer->refusals == 0)
		peer->retry_at = now + HELLO_AGAIN_NS;
	else
		peer->retry_at = now + pauses[step < 5 ? step : 5];
	nic_timer_at(nic, peer->retry_at < peer->slice_end ? peer->retry_at : peer->slice_end);
}

/* Next slice: every other one is for candidate 0. */
static void next_slice(struct nic *nic, struct peer *peer, uint64_t now)
{
	unsigned attempt = peer->slice % 2 ? peer->slice / 2 + 1 : 0;

	if (peer->transport->ops->resolve(peer->transport, peer->id.nid, peer->id.pid, attempt, &peer->address)) {
		attempt = peer->slice = 0;
		if (peer->transport->ops->resolve(peer->transport, peer->id.nid, peer->id.pid, 0, &peer->address)) {
			peer_fail(nic, peer, PTL_NI_UNREACHABLE, "its id has no address on this network");
			return;
		}
	}
	peer->slice++;
	peer->attempt = attempt;
	peer->slice_end = now + SLICE_NS;
	greet(nic, peer, now);
}

void contact_start(struct nic *nic, struct peer *peer)
{
	uint64_t now = monotonic_ns();

	if (!choose_transport(nic, peer) && nic->opening_done) {
		peer_fail(nic, peer, PTL_NI_UNREACHABLE, "no transport reaches it");
		return;
	}
	peer->state = PEER_CONTACTING;
	peer->local_tag = random_tag(peer->local_tag);
	peer->remote_tag = 0;
	peer->slice = 0;
	peer->refusals = 0;
	peer->contact_deadline = now + nic->settings->connect_timeout;
	peer_mark_busy(nic, peer);
	if (peer->transport)
		next_slice(nic, peer, now);
	else
		nic_timer_at(nic, now + 1000000);
}

void contact_tick(struct nic *nic, struct peer *peer, uint64_t now)
{
	if (now >= peer->contact_deadline) {
		peer_fail(nic, peer, PTL_NI_UNREACHABLE, "no answer to HELLO within PTL_CONNECT_TIMEOUT");
	} else if (!peer->transport) {
		if (choose_transport(nic, peer))
			next_slice(nic, peer, now);
		else if (nic->opening_done)
			peer_fail(nic, peer, PTL_NI_UNREACHABLE, "its transport did not open");
		else
			nic_timer_at(nic, now + 1000000);
	} else if (now >= peer->slice_end) {
		next_slice(nic, peer, now);
	} else if (now >= peer->retry_at) {
		greet(nic, peer, now);
	} else {
		nic_timer_at(nic, peer->retry_at < peer->slice_end ? peer->retry_at : peer->slice_end);
	}
}

/* --- notices --- */

static bool same_conversation(const struct peer *peer, const struct wire_message *message)
{
	return peer->remote_tag == message->source_tag && peer->incarnation[0] == message->incarnation_high &&
	       peer->incarnation[1] == message->incarnation_low;
}

/* HELLO or WELCOME told us who the peer is. */
static int introduce(struct nic *nic, struct peer *peer, const struct wire_message *message, transport_address from)
{
	transport_address address;

	if (!peer->transport && !choose_transport(nic, peer))
		return -EHOSTUNREACH;
	int rc = peer->transport->ops->resolve(peer->transport, peer->id.nid, peer->id.pid, message->attempt, &address);

	if (rc)
		return rc;
	if (from != TRANSPORT_ADDRESS_UNKNOWN && from != address)
		return -EPERM; /* somebody else's identity */
	if (peer->state == PEER_READY && !same_conversation(peer, message))
		peer_reset(nic, peer);
	if (peer->local_tag == 0)
		peer->local_tag = random_tag(0);
	peer->address = address;
	peer->attempt = message->attempt;
	peer->remote_tag = message->source_tag;
	peer->uid = message->uid;
	peer->jid = message->jid;
	peer->abilities = message->abilities;
	peer->incarnation[0] = message->incarnation_high;
	peer->incarnation[1] = message->incarnation_low;
	peer->state = PEER_READY;
	peer->refusals = 0;
	peer->retry_at = 0;
	peer->arrivals++;
	return 0;
}

static void queue_notice(struct nic *nic, struct peer *peer, const struct wire_message *notice)
{
	struct operation *op = operation_new(nic, peer, &protocol_once);

	if (!op)
		return;
	op->message = *notice;
	peer_respond(nic, op);
}

static void hello_for_another(struct nic *nic, struct peer *peer, const struct wire_message *hello)
{
	const struct wire_message refusal = {
		.operation = WIRE_REFUSED,
		.wanted_nid = hello->wanted_nid,
		.wanted_pid = hello->wanted_pid,
		.reason = REFUSED_WRONG_PROCESS,
		.their_version = WIRE_VERSION,
	};

	if (!peer->transport && !choose_transport(nic, peer))
		return;
	if (peer->address == TRANSPORT_ADDRESS_UNKNOWN &&
	    peer->transport->ops->resolve(peer->transport, peer->id.nid, peer->id.pid, hello->attempt, &peer->address))
		return;
	queue_notice(nic, peer, &refusal);
}

static void hello_arrived(struct nic *nic, struct peer *peer, const struct wire_message *hello, transport_address from)
{
	if (hello->wanted_nid != nic->id.nid || hello->wanted_pid != nic->id.pid) {
		hello_for_another(nic, peer, hello);
		return;
	}
	if (introduce(nic, peer, hello, from)) {
		nic->counters.stale++;
		return;
	}
	const struct wire_message welcome = introduction(nic, peer, WIRE_WELCOME);

	queue_notice(nic, peer, &welcome);
	peer_flush(nic, peer);
}

static void welcome_arrived(struct nic *nic, struct peer *peer, const struct wire_message *welcome,
			    transport_address from)
{
	if (peer->state == PEER_UNKNOWN || welcome->target_tag != peer->local_tag ||
	    introduce(nic, peer, welcome, from))
		nic->counters.stale++;
	else
		peer_flush(nic, peer);
}

/* The refuser need not be known: it answers for the address at which we looked for somebody else. */
static void refusal_arrived(struct nic *nic, struct peer *peer, const struct wire_message *refusal,
			    transport_address from)
{
	if (refusal->reason == REFUSED_WRONG_PROCESS)
		peer = peer_find(nic, (ptl_process_id_t){.nid = refusal->wanted_nid, .pid = refusal->wanted_pid});
	if (!peer || peer->state != PEER_CONTACTING || (from != TRANSPORT_ADDRESS_UNKNOWN && from != peer->address)) {
		nic->counters.stale++;
	} else if (refusal->reason == REFUSED_WRONG_PROCESS) {
		next_slice(nic, peer, monotonic_ns());
	} else {
		report(LOG_WARN, "peer %u:%u speaks wire version %u, this library version %u", peer->id.nid,
		       peer->id.pid, refusal->their_version, WIRE_VERSION);
		peer_fail(nic, peer, PTL_NI_PROTOCOL, "it speaks another version of the protocol");
	}
}

static void stale_arrived(struct nic *nic, struct peer *peer, const struct wire_message *stale, transport_address from)
{
	/* Only an answer to what this conversation sent names its tag. */
	if (!peer || peer->state != PEER_READY || stale->target_tag != peer->local_tag ||
	    (from != TRANSPORT_ADDRESS_UNKNOWN && from != peer->address)) {
		nic->counters.stale++;
		return;
	}
	peer_reset(nic, peer);
	if (peer->requests.head)
		contact_start(nic, peer);
}

void contact_notice(struct nic *nic, const struct wire_message *message, transport_address from,
		    struct transport *transport)
{
	static void (*const handlers[WIRE_OPERATION_COUNT])(struct nic *, struct peer *, const struct wire_message *,
							    transport_address) = {
		[WIRE_HELLO] = hello_arrived,
		[WIRE_WELCOME] = welcome_arrived,
		[WIRE_REFUSED] = refusal_arrived,
		[WIRE_STALE] = stale_arrived,
	};
	const ptl_process_id_t id = {message->source_nid, message->source_pid};
	struct peer *peer = message->operation == WIRE_HELLO ? peer_get(nic, id) : peer_find(nic, id);
	bool self = id.nid == nic->id.nid && id.pid == nic->id.pid;

	/* Only ourselves speak with our own id. */
	if (self != (transport == nic->self) || (!peer && message->operation != WIRE_REFUSED)) {
		nic->counters.stale++;
		return;
	}
	handlers[message->operation](nic, peer, message, from);
}

/* Answers somebody who may not be a peer: best effort, the asker repeats itself. */
static void answer_stranger(struct nic *nic, const struct wire_message *message, struct transport *transport,
			    struct wire_message *answer)
{
	uint8_t bytes[WIRE_MAX_HEADER];
	transport_address address;

	if (transport->ops->resolve(transport, message->source_nid, message->source_pid, message->attempt, &address))
		return;
	answer->source_nid = nic->id.nid;
	answer->source_pid = nic->id.pid;
	answer->target_tag = message->source_tag;
	answer->attempt = (uint8_t)transport->ops->own_attempt(transport);
	if (transport->ops->send(transport, address, bytes, wire_encode(answer, bytes), NULL, 0) == 0)
		nic->counters.notices_sent++;
}

/*
 * It is said to the tag of our HELLO: the other side has answered and gone on, but its WELCOME was lost with a
 * connection.  What is dropped now must not belong to the conversation that our next HELLO begins, or nobody would
 * ever know that it is missing; STALE says so too, but may find no room.
 */
static void disown(struct peer *peer, const struct wire_message *message)
{
	if (peer && peer->state == PEER_CONTACTING && message->target_tag == peer->local_tag)
		peer->local_tag = random_tag(peer->local_tag);
}

void contact_dropped(struct nic *nic, struct peer *peer, const struct wire_message *message,
		     struct transport *transport)
{
	struct wire_message stale = {.operation = WIRE_STALE};

	answer_stranger(nic, message, transport, &stale);
	disown(peer, message);
}

void contact_answer_version(struct nic *nic, const struct wire_message *message, struct transport *transport)
{
	struct wire_message refusal = {
		.operation = WIRE_REFUSED, .reason = REFUSED_VERSION, .their_version = WIRE_VERSION};

	if (message->operation == WIRE_HELLO)
		answer_stranger(nic, message, transport, &refusal);
}

/* --- liveness --- */

static void note_life(struct peer *peer, uint64_t now)
{
	peer->arrivals_seen = peer->arrivals;
	peer->silent_since = now;
	peer->pings = peer->refused_probes = 0;
}

/*
 * Kernel evidence first: the peer's port is closed.  Asked twice, because the first answer may be an echo of the time
 * before a restart.  Only then silence, and only of peers that would answer by themselves.
 */
void liveness_tick(struct nic *nic, struct peer *peer, uint64_t now)
{
	struct transport *transport = peer->transport;

	if (peer->arrivals != peer->arrivals_seen || peer->silent_since == 0) {
		note_life(peer, now);
		return;
	}
	if (now - peer->silent_since < SILENCE_NS || !transport || transport == nic->self)
		return;
	if (transport->ops->probe(transport, peer->address) == -ECONNREFUSED)
		peer->refused_probes++;
	else
		peer->refused_probes = 0;
	if (peer->refused_probes >= 2) {
		peer_fail(nic, peer, PTL_NI_PEER_DIED, "its port is closed");
		return;
	}
	if (peer->state != PEER_READY || now - peer->pinged_at < SILENCE_NS)
		return;
	if (peer->pings >= PINGS_BEFORE_DEATH && nic->settings->peer_timeout &&
	    (peer->abilities & WIRE_HAS_NIC_THREAD) && now - peer->silent_since > nic->settings->peer_timeout) {
		peer_fail(nic, peer, PTL_NI_PEER_DIED, "silent for PTL_PEER_TIMEOUT");
		return;
	}
	peer->pinged_at = now;
	peer->pings++;
	if (!peer->responses.head) /* what waits there will do as well */
		respond(nic, peer, WIRE_PING, 0, 0, 0);
}
