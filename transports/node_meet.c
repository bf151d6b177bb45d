/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes of one node find, meet and leave each other.
 *
 * Every interface binds one datagram socket to an abstract name after its (nid, pid).  Abstract names are given out
 * atomically and vanish with their holder, within the network namespace that gives the nid its meaning.  So the name is
 * the claim to the pid, the address at which to meet, and the bell that wakes a sleeper.
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
 * repeat the number that the receiver gave is to say that one has mapped its segment.
 *
 * A KNOCK asks for an answer in any case.  An INTRODUCTION is answered only if it brought its receiver a step further
 * and its sender is not open yet: there are two steps per incarnation, so no two processes can answer each other for
 * ever.  A segment and the number go together, so that B knows what A's intent word says as soon as B can read it.
 *
 * WHY EVERY LOSS IS HARMLESS.  Linux lets some ten datagrams wait at a socket, so any letter may be refused.  None is
 * worth more than its repetition: whoever wants to send and is not OPEN knocks again (node_knock()), from the state it
 * has reached, and gets an answer that says everything.  Nothing counts letters or waits for a certain one.  The two
 * directions share nothing but this, so it does not matter who begins, or whether both do.  (A BYE is sent once: it only
 * saves time.  The segment it is about says NODE_CLOSED.)
 *
 * WHY NOBODY APPENDS TOO EARLY.  OPEN is entered only by a letter, addressed to our incarnation, that repeats the number we
 * have given.  Whoever forgets a peer takes its number back, and gives another when they meet again; and letters of one
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
 * WHAT PROVES DEATH.  A pidfd, opened for the pid in the credentials, is readable when all threads of the process are
 * gone; it wakes a sleeper.  A pid may be given to another process before the pidfd is open; so the name is looked at
 * afterwards, which a dead process does not hold.  The other proof is that nobody holds the name: the process has released
 * it, or replaced itself (execve), which no pidfd shows, or it has died and cannot be watched (another pid namespace).
 * And whoever holds the name with a new incarnation, or says BYE, proves that the old incarnation is no more.
 *
 * LETTING GO.  A peer that has gone, in whatever way, will append nothing more; but what it has appended is still to be
 * delivered.  So it is let go only when we have consumed all that was in our queue then.  Until that is possible,
 * and outside of poll(), which alone may tell the engine, the letter that gave the news stays where it is, unread, and a
 * pidfd stays readable: the mail itself is the memory of what is still to be done.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/report.h"
#include "transports/node.h"

#define MAGIC          0x506f3374u
#define LETTER_VERSION 1

#define MAX_LETTERS     32 /* that are read at a time */
#define MAX_EVENTS      16
#define SEND_BUFFER     (1 << 20)
#define KNOCK_NS        200000u     /* from the first knock to the second; then twice as long each time */
#define KNOCK_MOST_NS   20000000u   /* but no longer */
#define KNOCK_COUNT     7           /* mask of the bits of peer->knocked_at that count, instead of nanoseconds */
#define FOREIGN_AGAIN   1000000000u /* the name of another user's process may pass to one of ours */
#define ANSWER_NS       20000u      /* what an answer takes at least */
#define SOCKET_EVENT    UINT64_MAX  /* in the doorbell; a pidfd has its peer's index */
#define PIDFD_GONE      (-2)        /* in peer->pidfd: there is none, for the process is known to have gone */
#define RIGHTS_ROOM     CMSG_SPACE(sizeof(int))
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

struct letter {
	struct introduction text;
	size_t length; /* of what was sent, which may be more or less than `text` */
	struct sockaddr_un name;
	socklen_t name_length;
	struct ucred sender;
	bool has_sender;
};

/* --- names --- */

static socklen_t make_name(uint32_t nid, uint32_t pid, struct sockaddr_un *name)
{
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "portals3/node/%08x/%u", nid, pid);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int make_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool name_is_held(uint32_t nid, uint32_t pid)
{
	struct sockaddr_un name;
	socklen_t length = make_name(nid, pid, &name);
	int fd = make_socket();

	if (fd < 0)
		return true; /* nobody knows */
	bool refused = connect(fd, (struct sockaddr *)&name, length) != 0 && errno == ECONNREFUSED;

	close(fd);
	return !refused;
}

