/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes of one node find, meet and leave each other.
 *
 * They meet by control messages (transports/control.c) to the names of their interfaces (node_name.c), which are read by
 * node_read_control(), from poll().
 *
 * THE MESSAGES.  Before A may append to B's queue, A must have B's segment, to write to; B must have A's, because it
 * reads A's intent and slabs; and B must have given A the number that goes into A's records.  When all this is so, A
 * calls B OPEN.  There is one form of control message, and every control message tells all that its sender knows of its
 * receiver:
 *
 *   A knows nothing of B     CONNECT                                      ->   B gives A a number
 *   A maps B's segment: MET  <-             INTRODUCTION, segment, number
 *                            INTRODUCTION, segment, number, its number    ->   B maps A's: MET, and at once OPEN
 *   A is OPEN                <-  INTRODUCTION, number, its number, open
 *
 * The segment and the number go together, so that B knows what A's intent word says as soon as B can read it; and to
 * repeat the number that the receiver gave is to say that one has mapped its segment.  With the segment goes the
 * doorbell, by which its owner is woken, and the page by which it vouches for itself; one can do without both.
 *
 * A CONNECT asks for an answer in any case.  An INTRODUCTION is answered only if it brought its receiver a step further
 * and its sender is not open yet: there are two steps per incarnation, so no two processes can answer each other for
 * ever.
 *
 * WHY EVERY LOSS IS HARMLESS.  Linux lets some ten datagrams wait at a socket, so any control message may be
 * refused.  None is worth more than its repetition: a sender that is not OPEN asks again to connect
 * (node_connect()), from the state it has reached, and gets an answer that says everything.  Nothing counts control
 * messages or waits for a certain one.  The two directions share nothing but this, so it does not matter which side begins, or
 * whether both do.  (A DISCONNECT is sent once: it only saves time.  The segment it is about says NODE_CLOSED.)
 *
 * WHY NO PEER APPENDS TOO EARLY.  OPEN is entered only by a control message, addressed to our incarnation, that gives us
 * a number and repeats the one that we have given.  A process that forgets a peer takes its number back, and gives
 * another when they meet again; and control messages of one sender arrive in the order they were sent.  So if an OPEN
 * peer's control message gives us another number, or none, that peer has forgotten us, and drops our records: it is as
 * if it had begun anew.  One that is only MET is simply believed: it has nothing from us, and what it has mapped under
 * an old number does not count.  (If both sides answered a new number with another new number, they would do so for
 * ever.)
 *
 * GREETINGS.  With its number each tells the other the greeting of its engine (transport_sink.greet), so that the engines need
 * no messages for that.  A process that has our number has our greeting; so a process that is OPEN has the other's greeting,
 * and the other has its own.  The engine is told when we are OPEN, or when the peer's first record comes, because
 * the peer may be OPEN before us.  A greeting is for one connection: another is asked for after the peer was lost.  A peer
 * to which we are only MET may lose us, and tell another: that is news for the engine, too.  The engine is told within
 * poll() only, so node_connect(), which the engine calls, reads no control messages: the next poll() does.
 *
 * WHAT PROVES IDENTITY.  A control message's source address is the name its sender's socket is bound to.  If that is
 * the name of the (nid, pid) in the control message, the control message is from the process that holds that pid; all
 * others are dropped and counted.
 *
 * WHAT PROVES THE UID.  The kernel attaches the sender's credentials.  The segment is sent only to a process whose
 * control message proved our own uid, and which was found alive after that, with its name; and a segment is accepted
 * only from such.  Another user's CONNECT is answered by FOREIGN, so that it need not wait for us, and a descriptor it
 * may have sent is never even installed here: control messages are peeked at, without room for descriptors, before they
 * are taken.  What remains is that a process of ours dies, and another user's takes its name, in the moment between
 * that look and our control message.
 *
 * LETTING GO.  A peer that has gone, in whatever way, will append nothing more; but what it has appended is still to be
 * delivered.  So it is let go only when we have consumed all that was in our queue then.  Until that is possible
 * the control message that gave the news stays where it is, unread, and a pidfd stays readable: the unread control
 * messages are the memory of what is still to be done.
 *
 * WHEN DESCRIPTORS RUN OUT (RLIMIT_NOFILE).  A peer takes two for as long as it is known, its pidfd and its doorbell;
 * the segment's and the voucher's are closed when these are mapped.  A control message whose segment finds none free has no
 * effect but to be answered, and is repeated like any that was lost; if it stays so, contact fails after PTL_CONNECT_TIMEOUT,
 * and why has been reported once.  If only the doorbell finds none, the peer is woken by control message; if the voucher
 * finds none, the peer is identified each time; if the pidfd finds none, its death is found through its name: slower, and
 * that is all.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/report.h"
