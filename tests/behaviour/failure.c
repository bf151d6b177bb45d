/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that die or stand still.  Rank 0 survives, rank 1 is the victim, rank 2 is the third process the survivor must
 * still be able to work with.  The transfers are so long that whoever reads the START event and kills at once kills in
 * their middle.
 */
#include "tests/behaviour/behaviour.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BIG ((size_t)(UNDER_SANITIZER ? 64 : 256) << 20)

static bool survivor(void)
{
	return my_rank == 0;
}

static bool victim(void)
{
	return my_rank == 1;
}

static _Noreturn void die(void)
{
	expect_death(my_rank);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static void murder(int rank)
{
	expect_death(rank);
	CHECK(kill(pid_of(rank), SIGKILL) == 0);
}

/* Survivor and third process put to and get from each other; everybody calls this after the death. */
static void the_living_work_on(void)
{
	static const size_t lengths[] = {8, LONG};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(32);
	char *near = memory(LONG), *far = memory(LONG);
	int peer = 2 - my_rank;
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	fill_pattern(near, LONG, (unsigned)my_rank);
	open_window_on(INDEX_SIDE, BITS, md_over(far, LONG, options, in));
	barrier(); /* the victim is dead: the runner has buried it */
	ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(PtlPutRegion(md, 0, lengths[i], PTL_ACK_REQ, id_of[peer], INDEX_SIDE, 0, BITS, 0, 0));
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_ACK);
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(far, lengths[i], (unsigned)peer);
	}
	barrier();
	for (int i = 0; i < 2; i++) {
		CHECK_OK(PtlGetRegion(md, 0, lengths[i], id_of[peer], INDEX_SIDE, 0, BITS, 0));
		take(out, PTL_EVENT_REPLY_END);
		CHECK_PATTERN(near, lengths[i], (unsigned)my_rank);
		take(in, PTL_EVENT_GET_END);
	}
	barrier();
}

static void a_long_put_whose_initiator_is_killed_ends_in_failure(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	struct window window = {0};
	char *bytes = memory(my_rank < 2 ? BIG : 0);
	if (survivor())
		window = open_window(BITS, md_over(bytes, BIG, PTL_MD_OP_PUT, eq));
	barrier();
	if (victim()) {
		memset(bytes, 1, BIG);
		ptl_handle_md_t md = bind_md(md_over(bytes, BIG, 0, eq));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
		for (;;)
			take_any(eq); /* serves the transfer where no NIC thread does, until killed */
	}
	if (survivor()) {
		ptl_seq_t link = take(eq, PTL_EVENT_PUT_START).link;
		murder(1);
		CHECK_EQUAL(take_failed(eq, PTL_EVENT_PUT_END).link, link);
		CHECK_EMPTY(eq);
		close_window(window);
	}
	the_living_work_on();
}

static void a_long_put_whose_target_is_killed_ends_in_failure(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(my_rank < 2 ? BIG : 0);
	if (victim())
		open_window(BITS, md_over(bytes, BIG, PTL_MD_OP_PUT, eq));
	barrier();
	if (victim()) {
		take(eq, PTL_EVENT_PUT_START);
		die();
	}
	if (survivor()) {
		memset(bytes, 1, BIG);
		ptl_handle_md_t md = bind_md(md_over(bytes, BIG, 0, eq));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[1], INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_START);
		take_failed(eq, PTL_EVENT_SEND_END);
		CHECK_EMPTY(eq);
		CHECK_OK(PtlMDUnlink(md));
	}
	the_living_work_on();
}

static void a_long_get_whose_target_is_killed_ends_in_failure(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(my_rank < 2 ? BIG : 0);
	if (victim()) {
		memset(bytes, 1, BIG);
		open_window(BITS, md_over(bytes, BIG, PTL_MD_OP_GET, eq));
	}
	barrier();
	if (victim()) {
		take(eq, PTL_EVENT_GET_START);
		die();
	}
	if (survivor()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, BIG, 0, eq));
		CHECK_OK(PtlGet(md, id_of[1], INDEX, 0, BITS, 0));
		ptl_seq_t link = take(eq, PTL_EVENT_REPLY_START).link;
		CHECK_EQUAL(take_failed(eq, PTL_EVENT_REPLY_END).link, link);
		CHECK_EMPTY(eq);
		CHECK_OK(PtlMDUnlink(md));
	}
	the_living_work_on();
}

