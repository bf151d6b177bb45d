/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First contact, the notices about it, and what the end of a conversation leaves behind.  The design is described in peer.c.
 *
 * WAYS.  A process of our own node can be reached by shared memory or by the network, if both of us have both.  Every
 * HELLO is offered to the possible transports in the order of preference, until one takes it or needs time for it
 * (-EAGAIN): the next one's turn is only when there is certainly no process (-ENOENT) or none for us (-EHOSTUNREACH,
 * another user's), or when there is no memory for its address (-ENOMEM), which may stay so.  None now may be one later, so
 * every repetition starts from the first again, until PTL_CONNECT_TIMEOUT.  A HELLO is answered where it came from, and
 * from then on the way is fixed for the conversation: order, and memory exposed to one transport, would not survive a
 * change.
 *
 * Both sides come to the same way.  A process claims its name on the node before it opens the network, which takes
 * 100 ms, so a process that is found on the network was to be found on the node just before, when our HELLO was offered there;
 * and that two can meet on the node is symmetrical.  Should it go wrong all the same (each has taken a HELLO of the
 * other over another way), then each is READY when a WELCOME of the same process arrives over the other way: the
 * more preferred way wins.  The side that is on it already ignores the WELCOME, whatever tag that names: it answers a HELLO that was
 * late.  The other one moves, by a WELCOME or by its transport's connected(), or is told by STALE what it says over the wrong
 * way; what it had under way fails as if the connection had broken.  A HELLO of the conversation we are in, over another
 * way, is an old one.
 *
 * GREETINGS WITH THE CONNECTION.  A transport that meets a peer before it sends carries what HELLO and WELCOME say on that
 * occasion (transport_sink.greet, connected), and neither is sent: the HELLO that is offered to it makes it connect.  A
 * connected peer is READY here as by a WELCOME: each side has the other's tag, or gets it before any message.  Until then
 * nothing is kept here of a process that has only asked to connect; the transport remembers the tag that it was told, which
 * is the conversation's from connected() on.  A conversation that ends while the connection stays is followed by another, which
 * begins with HELLO, as over any transport.
 *
 * A process can be reachable at one of several addresses (its preferred port may have been taken by another process),
 * so HELLO goes to candidate 0 half of the time and to the others in turn, in slices of SLICE_NS: 0 1 0 2 0 3 ...
 * A process at a wrong candidate answers REFUSED, which ends the slice at once.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/report.h"
#include "offload/hold.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"
#include "offload/trace.h"

#define SLICE_NS          100000000u
#define HELLO_AGAIN_NS    200000000u
#define LAST_LOOK_NS      10000000u
#define LAST_LOOKS        8
#define OPENING_NS        1000000u
#define SEVER_AGAIN_NS    250000000u
#define CUT_SETTLES_NS    (HELLO_AGAIN_NS / 2) /* so that the next HELLO is not refused again */
#define SEVERED_AT_A_TIME 64 /* peers whose connections are looked for in one walk; the others' when theirs are gone */

static uint16_t abilities(const struct nic *nic, ptl_process_id_t id)
{
	uint16_t bits = nic->mode == NIC_MODE_HOST ? 0 : WIRE_HAS_NIC_THREAD;
	bool self =
		id.nid == nic->self.id.nid && id.pid == nic->self.id.pid; /* what we say to ourselves is never held */

	return hold_in_force(nic) && !self ? bits | WIRE_HOLDS : bits;
}

/* HELLO and WELCOME: our identity, and the one that we take the other for. */
static struct wire_message introduction(const struct nic *nic, struct peer *peer, enum wire_operation what)
{
	uint16_t said = abilities(nic, peer->id);

	peer->held_back |= (said & WIRE_HOLDS) != 0;
	return (struct wire_message){
		.operation = (uint8_t)what,
		.wanted_nid = peer->id.nid,
		.wanted_pid = peer->id.pid,
		.uid = nic->self.uid,
		.jid = nic->self.jid,
		.incarnation_high = nic->self.incarnation[0],
		.incarnation_low = nic->self.incarnation[1],
		.abilities = said,
	};
}

