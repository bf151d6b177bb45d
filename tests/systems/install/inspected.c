/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process for a debugger to look at: an interface with a match list, an unread event and a peer.  Says its pid when all that
 * is there, and ends with its input.
 */
#include <portals3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OK(call)                                                                                                       \
	do {                                                                                                           \
		if ((call) != PTL_OK) {                                                                                \
			fprintf(stderr, "%s failed\n", #call);                                                         \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static ptl_handle_ni_t ni;
static ptl_process_id_t self;

static void open_interface(void)
{
	int interfaces;

	OK(PtlInit(&interfaces));
	OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	OK(PtlGetId(ni, &self));
}

/* Puts `bytes` of its own with these bits and waits for the acknowledgement. */
static void put(ptl_process_id_t to, const char *bytes, ptl_size_t length, ptl_match_bits_t bits)
{
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	ptl_event_t event;

	OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
	ptl_md_t source = {.start = (char *)(size_t)bytes, .length = length, .threshold = 2, .eq_handle = eq};
	OK(PtlMDBind(ni, source, PTL_UNLINK, &md));
	OK(PtlPut(md, PTL_ACK_REQ, to, 7, 0, bits, 0, 0));
	do
		OK(PtlEQWait(eq, &event));
	while (event.type != PTL_EVENT_ACK);
}

static void initiator(int from)
{
	ptl_process_id_t target;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(from, &target, sizeof(target)) != sizeof(target))
		exit(1);
	open_interface();
	put(target, "hello", 5, 0x5150);
	pause();
}

static void target(int to)
{
	static char window[4096];
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_sr_value_t dropped = 0;
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	open_interface();
	OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
	OK(PtlMEAttach(ni, 7, anyone, 0x5150, 0xf, PTL_RETAIN, PTL_INS_AFTER, &me));
	ptl_md_t memory = {.start = window, .length = sizeof(window), .threshold = PTL_MD_THRESH_INF, .eq_handle = eq};
	memory.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	OK(PtlMDAttach(me, memory, PTL_RETAIN, &md));
	if (write(to, &self, sizeof(self)) != sizeof(self))
		exit(1);
	while (*(volatile char *)window != 'h') /* the queue is left alone, so that its event stays */
		OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &dropped));
}

int main(void)
{
	int ends[2];
	char end;

	if (pipe(ends) != 0)
		return 1;
	pid_t child = fork();

	if (child == 0) {
		initiator(ends[0]);
		return 0;
	}
	target(ends[1]);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &end, 1) > 0)
		;
	kill(child, SIGKILL);
	return 0;
}
