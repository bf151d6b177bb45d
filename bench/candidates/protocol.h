/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ptlbench compare and its candidates say to each other.  A candidate is a pair of processes; rank 0 is timed,
 * rank 1 is its other side.  Each of them connects to the Unix socket named by PTLBENCH_RIVAL, introduces itself, and
 * then sleeps in read() until there is an order; when all is done it answers.  The end of the socket ends the process.
 *
 * This file also goes, as text, to the programs that are built when ptlbench runs, so it needs nothing but the system.
 */
#ifndef PTLBENCH_CANDIDATE_PROTOCOL_H
#define PTLBENCH_CANDIDATE_PROTOCOL_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CANDIDATE_VERSION    1
#define CANDIDATE_SOCKET     "PTLBENCH_RIVAL"
#define CANDIDATE_UNPINNED   "PTLBENCH_UNPINNED"
#define CANDIDATE_VALUES     1024               /* batches of an order at most */
#define CANDIDATE_LARGEST    ((size_t)4 << 20)  /* message, bytes */
#define CANDIDATE_COMPUTE_NS UINT64_C(20000000) /* how long the target of CANDIDATE_BUSY computes */
#define CANDIDATE_AHEAD_NS   UINT64_C(5000000)  /* how long it has done so when the message leaves */

enum candidate_kind {
	CANDIDATE_PUT,        /* there and back */
	CANDIDATE_GET,        /* one that completes */
	CANDIDATE_PUT_WINDOW, /* `window` of them, confirmed by the target */
	CANDIDATE_GET_WINDOW,
	CANDIDATE_DEPTH,      /* as CANDIDATE_PUT behind `depth` receives that match nothing, at both sides */
	CANDIDATE_UNEXPECTED, /* as CANDIDATE_PUT after `depth` messages that the target has not asked for */
	CANDIDATE_BUSY,       /* until the sender knows that its message has arrived, at a target that computes */
	CANDIDATE_REWRITTEN,  /* as CANDIDATE_PUT, each side writes all of what it sends before */
	CANDIDATE_KINDS
};

/* The whole of it: (lead + batch * batches) iterations, of which the first `lead`, at least one, are not timed. */
struct candidate_order {
	uint32_t kind, variant; /* the latter is for candidates that have several ways */
	uint32_t window, depth;
	uint64_t size;
	uint32_t lead, batch, batches;
	uint32_t zero;
};

struct candidate_hello {
	uint32_t version, rank;
	int32_t pid, other_pid; /* of rank 0 and 1, if one process speaks for both, or else its own and 0 */
	char text[240];
};

/* Followed by `count` doubles: nanoseconds of an iteration, on average over each batch.  Rank 1 has none. */
struct candidate_answer {
	uint32_t count;
	char problem[124]; /* why there is nothing */
};

/* What a candidate does for a kind: each side's part of an iteration.  prepare and finish may be NULL. */
struct candidate_exchange {
	void (*prepare)(const struct candidate_order *);
	void (*turn[2])(const struct candidate_order *, uint32_t iteration);
	void (*finish)(const struct candidate_order *);
};

/* The table of a program whose functions have these names. */
#define CANDIDATE_EXCHANGES                                                                                            \
	{                                                                                                              \
		[CANDIDATE_PUT] = {NULL, {ping, pong}, NULL}, [CANDIDATE_GET] = {NULL, {get, be_got}, NULL},           \
		[CANDIDATE_PUT_WINDOW] = {NULL, {send_window, receive_window}, NULL},                                  \
		[CANDIDATE_GET_WINDOW] = {NULL, {get, be_got}, NULL},                                                  \
		[CANDIDATE_DEPTH] = {post_in_front, {ping, pong}, cancel_in_front},                                    \
		[CANDIDATE_UNEXPECTED] = {NULL, {ping_after_others, pong}, take_others},                               \
		[CANDIDATE_REWRITTEN] = {NULL, {rewrite_and_ping, rewrite_and_pong}, NULL},                            \
		[CANDIDATE_BUSY] = {NULL, {send_to_busy, be_busy}, NULL},                                              \
	}

#define CANDIDATE_FUNCTION static __attribute__((unused))

