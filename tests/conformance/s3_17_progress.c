/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 3.17 and 3.18 Progress and fork.  A process that takes no part, because it computes or sleeps, does so until another,
 * having received every answer, tells it through memory they share: if anything needed its help, the answer would not
 * have come.
 */
#include "tests/conformance/requests.h"

#include "tests/conformance/conformance.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHORT_ROUNDS FEWER(20)
#define LONG_ROUNDS  FEWER(4)

static const struct row rows[] = {
	{"3.17/1", "Requests are accepted, served and answered while the target's application does not call Portals"},
	{"3.17/2", "... and their events are in its queue when it comes to look for them"},
	{"3.17/3", "Operations complete while the application of their initiator does not call Portals"},
	{"3.17/4",
	 "Where no thread of the library makes progress, every call that looks for an event does, for all that is "
	 "under way on the interface and not only for the queue it looks at"},
	{"3.18/1",
	 "A forked child that has called PtlFini may start anew with PtlInit and PtlNIInit, under another pid; "
	 "before that its calls are refused with PTL_NO_INIT"},
	{"3.18/2",
	 "The parent of a forked child goes on: messages reach its memory, also pages that it shares with the "
	 "child until either writes to them"},
	{"3.18/3", "Neither PtlFini in a child nor its end disturbs the parent's connections"},
	{0},
};

static bool told(void)
{
	_Atomic int *enough = shared_memory();
	return atomic_load(enough);
}

static void tell(void)
{
	_Atomic int *enough = shared_memory();
	atomic_store(enough, 1);
}

static void compute_until_told(void)
{
	volatile double x = 1;
	while (!told())
		for (int i = 0; i < 10000; i++)
			x = x * 1.0000001 + 1e-9;
}

/* ---- Requests of every kind and length, each answered before the next; they log 2 or 3 ENDs at the target ---- */

static struct window open_for_requests(ptl_handle_eq_t eq)
{
	return open_window(BITS, md_over(memory(LONG), LONG, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, eq));
}

/* Stores a pattern at the target, reads it back and, if it is short, swaps it for another.  Returns how many requests. */
static unsigned store_read_and_swap(size_t length, unsigned seed)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *near = memory(length);
	ptl_handle_md_t md = bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, eq));
	fill_pattern(near, length, seed);
	ask(PUT, md, BITS, 0);
	CHECK_EQUAL(take_answer(PUT, eq).mlength, length);
	memset(near, 0, length);
	ask(GET, md, BITS, 0);
	CHECK_EQUAL(take_answer(GET, eq).mlength, length);
	CHECK_PATTERN(near, length, seed);
	bool swap = length <= (size_t)limits_in_force().max_getput_md;
	if (swap) {
		fill_pattern(near, length, seed + 1);
		ask(GETPUT, md, BITS, 0);
		CHECK_EQUAL(take_answer(GETPUT, eq).mlength, length);
		CHECK_PATTERN(near, length, seed);
	}
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlEQFree(eq));
	return swap ? 3 : 2;
}

/* ---- Bypass ---- */

static void c3_17_requests_are_served_while_the_target_computes(void)
{
	ptl_handle_eq_t in = new_eq(3 * (SHORT_ROUNDS + LONG_ROUNDS));
	if (am_target())
		open_for_requests(in);
	barrier();
	unsigned requests = 0;
	if (am_initiator()) {
		for (unsigned i = 0; i < SHORT_ROUNDS + LONG_ROUNDS; i++)
			requests += store_read_and_swap(short_and_long[i >= SHORT_ROUNDS], i);
		tell();
	}
	if (am_target())
		compute_until_told();
	unsigned all[MAX_PROCESSES];
	gather(&requests, sizeof(requests), all);
	for (unsigned i = 1; i < all[0] && am_target(); i++) {
		ptl_event_t event; /* it is there already: nothing has to be waited for */
		CHECK_OK(PtlEQGet(in, &event));
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
	}
	if (am_target())
		take(in, PTL_EVENT_GET_END); /* of the last long get: it may follow the reply */
	CHECK_EMPTY(in);
	barrier();
}