static int watch_socket(struct node *node)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = SOCKET_EVENT};

	node->doorbell = epoll_create1(EPOLL_CLOEXEC);
	return node->doorbell < 0 ? -1 : epoll_ctl(node->doorbell, EPOLL_CTL_ADD, node->socket, &event);
}

static int bind_name(struct node *node, uint32_t pid)
{
	struct sockaddr_un name;
	socklen_t length = make_name(node->nid, pid, &name);
	int yes = 1, send_buffer = SEND_BUFFER;

	/* Unread letters count against their sender: stopped peers must not use up what rings for others need. */
	setsockopt(node->socket, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
	/* Before the name is there for anybody to write to: credentials are attached when a letter is sent. */
	if (setsockopt(node->socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes))
		return -1;
	return bind(node->socket, (struct sockaddr *)&name, length);
}

int node_name_claim(struct node *node, uint32_t pid)
{
	node->doorbell = -1;
	node->socket = make_socket();
	if (node->socket >= 0 && bind_name(node, pid) == 0 && watch_socket(node) == 0)
		return 0;
	int rc = -errno;

	node_name_release(node);
	return rc;
}

void node_name_release(struct node *node)
{
	if (node->doorbell >= 0)
		close(node->doorbell);
	if (node->socket >= 0)
		close(node->socket);
	node->doorbell = node->socket = -1;
}

/* --- life and death --- */

static bool is_readable(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	return poll(&wait, 1, 0) > 0;
}

/* Out of the doorbell first: a forked child, or a dup(), may still hold the pidfd, and closing ours would leave it there. */
void node_unwatch(struct node *node, struct node_peer *peer)
{
	if (peer->pidfd >= 0) {
		epoll_ctl(node->doorbell, EPOLL_CTL_DEL, peer->pidfd, NULL);
		close(peer->pidfd);
	}
	peer->pidfd = -1;
	peer->os_pid = 0;
}

bool node_peer_dead(struct node *node, struct node_peer *peer)
{
	(void)node;
	return peer->pidfd == PIDFD_GONE || (peer->pidfd >= 0 && is_readable(peer->pidfd)) ||
	       !name_is_held(peer->nid, peer->pid);
}

/* Watches the process that sent a letter.  False: it has gone since. */
static bool watch(struct node *node, struct node_peer *peer, pid_t os_pid)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = peer->index};

	if (peer->pidfd < 0 || peer->os_pid != os_pid) {
		node_unwatch(node, peer);
		peer->os_pid = os_pid;
		if (os_pid > 0)
			peer->pidfd = (int)syscall(SYS_pidfd_open, os_pid, 0);
		if (os_pid > 0 && peer->pidfd < 0 && errno == ESRCH)
			return false;
		/* If it cannot be added, its end wakes nobody, and is found when somebody asks. */
		if (peer->pidfd >= 0)
			epoll_ctl(node->doorbell, EPOLL_CTL_ADD, peer->pidfd, &event);
	}
	return !node_peer_dead(node, peer);
}

/* What was in our queue at the time of the call has been consumed. */
static bool caught_up(struct node *node)
{
	/* Whoever has gone had appended before it went, and we have learnt of that through the kernel. */
	uint64_t tail = atomic_load_explicit(&node->segment->tail, memory_order_relaxed);

	if (tail != node->head)
		node_consume(node, NODE_SLOTS);
	return (int64_t)(tail - node->head) <= 0;
}

static void mark_gone(struct node *node, struct node_peer *peer)
{
	node_unwatch(node, peer);
	peer->pidfd = PIDFD_GONE;
}

/* The peer has gone for certain.  False: not to be acted on yet, look again. */
static bool let_go(struct node *node, struct node_peer *peer, bool polling)
{
	if (!polling || !caught_up(node)) {
		node->mail_due = true;
		return false;
	}
	mark_gone(node, peer);
	node_peer_lost(node, peer, peer->segment != NULL);
	return true;
}

/* --- sending --- */

/* 0, -EAGAIN or any other error; `fd`: goes with it, or -1. */
static int send_letter(const struct node *node, const struct introduction *text, uint32_t nid, uint32_t pid, int fd)
{
	struct sockaddr_un name;
	_Alignas(struct cmsghdr) char control[RIGHTS_ROOM] = {0};
	struct iovec body = {(void *)(uintptr_t)text, sizeof *text};
	struct msghdr message = {
		.msg_name = &name, .msg_namelen = make_name(nid, pid, &name), .msg_iov = &body, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof control;
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(rights), &fd, sizeof fd);
	}
	FAULT_POINT("letter-before");
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