/*
 * Memory of which each page is one: what was never written to is the system's one page of zeros everywhere, which a source
 * of messages would have in its nearest cache whatever its length.
 */
CANDIDATE_FUNCTION char *candidate_written(char *memory)
{
	if (!memory)
		exit(1);
	return memset(memory, 1, CANDIDATE_LARGEST);
}

CANDIDATE_FUNCTION uint64_t candidate_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* To the first or the second CPU that this process may use, unless the system is to choose. */
CANDIDATE_FUNCTION void candidate_pin(int rank)
{
	cpu_set_t allowed, one;
	int found = 0;

	CPU_ZERO(&one);
	if (getenv(CANDIDATE_UNPINNED) || sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && found <= rank; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		found++;
	}
	sched_setaffinity(0, sizeof(one), &one);
}

/* Exactly `size` bytes; false if the other end is closed. */
CANDIDATE_FUNCTION int candidate_read(int fd, void *data, size_t size)
{
	ssize_t got = 1;

	for (char *to = data; size && got > 0; to += got, size -= (size_t)got)
		got = read(fd, to, size);
	return got > 0;
}

CANDIDATE_FUNCTION int candidate_write(int fd, const void *data, size_t size)
{
	ssize_t put = 1;

	for (const char *from = data; size && put > 0; from += put, size -= (size_t)put)
		put = send(fd, from, size, MSG_NOSIGNAL);
	return put > 0;
}

/* Introduces this process; -1 if no process listens. */
CANDIDATE_FUNCTION int candidate_connect(uint32_t rank, int32_t pid, int32_t other_pid, const char *text)
{
	struct candidate_hello hello = {.version = CANDIDATE_VERSION, .rank = rank, .pid = pid, .other_pid = other_pid};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv(CANDIDATE_SOCKET);
	int fd = path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path ? path : "");
	snprintf(hello.text, sizeof(hello.text), "%s", text);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    candidate_write(fd, &hello, sizeof(hello)))
		return fd;
	return -1;
}

CANDIDATE_FUNCTION uint32_t candidate_iterations(const struct candidate_order *order)
{
	return order->lead + order->batch * order->batches;
}

CANDIDATE_FUNCTION void candidate_compute(uint64_t nanoseconds)
{
	for (uint64_t end = candidate_now() + nanoseconds; candidate_now() < end;)
		;
}

static double candidate_own_ns; /* set by an iteration that times a part of itself */

CANDIDATE_FUNCTION void candidate_time(const struct candidate_order *order, const struct candidate_exchange *exchange,
				       double *values)
{
	uint32_t i = 0;

	while (i < order->lead)
		exchange->turn[0](order, i++);
	uint64_t start = candidate_now();
	for (uint32_t batch = 0; batch < order->batches; batch++) {
		candidate_own_ns = 0;
		for (uint32_t end = i + order->batch; i < end; i++)
			exchange->turn[0](order, i);
		uint64_t now = candidate_now();
		values[batch] = candidate_own_ns > 0 ? candidate_own_ns : (double)(now - start) / order->batch;
		start = now;
	}
}

/* The life of one process.  meet() returns when both have called it; an exchange without turns is not offered. */
CANDIDATE_FUNCTION void candidate_live(uint32_t rank, const char *text, const struct candidate_exchange *exchanges,
				       void (*meet)(void))
{
	static double values[CANDIDATE_VALUES];
	struct candidate_order order;
	int fd = candidate_connect(rank, getpid(), 0, text);

	while (fd >= 0 && candidate_read(fd, &order, sizeof(order))) {
		const struct candidate_exchange *exchange = &exchanges[order.kind];
		struct candidate_answer answer = {.count = rank ? 0 : order.batches};
		if (exchange->prepare)
			exchange->prepare(&order);
		meet();
		if (!rank)
			candidate_time(&order, exchange, values);
		for (uint32_t i = 0; rank && i < candidate_iterations(&order); i++)
			exchange->turn[1](&order, i);
		if (exchange->finish)
			exchange->finish(&order);
		meet();
		candidate_write(fd, &answer, sizeof(answer));
		candidate_write(fd, values, answer.count * sizeof(*values));
	}
}

#endif