/* The last step of splitmix64: every bit of the value changes about half of the bits of the result. */
static uint64_t hash_step(uint64_t value)
{
	value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
	value = (value ^ value >> 27) * 0x94D049BB133111EBu;
	return value ^ value >> 31;
}

/*
 * No outsider can guess the next from those before it, and none comes again before all others have: a counter, permuted by a
 * Feistel network with a key of this interface.  Not 0.
 */
static uint16_t new_tag(struct nic *nic)
{
	uint8_t left, right;

	do {
		left = (uint8_t)(nic->contact.tags_given >> 8);
		right = (uint8_t)nic->contact.tags_given++;
		for (unsigned round = 0; round < 6; round++) {
			uint8_t next = left ^ (uint8_t)hash_step(nic->contact.tag_key ^ (round << 8 | right));

			left = right;
			right = next;
		}
	} while (left == 0 && right == 0);
	return (uint16_t)(left << 8 | right);
}

/*
 * Of its addresses on that path the one that the slice is about: every other slice is for candidate 0.  Only the
 * network has several.
 */
static int find_address(struct nic *nic, struct peer *peer, enum nic_path path)
{
	peer_take_path(nic, peer, path);
	peer->attempt = path == PATH_NETWORK && peer->slice % 2 ? peer->slice / 2 + 1 : 0;
	int rc = peer_resolve(nic, peer, peer->attempt);

	if (rc && rc != -ENOMEM && peer->attempt > 0) {
		peer->attempt = peer->slice = 0;
		rc = peer_resolve(nic, peer, 0);
	}
	return rc;
}

/* What the transport answers, -ENOMEM if it has no memory for the address now, -EHOSTUNREACH if it will never have one. */
static int offer_on(struct nic *nic, struct peer *peer, enum nic_path path, struct wire_message *hello)
{
	int rc = find_address(nic, peer, path);

	if (rc == 0)
		return peer_send_notice(nic, peer, hello);
	peer->refusals += rc == -ENOMEM;
	return rc == -ENOMEM ? rc : -EHOSTUNREACH;
}

/*
 * Offers HELLO to one transport after the other.  0: taken; -EAGAIN; -EINPROGRESS: to be offered to one that is still
 * opening; -ENOENT: no process there now; -ENOMEM: one of them has no memory for it now, and no other takes it;
 * -EHOSTUNREACH: none of them will ever reach the peer.
 */
static int offer_hello(struct nic *nic, struct peer *peer)
{
	struct wire_message hello = introduction(nic, peer, WIRE_HELLO);
	int result = -EHOSTUNREACH;

	for (enum nic_path path = 0; path < NIC_TRANSPORTS; path++) {
		if (!peer_reachable(nic, peer, path))
			continue;
		if (!nic->transports[path])
			return -EINPROGRESS;
		int rc = offer_on(nic, peer, path, &hello);

		if (rc == -EHOSTUNREACH)
			continue;
		if (rc != -ENOENT && rc != -ENOMEM)
			return rc == 0 ? 0 : -EAGAIN;
		if (result != -ENOMEM)
			result = rc;
	}
	return result;
}

/*
 * `why`, unless descriptors have run out, or the addresses explain it: a first program often names 127.0.0.1 to an
 * interface that has another one.
 */
static const char *why_unreachable(const struct nic *nic, const struct peer *peer, const char *why)
{
	const bool we_loop = nic->self.id.nid >> 24 == LOOPBACK_NET, it_loops = peer->id.nid >> 24 == LOOPBACK_NET;

	if (we_loop == it_loops)
		return report_cause(-EIO) == -EMFILE
			       ? "hardly a descriptor is left to connect with: raise RLIMIT_NOFILE (ulimit -n)"
		       : report_cause(-EIO) == -ENFILE
			       ? "hardly a descriptor of the system is left to connect with: raise fs.file-max"
			       : why;
	return we_loop ? "our interface is on the loopback and its is not: set PTL_IFACE"
		       : "its interface is on the loopback and ours is not: set PTL_IFACE, there or here";
}