#include "transports/control.h"
#include "transports/node/node.h"
#include "transports/node/node_meet.h"
#include "transports/node/node_name.h"
#include "transports/node/node_number.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_process.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_segment.h"
#include "transports/node/node_voucher.h"

#define MAGIC           0x506f3374u
#define CONTROL_VERSION NODE_LAYOUT_VERSION /* whose segment we could not use is FOREIGN at its first control message */

#define MAX_CONTROL_MESSAGES 32 /* that are read at a time */
#define MAX_EVENTS           16
#define CONNECT_NS           200000u   /* from the first request to the second; then twice as long each time */
#define CONNECT_MOST_NS      20000000u /* but no longer */
#define CONNECT_COUNT        7 /* mask of the bits of peer->connect_sent_at that count, instead of nanoseconds */
#define FOREIGN_AGAIN        1000000000u /* the name of another user's process may pass to one of ours */
#define ANSWER_NS            20000u      /* what an answer takes at least */

enum kind { CONNECT = 1, INTRODUCTION, DISCONNECT, FOREIGN };
enum flag {
	OPEN = 1 /* "no answer is needed: I may send to you" */
};

/* What a control message says. */
struct introduction {
	/* The same in every version, so that versions can refuse each other. */
	struct control_header header;
	uint32_t nid, pid; /* of the sender */
	uint64_t from[2];  /* incarnations; `to`: as far as the sender knows, or 0 */
	uint64_t to[2];

	uint64_t nonce;      /* where `from` is in the sender's memory */
	uint16_t number;     /* for the records of the receiver; NODE_NO_SENDER: none yet */
	uint16_t its_number; /* that the receiver gave with the segment that the sender has mapped, or none */
	uint16_t unused[2];
	struct transport_greeting greeting; /* goes wherever the number goes */
};

/* As both processes see it; another form is another NODE_LAYOUT_VERSION. */
_Static_assert(sizeof(struct introduction) == 96 && offsetof(struct introduction, nonce) == 48 &&
		       offsetof(struct introduction, number) == 56 && offsetof(struct introduction, greeting) == 64,
	       "a control message has another form: raise NODE_LAYOUT_VERSION");
_Static_assert(sizeof(struct transport_greeting) == 32 && offsetof(struct transport_greeting, jid) == 16 &&
		       offsetof(struct transport_greeting, version) == 20 &&
		       offsetof(struct transport_greeting, tag) == 22 &&
		       offsetof(struct transport_greeting, abilities) == 24,
	       "the engines' greeting has another form: raise NODE_LAYOUT_VERSION");

static const struct control_protocol protocol = {.magic = MAGIC,
						 .version = CONTROL_VERSION,
						 .kinds = FOREIGN,
						 .prefix = offsetof(struct introduction, nonce),
						 .length = sizeof(struct introduction)};

/* The descriptors that go with it, none, or all but a voucher that its sender does not have; -1: none, or none free here. */
enum passed { SEGMENT, DOORBELL, VOUCHER, PASSED };

struct control {
	struct introduction text;
	struct control_sender sender;
	enum control_found found;
};

/* --- letting go --- */

/* What was in our queue at the time of the call has been consumed. */
static bool caught_up(struct node *node)
{
	/* A peer that has gone had appended before it went, and we have learnt of that through the kernel. */
	uint64_t tail = atomic_load_explicit(&node->segment->tail, memory_order_relaxed);

	if (tail != node->head)
		node_consume(node, NODE_SLOTS);
	return (int64_t)(tail - node->head) <= 0;
}

/* The peer has gone for certain.  False: not to be acted on yet, look again. */
static bool let_go(struct node *node, struct node_peer *peer)
{
	if (!caught_up(node)) {
		node->control_due = true;
		return false;
	}
	node_peer_ended(node, peer);
	node_peer_lost(node, peer, peer->segment != NULL);
	return true;
}

/* --- sending --- */

