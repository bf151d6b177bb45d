/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages: how processes of one node reach each other beside the memory that they share.  `node` and libfabric's shm
 * have protocols of their own (node_meet.c, ofi_shm_control.c); what a datagram of a Unix socket can do, and how it can
 * fail, is here.  Nothing here keeps state: the caller has the descriptor of the socket, and the kernel the rest.
 *
 * ONE READER, ANY SENDERS.  Only the owner of an engine reads its socket, so what it peeks at is what it takes next: datagrams
 * are in the order in which they came, and no other thread takes one.  Any process may send at any time.  The kernel takes a
 * datagram whole or refuses it, and keeps the order of one sender, so senders need no lock, and one that dies
 * in the middle has sent all or nothing.  A forked child that keeps the descriptor keeps the name, and must close it.
 *
 * NOTHING BLOCKS, AND NO MESSAGE IS SURE TO ARRIVE.  Linux lets some ten datagrams wait at a socket.  A full queue, no buffers,
 * and descriptors of too many messages on their way (ETOOMANYREFS) are all -EAGAIN: a protocol repeats what it says.  Only a name
 * without a socket is told apart (ECONNREFUSED), because it proves that the process has gone.  Unread datagrams count against the
 * send buffer of their sender, so one peer that stands still could use up what others need: the buffer is large.
 *
 * NO WAKE-UP IS LOST UNNOTICED.  A wake-up is a datagram of one byte, and says only that the socket is readable.  A receiver whose
 * queue is full is readable without it.  But it may be the sender's own buffer that is full; so what is refused is sent
 * again from a new socket, which needs no name, and if that is refused for want of room, it is the receiver that has none.
 * Where the system has no memory, or this process no descriptor for that socket, the receiver is not woken: that is an error,
 * and the caller wakes it again with the next message that it has for it.
 *
 * THE SENDER.  The kernel attaches its credentials when a datagram is sent, if the receiver has asked for them
 * by then: so the socket asks before it has its name.  A message without them is malformed.  The source address is
 * the name that the sender's socket is bound to, which no other process has at that time; a sender without a name has none.
 *
 * DESCRIPTORS are installed in the receiver only if there is room for them in what it gives to recvmsg(), and the kernel drops the
 * others (MSG_CTRUNC).  So a message is peeked at without room, and its sender judged, before its descriptors are taken: what an
 * outsider passes never is a descriptor of this process.  The room is counted in whole words, so one more than
 * expected may come: it is closed.  MSG_CTRUNC with all that were expected means that there were more, which no
 * protocol of ours sends: all are closed.  With fewer it means that this process has none free.
 *
 * Every system call here may be a cancellation point, of a thread that owns an engine (base/cancel.h).
 */
#include "transports/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"

#define SEND_BUFFER     (1 << 20) /* or what the system allows */
#define CREDENTIAL_ROOM CMSG_SPACE(sizeof(struct ucred))
#define RIGHTS_ROOM     CMSG_SPACE(CONTROL_MAX_DESCRIPTORS * sizeof(int))

/* --- names --- */

struct control_name control_name(const char *format, ...)
{
	struct control_name name = {.address = {.sun_family = AF_UNIX}};
	const size_t room = sizeof(name.address.sun_path) - 1; /* behind the zero that begins an abstract name */
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(name.address.sun_path + 1, room, format, arguments);
	va_end(arguments);
	name.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				  ((size_t)length < room ? (size_t)length : room - 1));
	return name;
}

bool control_same_name(const struct control_name *one, const struct control_name *other)
{
	return one->length == other->length && memcmp(&one->address, &other->address, one->length) == 0;
}

static int make_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool control_name_is_held(const struct control_name *name)
{
	UNCANCELLED;
	int fd = make_socket();

	if (fd < 0)
		return true;
	bool refused = connect(fd, (const struct sockaddr *)&name->address, name->length) != 0 && errno == ECONNREFUSED;

	close(fd);
	return !refused;
}

int control_open(const struct control_name *name)
{
	UNCANCELLED;
	int fd = make_socket(), yes = 1, send_buffer = SEND_BUFFER;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
	/* Before the name is there to be written to. */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0 &&
	    bind(fd, (const struct sockaddr *)&name->address, name->length) == 0)
		return fd;
	int rc = -errno;

	close(fd);
	return rc;
}

/* --- sending --- */

static void attach(struct msghdr *message, const int *fds, unsigned count)
{
	struct cmsghdr *rights = message->msg_control;

	/* The types are size_t or socklen_t, as the C library has it. */
	message->msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
}