/*
 * Gives the peer a number.  No two have the same, and one that was given back is not given again before all others were:
 * then some free one, chosen by chance.
 */
static bool number_peer(struct node *node, struct node_peer *peer)
{
	uint32_t number = node->sender_count;

	if (peer->number != NODE_NO_SENDER)
		return true;
	/* Address space; what is never touched is no memory. */
	if (!node->senders && !(node->senders = calloc(NODE_MAX_PEERS, sizeof(struct node_peer *))))
		return false;
	if (number < NODE_MAX_PEERS) {
		node->sender_count++;
	} else {
		number = (uint32_t)(peer->incarnation[0] % NODE_MAX_PEERS);
		while (node->senders[number]) /* there are no more peers than numbers, and this one has none */
			number = (number + 1) % NODE_MAX_PEERS;
	}
	node->senders[number] = peer;
	peer->number = (uint16_t)number;
	return true;
}

/* All that is to be said to the peer, with the segment if it has proven that it is one of ours and may not have it yet. */
static int write_to_peer(struct node *node, struct node_peer *peer, enum letter_kind kind, bool proven)
{
	struct introduction text = letter_from(node, kind);
	bool with_segment =
		proven && peer->meeting != NODE_OPEN && !node_peer_dead(node, peer) && number_peer(node, peer);

	text.flags = peer->meeting == NODE_OPEN ? OPEN : 0;
	text.number = peer->number;
	text.its_number = peer->sender;
	memcpy(text.to, peer->incarnation, sizeof text.to);
	return send_letter(node, &text, peer->nid, peer->pid, with_segment ? node->segment_fd : -1);
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

/* Nobody has that name. */
static int nobody_there(struct node *node, struct node_peer *peer)
{
	peer->knocked_at = 0;
	if (peer->meeting == NODE_FOREIGN)
		peer->meeting = NODE_STRANGER;
	if (peer->segment)
		peer->doomed = node->any_doomed = true;
	return -ENOENT;
}

static void read_letters(struct node *node, bool polling, int *count);

int node_knock(struct node *node, struct node_peer *peer)
{
	uint64_t now = monotonic_ns();
	int count = 0;

	if (now >= next_knock_at(peer)) {
		note_knock(peer, now);
		if (write_to_peer(node, peer, KNOCK, peer->meeting == NODE_MET) == -ECONNREFUSED)
			return nobody_there(node, peer);
	} else if (now >= peer->knocked_at + ANSWER_NS) {
		read_letters(node, false, &count);
	}
	return peer->meeting == NODE_FOREIGN ? -EHOSTUNREACH : -EAGAIN;
}

/* A ring needs no name.  What another socket cannot send either meets a full one, which is readable. */
static void ring_from_another_socket(const struct sockaddr_un *name, socklen_t length)
{
	int fd = make_socket();

	if (fd < 0)
		return;
	sendto(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)name, length);
	close(fd);
}

