/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First contact, the notices about it, and liveness.  See the essay in peer.c.
 *
 * WAYS.  A process of our own node can be reached by shared memory or by the network, if both of us have both.  Every
 * HELLO is offered to the possible transports in the order of preference, until one takes it or needs time for it
 * (-EAGAIN): the next one's turn is only when there is certainly nobody (-ENOENT) or nobody for us (-EHOSTUNREACH,
 * another user's process).  Nobody now may be somebody later, so every repetition starts from the first again, until
 * PTL_CONNECT_TIMEOUT.  Whoever receives a HELLO answers where it came from, and from then on the way is fixed for the
 * conversation: order, and memory exposed to one transport, would not survive a change.
 *
 * Both sides come to the same way.  A process claims its name on the node before it opens the network, which takes
 * 100 ms, so whoever is found on the network was to be found on the node just before, when our HELLO was offered there;
 * and that two can meet on the node is symmetrical.  Should it go wrong all the same (each has taken a HELLO of the
 * other over another way), then each is READY when a WELCOME of the same conversation arrives over the other way: the
 * more preferred way wins.  Who is on it already ignores the WELCOME; the other one moves, and what it had under way
 * fails as if the connection had broken.  A HELLO of the conversation we are in, over another way, is an old one.
 *
 * A process can be reachable at one of several addresses (its preferred port may have been taken by a stranger), so
 * HELLO goes to candidate 0 half of the time and to the others in turn, in slices of SLICE_NS: 0 1 0 2 0 3 ...
 * Whoever lives at a wrong candidate answers REFUSED, which ends the slice at once.
 */
#include <errno.h>
#include <sys/random.h>

#include "base/cancel.h"
#include "base/report.h"
#include "offload/peer.h"
#include "offload/trace.h"

#define SLICE_NS           100000000u
#define HELLO_AGAIN_NS     200000000u
#define OPENING_NS         1000000u
#define SILENCE_NS         1000000000u
#define LEAST_TIMEOUT_NS   1000000000u
#define PINGS_BEFORE_DEATH 3
#define SEVER_AGAIN_NS     250000000u
#define SEVERED_AT_A_TIME  64 /* peers whose connections are looked for in one walk; the others' when theirs are gone */

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
	UNCANCELLED;
	uint16_t tag = 0;

	while (tag == 0 || tag == other_than)
		if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
			tag = (uint16_t)(cycle_clock() >> 3);
	return tag;
}

bool contact_possible(const struct nic *nic, const struct peer *peer, enum nic_path path)
{
	bool own_node = peer->id.nid == nic->id.nid, self = own_node && peer->id.pid == nic->id.pid;

	if (!nic->claimed[path] || self != (path == PATH_SELF) || (path == PATH_NODE && !own_node))
		return false;
	return nic->transports[path] || !nic->opening_done;
}

/*
 * Of its addresses on that path the one that the slice is about: every other slice is for candidate 0.  Only the
 * network has several.
 */
static int find_address(struct nic *nic, struct peer *peer, enum nic_path path)
{
	const struct transport_ops *ops = nic->transports[path]->ops;
	const ptl_process_id_t id = peer->id;

	peer_take_path(nic, peer, path);
	peer->attempt = path == PATH_NETWORK && peer->slice % 2 ? peer->slice / 2 + 1 : 0;
	int rc = ops->resolve(peer->transport, id.nid, id.pid, peer->attempt, &peer->address);

	if (rc && peer->attempt > 0) {
		peer->attempt = peer->slice = 0;
		rc = ops->resolve(peer->transport, id.nid, id.pid, 0, &peer->address);
	}
	return rc;
}

/*
 * Offers HELLO to one transport after the other.  0: taken; -EAGAIN; -EINPROGRESS: to be offered to one that is still
 * opening; -ENOENT: nobody there now; -EHOSTUNREACH: none of them will ever reach the peer.
 */
static int offer_hello(struct nic *nic, struct peer *peer)
{
	struct wire_message hello = introduction(nic, peer, WIRE_HELLO);
	int result = -EHOSTUNREACH;

	for (enum nic_path path = 0; path < NIC_TRANSPORTS; path++) {
		if (!contact_possible(nic, peer, path))
			continue;
		if (!nic->transports[path])
			return -EINPROGRESS;
		if (find_address(nic, peer, path))
			continue;
		int rc = peer_send_notice(nic, peer, &hello);

		if (rc == -ENOENT)
			result = rc;
		else if (rc != -EHOSTUNREACH)
			return rc == 0 ? 0 : -EAGAIN;
	}
	return result;
}