/* 0, or what the system says. */
static int transmit(int socket, const struct control_name *to, const void *text, size_t length, const int *fds,
		    unsigned count)
{
	UNCANCELLED;
	_Alignas(struct cmsghdr) char ancillary[RIGHTS_ROOM] = {0};
	struct iovec body = {(void *)(uintptr_t)text, length};
	struct msghdr message = {.msg_name = (void *)(uintptr_t)&to->address,
				 .msg_namelen = to->length,
				 .msg_iov = &body,
				 .msg_iovlen = 1};
	ssize_t sent;

	if (count > CONTROL_MAX_DESCRIPTORS)
		return -EINVAL;
	if (fds) {
		message.msg_control = ancillary;
		attach(&message, fds, count);
	}
	do
		sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

int control_send(int socket, const struct control_name *to, const void *text, size_t length, const int *fds,
		 unsigned count)
{
	int rc = transmit(socket, to, text, length, fds, count);

	return rc == -ENOBUFS || rc == -ENOMEM || rc == -ETOOMANYREFS ? -EAGAIN : rc;
}

int control_wake(int socket, const struct control_name *to)
{
	UNCANCELLED;
	int rc = transmit(socket, to, "", 1, NULL, 0);

	if (!rc || rc == -ECONNREFUSED)
		return rc;
	int fd = make_socket();

	if (fd < 0)
		return -errno;
	rc = transmit(fd, to, "", 1, NULL, 0);
	close(fd);
	return rc == -EAGAIN ? 0 : rc;
}

/* --- receiving --- */

/* The length of what was sent, or a negative error. */
static ssize_t receive(int socket, struct msghdr *message, int flags)
{
	UNCANCELLED;
	ssize_t length;

	do
		length = recvmsg(socket, message, flags | MSG_TRUNC | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (length < 0 && errno == EINTR);
	return length < 0 ? -errno : length;
}

static bool has_credentials(struct msghdr *message, struct control_sender *sender)
{
	struct ucred credentials;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS ||
		    part->cmsg_len != CMSG_LEN(sizeof(credentials)))
			continue;
		memcpy(&credentials, CMSG_DATA(part), sizeof(credentials));
		sender->pid = credentials.pid;
		sender->uid = credentials.uid;
		return true;
	}
	return false;
}

static enum control_found classify(const struct control_protocol *protocol, const void *text, size_t length)
{
	struct control_header header;

	if (length == 1)
		return CONTROL_WAKE;
	memcpy(&header, text, sizeof(header));
	if (length < protocol->prefix || header.magic != protocol->magic || header.kind < 1 ||
	    header.kind > protocol->kinds)
		return CONTROL_MALFORMED;
	if (header.version != protocol->version)
		return CONTROL_OTHER_VERSION;
	return length == protocol->length ? CONTROL_MESSAGE : CONTROL_MALFORMED;
}

/* There is room for credentials, and none for descriptors. */
static enum control_found look(int socket, const struct control_protocol *protocol, void *text,
			       struct control_sender *sender, int flags)
{
	memset(text, 0, protocol->length);
	*sender = (struct control_sender){0};

	_Alignas(struct cmsghdr) char ancillary[CREDENTIAL_ROOM];
	struct iovec body = {text, protocol->length};
	struct msghdr message = {.msg_name = &sender->name.address,
				 .msg_namelen = sizeof(sender->name.address),
				 .msg_iov = &body,
				 .msg_iovlen = 1,
				 .msg_control = ancillary,
				 .msg_controllen = sizeof(ancillary)};
	ssize_t length = receive(socket, &message, flags);

	if (length < 0)
		return CONTROL_NOTHING;
	sender->name.length = message.msg_namelen;
	enum control_found found = classify(protocol, text, (size_t)length);
	bool unexpected = !(flags & MSG_PEEK) && message.msg_flags & MSG_CTRUNC;

	return found != CONTROL_WAKE && (unexpected || !has_credentials(&message, sender)) ? CONTROL_MALFORMED : found;
}

enum control_found control_peek(int socket, const struct control_protocol *protocol, void *text,
				struct control_sender *sender)
{
	return look(socket, protocol, text, sender, MSG_PEEK);
}

enum control_found control_receive(int socket, const struct control_protocol *protocol, void *text,
				   struct control_sender *sender)
{
	return look(socket, protocol, text, sender, 0);
}

static void close_all(int *fds, unsigned count)
{
	UNCANCELLED;

	for (unsigned i = 0; i < count; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Returns how many came; those beyond `expected` are closed. */
static unsigned keep_descriptors(struct msghdr *message, int *fds, unsigned expected)
{
	unsigned came = 0;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, (const char *)part + at, sizeof(fd));
			if (came < expected)
				fds[came] = fd;
			else
				close_all(&fd, 1);
			came++;
		}
	}
	return came;
}

int control_take(int socket, int *fds, unsigned expected)
{
	_Alignas(struct cmsghdr) char ancillary[CREDENTIAL_ROOM + RIGHTS_ROOM];
	char byte;
	struct iovec body = {&byte, sizeof(byte)};
	struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1};

	if (expected > CONTROL_MAX_DESCRIPTORS)
		return -EINVAL;
	if (expected > 0) {
		message.msg_control = ancillary;
		message.msg_controllen = (socklen_t)(CREDENTIAL_ROOM + CMSG_SPACE(expected * sizeof(int)));
	}
	for (unsigned i = 0; i < expected; i++)
		fds[i] = -1;
	ssize_t length = receive(socket, &message, 0);

	if (length < 0 || expected == 0)
		return length < 0 ? (int)length : 0;
	unsigned came = keep_descriptors(&message, fds, expected);

	if (came < expected)
		return message.msg_flags & MSG_CTRUNC ? -EMFILE : 0;
	if (came == expected && !(message.msg_flags & MSG_CTRUNC))
		return 0;
	close_all(fds, expected);
	return -EPROTO;
}

bool control_is_own_user(const struct control_sender *sender)
{
	return sender->uid == geteuid();
}