/* HELLO is repeated until it is answered, so a full transport costs nothing but time. */
static void greet(struct nic *nic, struct peer *peer, uint64_t now)
{
	static const uint64_t pauses[] = {50000, 200000, 1000000, 5000000, 20000000, 50000000};
	unsigned step = peer->refusals / 4;
	int rc = offer_hello(nic, peer);

	peer->offered = rc;
	if (rc == -EHOSTUNREACH) {
		peer_fail(nic, peer, PTL_NI_UNREACHABLE,
			  why_unreachable(nic, peer,
					  "no transport reaches it: not its network, not its user, or not its job"));
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
	peer->local_tag = new_tag(nic);
	peer->remote_tag = 0;
	peer->slice = 0;
	peer->slice_end = now + SLICE_NS;
	peer->refusals = 0;
	peer->held_back = false;
	peer->contact_deadline = now + nic->settings->connect_timeout;
	peer->last_looks = 0;
	peer->looked_at = now;
	peer_mark_busy(nic, peer);
	greet(nic, peer, now);
}

/*
 * Its answer may be on its way, or here and unread: where others compute, each of us has its core for moments that are tenths of a
 * second apart.  So the deadline alone fails no peer: we look LAST_LOOKS times more, which takes a moment where none computes.
 */
static bool is_overdue(struct nic *nic, struct peer *peer, uint64_t now)
{
	if (now < peer->contact_deadline)
		return false;
	bool look = now - peer->looked_at >= LAST_LOOK_NS;

	if (look)
		peer->looked_at = now;
	nic_timer_at(nic, peer->looked_at + LAST_LOOK_NS);
	peer->last_looks += look;
	return peer->last_looks > LAST_LOOKS;
}

void contact_tick(struct nic *nic, struct peer *peer, uint64_t now)
{
	if (is_overdue(nic, peer, now))
		peer_fail(nic, peer, PTL_NI_UNREACHABLE,
			  why_unreachable(nic, peer,
					  peer->offered == -ENOMEM
						  ? "no memory for its address within PTL_CONNECT_TIMEOUT"
						  : "no answer to HELLO within PTL_CONNECT_TIMEOUT"));
	else if (now >= peer->slice_end)
		next_slice(nic, peer, now);
	else if (now >= peer->retry_at)
		greet(nic, peer, now);
	else
		nic_timer_at(nic, peer->retry_at < peer->slice_end ? peer->retry_at : peer->slice_end);
}

void contact_greet_again(struct nic *nic, struct peer *peer)
{
	const struct wire_message hello = introduction(nic, peer, WIRE_HELLO);

	peer_queue_notice(nic, peer, &hello);
}

void contact_request(struct nic *nic, struct operation *op)
{
	struct peer *peer = op->peer;
	bool first = !peer->requests.head;

	operation_append(&peer->requests, op);
	peer_mark_busy(nic, peer);
	if (peer->state == PEER_UNKNOWN)
		contact_start(nic, peer);
	else if (first)
		peer_flush(nic, peer);
}

/* --- what ended conversations leave behind --- */

/*
 * Where it was, until all reads of its memory have ended: its successor may be elsewhere, and be given up as well.
 * Without memory for that, what was severed at once is all.
 */
static void note_lost(struct nic *nic, struct peer *peer)
{
	for (struct peer_lost *lost = peer->lost; lost; lost = lost->next)
		if (lost->transport == peer->transport && lost->address == peer->address)
			return;
	struct peer_lost *lost = malloc(sizeof(*lost));

	if (!lost)
		return;
	*lost = (struct peer_lost){.next = peer->lost, .transport = peer->transport};
	lost->address = peer_hand_over(nic, peer);
	peer->lost = lost;
}

/* Not if a living process has its port now: what connects us with that address is that one's. */
static void cut(struct nic *nic, struct peer *peer)
{
	if (!peer->transport->ops->sever)
		return;
	if (!peer_is_replaced(nic, peer)) {
		peer->transport->ops->sever(peer->transport, peer->address);
		peer->cut_at[peer->path] = monotonic_ns();
	}
	if (peer_reads_hang(peer))
		note_lost(nic, peer);
}

void contact_cut_reads(struct nic *nic, struct peer *peer)
{
	if (peer_reads_hang(peer))
		cut(nic, peer);
}

static bool settles(const struct peer *peer, enum nic_path path, uint64_t now)
{
	return peer->cut_at[path] && now - peer->cut_at[path] < CUT_SETTLES_NS;
}

bool contact_settles(const struct peer *peer, uint64_t now)
{
	bool any = false;

	for (enum nic_path path = 0; path < NIC_TRANSPORTS; path++)
		any |= settles(peer, path, now);
	return any;
}

/*
 * NO PEER IS MET over a connection that we have just cut: which process greets us, or answers, over it, or has done so
 * before that and was read now?  The answer would go the same way, and be lost, with the requests behind it, of which
 * neither side would ever know that they are missing.  HELLO is repeated, and a WELCOME to one that we send from now on tells of another connection.
 */
static bool is_cut(const struct nic *nic, const struct peer *peer, const struct wire_message *message)
{
	if (peer_met_us(peer) || (peer->state == PEER_CONTACTING && message->operation == WIRE_WELCOME))
		return false;
	return settles(peer, nic->drive.polling, monotonic_ns());
}

void contact_give_up(struct nic *nic, struct peer *peer, const char *why)
{
	peer_fail(nic, peer, PTL_NI_PEER_DIED, why);
	if (!peer->unverified)
		peer_failure_record(nic, peer->id, peer->uid, peer->jid, why);
	cut(nic, peer);
}

/* Whose reads have ended is lost no longer.  Returns how many of that transport are, at most `room`. */
static unsigned collect_lost(struct nic *nic, const struct transport *transport, transport_address *found,
			     unsigned room)
{
	unsigned count = 0;

	for (struct peer *peer = nic->peers.busy; peer; peer = peer->next_busy) {
		if (peer->lost && !peer_reads_hang(peer))
			peer_let_lost_go(peer);
		for (const struct peer_lost *lost = peer->lost; lost && count < room; lost = lost->next)
			if (lost->transport == transport)
				found[count++] = lost->address;
	}
	return count;
}

/* Every time costs a walk over all descriptors of the process, and the timers of all peers come here. */
void contact_sever_lost(struct nic *nic, uint64_t now)
{
	transport_address lost[SEVERED_AT_A_TIME];

	if (now - nic->contact.severed_at < SEVER_AGAIN_NS)
		return;
	nic->contact.severed_at = now;
	for (int i = 0; i < NIC_TRANSPORTS; i++) {
		struct transport *transport = nic->transports[i];

		if (!transport || !transport->ops->sever_unheard)
			continue;
		unsigned count = collect_lost(nic, transport, lost, SEVERED_AT_A_TIME);

		if (count > 0)
			transport->ops->sever_unheard(transport, lost, count);
	}
}

/* After peer_break().  What waits is left to the next conversation. */
static void end_without_successor(struct nic *nic, struct peer *peer)
{
	trace(nic, PTL_DBG_SHUTDOWN, "parted from " ID_TEXT ": it asked for more than there is", ID_PARTS(peer->id));
	peer_end(nic, peer, PTL_NI_FAIL);
	contact_cut_reads(nic, peer);
}

void contact_end_broken(struct nic *nic, struct peer *peer)
{
	end_without_successor(nic, peer);
	if (peer->requests.head)
		contact_start(nic, peer);
}

/* --- notices --- */

static bool same_process(const struct peer *peer, const struct wire_message *message)
{
	return peer->incarnation[0] == message->incarnation_high && peer->incarnation[1] == message->incarnation_low;
}

static bool same_conversation(const struct peer *peer, const struct wire_message *message)
{
	return peer->remote_tag == message->source_tag && same_process(peer, message);
}

/*
 * The peer has begun anew, or answers over a better way than the one on which we thought to be talking (see WAYS above).
 * A WELCOME answers to our tag, under which its sender knows us from then on: so that stays.  A successor under the id of
 * one whose end was not noticed is what tells of it.
 */
static void begin_anew(struct nic *nic, struct peer *peer, const struct wire_message *message)
{
	uint16_t tag = message->operation == WIRE_WELCOME ? peer->local_tag : 0;

	peer_reset(nic, peer);
	peer->local_tag = tag;
	contact_cut_reads(nic, peer);
	if (!peer->unverified && !same_process(peer, message))
		peer_failure_record(nic, peer->id, peer->uid, peer->jid, "another process has its id");
}

/* It need not be believed without: neither where messages have a source, nor if that ends a conversation in which they have. */
static bool shows_source(const struct nic *nic, const struct peer *peer)
{
	return peer->source_shown[nic->drive.polling] || (peer_met_us(peer) && peer->source_shown[peer->path]);
}

/* It came over another way than the one of our conversation, which stays: see WAYS. */
static bool is_late(const struct nic *nic, const struct peer *peer, const struct wire_message *message)
{
	if (!peer_met_us(peer) || peer->path == nic->drive.polling)
		return false;
	if (message->operation == WIRE_HELLO)
		return same_conversation(peer, message);
	return peer->path < nic->drive.polling && same_process(peer, message);
}

/* HELLO or WELCOME told us the peer's identity. */
static int introduce(struct nic *nic, struct peer *peer, const struct wire_message *message, transport_address from)
{
	if (unlikely(peer->state == PEER_BROKEN))
		contact_end_broken(nic, peer);
	struct transport *transport = nic->transports[nic->drive.polling];
	bool ready = peer_met_us(peer), same = ready && same_conversation(peer, message);
	transport_address address;

	if (is_late(nic, peer, message))
		return -EALREADY;
	int rc = transport->ops->resolve(transport, peer->id.nid, peer->id.pid, message->attempt, &address);

	if (rc)
		return rc;
	/* Another's identity; or it comes from an address unknown until now: then the next HELLO will show its source. */
	if (from != TRANSPORT_ADDRESS_UNKNOWN ? from != address : !same && shows_source(nic, peer)) {
		peer_take_back(transport, address);
		return -EPERM;
	}
	if (ready && (!same || peer->path != nic->drive.polling))
		begin_anew(nic, peer, message);
	if (unlikely(is_cut(nic, peer, message))) {
		peer_take_back(transport, address);
		return -EALREADY;
	}
	if (peer->local_tag == 0)
		peer->local_tag = new_tag(nic);
	peer_take_path(nic, peer, nic->drive.polling);
	peer_hold(nic, peer, address);
	peer_settle(nic, peer);
	if ((rc = peer_meet(nic, peer)))
		return rc;
	peer->attempt = message->attempt;
	peer->remote_tag = message->source_tag;
	/* Such a transport admits our own user only; elsewhere it is the sender's claim. */
	peer->uid = peer->transport->limits.verified_uid ? nic->self.uid : message->uid;
	peer->jid = message->jid;
	peer->abilities = message->abilities;
	peer->incarnation[0] = message->incarnation_high;
	peer->incarnation[1] = message->incarnation_low;
	/* An introduction from the time of its hold may come late. */
	peer->state = message->abilities & WIRE_HOLDS && peer->state != PEER_READY ? PEER_HOLDING : PEER_READY;
	trace(nic, PTL_DBG_SETUP, "met " ID_TEXT " over %s%s", ID_PARTS(peer->id), peer->transport->ops->name,
	      peer->state == PEER_HOLDING ? ", which wants no requests yet" : "");
	peer_failure_clear(nic, peer->id);
	peer->refusals = 0;
	peer->retry_at = 0;
	peer->arrivals++;
	return 0;
}

/*
 * As introduce().  If that has ended a conversation and none has begun, nothing but a HELLO of ours sends what waits; and what
 * was said to the tag that the peer answered belongs to no conversation any more: it is told so (STALE).
 */
static bool was_introduced(struct nic *nic, struct peer *peer, const struct wire_message *message,
			   transport_address from)
{
	if (introduce(nic, peer, message, from) == 0)
		return true;
	nic->counters.stale++;
	if (peer->state == PEER_UNKNOWN) {
		peer->local_tag = 0;
		if (peer->requests.head)
			contact_start(nic, peer);
	}
	return false;
}

/* Answers a process that may not be a peer, where it spoke from: best effort, the asker repeats itself. */
static void answer(struct nic *nic, const struct peer *peer, const struct wire_message *message, transport_address from,
		   struct wire_message *reply)
{
	struct transport *transport = nic->transports[nic->drive.polling];
	uint8_t bytes[WIRE_MAX_HEADER];

	bool resolved = from == TRANSPORT_ADDRESS_UNKNOWN;

	if (resolved &&
	    ((!peer && !unverified_affordable(nic)) ||
	     transport->ops->resolve(transport, message->source_nid, message->source_pid, message->attempt, &from)))
		return;
	reply->source_nid = nic->self.id.nid;
	reply->source_pid = nic->self.id.pid;
	reply->target_tag = message->source_tag;
	reply->attempt = (uint8_t)transport->ops->own_attempt(transport);
	if (transport->ops->send(transport, from, bytes, wire_encode(reply, bytes), NULL, 0) == 0)
		nic->counters.notices_sent++;
	if (resolved)
		peer_take_back(transport, from);
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
	if (peer->state != PEER_UNKNOWN && peer->path != nic->drive.polling) {
		answer(nic, peer, hello, from, &refusal);
		return;
	}
	peer_take_path(nic, peer, nic->drive.polling);
	if (peer->state == PEER_UNKNOWN && peer_resolve(nic, peer, hello->attempt))
		return;
	peer_queue_notice(nic, peer, &refusal);
}

static void say_welcome(struct nic *nic, struct peer *peer)
{
	const struct wire_message welcome = introduction(nic, peer, WIRE_WELCOME);

	peer_queue_notice(nic, peer, &welcome);
}

void contact_release(struct nic *nic, struct peer *peer)
{
	if (!peer->held_back || !peer_met_us(peer))
		return;
	peer->held_back = false;
	say_welcome(nic, peer);
}

static void hello_arrived(struct nic *nic, struct peer *peer, const struct wire_message *hello, transport_address from)
{
	if (hello->wanted_nid != nic->self.id.nid || hello->wanted_pid != nic->self.id.pid) {
		hello_for_another(nic, peer, hello, from);
		return;
	}
	if (!was_introduced(nic, peer, hello, from))
		return;
	say_welcome(nic, peer);
	peer_flush(nic, peer);
}

static void welcome_arrived(struct nic *nic, struct peer *peer, const struct wire_message *welcome,
			    transport_address from)
{
	if (peer->state == PEER_UNKNOWN || peer->state == PEER_BROKEN || welcome->target_tag != peer->local_tag) {
		nic->counters.stale++;
		return;
	}
	if (!was_introduced(nic, peer, welcome, from))
		return;
	if (!hold_in_force(nic))
		contact_release(nic, peer);
	peer_flush(nic, peer);
}

void contact_greet(struct nic *nic, ptl_process_id_t id, struct transport_greeting *greeting)
{
	const struct peer *peer = peer_find(nic, id);

	*greeting = (struct transport_greeting){
		.incarnation = {nic->self.incarnation[0], nic->self.incarnation[1]},
		.jid = nic->self.jid,
		.version = WIRE_VERSION,
		/* That of a broken conversation ends with it. */
		.tag = peer && peer->local_tag && peer->state != PEER_BROKEN ? peer->local_tag : new_tag(nic),
		.abilities = abilities(nic, id),
	};
}

/* The peer uses the tag that it was told with the connection, so no HELLO may tell it another one. */
static void adopt_tag(struct nic *nic, struct peer *peer, const struct transport_greeting *ours,
		      const struct wire_message *welcome)
{
	if (unlikely(peer->state == PEER_BROKEN))
		end_without_successor(nic, peer);
	if (peer_met_us(peer) && peer->local_tag != ours->tag)
		begin_anew(nic, peer, welcome);
	peer->local_tag = ours->tag;
	peer->held_back |= (ours->abilities & WIRE_HOLDS) != 0;
}

void contact_connected(struct nic *nic, transport_address from, const struct transport_connection *connection)
{
	const struct transport_greeting *theirs = &connection->theirs;
	const struct wire_message welcome = {.operation = WIRE_WELCOME,
					     .source_tag = theirs->tag,
					     .uid = nic->self.uid,
					     .jid = theirs->jid,
					     .incarnation_high = theirs->incarnation[0],
					     .incarnation_low = theirs->incarnation[1],
					     .abilities = theirs->abilities};
	const ptl_process_id_t id = {connection->nid, connection->pid};
	/* A peer of another version gets HELLO, which tells its user what is wrong. */
	struct peer *peer = theirs->version == WIRE_VERSION && connection->ours.tag ? peer_get(nic, id) : NULL;

	if (!peer)
		return;
	adopt_tag(nic, peer, &connection->ours, &welcome);
	if (!was_introduced(nic, peer, &welcome, from))
		return;
	if (!hold_in_force(nic))
		contact_release(nic, peer);
	peer_flush(nic, peer);
}

static bool comes_from(const struct nic *nic, const struct peer *peer, transport_address from)
{
	return peer->path == nic->drive.polling &&
	       (from == peer->address || (from == TRANSPORT_ADDRESS_UNKNOWN && !peer->source_shown[peer->path]));
}

/* The refuser need not be known: it answers for the address at which we looked for another. */
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
		report(LOG_WARN, "peer " ID_TEXT " speaks wire version %u, this library version %u", ID_PARTS(peer->id),
		       refusal->their_version, WIRE_VERSION);
		peer_fail(nic, peer, PTL_NI_PROTOCOL, "it speaks another version of the protocol");
	}
}