/* HELLO is repeated until it is answered, so a full transport costs nothing but time. */
static void greet(struct nic *nic, struct peer *peer, uint64_t now)
{
	static const uint64_t pauses[] = {50000, 200000, 1000000, 5000000, 20000000, 50000000};
	unsigned step = peer->refusals / 4;
	int rc = offer_hello(nic, peer);

	if (rc == -EHOSTUNREACH) {
		peer_fail(nic, peer, PTL_NI_UNREACHABLE,
			  "no transport reaches it: not its network, not its user, or not its job");
		return;
	}
	if (rc == 0)
		peer->retry_at = now + HELLO_AGAIN_NS;
	else if (rc == -EINPROGRESS)
		peer->retry_at = now + OPENING_NS;
	else
		peer->retry_at = now + pauses[step < 5 ? step : 5];
	nic_timer_at(nic, peer->retry_at < peer->slice_end ? peer->retry_at : peer->slice_end);
}

static void next_slice(struct nic *nic, struct peer *peer, uint64_t now)
{
	peer->slice++;
	peer->slice_end = now + SLICE_NS;
	greet(nic, peer, now);
}

void contact_start(struct nic *nic, struct peer *peer)
{
	uint64_t now = monotonic_ns();

	peer->state = PEER_CONTACTING;
	peer->local_tag = random_tag(peer->local_tag);
	peer->remote_tag = 0;
	peer->slice = 0;
	peer->slice_end = now + SLICE_NS;
	peer->refusals = 0;
	peer->contact_deadline = now + nic->settings->connect_timeout;
	peer->overdue = false;
	peer_mark_busy(nic, peer);
	greet(nic, peer, now);
}

void contact_tick(struct nic *nic, struct peer *peer, uint64_t now)
{
	bool was_overdue = peer->overdue;

	/* Its answer may be here, unread, if we stood still just now: so it fails the next time. */
	peer->overdue = now >= peer->contact_deadline;
	if (peer->overdue && was_overdue)
		peer_fail(nic, peer, PTL_NI_UNREACHABLE, "no answer to HELLO within PTL_CONNECT_TIMEOUT");
	else if (now >= peer->slice_end)
		next_slice(nic, peer, now);
	else if (now >= peer->retry_at)
		greet(nic, peer, now);
	else
		nic_timer_at(nic, peer->retry_at < peer->slice_end ? peer->retry_at : peer->slice_end);
}

/* --- notices --- */

static bool same_conversation(const struct peer *peer, const struct wire_message *message)
{
	return peer->remote_tag == message->source_tag && peer->incarnation[0] == message->incarnation_high &&
	       peer->incarnation[1] == message->incarnation_low;
}

/* The peer answers over a better way than the one on which we thought to be talking.  See WAYS above. */
static void move_conversation(struct nic *nic, struct peer *peer)
{
	uint16_t tag = peer->local_tag;

	peer_reset(nic, peer);
	peer->local_tag = tag;
}