static void a_long_get_whose_initiator_is_killed_ends_in_failure(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	struct window window = {0};
	char *bytes = memory(my_rank < 2 ? BIG : 0);
	if (survivor()) {
		memset(bytes, 1, BIG);
		window = open_window(BITS, md_over(bytes, BIG, PTL_MD_OP_GET, eq));
	}
	barrier();
	if (victim()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, BIG, 0, eq));
		CHECK_OK(PtlGet(md, id_of[0], INDEX, 0, BITS, 0));
		for (;;)
			take_any(eq);
	}
	if (survivor()) {
		ptl_seq_t link = take(eq, PTL_EVENT_GET_START).link;
		murder(1);
		CHECK_EQUAL(take_failed(eq, PTL_EVENT_GET_END).link, link);
		CHECK_EMPTY(eq);
		close_window(window);
	}
	the_living_work_on();
}

/* The victim stands still, so nothing is answered; then it dies. */
static void answers_owed_by_a_killed_process_fail(void)
{
	ptl_handle_eq_t ack_eq = new_eq(8), reply_eq = new_eq(8);
	static char bytes[8];
	open_door();
	barrier();
	if (survivor()) {
		ptl_handle_md_t put_md = bind_md(md_over(bytes, 8, 0, ack_eq));
		ptl_handle_md_t get_md = bind_md(md_over(bytes, 8, 0, reply_eq));
		knock(id_of[1]);
		stop_process(1);
		CHECK_OK(PtlPut(put_md, PTL_ACK_REQ, id_of[1], INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGet(get_md, id_of[1], INDEX, 0, BITS, 0));
		take(ack_eq, PTL_EVENT_SEND_START);
		take(ack_eq, PTL_EVENT_SEND_END);
		murder(1);
		take_failed(ack_eq, PTL_EVENT_ACK);
		take(reply_eq, PTL_EVENT_REPLY_START);
		take_failed(reply_eq, PTL_EVENT_REPLY_END);
		CHECK_OK(PtlMDUnlink(put_md));
		CHECK_OK(PtlMDUnlink(get_md));
	}
	if (victim())
		barrier(); /* answers until it is stopped */
	the_living_work_on();
}

static void a_stopped_peer_is_not_dead(ptl_time_t stop_ms)
{
	ptl_handle_eq_t eq = new_eq(32), in = new_eq(32);
	char *near = memory(LONG), *far = memory(LONG);
	fill_pattern(near, LONG, 1);
	open_door();
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, eq));
		ptl_event_t event;
		int which, acks = 0, sends = 0, replies = 0;
		knock(target_id());
		stop_process(1);
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, 8, target_id(), INDEX, 0, BITS, 0));
		take(eq, PTL_EVENT_SEND_END); /* the short put has left */
		CHECK_RC(PtlEQPoll(&eq, 1, stop_ms, &event, &which), PTL_EQ_EMPTY);
		continue_process(1);
		while (acks < 2 || sends < 1 || replies < 1) {
			event = take_any(eq);
			CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
			acks += event.type == PTL_EVENT_ACK;
			sends += event.type == PTL_EVENT_SEND_END;
			replies += event.type == PTL_EVENT_REPLY_END;
		}
		knock(target_id());
	}
	barrier();
	if (am_target())
		CHECK_PATTERN(far, LONG, 1);
}

static void a_peer_stopped_for_5_seconds_is_not_dead(void)
{
	a_stopped_peer_is_not_dead(5000);
}

static void a_peer_stopped_for_30_seconds_is_not_dead(void)
{
	a_stopped_peer_is_not_dead(30000);
}

#define DEADLY(test)                                                                                                   \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 3, .traits = TRAIT_SEVERAL,                                   \
		.environment = "PTL_PEER_TIMEOUT=5s", .seconds = 60                                                    \
	}

const struct test failure_tests[] = {
	DEADLY(a_long_put_whose_initiator_is_killed_ends_in_failure),
	DEADLY(a_long_put_whose_target_is_killed_ends_in_failure),
	DEADLY(a_long_get_whose_target_is_killed_ends_in_failure),
	DEADLY(a_long_get_whose_initiator_is_killed_ends_in_failure),
	DEADLY(answers_owed_by_a_killed_process_fail),
	TWO(a_peer_stopped_for_5_seconds_is_not_dead),
	{.name = "a_peer_stopped_for_30_seconds_is_not_dead",
	 .run = a_peer_stopped_for_30_seconds_is_not_dead,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NIGHTLY,
	 .seconds = 60},
	{0},
};
