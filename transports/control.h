/* SPDX-License-Identifier: BSD-3-Clause */
/* Control messages: datagrams between named sockets of one node, whose senders the kernel names (control.c). */
#ifndef PORTALS_TRANSPORTS_CONTROL_H
#define PORTALS_TRANSPORTS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define CONTROL_MAX_DESCRIPTORS 4 /* that go with one message */

/* An abstract name: gone with the last descriptor of the socket that is bound to it. */
struct control_name {
	struct sockaddr_un address;
	socklen_t length;
};

/* How every message begins, in every version of every protocol, so that versions can refuse each other. */
struct control_header {
	uint32_t magic; /* which protocol */
	uint16_t version;
	uint8_t kind; /* from 1 */
	uint8_t flags;
};

struct control_protocol {
	uint32_t magic;
	uint16_t version;
	uint8_t kinds; /* the last of them */
	size_t prefix; /* bytes that mean the same in every version; the header at least */
	size_t length; /* of a message of this version */
};

/* What the kernel says of a message's sender. */
struct control_sender {
	struct control_name name; /* of its socket; length 0: it has none */
	pid_t pid;                /* 0: not to be seen in our pid namespace */
	uid_t uid;
};

enum control_found {
	CONTROL_NOTHING,
	CONTROL_WAKE, /* a single byte */
	CONTROL_MALFORMED,
	CONTROL_OTHER_VERSION, /* only the prefix means anything */
	CONTROL_MESSAGE,
};

struct control_name control_name(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool control_same_name(const struct control_name *, const struct control_name *);

/* Has a socket that name?  True if it cannot be known, for want of a descriptor. */
bool control_name_is_held(const struct control_name *);

/* A socket of that name, which never blocks, or a negative error.  -EADDRINUSE: another socket has the name. */
int control_open(const struct control_name *);

/*
 * Sends a message, with copies of `count` descriptors (NULL: none).  0; -EAGAIN: it was not taken, and may be if it is sent again; -ECONNREFUSED: no
 * socket has the name; or another error.
 */
int control_send(int socket, const struct control_name *to, const void *text, size_t length, const int *fds,
		 unsigned count);

/* 0: the socket of that name is readable; -ECONNREFUSED: there is none; another error: it was not woken. */
int control_wake(int socket, const struct control_name *to);

/*
 * The first message, which stays where it is; no descriptor is installed.  `text` has room for `length` bytes of the protocol; behind what
 * was sent they are 0.  From OTHER_VERSION on the sender is set.
 */
enum control_found control_peek(int socket, const struct control_protocol *, void *text, struct control_sender *);

/* The same for a protocol that passes no descriptors, and takes the message away.  One with descriptors is malformed. */
enum control_found control_receive(int socket, const struct control_protocol *, void *text, struct control_sender *);

/*
 * Takes the first message away, which the caller has peeked at, with as many descriptors as are expected; those that are not there are -1.  0;
 * -EMFILE: more were sent than this process has free; -EPROTO: more than expected, all of which are closed; or another error.
 */
int control_take(int socket, int *fds, unsigned expected);

/* Of the user of this process? */
bool control_is_own_user(const struct control_sender *);

#endif