/* HELLO or WELCOME told us who the peer is. */
static int introduce(struct nic *nic, struct peer *peer, const struct wire_message *message, transport_address from)
{
	struct transport *transport = nic->transports[nic->polling];
	bool ready = peer->state == PEER_READY, same = ready && same_conversation(peer, message);
	transport_address address;

	if (same && peer->path != nic->polling && (peer->path < nic->polling || message->operation == WIRE_HELLO))
		return -EALREADY;
	int rc = transport->ops->resolve(transport, peer->id.nid, peer->id.pid, message->attempt, &address);

	if (rc)
		return rc;
	if (from != TRANSPORT_ADDRESS_UNKNOWN && from != address)
		return -EPERM; /* somebody else's identity */
	/* Likewise, or it comes from an address unknown until now: then the next HELLO will show its source. */
	if (from == TRANSPORT_ADDRESS_UNKNOWN && peer->source_shown && !same)
		return -EPERM;
	if (ready && !same)
		peer_reset(nic, peer);
	else if (ready && peer->path != nic->polling)
		move_conversation(nic, peer);
	if (peer->local_tag == 0)
		peer->local_tag = random_tag(0);
	peer_take_path(nic, peer, nic->polling);
	peer->address = address;
	if ((rc = peer_meet(nic, peer)))
		return rc;
	peer->attempt = message->attempt;
	peer->remote_tag = message->source_tag;
	/* Such a transport admits nobody but our own user; elsewhere it is the sender's claim. */
	peer->uid = peer->transport->limits.verified_uid ? nic->uid : message->uid;
	peer->jid = message->jid;
	peer->abilities = message->abilities;
	peer->incarnation[0] = message->incarnation_high;
	peer->incarnation[1] = message->incarnation_low;
	peer->state = PEER_READY;
	trace(nic, PTL_DBG_SETUP, "met %u:%u over %s", peer->id.nid, peer->id.pid, peer->transport->ops->name);
	peer->refusals = 0;
	peer->retry_at = 0;
	peer->arrivals++;
	return 0;
}

/* However often it is asked for, one that still waits is enough. */
static bool replace_waiting(struct peer *peer, const struct wire_message *notice)
{
	for (struct operation *op = peer->responses.head; op; op = op->next) {
		if (op->message.operation == notice->operation) {
			op->message = *notice;
			return true;
		}
	}
	return false;
}

static void queue_notice(struct nic *nic, struct peer *peer, const struct wire_message *notice)
{
	if (replace_waiting(peer, notice))
		return;
	struct operation *op = operation_owed(nic, peer, &protocol_once);

	if (!op)
		return;
	op->message = *notice;
	peer_respond(nic, op);
}

/* Answers somebody who may not be a peer, where it spoke from: best effort, the asker repeats itself. */
static void answer(struct nic *nic, const struct peer *peer, const struct wire_message *message, transport_address from,
		   struct wire_message *reply)
{
	struct transport *transport = nic->transports[nic->polling];
	uint8_t bytes[WIRE_MAX_HEADER];

	if (from == TRANSPORT_ADDRESS_UNKNOWN &&
	    ((!peer && !stranger_affordable(nic)) ||
	     transport->ops->resolve(transport, message->source_nid, message->source_pid, message->attempt, &from)))
		return;
	reply->source_nid = nic->id.nid;
	reply->source_pid = nic->id.pid;
	reply->target_tag = message->source_tag;
	reply->attempt = (uint8_t)transport->ops->own_attempt(transport);
	if (transport->ops->send(transport, from, bytes, wire_encode(reply, bytes), NULL, 0) == 0)
		nic->counters.notices_sent++;
}

static void hello_for_another(struct nic *nic, struct peer *peer, const struct wire_message *hello,
			      transport_address from)
{
	struct wire_message refusal = {
		.operation = WIRE_REFUSED,
		.wanted_nid = hello->wanted_nid,
		.wanted_pid = hello->wanted_pid,
		.reason = REFUSED_WRONG_PROCESS,
		.their_version = WIRE_VERSION,
	};

	/* Over another way than we talk with it ourselves: without patience, it will ask again. */
	if (peer->state != PEER_UNKNOWN && peer->path != nic->polling) {
		answer(nic, peer, hello, from, &refusal);
		return;
	}
	peer_take_path(nic, peer, nic->polling);
	if (peer->state == PEER_UNKNOWN &&
	    peer->transport->ops->resolve(peer->transport, peer->id.nid, peer->id.pid, hello->attempt, &peer->address))
		return;
	queue_notice(nic, peer, &refusal);
}

