/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: races [self [early]]
 * A program without races, for ThreadSanitizer, with a library that is not compiled for it: two processes (self: one) put to
 * each other; one thread writes the source and waits until it is free, another reads and clears what has arrived and
 * says so by a put.  Short and long messages, PtlEQWait and PtlEQGet.  `early`: with a race, to be found.
 */
#include <portals3.h>
#include <portals3_nic.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INDEX  4
#define DATA   1 /* match bits */
#define READY  2
#define ROUNDS 200
#define LONG   (256u << 10)

static ptl_handle_ni_t ni;
static ptl_process_id_t peer;
static ptl_handle_eq_t arrivals, readiness, sent;
static unsigned char window[LONG], source[LONG];
static int early; /* looks at the window before anything has arrived */

static void require(int code, const char *what)
{
	if (code == PTL_OK)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, PtlErrorStr((unsigned)code), PtlNicErrorText());
	exit(1);
}

/* Waits one way or the other. */
static ptl_event_t next(ptl_handle_eq_t eq, int polls)
{
	ptl_event_t event;
	int code = polls ? PTL_EQ_EMPTY : PtlEQWait(eq, &event);
	while (code == PTL_EQ_EMPTY)
		code = PtlEQGet(eq, &event);
	require(code, "the next event");
	if (event.ni_fail_type != PTL_NI_OK)
		require(PTL_FAIL, "an operation");
	return event;
}

static void open_window(ptl_match_bits_t bits, void *start, size_t length, ptl_handle_eq_t eq)
{
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md = {.start = start, .length = length, .threshold = PTL_MD_THRESH_INF, .eq_handle = eq};
	md.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	require(PtlMEAttach(ni, INDEX, anyone, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	require(PtlMDAttach(me, md, PTL_RETAIN, &handle), "PtlMDAttach");
}

static ptl_handle_md_t bind(void *start, size_t length, ptl_handle_eq_t eq)
{
	ptl_handle_md_t handle;
	ptl_md_t md = {.start = start, .length = length, .threshold = PTL_MD_THRESH_INF, .eq_handle = eq};
	md.options = PTL_MD_EVENT_START_DISABLE;
	require(PtlMDBind(ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	return handle;
}

static size_t length_of(int round)
{
	return round % 4 == 3 ? LONG : (size_t)round % 1000 + 1;
}

static void *receive(void *unused)
{
	ptl_handle_md_t nothing = bind(NULL, 0, PTL_EQ_NONE);
	for (int round = 0; round < ROUNDS; round++) {
		if (early && *(volatile unsigned char *)window == 1)
			fputs("early\n", stdout);
		ptl_event_t event = next(arrivals, round % 2);
		for (size_t i = 0; i < event.mlength; i++)
			if (window[i] != (unsigned char)(round + i))
				require(PTL_FAIL, "the bytes that arrived");
		memset(window, 0, event.mlength);
		require(PtlPut(nothing, PTL_NO_ACK_REQ, peer, INDEX, 0, READY, 0, 0), "PtlPut");
	}
	return unused;
}

static void send_all(void)
{
	ptl_handle_md_t md = bind(source, sizeof(source), sent);
	for (int round = 0; round < ROUNDS; round++) {
		size_t length = length_of(round);
		for (size_t i = 0; i < length; i++)
			source[i] = (unsigned char)(round + i);
		require(PtlPutRegion(md, 0, length, PTL_ACK_REQ, peer, INDEX, 0, DATA, 0, 0), "PtlPutRegion");
		for (int events = 0; events < 2; events++)
			next(sent, round % 3 == 0); /* SEND_END and ACK */
		next(readiness, round % 3 == 1);
	}
}

int main(int argc, char **argv)
{
	int there[2], back[2], interfaces, self = argc > 1 && strcmp(argv[1], "self") == 0, status = 0;
	ptl_process_id_t id;
	pthread_t receiver;
	pid_t child = 0;

	early = argc > 2 && strcmp(argv[2], "early") == 0;
	if (pipe(there) != 0 || pipe(back) != 0 || (!self && (child = fork()) < 0))
		return 1;
	require(PtlInit(&interfaces), "PtlInit");
	require(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), "PtlNIInit");
	require(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &arrivals), "PtlEQAlloc");
	require(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &readiness), "PtlEQAlloc");
	require(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &sent), "PtlEQAlloc");
	open_window(DATA, window, sizeof(window), arrivals);
	open_window(READY, NULL, 0, readiness);
	require(PtlGetId(ni, &id), "PtlGetId");
	if (write(child == 0 && !self ? back[1] : there[1], &id, sizeof(id)) != sizeof(id) ||
	    read(child != 0 ? back[0] : there[0], &peer, sizeof(peer)) != sizeof(peer))
		return 1;

	if (pthread_create(&receiver, NULL, receive, NULL) != 0)
		return 1;
	send_all();
	pthread_join(receiver, NULL);
	if (child > 0) {
		close(there[1]); /* the child may end, and waits until we no longer need it */
		if (waitpid(child, &status, 0) != child)
			return 1;
	} else if (!self) {
		char end;
		close(there[1]);
		if (read(there[0], &end, 1) != 0)
			return 1;
	}
	PtlFini();
	return status != 0;
}