/* The target hears of the end only when the initiator's NIC has sent the body, or has read the answer. */
static void complete_while_the_initiator_computes(enum request request)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		open_for_requests(in);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, PTL_MD_EVENT_START_DISABLE, out));
		ask(request, md, BITS, 0);
		compute_until_told();
		take_answer(request, out);
	}
	if (am_target()) {
		CHECK_EQUAL(take(in, request_kinds[request].end).mlength, LONG);
		tell();
	}
	barrier();
}

static void c3_17_a_long_put_completes_while_its_initiator_computes(void)
{
	complete_while_the_initiator_computes(PUT);
}

static void c3_17_a_long_get_completes_while_its_initiator_computes(void)
{
	complete_while_the_initiator_computes(GET);
}

/* The process sleeps in a system call; nothing of it runs but the NIC thread. */
static void c3_17_a_target_that_sleeps_outside_portals_is_served_too(void)
{
	static const struct timespec pause = {0, 20000000}; /* lets the target's NIC thread fall asleep as well */
	if (am_target())
		open_for_requests(PTL_EQ_NONE);
	barrier();
	for (unsigned i = 0; i < 3 && am_initiator(); i++) {
		nanosleep(&pause, NULL);
		store_read_and_swap(short_and_long[i % 2], i);
	}
	barrier(); /* the target is here all the time, asleep in poll() */
}

/* ---- Calls that make progress ---- */

enum look { GET_ONLY, POLL_ONCE, POLL_A_WHILE, WAIT, LOOKS };

/* Looks for events of a queue that has none, until told; WAIT: until its only one comes, which is the last thing. */
static void look_for_events(enum look look, ptl_handle_eq_t eq)
{
	ptl_event_t event;
	int which;
	if (look == WAIT) {
		CHECK_OK(PtlEQWait(eq, &event));
		return;
	}
	while (!told()) {
		int rc = look == GET_ONLY ? PtlEQGet(eq, &event)
					  : PtlEQPoll(&eq, 1, look == POLL_A_WHILE ? 5 : 0, &event, &which);
		if (rc != PTL_EQ_EMPTY)
			return;
	}
}

static void serve_by_looking(enum look look)
{
	ptl_handle_eq_t eq = new_eq(2), out = new_eq(2);
	if (am_target()) {
		open_for_requests(PTL_EQ_NONE);
		open_window(BITS + 1, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	}
	barrier();
	if (am_initiator()) {
		for (unsigned i = 0; i < 4; i++)
			store_read_and_swap(short_and_long[i % 2], i);
		put(bind_md(md_over(NULL, 0, QUIET, out)), PTL_ACK_REQ, BITS + 1);
		take(out, PTL_EVENT_ACK);
		tell();
	}
	if (am_target())
		look_for_events(look, eq);
	barrier();
}

static void c3_17_get_makes_progress(void)
{
	serve_by_looking(GET_ONLY);
}

static void c3_17_poll_that_does_not_wait_makes_progress(void)
{
	serve_by_looking(POLL_ONCE);
}

static void c3_17_poll_makes_progress(void)
{
	serve_by_looking(POLL_A_WHILE);
}

static void c3_17_wait_makes_progress(void)
{
	serve_by_looking(WAIT);
}

/* ---- fork ---- */

static void check_child_is_refused(ptl_handle_eq_t eq, ptl_handle_md_t md)
{
	ptl_process_id_t id;
	ptl_event_t event;
	int interfaces, which;
	CHECK_RC(PtlGetId(ni, &id), PTL_NO_INIT);
	CHECK_RC(PtlEQGet(eq, &event), PTL_NO_INIT);
	CHECK_RC(PtlEQWait(eq, &event), PTL_NO_INIT);
	CHECK_RC(PtlEQPoll(&eq, 1, 10, &event, &which), PTL_NO_INIT);
	CHECK_RC(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_NO_INIT);
	CHECK_RC(PtlMDUnlink(md), PTL_NO_INIT);
	CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_INIT);
	CHECK(PtlInit(&interfaces) != PTL_OK);
	CHECK_RC(PtlNIFini(ni), PTL_NO_INIT);
}