/* 0, -EAGAIN or any other error.  With our segment, our doorbell and our voucher if `with_fds`. */
static int send_control(const struct node *node, const struct introduction *text, uint32_t nid, uint32_t pid,
			bool with_fds)
{
	const int passed[PASSED] = {
		[SEGMENT] = node->segment_fd, [DOORBELL] = node->doorbell, [VOUCHER] = node->voucher_fd};
	const struct control_name name = node_name(nid, pid);

	FAULT_POINT("control-before");
	return control_send(node->socket, &name, text, sizeof(*text), with_fds ? passed : NULL,
			    node->voucher ? PASSED : VOUCHER);
}

static struct introduction introduction_of(const struct node *node, enum kind kind)
{
	return (struct introduction){.header = {.magic = MAGIC, .version = CONTROL_VERSION, .kind = (uint8_t)kind},
				     .nid = node->nid,
				     .pid = node->pid,
				     .from = {node->incarnation[0], node->incarnation[1]},
				     .nonce = (uintptr_t)node->incarnation,
				     .number = NODE_NO_SENDER,
				     .its_number = NODE_NO_SENDER};
}

/*
 * All that is to be said to the peer, with our descriptors if it has proven that it is one of ours and may not have it
 * yet.
 */
static int write_to_peer(struct node *node, struct node_peer *peer, enum kind kind, bool proven)
{
	struct introduction text = introduction_of(node, kind);
	bool with_fds =
		proven && peer->meeting != NODE_OPEN && !node_peer_dead(node, peer) && node_number_give(node, peer);

	if (with_fds && !peer->ours.version && node->sink->greet)
		node->sink->greet(node->owner, peer->nid, peer->pid, &peer->ours);
	text.header.flags = peer->meeting == NODE_OPEN ? OPEN : 0;
	text.number = node_number_shown(node, peer);
	if (text.number != NODE_NO_SENDER)
		text.greeting = peer->ours;
	text.its_number = peer->sender;
	memcpy(text.to, peer->incarnation, sizeof(text.to));
	return send_control(node, &text, peer->nid, peer->pid, with_fds);
}

static uint64_t next_connect_at(const struct node_peer *peer)
{
	uint64_t pause = (uint64_t)CONNECT_NS << (peer->connect_sent_at & CONNECT_COUNT);

	if (peer->connect_sent_at == 0)
		return 0;
	if (peer->meeting == NODE_FOREIGN)
		return peer->connect_sent_at + FOREIGN_AGAIN;
	return peer->connect_sent_at + (pause < CONNECT_MOST_NS ? pause : CONNECT_MOST_NS);
}

/* Remembers when, and in the low bits how often. */
static void note_connect(struct node_peer *peer, uint64_t now)
{
	uint64_t count = peer->connect_sent_at ? (peer->connect_sent_at & CONNECT_COUNT) + 1 : 0;

	peer->connect_sent_at = (now & ~(uint64_t)CONNECT_COUNT) | (count < CONNECT_COUNT ? count : CONNECT_COUNT);
}

int node_connect(struct node *node, struct node_peer *peer)
{
	UNCANCELLED;
	uint64_t now = monotonic_ns();

	if (unlikely(node->renewing))
		return -EAGAIN;
	if (now >= next_connect_at(peer)) {
		note_connect(peer, now);
		if (peer->meeting == NODE_FOREIGN) /* the name may be one of ours now */
			peer->meeting = NODE_UNVERIFIED;
		if (write_to_peer(node, peer, CONNECT, peer->meeting == NODE_MET) == -ECONNREFUSED)
			return node_nobody_there(node, peer);
	} else if (now >= peer->connect_sent_at + ANSWER_NS) {
		node->control_due = true; /* what is read there may be news for the engine, which has called us */
	}
	return peer->meeting == NODE_FOREIGN ? -EHOSTUNREACH : -EAGAIN;
}

void node_disconnect(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++)
		if (node->peers[i]->segment)
			write_to_peer(node, node->peers[i], DISCONNECT, false);
}

/* --- reading --- */

static void report_shortage(struct node *node, uint32_t pid)
{
	if (!node->told_shortage)
		report(LOG_WARN, "no descriptor is free for the memory of process %u of this node (RLIMIT_NOFILE)",
		       pid);
	node->told_shortage = true;
}

/* Takes the first control message, from `pid`, and the descriptors that it passes. */
static void take(struct node *node, uint32_t pid, int passed[PASSED])
{
	int rc = control_take(node->socket, passed, PASSED);

	node->counters.malformed += rc == -EPROTO;
	if (rc == -EMFILE && passed[SEGMENT] < 0)
		report_shortage(node, pid);
}

