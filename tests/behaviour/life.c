/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginnings and ends: of the library, of interfaces, of processes, with traffic in flight. */
#include "tests/behaviour/behaviour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/resources.h"

static void an_interface_can_be_closed_right_after_it_was_opened(void)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	for (int i = 0; i < 5; i++) {
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
		CHECK_OK(PtlNIFini(ni));
		CHECK_RC(PtlNIFini(ni), PTL_NI_INVALID);
	}
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	PtlFini();
}

/* What libfabric keeps for the process it got the first time. */
static void a_closed_library_leaves_no_thread_and_no_descriptor_behind(void)
{
	int descriptors = 0, threads = 0;
	for (int i = 0; i < 4; i++) {
		open_interface(PTL_PID_ANY);
		CHECK_OK(PtlNicReady(ni));
		put_to_myself();
		PtlFini();
		if (i == 0) {
			descriptors = open_descriptors();
			threads = living_threads();
		}
	}
	CHECK_EQUAL(open_descriptors(), descriptors);
	CHECK_EQUAL(living_threads(), threads);
}

/* Everything the initiator can have under way at once, towards a target that is there and one that is not. */
static void start_traffic(char *bytes)
{
	ptl_process_id_t nobody = {id_of[0].nid, 0xe0000000u + (ptl_pid_t)getpid()};
	ptl_handle_eq_t eq = new_eq(1024);
	ptl_handle_md_t md = bind_md(md_over(bytes, LONG, 0, eq));
	for (int i = 0; i < 20; i++) {
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, 0));
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, 8, target_id(), INDEX, 0, BITS, 0));
	}
	if (!over_self())
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
}

/* Until as many ENDs as STARTs have come and the initiator is gone. */
static void every_start_has_its_end(ptl_handle_eq_t eq)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	int open = 0, seen = 0;
	do {
		ptl_event_t event;
		int which;
		if (PtlEQPoll(&eq, 1, 200, &event, &which) != PTL_OK)
			continue;
		bool start = event.type == PTL_EVENT_PUT_START || event.type == PTL_EVENT_GET_START;
		open += start ? 1 : -1;
		seen++;
		deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	} while ((open > 0 || seen == 0) && now_ns() < deadline);
	CHECK_EQUAL(open, 0);
}

static void an_interface_can_be_closed_with_traffic_in_flight(void)
{
	ptl_handle_eq_t eq = new_eq(1024);
	char *near = memory(LONG), *far = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, eq));
	open_door();
	barrier();
	if (am_initiator()) {
		ping(target_id());
		start_traffic(near);
		harness_while_waiting(NULL);
		uint64_t start = now_ns();
		CHECK_OK(PtlNIFini(ni));
		CHECK_LESS(now_ns() - start, 25000000000); /* PTL_LINGER is 1 s, PTL_CONNECT_TIMEOUT 30 s */
		open_interface(PTL_PID_ANY);
		drive_while_waiting(); /* a process with the old one's port answers that the old one is gone, if it does */
	} else {
		every_start_has_its_end(eq);
	}
	exchange_ids();
	if (am_initiator()) {
		put_to_myself();
		if (process_count > 1)
			ping(target_id());
	}
	barrier();
}

static void a_process_may_exit_without_fini_and_with_traffic_in_flight(void)
{
	ptl_handle_eq_t eq = new_eq(1024);
	char *near = memory(LONG), *far = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, eq));
	open_door();
	barrier();
	if (am_initiator()) {
		ping(target_id());
		start_traffic(near);
		exit(0);
	}
	every_start_has_its_end(eq);
	put_to_myself();
}

static void a_process_may_exit_without_closing_anything(void)
{
	put_to_myself();
	exit(0);
}

#define BARE(test)                                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .traits = TRAIT_BARE                                       \
	}

const struct test life_tests[] = {
	BARE(an_interface_can_be_closed_right_after_it_was_opened),
	BARE(a_closed_library_leaves_no_thread_and_no_descriptor_behind),
	{.name = "an_interface_can_be_closed_with_traffic_in_flight",
	 .run = an_interface_can_be_closed_with_traffic_in_flight,
	 .processes = 2,
	 .traits = TRAIT_PAIR,
	 .environment = "PTL_PEER_TIMEOUT=5s"},
	{.name = "a_process_may_exit_without_fini_and_with_traffic_in_flight",
	 .run = a_process_may_exit_without_fini_and_with_traffic_in_flight,
	 .processes = 2,
	 .traits = TRAIT_PAIR,
	 .environment = "PTL_PEER_TIMEOUT=5s"},
	ALONE(a_process_may_exit_without_closing_anything),
	{0},
};