static _Noreturn void live_as_child(ptl_handle_eq_t eq, ptl_handle_md_t md)
{
	check_child_is_refused(eq, md);
	PtlFini();
	open_interface(PTL_PID_ANY);
	ptl_process_id_t id;
	CHECK_OK(PtlGetId(ni, &id));
	CHECK(id.pid != id_of[my_rank].pid);
	put_to_myself();
	if (!over_self())
		ping(target_id());
	PtlFini();
	_exit(0);
}

/* The target puts into the parent while the child lives: the data must reach the parent's pages, not a copy. */
static void c3_18_a_forked_child_starts_anew_and_the_parent_goes_on(void)
{
	ptl_handle_eq_t eq = new_eq(8), out = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	fill_pattern(near, LONG, 1);
	if (am_initiator())
		open_window(BITS,
			    md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	open_door();
	ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
	barrier();
	if (am_initiator())
		ping(target_id());
	barrier();
	pid_t child = am_initiator() ? fork_child() : 0;
	if (am_initiator() && child == 0)
		live_as_child(eq, md);
	for (int i = 0; i < 4; i++) {
		barrier();
		if (am_target()) {
			CHECK_OK(PtlPutRegion(md, 0, short_and_long[i % 2], PTL_ACK_REQ, initiator_id(), INDEX, 0, BITS,
					      0, 0));
			take(out, PTL_EVENT_SEND_END);
			take(out, PTL_EVENT_ACK);
		}
		if (am_initiator()) {
			ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far, end.mlength, 1);
			memset(far, 0, LONG);
			ping(target_id());
		}
	}
	barrier();
	if (am_initiator()) {
		join_child(child);
		ping(target_id());
	}
	barrier();
}

static void c3_18_the_end_of_a_child_disturbs_nobody(void)
{
	open_door();
	if (am_target())
		open_for_requests(PTL_EQ_NONE);
	barrier();
	for (unsigned i = 0; i < 6 && am_initiator(); i++) {
		ping(target_id());
		pid_t child = fork_child();
		if (child == 0) {
			if (i % 3 == 0)
				exit(0); /* runs the exit handlers of the library in the child */
			if (i % 3 == 1)
				PtlFini(); /* forgets what the parent shares, without freeing it */
			_exit(0);
		}
		join_child(child);
		ping(target_id());
		store_read_and_swap(short_and_long[i % 2], i);
	}
	barrier();
}

#define BYPASS(test, numbers) CASE(test, numbers, 2, TRAIT_SEVERAL | TRAIT_NIC_THREAD)

static const struct test tests[] = {
	BYPASS(c3_17_requests_are_served_while_the_target_computes, "3.17/1 3.17/2"),
	BYPASS(c3_17_a_long_put_completes_while_its_initiator_computes, "3.17/3"),
	BYPASS(c3_17_a_long_get_completes_while_its_initiator_computes, "3.17/3"),
	BYPASS(c3_17_a_target_that_sleeps_outside_portals_is_served_too, "3.17/1"),
	CASE_TWO(c3_17_get_makes_progress, "3.17/4"),
	CASE_TWO(c3_17_poll_that_does_not_wait_makes_progress, "3.17/4"),
	CASE_TWO(c3_17_poll_makes_progress, "3.17/4"),
	CASE_TWO(c3_17_wait_makes_progress, "3.17/4"),
	CASE(c3_18_a_forked_child_starts_anew_and_the_parent_goes_on, "3.18/1 3.18/2 3.18/3", 2,
	     TRAIT_PAIR | TRAIT_NO_TSAN),
	CASE_PAIR(c3_18_the_end_of_a_child_disturbs_nobody, "3.18/2 3.18/3"),
	{0},
};

const struct chapter progress_chapter = {.title = "3.17 and 3.18 Progress and fork", .rows = rows, .tests = tests};
