/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes of one node find, meet and leave each other.
 *
 * They meet by letters to the names of their interfaces (node_name.c), which are read by node_mail(), from poll().
 *
 * WHO SENDS WHAT.  Before A may append to B's queue, A must have B's segment, to write to; B must have A's, because it
 * reads A's intent and slabs; and B must have given A the number that goes into A's records.  When all this is so, A
 * calls B OPEN.  There is one form of letter, and every letter tells all that its sender knows of its receiver:
 *
 *   A knows nothing of B     KNOCK                                        ->   B gives A a number
 *   A maps B's segment: MET  <-             INTRODUCTION, segment, number
 *                            INTRODUCTION, segment, number, its number    ->   B maps A's: MET, and at once OPEN
 *   A is OPEN                <-  INTRODUCTION, number, its number, open
 *
 * The segment and the number go together, so that B knows what A's intent word says as soon as B can read it; and to
 * repeat the number that the receiver gave is to say that one has mapped its segment.  With the segment goes the bell,
 * by which its owner is woken; one can do without it.
 *
 * A KNOCK asks for an answer in any case.  An INTRODUCTION is answered only if it brought its receiver a step further
 * and its sender is not open yet: there are two steps per incarnation, so no two processes can answer each other for
 * ever.
 *
 * WHY EVERY LOSS IS HARMLESS.  Linux lets some ten datagrams wait at a socket, so any letter may be refused.  None is
 * worth more than its repetition: whoever wants to send and is not OPEN knocks again (node_knock()), from the state it
 * has reached, and gets an answer that says everything.  Nothing counts letters or waits for a certain one.  The two
 * directions share nothing but this, so it does not matter who begins, or whether both do.  (A BYE is sent once: it only
 * saves time.  The segment it is about says NODE_CLOSED.)
 *
 * WHY NOBODY APPENDS TOO EARLY.  OPEN is entered only by a letter, addressed to our incarnation, that gives us a number
 * and repeats the one that we have given.  Whoever forgets a peer takes its number back, and gives another when they meet again; and letters of one
 * sender arrive in the order they were sent.  So if an OPEN peer's letter gives us another number, or none, that peer has
 * forgotten us, and drops our records: it is as if it had begun anew.  One that is only MET is simply believed: it has
 * nothing from us, and what it has mapped under an old number does not count.  (If both sides answered a new number with
 * another new number, they would do so for ever.)
 *
 * WHAT PROVES IDENTITY.  A letter's source address is the name its sender's socket is bound to.  If that is the name of the
 * (nid, pid) in the letter, the letter is from whoever holds that pid; all others are dropped and counted.
 *
 * WHAT PROVES THE UID.  The kernel attaches the sender's credentials.  The segment is sent only to a process whose letter
 * proved our own uid, and which was found alive after that, with its name; and a segment is accepted only from such.  Another
 * user's KNOCK is answered by FOREIGN, so that it need not wait for us, and a descriptor it may have sent is never
 * even installed here: letters are peeked at, without room for descriptors, before they are taken.  What remains is that
 * a process of ours dies, and another user's takes its name, in the moment between that look and our letter.
 *
 * LETTING GO.  A peer that has gone, in whatever way, will append nothing more; but what it has appended is still to be
 * delivered.  So it is let go only when we have consumed all that was in our queue then.  Until that is possible,
 * and outside of poll(), which alone may tell the engine, the letter that gave the news stays where it is, unread, and a
 * pidfd stays readable: the mail itself is the memory of what is still to be done.
 *
 * WHEN DESCRIPTORS RUN OUT (RLIMIT_NOFILE).  A peer takes two for as long as it is known, its pidfd and its bell; the
 * segment's is closed when that is mapped.  A letter whose segment finds none free has no effect but to be answered, and is
 * repeated like any that was lost; if it stays so, contact fails after PTL_CONNECT_TIMEOUT, and why has been reported
 * once.  If only the bell finds none, the peer is rung by letter; if the pidfd finds none, its death is found
 * through its name: slower, and that is all.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/report.h"
#include "transports/node/node.h"

#define MAGIC          0x506f3374u
#define LETTER_VERSION NODE_LAYOUT_VERSION /* whose segment we could not use is FOREIGN at its first letter */