static bool any_exposed(const struct peer *peer)
{
	const struct operation *op = peer->active.head;

	while (op && !operation_memory_regions(op)->transport)
		op = op->next;
	return op != NULL;
}

/* The conversation is over, and both of us live. */
static void end_conversation(struct nic *nic, struct peer *peer)
{
	bool exposed = any_exposed(peer);

	peer_reset(nic, peer);
	/* It may be reading still, and perhaps only we know which connection is ours. */
	if (exposed || peer_reads_hang(peer))
		cut(nic, peer);
	if (peer->requests.head)
		contact_start(nic, peer);
}

static void stale_arrived(struct nic *nic, struct peer *peer, const struct wire_message *stale, transport_address from)
{
	/* Only an answer to what this conversation sent names its tags. */
	if (!peer || !peer_met_us(peer) || stale->target_tag != peer->local_tag ||
	    stale->source_tag != peer->remote_tag || !comes_from(nic, peer, from)) {
		nic->counters.stale++;
		return;
	}
	end_conversation(nic, peer);
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
	struct peer *peer = message->operation == WIRE_HELLO ? unverified_admit(nic, id) : peer_find(nic, id);
	bool self = id.nid == nic->self.id.nid && id.pid == nic->self.id.pid;

	/* Only ourselves speak with our own id. */
	if (self != (nic->drive.polling == PATH_SELF) || (!peer && message->operation != WIRE_REFUSED)) {
		nic->counters.stale++;
		return;
	}
	handlers[message->operation](nic, peer, message, from);
}