void node_ring(struct node *node, struct node_peer *peer)
{
	struct sockaddr_un name;
	socklen_t length = make_name(peer->nid, peer->pid, &name);

	FAULT_POINT("ring-before");
	node->counters.rings++;
	if (sendto(node->socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name, length) == 1)
		return;
	if (errno == ECONNREFUSED)
		nobody_there(node, peer);
	else
		ring_from_another_socket(&name, length); /* our own buffer may be full of what others have not read */
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

/* Closes all descriptors but the first, which it returns; -1: there is none. */
static int keep_first(struct msghdr *message, int *count)
{
	int first = -1, fd;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof fd) <= part->cmsg_len; at += sizeof fd) {
			memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
			if ((*count)++ == 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

/* Takes the first letter and returns its descriptor; -1: none, or not exactly one. */
static int take(struct node *node)
{
	_Alignas(struct cmsghdr) char control[CREDENTIAL_ROOM + RIGHTS_ROOM];
	char byte;
	struct iovec body = {&byte, sizeof byte};
	struct msghdr message = {
		.msg_iov = &body, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	int count = 0;

	if (recvmsg(node->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -1;
	int fd = keep_first(&message, &count);

	/* More than fitted, or (with none at all) more than this process may have open: then the peer will repeat it. */
	if (count > 1 || (count == 1 && message.msg_flags & MSG_CTRUNC)) {
		node->counters.malformed++;
		close(fd);
		return -1;
	}
	return fd;
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
	return letter->name_length == make_name(text->nid, text->pid, &name) &&
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
		send_letter(node, &answer, text->nid, text->pid, -1);
	} else if (same_incarnation(text->to, node->incarnation)) {
		struct node_peer *peer = node_peer_get(node, text->nid, text->pid);

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

/* The first step.  Closes the descriptor. */
static bool map_peer(struct node *node, struct node_peer *peer, const struct introduction *text, int fd)
{
	struct node_segment *segment;
	int rc = text->number == NODE_NO_SENDER ? -EPROTO : node_segment_map(fd, peer, &segment);

	close(fd);
	node->counters.malformed += rc == -EPROTO;
	if (rc)
		return false;
	FAULT_POINT("peer-mapped");
	peer->segment = segment;
	peer->sender = text->number;
	peer->meeting = NODE_MET;
	node_peer_met(node, peer);
	node_copy_probe(node, peer, text->nonce);
	return true;
}

static bool has_mapped_us(const struct node *node, const struct node_peer *peer, const struct introduction *text)
{
	return same_incarnation(text->to, node->incarnation) && peer->number != NODE_NO_SENDER &&
	       text->its_number == peer->number;
}

/* The steps that the letter allows.  Returns whether there were any. */
static bool advance(struct node *node, struct node_peer *peer, const struct introduction *text, int fd)
{
	bool advanced = false;

	if (fd >= 0 && peer->segment)
		close(fd);
	else if (fd >= 0)
		advanced = map_peer(node, peer, text, fd);
	if (peer->meeting != NODE_MET)
		return advanced;
	peer->sender = text->number;
	if (has_mapped_us(node, peer, text)) {
		peer->meeting = NODE_OPEN;
		FAULT_POINT("peer-open");
		advanced = true;
	}
	return advanced;
}

/* A KNOCK or an INTRODUCTION of one of ours, which has been taken. */
static void converse(struct node *node, struct node_peer *peer, const struct letter *letter, int fd)
{
	const struct introduction *text = &letter->text;

	if (!peer->segment) {
		peer->meeting = NODE_STRANGER;
		memcpy(peer->incarnation, text->from, sizeof peer->incarnation);
		if (!watch(node, peer, letter->sender.pid)) {
			if (fd >= 0)
				close(fd);
			return;
		}
	}
	FAULT_POINT("letter-taken");
	bool advanced = advance(node, peer, text, fd);

	if (text->kind != KNOCK && (!advanced || text->flags & OPEN))
		return;
	write_to_peer(node, peer, INTRODUCTION, true);
	/* It says all that a knock would: the next one is due only if this one has no effect. */
	peer->knocked_at = 0;
	note_knock(peer, monotonic_ns());
}

/* A letter of one of ours.  False: it cannot be acted on yet, and stays where it is. */
static bool read_introduction(struct node *node, const struct letter *letter, bool polling)
{
	struct node_peer *peer = node_peer_get(node, letter->text.nid, letter->text.pid);

	if (peer && is_over(peer, &letter->text)) {
		mark_gone(node, peer);
		/* Read again, as from a stranger: the engine, being told, may have read it already. */
		return let_go(node, peer, polling);
	}
	if (!peer || letter->text.kind == BYE)
		discard(node);
	else
		converse(node, peer, letter, take(node));
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
	if (peer->pidfd < 0 || !is_readable(peer->pidfd))
		return 0; /* another, since */
	return let_go(node, peer, true);
}

int node_mail(struct node *node)
{
	struct epoll_event events[MAX_EVENTS];
	int waiting = epoll_wait(node->doorbell, events, MAX_EVENTS, 0), count = 0;

	for (int i = 0; i < waiting; i++) {
		if (events[i].data.u64 == SOCKET_EVENT)
			read_letters(node, true, &count);
		else
			count += bury(node, node->peers[events[i].data.u64]);
	}
	return count;
}