static void hello_arrived(struct nic *nic, struct peer *peer, const struct wire_message *hello, transport_address from)
{
	if (hello->wanted_nid != nic->id.nid || hello->wanted_pid != nic->id.pid) {
		hello_for_another(nic, peer, hello, from);
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

static bool comes_from(const struct nic *nic, const struct peer *peer, transport_address from)
{
	return peer->path == nic->polling &&
	       (from == peer->address || (from == TRANSPORT_ADDRESS_UNKNOWN && !peer->source_shown));
}

/* The refuser need not be known: it answers for the address at which we looked for somebody else. */
static void refusal_arrived(struct nic *nic, struct peer *peer, const struct wire_message *refusal,
			    transport_address from)
{
	if (refusal->reason == REFUSED_WRONG_PROCESS)
		peer = peer_find(nic, (ptl_process_id_t){.nid = refusal->wanted_nid, .pid = refusal->wanted_pid});
	if (!peer || peer->state != PEER_CONTACTING || !comes_from(nic, peer, from)) {
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
	    !comes_from(nic, peer, from)) {
		nic->counters.stale++;
		return;
	}
	peer_reset(nic, peer);
	if (peer->requests.head)
		contact_start(nic, peer);
}

void contact_notice(struct nic *nic, const struct wire_message *message, transport_address from)
{
	static void (*const handlers[WIRE_OPERATION_COUNT])(struct nic *, struct peer *, const struct wire_message *,
							    transport_address) = {
		[WIRE_HELLO] = hello_arrived,
		[WIRE_WELCOME] = welcome_arrived,
		[WIRE_REFUSED] = refusal_arrived,
		[WIRE_STALE] = stale_arrived,
	};
	const ptl_process_id_t id = {message->source_nid, message->source_pid};
	struct peer *peer = message->operation == WIRE_HELLO ? peer_admit(nic, id) : peer_find(nic, id);
	bool self = id.nid == nic->id.nid && id.pid == nic->id.pid;

	/* Only ourselves speak with our own id. */
	if (self != (nic->polling == PATH_SELF) || (!peer && message->operation != WIRE_REFUSED)) {
		nic->counters.stale++;
		return;
	}
	handlers[message->operation](nic, peer, message, from);
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

void contact_dropped(struct nic *nic, struct peer *peer, const struct wire_message *message, transport_address from)
{
	struct wire_message stale = {.operation = WIRE_STALE};

	answer(nic, peer, message, from, &stale);
	disown(peer, message);
}

void contact_answer_version(struct nic *nic, const struct wire_message *message, transport_address from)
{
	struct wire_message refusal = {
		.operation = WIRE_REFUSED, .reason = REFUSED_VERSION, .their_version = WIRE_VERSION};

	if (message->operation == WIRE_HELLO)
		answer(nic, NULL, message, from, &refusal);
}

/* --- liveness --- */

static void note_life(struct peer *peer, uint64_t now)
{
	peer->arrivals_seen = peer->arrivals;
	peer->silent_since = now;
	peer->pings = peer->refused_probes = 0;
}

static bool probably_dead(struct peer *peer)
{
	if (peer->refused_probes >= PEER_PROBES_REFUSED)
		return true; /* its transport would not take a message */
	if (peer->transport->ops->probe(peer->transport, peer->address) == -ECONNREFUSED)
		peer->refused_probes++;
	else
		peer->refused_probes = 0;
	return peer->refused_probes >= PEER_PROBES_REFUSED;
}

/* Whoever stands still for less counts on not having been given up (NIC_DOUBT_NS).  0: nobody is, for silence. */
static uint64_t peer_timeout(const struct nic *nic)
{
	uint64_t timeout = nic->settings->peer_timeout;

	return timeout > 0 && timeout < LEAST_TIMEOUT_NS ? LEAST_TIMEOUT_NS : timeout;
}

/* PINGS_BEFORE_DEATH of them fit into PTL_PEER_TIMEOUT, if the transport wants no longer pauses. */
static uint64_t ping_interval(const struct nic *nic)
{
	uint64_t timeout = peer_timeout(nic);

	return timeout && timeout / (PINGS_BEFORE_DEATH + 1) < SILENCE_NS ? timeout / (PINGS_BEFORE_DEATH + 1)
									  : SILENCE_NS;
}

/* What the transport wants between two of them, but so that two fit into PTL_PEER_TIMEOUT. */
static uint64_t ping_pause(const struct nic *nic, const struct transport *transport)
{
	uint64_t most = peer_timeout(nic) / 2, pause = transport->limits.ping_pause;

	return most > 0 && pause > most ? most : pause;
}

static unsigned pings_before_death(const struct nic *nic, const struct transport *transport)
{
	uint64_t pause = ping_pause(nic, transport);

	return pause > 0 && peer_timeout(nic) / pause < PINGS_BEFORE_DEATH ? PINGS_BEFORE_DEATH - 1
									   : PINGS_BEFORE_DEATH;
}

/*
 * An answer that a transfer waits for may have been lost with a connection, or the question.  Signs of life are none, so
 * they do not put it off.
 */
static void ask_again(struct nic *nic, struct peer *peer, uint64_t now)
{
	uint64_t interval = ping_interval(nic), pause = ping_pause(nic, peer->transport);

	if (now - peer->asked_at < (pause > interval ? pause : interval))
		return;
	peer->asked_at = now;
	transfers_ask_again(nic, peer);
}

static bool silent_for_too_long(const struct nic *nic, const struct peer *peer, uint64_t now)
{
	return peer->pings >= pings_before_death(nic, peer->transport) && peer_timeout(nic) &&
	       (peer->abilities & WIRE_HAS_NIC_THREAD) && now - peer->silent_since > peer_timeout(nic);
}

/* Failed, but our reads of the peer's memory have yet to end: what comes after them is behind them. */
static bool reads_hang(const struct peer *peer)
{
	return peer->active.head && peer->active.head->failure;
}

void contact_give_up(struct nic *nic, struct peer *peer, const char *why)
{
	struct transport *transport = peer->transport;

	peer_fail(nic, peer, PTL_NI_PEER_DIED, why);
	if (!transport->ops->sever)
		return;
	transport->ops->sever(transport, peer->address);
	if (!reads_hang(peer))
		return;
	peer->lost_transport = transport;
	peer->lost_address = peer->address;
}

/* Whose reads have ended is lost no longer.  Returns how many of that transport are, at most `room`. */
static unsigned collect_lost(struct nic *nic, const struct transport *transport, transport_address *lost, unsigned room)
{
	unsigned count = 0;

	for (struct peer *peer = nic->busy; peer && count < room; peer = peer->next_busy) {
		if (!peer->lost_transport)
			continue;
		if (!reads_hang(peer))
			peer->lost_transport = NULL;
		else if (peer->lost_transport == transport)
			lost[count++] = peer->lost_address;
	}
	return count;
}

/* Every time costs a walk over all descriptors of the process, and the timers of all peers come here. */
void contact_sever_lost(struct nic *nic, uint64_t now)
{
	transport_address lost[SEVERED_AT_A_TIME];

	if (now - nic->severed_at < SEVER_AGAIN_NS)
		return;
	nic->severed_at = now;
	for (int i = 0; i < NIC_TRANSPORTS; i++) {
		struct transport *transport = nic->transports[i];

		if (!transport || !transport->ops->sever_unheard)
			continue;
		unsigned count = collect_lost(nic, transport, lost, SEVERED_AT_A_TIME);

		if (count > 0)
			transport->ops->sever_unheard(transport, lost, count);
	}
}

/*
 * Kernel evidence first: the peer's port is closed.  It is asked for after some silence, or always where it costs
 * nothing.  Only then silence itself, and only of peers that would answer by themselves.
 */
void liveness_tick(struct nic *nic, struct peer *peer, uint64_t now)
{
	const struct transport *transport = peer->transport;
	uint64_t interval = ping_interval(nic);

	if (peer->state == PEER_UNKNOWN && peer->lost_transport && reads_hang(peer))
		return; /* the verdict has been passed */
	if (peer->state == PEER_READY)
		ask_again(nic, peer, now);
	if (peer->arrivals != peer->arrivals_seen || peer->silent_since == 0) {
		note_life(peer, now);
		return;
	}
	bool silent = now - peer->silent_since >= interval;

	if (!transport || peer->path == PATH_SELF || !(silent || transport->limits.rings))
		return;
	if (probably_dead(peer)) {
		contact_give_up(nic, peer, "its port is closed");
		return;
	}
	if (!silent || peer->state != PEER_READY)
		return;
	if (silent_for_too_long(nic, peer, now)) {
		contact_give_up(nic, peer, "silent for PTL_PEER_TIMEOUT");
		return;
	}
	if (now - peer->pinged_at < interval || now - peer->pinged_at < ping_pause(nic, transport))
		return;
	peer->pinged_at = now;
	peer->pings++;
	if (!peer->responses.head) /* what waits there will do as well */
		respond(nic, peer, WIRE_PING, 0, 0, 0);
}