#define MAX_LETTERS     32 /* that are read at a time */
#define MAX_EVENTS      16
#define KNOCK_NS        200000u     /* from the first knock to the second; then twice as long each time */
#define KNOCK_MOST_NS   20000000u   /* but no longer */
#define KNOCK_COUNT     7           /* mask of the bits of peer->knocked_at that count, instead of nanoseconds */
#define FOREIGN_AGAIN   1000000000u /* the name of another user's process may pass to one of ours */
#define ANSWER_NS       20000u      /* what an answer takes at least */
#define RIGHTS_ROOM     CMSG_SPACE(sizeof(struct enclosure))
#define CREDENTIAL_ROOM CMSG_SPACE(sizeof(struct ucred))

enum letter_kind { KNOCK = 1, INTRODUCTION, BYE, FOREIGN };
enum letter_flag {
	OPEN = 1 /* "no answer is needed: I may send to you" */
};

/* What a letter says.  A letter of a single byte is a ring, and says nothing else. */
struct introduction {
	/* The same in every version, so that versions can refuse each other. */
	uint32_t magic;
	uint16_t version;
	uint8_t kind, flags;
	uint32_t nid, pid; /* of the sender */
	uint64_t from[2];  /* incarnations; `to`: as far as the sender knows, or 0 */
	uint64_t to[2];

	uint64_t nonce;      /* where `from` is in the sender's memory */
	uint16_t number;     /* for the records of the receiver; NODE_NO_SENDER: none yet */
	uint16_t its_number; /* that the receiver gave with the segment that the sender has mapped, or none */
	uint16_t unused[2];
};

/* The descriptors that go with it, both or neither; -1: none, or none free here.  Laid out as SCM_RIGHTS has them. */
struct enclosure {
	int segment, bell;
};

struct letter {
	struct introduction text;
	size_t length; /* of what was sent, which may be more or less than `text` */
	struct sockaddr_un name;
	socklen_t name_length;
	struct ucred sender;
	bool has_sender;
};

/* --- letting go --- */

/* What was in our queue at the time of the call has been consumed. */
static bool caught_up(struct node *node)
{
	/* Whoever has gone had appended before it went, and we have learnt of that through the kernel. */
	uint64_t tail = atomic_load_explicit(&node->segment->tail, memory_order_relaxed);

	if (tail != node->head)
		node_consume(node, NODE_SLOTS);
	return (int64_t)(tail - node->head) <= 0;
}

/* The peer has gone for certain.  False: not to be acted on yet, look again. */
static bool let_go(struct node *node, struct node_peer *peer, bool polling)
{
	if (!polling || !caught_up(node)) {
		node->mail_due = true;
		return false;
	}
	node_peer_ended(node, peer);
	node_peer_lost(node, peer, peer->segment != NULL);
	return true;
}

/* --- sending --- */