/*
 * It is said to the tag of our HELLO: the other side has answered and gone on, but its WELCOME was lost with a
 * connection.  What is dropped now must not belong to the conversation that our next HELLO begins, or neither side
 * would ever know that it is missing; STALE says so too, but may find no room.
 */
static void disown(struct nic *nic, struct peer *peer, const struct wire_message *message)
{
	if (peer && peer->state == PEER_CONTACTING && message->target_tag == peer->local_tag)
		peer->local_tag = new_tag(nic);
}

void contact_dropped(struct nic *nic, struct peer *peer, const struct wire_message *message, transport_address from)
{
	struct wire_message stale = {.operation = WIRE_STALE, .source_tag = message->target_tag};

	answer(nic, peer, message, from, &stale);
	disown(nic, peer, message);
}

bool contact_misses(struct nic *nic, struct peer *peer, const struct wire_message *message)
{
	struct wire_message stale = {.operation = WIRE_STALE, .source_tag = message->target_tag};

	if (likely((int32_t)(message->said - peer->heard) <= 0))
		return false;
	report(LOG_INFO, "%u messages of " ID_TEXT " were lost on the way: the conversation ends",
	       message->said - peer->heard, ID_PARTS(peer->id));
	answer(nic, peer, message, peer->address, &stale);
	end_conversation(nic, peer);
	return true;
}

void contact_answer_version(struct nic *nic, const struct wire_message *message, transport_address from)
{
	struct wire_message refusal = {
		.operation = WIRE_REFUSED, .reason = REFUSED_VERSION, .their_version = WIRE_VERSION};

	if (message->operation == WIRE_HELLO)
		answer(nic, NULL, message, from, &refusal);
}
