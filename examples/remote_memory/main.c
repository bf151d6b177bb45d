/* SPDX-License-Identifier: BSD-3-Clause */
/* A message, a put and a get between two processes: build/examples/remote-memory forks the other one. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <portals3_nic.h>

#include "rm.h"

#define GREET 1
#define MS    30000

enum { TEXT = 7, ANSWER }; /* tags */

static rm_domain *domain;
static ptl_process_id_t self;
static char text[64], answer[64];

static void require(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "remote-memory: %s: %s; %s\n", what, strerror(-rc), PtlNicErrorText());
	exit(1);
}

/* Both are here when it returns; each tells the other its identity. */
static ptl_process_id_t meet(int channel)
{
	ptl_process_id_t other;
	if (write(channel, &self, sizeof(self)) != sizeof(self) ||
	    read(channel, &other, sizeof(other)) != sizeof(other))
		exit(1);
	return other;
}

static void greet(rm_domain *of, ptl_process_id_t from, void *data, size_t length)
{
	(void)of;
	printf("message from %u: %.*s\n", (unsigned)from.pid, (int)length, (const char *)data);
}

static void ask(ptl_process_id_t other)
{
	struct rm_notice done;
	require(rm_message(domain, other, GREET, "hello", 5), "message");
	strcpy(text, "written by put");
	require(rm_put(domain, other, TEXT, TEXT, sizeof(text), &done), "put");
	require(rm_wait(domain, &done, MS), "put");
	require(rm_get(domain, other, ANSWER, ANSWER, sizeof(answer), &done), "get");
	require(rm_wait(domain, &done, MS), "get");
	printf("got: %s\n", answer);
	int rc = rm_put(domain, other, TEXT, 99, sizeof(text), &done);
	printf("put to a tag that is not there: %s\n", strerror(-(rc ? rc : rm_wait(domain, &done, MS))));
}

static void open_memory(void)
{
	int interfaces;
	ptl_handle_ni_t ni;
	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) || PtlGetId(ni, &self))
		require(-EIO, "no interface");
	require(rm_open(ni, NULL, &domain), "open");
	require(rm_register(domain, TEXT, text, sizeof(text)), "register");
	require(rm_register(domain, ANSWER, answer, sizeof(answer)), "register");
	require(rm_handler_set(domain, GREET, greet), "handler");
}

/* While it waits at the end, its network interface answers the get. */
static int play(bool first, int channel)
{
	struct rm_notice arrived;
	open_memory();
	strcpy(answer, "registered by the other process");
	require(rm_notify(domain, TEXT, RM_INCOMING, &arrived), "notify");
	ptl_process_id_t other = meet(channel);
	if (first) {
		ask(other);
	} else {
		require(rm_wait(domain, &arrived, MS), "arrival");
		printf("%llu bytes have come: %s\n", (unsigned long long)arrived.length, text);
	}
	fflush(stdout);
	meet(channel);
	rm_close(domain);
	PtlFini();
	return 0;
}

int main(void)
{
	int channel[2], status;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel))
		return 1;
	pid_t child = fork();
	close(channel[child != 0]);
	if (child == 0)
		return play(false, channel[1]);
	if (child < 0 || play(true, channel[0]) || waitpid(child, &status, 0) != child)
		return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
