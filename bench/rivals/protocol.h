/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ptlbench compare and its contestants (rivals) say to each other.  A rival is a pair of processes; rank 0 is timed,
 * rank 1 is its other side.  Each of them connects to the Unix socket named by PTLBENCH_RIVAL, introduces itself, and
 * then sleeps in read() until there is an order; when all is done it answers.  The end of the socket ends the process.
 *
 * This file also goes, as text, to the programs that are built when ptlbench runs, so it needs nothing but the system.
 */
#ifndef PTLBENCH_RIVAL_PROTOCOL_H
#define PTLBENCH_RIVAL_PROTOCOL_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RIVAL_VERSION    1
#define RIVAL_SOCKET     "PTLBENCH_RIVAL"
#define RIVAL_VALUES     1024               /* batches of an order at most */
#define RIVAL_LARGEST    ((size_t)4 << 20)  /* message, bytes */
#define RIVAL_COMPUTE_NS UINT64_C(20000000) /* how long the target of RIVAL_BUSY computes */
#define RIVAL_AHEAD_NS   UINT64_C(5000000)  /* how long it has done so when the message leaves */

enum rival_kind {
	RIVAL_PUT,        /* there and back */
	RIVAL_GET,        /* one that completes */
	RIVAL_PUT_WINDOW, /* `window` of them, confirmed by the target */
	RIVAL_GET_WINDOW,
	RIVAL_DEPTH,      /* as RIVAL_PUT behind `depth` receives that match nothing, at both sides */
	RIVAL_UNEXPECTED, /* as RIVAL_PUT after `depth` messages that the target has not asked for */
	RIVAL_BUSY,       /* until the sender knows that its message has arrived, at a target that computes */
	RIVAL_KINDS
};

/* The whole of it: (lead + batch * batches) iterations, of which the first `lead`, at least one, are not timed. */
struct rival_order {
	uint32_t kind, variant; /* the latter is for rivals that have several ways */
	uint32_t window, depth;
	uint64_t size;
	uint32_t lead, batch, batches;
	uint32_t zero;
};

struct rival_hello {
	uint32_t version, rank;
	int32_t pid, other_pid; /* of rank 0 and 1, if one process speaks for both, or else its own and 0 */
	char text[240];
};

/* Followed by `count` doubles: nanoseconds of an iteration, on average over each batch.  Rank 1 has none. */
struct rival_answer {
	uint32_t count;
	char problem[124]; /* why there is nothing */
};

/* What a rival does for a kind: each side's part of an iteration.  prepare and finish may be NULL. */
struct rival_exchange {
	void (*prepare)(const struct rival_order *);
	void (*turn[2])(const struct rival_order *, uint32_t iteration);
	void (*finish)(const struct rival_order *);
};

/* The table of a program whose functions have these names. */
#define RIVAL_EXCHANGES                                                                                                \
	{                                                                                                              \
		[RIVAL_PUT] = {NULL, {ping, pong}, NULL}, [RIVAL_GET] = {NULL, {get, be_got}, NULL},                   \
		[RIVAL_PUT_WINDOW] = {NULL, {send_window, receive_window}, NULL},                                      \
		[RIVAL_GET_WINDOW] = {NULL, {get, be_got}, NULL},                                                      \
		[RIVAL_DEPTH] = {post_in_front, {ping, pong}, cancel_in_front},                                        \
		[RIVAL_UNEXPECTED] = {NULL, {ping_after_others, pong}, take_others},                                   \
		[RIVAL_BUSY] = {NULL, {send_to_busy, be_busy}, NULL},                                                  \
	}

#define RIVAL_FUNCTION static __attribute__((unused))

RIVAL_FUNCTION uint64_t rival_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* To the first or the second CPU that this process may use. */
RIVAL_FUNCTION void rival_pin(int rank)
{
	cpu_set_t allowed, one;
	int found = 0;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof allowed, &allowed))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && found <= rank; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		found++;
	}
	sched_setaffinity(0, sizeof one, &one);
}

/* Exactly `size` bytes; false if the other end is closed. */
RIVAL_FUNCTION int rival_read(int fd, void *data, size_t size)
{
	ssize_t got = 1;

	for (char *to = data; size && got > 0; to += got, size -= (size_t)got)
		got = read(fd, to, size);
	return got > 0;
}

RIVAL_FUNCTION int rival_write(int fd, const void *data, size_t size)
{
	ssize_t put = 1;

	for (const char *from = data; size && put > 0; from += put, size -= (size_t)put)
		put = send(fd, from, size, MSG_NOSIGNAL);
	return put > 0;
}

/* Introduces this process; -1 if nobody listens. */
RIVAL_FUNCTION int rival_connect(uint32_t rank, int32_t pid, int32_t other_pid, const char *text)
{
	struct rival_hello hello = {.version = RIVAL_VERSION, .rank = rank, .pid = pid, .other_pid = other_pid};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv(RIVAL_SOCKET);
	int fd = path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path ? path : "");
	snprintf(hello.text, sizeof hello.text, "%s", text);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof address) &&
	    rival_write(fd, &hello, sizeof hello))
		return fd;
	return -1;
}

RIVAL_FUNCTION uint32_t rival_iterations(const struct rival_order *order)
{
	return order->lead + order->batch * order->batches;
}

RIVAL_FUNCTION void rival_compute(uint64_t nanoseconds)
{
	for (uint64_t end = rival_now() + nanoseconds; rival_now() < end;)
		;
}

static double rival_own_ns; /* set by an iteration that times a part of itself */

RIVAL_FUNCTION void rival_time(const struct rival_order *order, const struct rival_exchange *exchange, double *values)
{
	uint32_t i = 0;

	while (i < order->lead)
		exchange->turn[0](order, i++);
	uint64_t start = rival_now();
	for (uint32_t batch = 0; batch < order->batches; batch++) {
		rival_own_ns = 0;
		for (uint32_t end = i + order->batch; i < end; i++)
			exchange->turn[0](order, i);
		uint64_t now = rival_now();
		values[batch] = rival_own_ns > 0 ? rival_own_ns : (double)(now - start) / order->batch;
		start = now;
	}
}

/* The life of one process.  meet() returns when both have called it; an exchange without turns is not offered. */
RIVAL_FUNCTION void rival_live(uint32_t rank, const char *text, const struct rival_exchange *exchanges,
			       void (*meet)(void))
{
	static double values[RIVAL_VALUES];
	struct rival_order order;
	int fd = rival_connect(rank, getpid(), 0, text);

	while (fd >= 0 && rival_read(fd, &order, sizeof order)) {
		const struct rival_exchange *exchange = &exchanges[order.kind];
		struct rival_answer answer = {.count = rank ? 0 : order.batches};
		if (exchange->prepare)
			exchange->prepare(&order);
		meet();
		if (!rank)
			rival_time(&order, exchange, values);
		for (uint32_t i = 0; rank && i < rival_iterations(&order); i++)
			exchange->turn[1](&order, i);
		if (exchange->finish)
			exchange->finish(&order);
		meet();
		rival_write(fd, &answer, sizeof answer);
		rival_write(fd, values, answer.count * sizeof *values);
	}
}

#endif