/* 0, -EAGAIN or any other error.  With our segment and our bell if `enclosing`. */
static int send_letter(const struct node *node, const struct introduction *text, uint32_t nid, uint32_t pid,
		       bool enclosing)
{
	const struct enclosure enclosure = {node->segment_fd, node->bell};
	struct sockaddr_un name;
	_Alignas(struct cmsghdr) char control[RIGHTS_ROOM] = {0};
	struct iovec body = {(void *)(uintptr_t)text, sizeof *text};
	struct msghdr message = {
		.msg_name = &name, .msg_namelen = node_name(nid, pid, &name), .msg_iov = &body, .msg_iovlen = 1};

	if (enclosing) {
		message.msg_control = control;
		message.msg_controllen = sizeof control;
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof enclosure);
		memcpy(CMSG_DATA(rights), &enclosure, sizeof enclosure);
	}
	FAULT_POINT("letter-before");
	UNCANCELLED;
	return sendmsg(node->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static struct introduction letter_from(const struct node *node, enum letter_kind kind)
{
	return (struct introduction){.magic = MAGIC,
				     .version = LETTER_VERSION,
				     .kind = (uint8_t)kind,
				     .nid = node->nid,
				     .pid = node->pid,
				     .from = {node->incarnation[0], node->incarnation[1]},
				     .nonce = (uintptr_t)node->incarnation,
				     .number = NODE_NO_SENDER,
				     .its_number = NODE_NO_SENDER};
}

/* All that is to be said to the peer, with the enclosure if it has proven that it is one of ours and may not have it yet. */
static int write_to_peer(struct node *node, struct node_peer *peer, enum letter_kind kind, bool proven)
{
	struct introduction text = letter_from(node, kind);
	bool enclosing =
		proven && peer->meeting != NODE_OPEN && !node_peer_dead(node, peer) && node_number_give(node, peer);

	text.flags = peer->meeting == NODE_OPEN ? OPEN : 0;
	text.number = node_number_shown(node, peer);
	text.its_number = peer->sender;
	memcpy(text.to, peer->incarnation, sizeof text.to);
	return send_letter(node, &text, peer->nid, peer->pid, enclosing);
}

static uint64_t next_knock_at(const struct node_peer *peer)
{
	uint64_t pause = (uint64_t)KNOCK_NS << (peer->knocked_at & KNOCK_COUNT);

	if (peer->knocked_at == 0)
		return 0;
	if (peer->meeting == NODE_FOREIGN)
		return peer->knocked_at + FOREIGN_AGAIN;
	return peer->knocked_at + (pause < KNOCK_MOST_NS ? pause : KNOCK_MOST_NS);
}

/* Remembers when, and in the low bits how often. */
static void note_knock(struct node_peer *peer, uint64_t now)
{
	uint64_t count = peer->knocked_at ? (peer->knocked_at & KNOCK_COUNT) + 1 : 0;

	peer->knocked_at = (now & ~(uint64_t)KNOCK_COUNT) | (count < KNOCK_COUNT ? count : KNOCK_COUNT);
}

static void read_letters(struct node *node, bool polling, int *count);

int node_knock(struct node *node, struct node_peer *peer)
{
	UNCANCELLED;
	uint64_t now = monotonic_ns();
	int count = 0;

	if (unlikely(node->renewing))
		return -EAGAIN;
	if (now >= next_knock_at(peer)) {
		note_knock(peer, now);
		if (peer->meeting == NODE_FOREIGN) /* the name may be one of ours now */
			peer->meeting = NODE_STRANGER;
		if (write_to_peer(node, peer, KNOCK, peer->meeting == NODE_MET) == -ECONNREFUSED)
			return node_nobody_there(node, peer);
	} else if (now >= peer->knocked_at + ANSWER_NS) {
		read_letters(node, false, &count);
	}
	return peer->meeting == NODE_FOREIGN ? -EHOSTUNREACH : -EAGAIN;
}

void node_farewell(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++)
		if (node->peers[i]->segment)
			write_to_peer(node, node->peers[i], BYE, false);
}

/* --- reading --- */

static void note_sender(struct letter *letter, struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS ||
		    part->cmsg_len != CMSG_LEN(sizeof letter->sender))
			continue;
		memcpy(&letter->sender, CMSG_DATA(part), sizeof letter->sender);
		letter->has_sender = true;
	}
}

/* Looks at the first letter and leaves it there.  There is room for credentials, and none for descriptors. */
static bool peek(const struct node *node, struct letter *letter)
{
	_Alignas(struct cmsghdr) char control[CREDENTIAL_ROOM];
	struct iovec body = {&letter->text, sizeof letter->text};
	struct msghdr message = {.msg_name = &letter->name,
				 .msg_namelen = sizeof letter->name,
				 .msg_iov = &body,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control};

	*letter = (struct letter){0};
	ssize_t length = recvmsg(node->socket, &message, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (length < 0)
		return false;
	letter->length = (size_t)length;
	letter->name_length = message.msg_namelen;
	note_sender(letter, &message);
	return true;
}

/* Takes the first letter away, and with it what it may hold. */
static void discard(const struct node *node)
{
	char byte;

	recv(node->socket, &byte, sizeof byte, MSG_DONTWAIT);
}

/* Closes what nobody has kept. */
static void close_enclosure(const struct enclosure *enclosure)
{
	if (enclosure->segment >= 0)
		close(enclosure->segment);
	if (enclosure->bell >= 0)
		close(enclosure->bell);
}

static struct enclosure open_enclosure(struct msghdr *message)
{
	struct enclosure enclosure = {-1, -1};

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		size_t length = part->cmsg_len - CMSG_LEN(0);

		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS && length <= sizeof enclosure)
			memcpy(&enclosure, CMSG_DATA(part), length);
	}
	return enclosure;
}