/* Takes it, and drops what may come with it. */
static void discard(const struct node *node)
{
	control_take(node->socket, NULL, 0);
}

/* Closes what was not kept. */
static void close_passed(const int passed[PASSED])
{
	for (int i = 0; i < PASSED; i++)
		if (passed[i] >= 0)
			close(passed[i]);
}

static bool same_incarnation(const uint64_t one[2], const uint64_t other[2])
{
	return one[0] == other[0] && one[1] == other[1];
}

/* Is it from the holder of the name it claims, in whatever version and of whatever user? */
static bool is_genuine(const struct node *node, const struct control *control)
{
	const struct introduction *text = &control->text;

	if (control->found < CONTROL_OTHER_VERSION || text->nid != node->nid || text->pid == node->pid)
		return false;
	const struct control_name name = node_name(text->nid, text->pid);

	return control_same_name(&control->sender.name, &name);
}

/* Will this transport not do between us?  The other side may have found that before. */
static bool is_foreign(struct node *node, const struct control *control)
{
	if (!control_is_own_user(&control->sender))
		node->counters.refused_uid++;
	else if (control->found == CONTROL_OTHER_VERSION)
		report(LOG_WARN, "process %u of this node has another version of this library: not by shared memory",
		       control->text.pid);
	else
		return control->text.header.kind == FOREIGN;
	return true;
}

/*
 * Tells it so.  What we do about it ourselves is due only to the answer to our own connection request, which names us.
 */
static void refuse(struct node *node, const struct introduction *text)
{
	struct introduction answer = introduction_of(node, FOREIGN);

	if (text->header.kind == CONNECT) {
		memcpy(answer.to, text->from, sizeof(answer.to));
		send_control(node, &answer, text->nid, text->pid, false);
	} else if (same_incarnation(text->to, node->incarnation)) {
		/* Not made: a peer that we have not asked may not fill our table. */
		struct node_peer *peer = node_peer_find(node, text->nid, text->pid);

		if (peer && peer->meeting == NODE_UNVERIFIED)
			peer->meeting = NODE_FOREIGN;
	}
}

/* Has the process whose segment we have mapped begun anew, forgotten us, or left? */
static bool is_over(const struct node_peer *peer, const struct introduction *text)
{
	if (!peer->segment)
		return false;
	if (text->header.kind == DISCONNECT || !same_incarnation(text->from, peer->incarnation))
		return true;
	return peer->meeting == NODE_OPEN && text->number != peer->sender;
}

/* The first step.  Keeps the doorbell. */
static bool map_peer(struct node *node, struct node_peer *peer, const struct introduction *text, int passed[PASSED])
{
	bool plausible = text->number != NODE_NO_SENDER && (passed[DOORBELL] < 0 || node_is_doorbell(passed[DOORBELL]));
	struct node_segment *segment = NULL;
	int rc = plausible ? node_segment_map(passed[SEGMENT], peer, &segment) : -EPROTO;

	node->counters.malformed += rc == -EPROTO;
	if (rc)
		return false;
	FAULT_POINT("peer-mapped");
	peer->segment = segment;
	peer->doorbell = passed[DOORBELL];
	passed[DOORBELL] = -1;
	if (passed[VOUCHER] >= 0)
		node->counters.malformed += node_voucher_map(passed[VOUCHER], &peer->voucher) == -EPROTO;
	peer->sender = text->number;
	peer->meeting = NODE_MET;
	node_peer_met(node, peer);
	node_copy_probe(node, peer, text->nonce);
	return true;
}

static bool has_mapped_us(const struct node *node, const struct node_peer *peer, const struct introduction *text)
{
	uint16_t number = node_number_shown(node, peer);

	return same_incarnation(text->to, node->incarnation) && number != NODE_NO_SENDER && text->its_number == number;
}

/* It has mapped us under another number since. */
static void forget_former(struct node *node, struct node_peer *peer)
{
	if (peer->former != NODE_NO_SENDER)
		node_number_return(node, peer->former);
	peer->former = NODE_NO_SENDER;
}

/* The steps that the control message allows.  Returns whether there were any. */
static bool advance(struct node *node, struct node_peer *peer, const struct introduction *text, int passed[PASSED])
{
	bool advanced = passed[SEGMENT] >= 0 && !peer->segment && map_peer(node, peer, text, passed);

	if (peer->meeting != NODE_MET)
		return advanced;
	peer->sender = text->number;
	if (text->number != NODE_NO_SENDER && has_mapped_us(node, peer, text)) {
		peer->meeting = NODE_OPEN;
		forget_former(node, peer);
		FAULT_POINT("peer-open");
		advanced = true;
	}
	return advanced;
}

