/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the two processes of an example find each other; nothing here is about moving data.
 *
 *     hello_put             forks its own target on this node
 *     hello_put listen      is the target; prints the address to give to the other side
 *     hello_put NID:PID     is the initiator
 */
#ifndef EXAMPLES_HELLO_H
#define EXAMPLES_HELLO_H

#include <portals3.h>
#include <portals3_nic.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) check(call, #call)

static inline void check(int code, const char *call)
{
	if (code == PTL_OK)
		return;
	const char *why = PtlNicErrorText(); /* what was wrong, with which object and value; not every error has one */
	fprintf(stderr, "%s: %s%s%s\n", call, PtlErrorStr((unsigned)code), *why ? ": " : "", why);
	exit(1);
}

/* The next event of the queue, which must be the report of a success within 40 s. */
static inline ptl_event_t next_event(ptl_handle_eq_t queue)
{
	ptl_event_t event;
	int which;
	CHECK(PtlEQPoll(&queue, 1, 40000, &event, &which));
	if (event.ni_fail_type == PTL_NI_OK)
		return event;
	ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
	CHECK(PtlNIHandle(queue, &ni));
	fprintf(stderr, "%s: %s\n", PtlEventKindStr(event.type), PtlNIFailStr(ni, event.ni_fail_type));
	exit(1);
}

/* A process as people write it: printf(PROCESS, PARTS(id)). */
#define PROCESS   "%u.%u.%u.%u:%u"
#define PARTS(id) (id).nid >> 24, (id).nid >> 16 & 255, (id).nid >> 8 & 255, (id).nid & 255, (id).pid

/* "127.0.0.1:5000", or the nid as the number that it is. */
static inline int read_address(const char *text, ptl_process_id_t *id)
{
	char quad[16], rest;
	struct in_addr address;
	if (sscanf(text, "%15[0-9.]:%u%c", quad, &id->pid, &rest) != 2)
		return 0;
	if (inet_pton(AF_INET, quad, &address) == 1)
		return id->nid = ntohl(address.s_addr), 1;
	return sscanf(quad, "%u%c", &id->nid, &rest) == 1;
}

static inline void print_address(FILE *out, ptl_process_id_t id)
{
	fprintf(out, PROCESS "\n", PARTS(id));
	fflush(out);
}

typedef void target_function(FILE *address); /* writes its NID:PID to `address` once it may be reached */
typedef void initiator_function(ptl_process_id_t target);

static inline int fork_target(target_function *target, initiator_function *initiator)
{
	setenv("PTL_IFACE", "lo", 0); /* the loopback interface is enough for two processes of one node */
	int ends[2];
	ptl_process_id_t id;
	if (pipe(ends) != 0)
		return perror("pipe"), 1;
	pid_t child = fork(); /* before PtlInit: interfaces do not survive a fork */
	if (child < 0)
		return perror("fork"), 1;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* no target without its initiator */
		close(ends[0]);
		target(fdopen(ends[1], "w"));
		exit(0);
	}
	close(ends[1]);
	FILE *address = fdopen(ends[0], "r");
	char line[32];
	int status = 1;
	if (fscanf(address, "%31s", line) == 1 && read_address(line, &id))
		initiator(id);
	fclose(address);
	waitpid(child, &status, 0);
	return status != 0;
}

static inline int hello_main(int argc, char **argv, target_function *target, initiator_function *initiator)
{
	ptl_process_id_t id;
	if (argc == 1)
		return fork_target(target, initiator);
	if (argc == 2 && strcmp(argv[1], "listen") == 0)
		return target(stdout), 0;
	if (argc == 2 && read_address(argv[1], &id))
		return initiator(id), 0;
	fprintf(stderr, "usage: %s [listen | NID:PID], for example 127.0.0.1:5000\n", argv[0]);
	return 2;
}

#endif
