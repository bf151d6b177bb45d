/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that stand still.  What becomes of operations whose peer dies is a chapter of the conformance suite. */
#include "tests/behaviour/behaviour.h"

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

const struct test failure_tests[] = {
	TWO(a_peer_stopped_for_5_seconds_is_not_dead),
	{.name = "a_peer_stopped_for_30_seconds_is_not_dead",
	 .run = a_peer_stopped_for_30_seconds_is_not_dead,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NIGHTLY,
	 .seconds = 60},
	{0},
};