static void report_shortage(struct node *node, uint32_t pid)
{
	if (!node->told_shortage)
		report(LOG_WARN, "no descriptor is free for the memory of process %u of this node (RLIMIT_NOFILE)",
		       pid);
	node->told_shortage = true;
}

/* Takes the first letter, from `pid`, and returns what it encloses. */
static struct enclosure take(struct node *node, uint32_t pid)
{
	_Alignas(struct cmsghdr) char control[CREDENTIAL_ROOM + RIGHTS_ROOM];
	const struct enclosure nothing = {-1, -1};
	char byte;
	struct iovec body = {&byte, sizeof byte};
	struct msghdr message = {
		.msg_iov = &body, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};

	if (recvmsg(node->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return nothing;
	struct enclosure enclosure = open_enclosure(&message);

	if (!(message.msg_flags & MSG_CTRUNC))
		return enclosure;
	/* There was more than this process has descriptors free for, or more than an enclosure. */
	if (enclosure.segment < 0)
		report_shortage(node, pid);
	if (enclosure.bell < 0)
		return enclosure;
	node->counters.malformed++;
	close_enclosure(&enclosure);
	return nothing;
}

static bool same_incarnation(const uint64_t one[2], const uint64_t other[2])
{
	return one[0] == other[0] && one[1] == other[1];
}

/* Is it a letter of ours, from the holder of the name it claims, in whatever version and of whatever user? */
static bool is_genuine(const struct node *node, const struct letter *letter)
{
	const struct introduction *text = &letter->text;
	struct sockaddr_un name;

	if (letter->length < offsetof(struct introduction, nonce) || text->magic != MAGIC || !letter->has_sender)
		return false;
	if (text->version == LETTER_VERSION && letter->length != sizeof *text)
		return false;
	if (text->nid != node->nid || text->pid == node->pid || text->kind < KNOCK || text->kind > FOREIGN)
		return false;
	return letter->name_length == node_name(text->nid, text->pid, &name) &&
	       memcmp(&letter->name, &name, letter->name_length) == 0;
}

/* Will this transport not do between us?  The other side may have found that before. */
static bool is_foreign(struct node *node, const struct letter *letter)
{
	if (letter->sender.uid != geteuid())
		node->counters.refused_uid++;
	else if (letter->text.version != LETTER_VERSION)
		report(LOG_WARN, "process %u of this node has another version of this library: not by shared memory",
		       letter->text.pid);
	else
		return letter->text.kind == FOREIGN;
	return true;
}

/* Tells it so.  What we do about it ourselves is due only to the answer to our own knock, which names us. */
static void refuse(struct node *node, const struct introduction *text)
{
	struct introduction answer = letter_from(node, FOREIGN);

	if (text->kind == KNOCK) {
		memcpy(answer.to, text->from, sizeof answer.to);
		send_letter(node, &answer, text->nid, text->pid, false);
	} else if (same_incarnation(text->to, node->incarnation)) {
		/* Not made: whom we have not asked may not fill our table. */
		struct node_peer *peer = node_peer_find(node, text->nid, text->pid);

		if (peer && peer->meeting == NODE_STRANGER)
			peer->meeting = NODE_FOREIGN;
	}
}

/* Has the process whose segment we have mapped begun anew, forgotten us, or left? */
static bool is_over(const struct node_peer *peer, const struct introduction *text)
{
	if (!peer->segment)
		return false;
	if (text->kind == BYE || !same_incarnation(text->from, peer->incarnation))
		return true;
	return peer->meeting == NODE_OPEN && text->number != peer->sender;
}

/* The first step.  Keeps the bell. */
static bool map_peer(struct node *node, struct node_peer *peer, const struct introduction *text,
		     struct enclosure *enclosure)
{
	bool plausible = text->number != NODE_NO_SENDER && (enclosure->bell < 0 || node_is_bell(enclosure->bell));
	struct node_segment *segment = NULL;
	int rc = plausible ? node_segment_map(enclosure->segment, peer, &segment) : -EPROTO;

	node->counters.malformed += rc == -EPROTO;
	if (rc)
		return false;
	FAULT_POINT("peer-mapped");
	peer->segment = segment;
	peer->bell = enclosure->bell;
	enclosure->bell = -1;
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

/* The steps that the letter allows.  Returns whether there were any. */
static bool advance(struct node *node, struct node_peer *peer, const struct introduction *text,
		    struct enclosure *enclosure)
{
	bool advanced = enclosure->segment >= 0 && !peer->segment && map_peer(node, peer, text, enclosure);

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

/* A KNOCK or an INTRODUCTION of one of ours, which has been taken. */
static void converse(struct node *node, struct node_peer *peer, const struct letter *letter,
		     struct enclosure *enclosure)
{
	const struct introduction *text = &letter->text;

	if (!peer->segment) {
		peer->meeting = NODE_STRANGER;
		memcpy(peer->incarnation, text->from, sizeof peer->incarnation);
		if (!node_watch(node, peer, letter->sender.pid))
			return;
	}
	FAULT_POINT("letter-taken");
	bool advanced = advance(node, peer, text, enclosure);

	if (text->kind != KNOCK && (!advanced || text->flags & OPEN))
		return;
	write_to_peer(node, peer, INTRODUCTION, true);
	/* It says all that a knock would: the next one is due only if this one has no effect. */
	peer->knocked_at = 0;
	note_knock(peer, monotonic_ns());
}

/* Of whom we have no segment, and so nothing to hear out. */
static void take_leave(struct node *node, struct node_peer *peer, const struct introduction *text)
{
	if (!peer || !same_incarnation(text->from, peer->incarnation))
		return;
	node_peer_ended(node, peer);
	node_peer_lost(node, peer, false);
}

/* A letter of one of ours.  False: it cannot be acted on yet, and stays where it is. */
static bool read_introduction(struct node *node, const struct letter *letter, bool polling)
{
	struct node_peer *peer = node_peer_find(node, letter->text.nid, letter->text.pid);

	if (peer && is_over(peer, &letter->text)) {
		node_peer_ended(node, peer);
		/* Read again, as from a stranger: the engine, being told, may have read it already. */
		return let_go(node, peer, polling);
	}
	if (letter->text.kind == BYE)
		take_leave(node, peer, &letter->text);
	if (letter->text.kind == BYE || !(peer = node_peer_get(node, letter->text.nid, letter->text.pid))) {
		discard(node);
		return true;
	}
	struct enclosure enclosure = take(node, peer->pid);

	converse(node, peer, letter, &enclosure);
	close_enclosure(&enclosure);
	node_peer_rest(node, peer); /* it may have ended since */
	return true;
}

static bool read_letter(struct node *node, const struct letter *letter, bool polling)
{
	bool genuine = is_genuine(node, letter);

	if (genuine && !is_foreign(node, letter))
		return read_introduction(node, letter, polling);
	discard(node);
	if (genuine)
		refuse(node, &letter->text);
	else
		node->counters.malformed += letter->length != 1;
	return true;
}

/* `polling`: peers may be let go. */
static void read_letters(struct node *node, bool polling, int *count)
{
	struct letter letter;

	for (int i = 0; i < MAX_LETTERS && peek(node, &letter) && read_letter(node, &letter, polling); i++)
		(*count)++;
}

/* A watched process has ended.  A stranger is forgotten without a word. */
static int bury(struct node *node, struct node_peer *peer)
{
	if (!node_pidfd_ended(peer))
		return 0; /* another, since */
	return let_go(node, peer, true);
}

int node_mail(struct node *node)
{
	struct epoll_event events[MAX_EVENTS];
	int waiting = epoll_wait(node->doorbell, events, MAX_EVENTS, 0), count = 0;

	for (int i = 0; i < waiting; i++) {
		uint64_t whose = events[i].data.u64;

		if (whose == NODE_SOCKET_EVENT)
			read_letters(node, true, &count);
		else if (whose == NODE_BELL_EVENT)
			count += node_bell_empty(node);
		else
			count += bury(node, node->peers[whose]);
	}
	return count;
}