static void take_greeting(struct node_peer *peer, const struct introduction *text)
{
	if (!text->greeting.version || text->greeting.tag == peer->theirs.tag)
		return;
	peer->theirs = text->greeting;
	peer->unreported = true;
}

/* A CONNECT or an INTRODUCTION of one of ours, which has been taken. */
static void handle_connect(struct node *node, struct node_peer *peer, const struct control *control, int passed[PASSED])
{
	const struct introduction *text = &control->text;

	if (!peer->segment) {
		peer->meeting = NODE_UNVERIFIED;
		if (!same_incarnation(text->from, peer->incarnation)) {
			/* Ours stays with its number: a successor that read what was sent to the former has both. */
			peer->theirs = (struct transport_greeting){0};
			peer->unreported = false;
		}
		memcpy(peer->incarnation, text->from, sizeof(peer->incarnation));
		if (!node_watch(node, peer, control->sender.pid))
			return;
	}
	FAULT_POINT("control-taken");
	take_greeting(peer, text);
	bool advanced = advance(node, peer, text, passed);

	if (text->header.kind != CONNECT && (!advanced || text->header.flags & OPEN))
		return;
	write_to_peer(node, peer, INTRODUCTION, true);
	/* It says all that a connection request would: the next one is due only if this one has no effect. */
	peer->connect_sent_at = 0;
	note_connect(peer, monotonic_ns());
}

/* The peer has no segment mapped here, and so nothing that is still to be consumed. */
static void take_leave(struct node *node, struct node_peer *peer, const struct introduction *text)
{
	if (!peer || !same_incarnation(text->from, peer->incarnation))
		return;
	node_peer_ended(node, peer);
	node_peer_lost(node, peer, false);
}

/* A control message of one of ours.  False: it cannot be acted on yet, and stays where it is. */
static bool read_introduction(struct node *node, const struct control *control)
{
	struct node_peer *peer = node_peer_find(node, control->text.nid, control->text.pid);

	if (peer && is_over(peer, &control->text)) {
		node_peer_ended(node, peer);
		/* Read again, as from an unverified peer. */
		return let_go(node, peer);
	}
	if (control->text.header.kind == DISCONNECT)
		take_leave(node, peer, &control->text);
	if (control->text.header.kind == DISCONNECT ||
	    !(peer = node_peer_get(node, control->text.nid, control->text.pid))) {
		discard(node);
		return true;
	}
	int passed[PASSED];

	take(node, peer->pid, passed);
	handle_connect(node, peer, control, passed);
	close_passed(passed);
	if (peer->unreported && peer->meeting == NODE_OPEN)
		node_report_connected(node, peer);
	node_peer_rest(node, peer); /* it may have ended since */
	return true;
}

static bool read_control(struct node *node, const struct control *control)
{
	bool genuine = is_genuine(node, control);

	if (genuine && !is_foreign(node, control))
		return read_introduction(node, control);
	discard(node);
	if (genuine)
		refuse(node, &control->text);
	else
		node->counters.malformed += control->found != CONTROL_WAKE;
	return true;
}

static bool peek(const struct node *node, struct control *control)
{
	control->found = control_peek(node->socket, &protocol, &control->text, &control->sender);
	return control->found != CONTROL_NOTHING;
}

static void read_control_messages(struct node *node, int *count)
{
	struct control control;

	for (int i = 0; i < MAX_CONTROL_MESSAGES && peek(node, &control) && read_control(node, &control); i++)
		(*count)++;
}

/* A watched process has ended.  An unverified peer is forgotten without a word. */
static int reap(struct node *node, struct node_peer *peer)
{
	if (!node_pidfd_ended(peer))
		return 0; /* another, since */
	return let_go(node, peer);
}

int node_read_control(struct node *node)
{
	struct epoll_event events[MAX_EVENTS];
	int waiting = epoll_wait(node->wait_fd, events, MAX_EVENTS, 0), count = 0;

	for (int i = 0; i < waiting; i++) {
		uint64_t whose = events[i].data.u64;

		if (whose == NODE_SOCKET_EVENT)
			read_control_messages(node, &count);
		else if (whose == NODE_DOORBELL_EVENT)
			count += node_doorbell_empty(node);
		else
			count += reap(node, node->peers[whose]);
	}
	return count;
}
