/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.6 Thresholds: how many operations a descriptor takes, and what counts as one. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.6/1", "an operation uses one unit of its descriptor's threshold; its START and END count once"},
	{"3.6/2", "units are used whether or not the events of the operation are logged"},
	{"3.6/3", "UNLINK uses no unit"},
	{"3.6/4", "PtlMDUpdate that installs nothing, other local calls and refused calls use no unit"},
	{"3.6/5", "PtlPut and PtlPutRegion use one unit of the initiator's descriptor, at the time of the call"},
	{"3.6/6", "an ACK that arrives uses one unit of the initiator's descriptor"},
	{"3.6/7", "PtlGet and PtlGetRegion use no unit at the time of the call"},
	{"3.6/8", "a REPLY that arrives, to a get or a getput, uses one unit of the get descriptor"},
	{"3.6/9", "PtlGetPut uses one unit of the put descriptor at the time of the call"},
	{"3.6/10",
	 "a put, get or getput uses one unit of the target's descriptor if it is accepted, none if it is not"},
	{"3.6/11", "sending the ACK or the REPLY uses no unit of the target's descriptor"},
	{"3.6/12",
	 "a put that wants its ACK needs a threshold of 2; with 1 the descriptor is inactive when the ACK comes, which "
	 "is then discarded"},
	{"3.6/13", "a getput with one descriptor at both ends needs a threshold of 2"},
	{"3.6/14", "from the operation on that makes the threshold 0, when it starts, the descriptor takes no new one"},
	{"3.6/15", "operations under way when the threshold becomes 0 finish and log their END"},
	{"3.6/16", "a threshold never runs below 0, and PTL_MD_THRESH_INF never runs down"},
	{"3.6/17",
	 "the threshold in the md of an event is that right after its operation took its unit, in START and END alike, "
	 "whatever others have taken since: of N operations one tells N - 1, ... and one tells 0"},
	{"3.6/18", "PTL_MD_THRESH_INF stays so in events; UNLINK tells what the descriptor has left"},
	{0},
};

#define MANY 8

static char near[LONG], far[LONG];

static struct window target_window(size_t length, int threshold, unsigned options, ptl_handle_eq_t eq)
{
	return open_window(BITS, with_threshold(md_over(far, length, ANYWHERE | options, eq), threshold));
}

static ptl_handle_md_t initiator_md(size_t length, int threshold, unsigned options, ptl_handle_eq_t eq)
{
	return bind_md(with_threshold(md_over(near, length, options, eq), threshold));
}

static void take_pair_leaving(ptl_handle_eq_t eq, ptl_event_kind_t start, ptl_event_kind_t end, int threshold)
{
	CHECK_EQUAL(take(eq, start).md.threshold, threshold);
	CHECK_EQUAL(take(eq, end).md.threshold, threshold);
}

/* Where nothing is logged, only the descriptor itself tells that an answer has come. */
static void await_threshold(ptl_handle_md_t md, int threshold)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	while (state_of(md).threshold > threshold && now_ns() < deadline)
		lend_time();
	CHECK_EQUAL(state_of(md).threshold, threshold);
}

/* ---- One unit each ---- */

static void c3_6_start_and_end_of_a_put_are_one_unit(void)
{
	for (int i = 0; i < 2; i++) {
		ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
		struct window window = {0};
		if (am_target())
			window = target_window(LONG, 3, 0, in);
		barrier();
		ptl_handle_md_t md = initiator_md(short_and_long[i], 3, 0, out);
		for (int left = 2; left >= 0 && am_initiator(); left--) {
			put(md, PTL_NO_ACK_REQ, BITS);
			take_pair_leaving(out, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, left);
		}
		for (int left = 2; left >= 0 && am_target(); left--)
			take_pair_leaving(in, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, left);
		if (am_target())
			close_window(window);
		barrier();
	}
}

static void c3_6_get_uses_a_unit_only_when_its_reply_comes(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		target_window(LONG, 4, 0, in);
	open_door();
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t md = initiator_md(short_and_long[i], 2, 0, out);
		get(md, BITS + 1); /* no answer comes to that */
		ping(target_id());
		CHECK_EQUAL(state_of(md).threshold, 2);
		get(md, BITS);
		take_pair_leaving(out, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, 1);
		CHECK_OK(PtlGetRegion(md, 0, short_and_long[i], target_id(), INDEX, 0, BITS, 0));
		take_pair_leaving(out, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, 0);
	}
	for (int left = 3; left >= 0 && am_target(); left--)
		take_pair_leaving(in, PTL_EVENT_GET_START, PTL_EVENT_GET_END, left);
	barrier();
}

static void c3_6_getput_uses_a_unit_of_each_of_its_three_descriptors(void)
{
	ptl_handle_eq_t out = new_eq(8), back = new_eq(8), in = new_eq(8);
	if (am_target())
		target_window(WORD, 5, 0, in);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t put_md = initiator_md(WORD, 6, 0, out), get_md = initiator_md(WORD, 7, 0, back);
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		take_pair_leaving(out, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, 5);
		take_pair_leaving(back, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, 6);
	}
	if (am_target())
		take_pair_leaving(in, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END, 4);
	barrier();
}

static void c3_6_ack_uses_a_unit_of_its_own(void)
{
	ptl_handle_eq_t out = new_eq(8);
	if (am_target())
		target_window(LONG, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		put(initiator_md(short_and_long[i], 5, 0, out), PTL_ACK_REQ, BITS);
		take_pair_leaving(out, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, 4);
		CHECK_EQUAL(take(out, PTL_EVENT_ACK).md.threshold, 3);
	}
	barrier();
}

static void c3_6_acks_and_replies_cost_the_target_nothing(void)
{
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	struct window window = {0};
	if (am_target())
		window = target_window(LONG, 6, PTL_MD_EVENT_START_DISABLE, in);
	barrier();
	for (int i = 0; i < 2; i++) {
		ptl_handle_md_t md = initiator_md(short_and_long[i], PTL_MD_THRESH_INF, QUIET, out);
		if (am_initiator()) {
			put(md, PTL_ACK_REQ, BITS);
			take(out, PTL_EVENT_ACK);
			get(md, BITS);
		}
		if (am_target()) {
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).md.threshold, 5 - 2 * i);
			CHECK_EQUAL(take(in, PTL_EVENT_GET_END).md.threshold, 4 - 2 * i);
		}
		barrier();
	}
	if (am_initiator()) {
		ptl_handle_md_t md = initiator_md(WORD, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, out);
		CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_REPLY_END);
	}
	if (am_target())
		CHECK_EQUAL(take(in, PTL_EVENT_GETPUT_END).md.threshold, 1);
	barrier();
	if (am_target())
		CHECK_EQUAL(state_of(window.md).threshold, 1);
}

static void c3_6_refused_requests_cost_the_target_nothing(void)
{
	struct window window = {0};
	if (am_target()) {
		ptl_md_t md = md_over(far, WORD, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
		window = open_window(BITS, with_threshold(md, 1));
	}
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = initiator_md(WORD, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
		get(md, BITS);
		CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
		put_word(md, PTL_NO_ACK_REQ, BITS, 1, 0);
		put(initiator_md(LONG, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_NO_ACK_REQ, BITS);
		ping(target_id());
	}
	barrier();
	if (am_target()) {
		await_drops(4);
		CHECK_EQUAL(state_of(window.md).threshold, 1);
	}
	barrier();
}

/* With a queue whose descriptor logs neither START nor END, and without one. */
static void c3_6_units_are_used_without_events(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	const struct {
		unsigned options;
		ptl_handle_eq_t eq;
	} silent[] = {{QUIET, eq}, {0, PTL_EQ_NONE}};
	open_door();
	for (int i = 0; i < 2; i++) {
		struct window window = {0};
		if (am_target())
			window = target_window(WORD, 4, silent[i].options, silent[i].eq);
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = initiator_md(WORD, 5, silent[i].options, silent[i].eq);
			put(md, PTL_NO_ACK_REQ, BITS);
			await_threshold(md, 4);
			get(md, BITS);
			await_threshold(md, 3);
			CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
			await_threshold(md, 1);
			put(md, PTL_NO_ACK_REQ, BITS);
			CHECK_RC(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
			put(initiator_md(WORD, 1, 0, PTL_EQ_NONE), PTL_NO_ACK_REQ, BITS);
			ping(target_id());
		}
		barrier();
		if (am_target()) {
			await_drops(i + 1);
			CHECK_EQUAL(state_of(window.md).threshold, 0);
			close_window(window);
		}
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* One descriptor is used up by counting, the other by becoming too full with units left. */
static void c3_6_unlink_uses_no_unit(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target()) {
		ptl_md_t md = md_over(far, 2 * WORD, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, in);
		md.max_size = WORD + 1;
		open_mortal_window(BITS, with_threshold(md, 5));
	}
	barrier();
	if (am_initiator()) {
		put(bind_mortal_md(with_threshold(md_over(near, WORD, 0, out), 1)), PTL_NO_ACK_REQ, BITS);
		take_pair_leaving(out, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, 0);
		CHECK_EQUAL(take(out, PTL_EVENT_UNLINK).md.threshold, 0);
	}
	if (am_target()) {
		take_pair_leaving(in, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, 4);
		CHECK_EQUAL(take(in, PTL_EVENT_UNLINK).md.threshold, 4);
	}
	barrier();
}

static void c3_6_local_and_refused_calls_use_no_unit(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = initiator_md(WORD, 3, 0, eq);
	ptl_md_t wanted = state_of(md);
	ptl_handle_ni_t owner;
	ptl_process_id_t me = id_of[my_rank];
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, me, INDEX, 0, BITS, 0, 0));
	CHECK_RC(PtlMDUpdate(md, NULL, &wanted, eq), PTL_MD_NO_UPDATE); /* its events are unread */
	CHECK_OK(PtlMDUpdate(md, NULL, NULL, eq));
	CHECK_OK(PtlNIHandle(md, &owner));
	CHECK_RC(PtlPut(md, PTL_NO_ACK_REQ, anyone, INDEX, 0, BITS, 0, 0), PTL_PROCESS_INVALID);
	CHECK_RC(PtlPutRegion(md, 1, WORD, PTL_NO_ACK_REQ, me, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_RC(PtlGetRegion(md, 1, WORD, me, INDEX, 0, BITS, 0), PTL_MD_ILLEGAL);
	CHECK_RC(PtlGetPut(PTL_INVALID_HANDLE, md, me, INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
	CHECK_EQUAL(state_of(md).threshold, 2);
	CHECK_OK(PtlMDUpdate(md, NULL, &wanted, PTL_EQ_NONE));
	CHECK_EQUAL(state_of(md).threshold, 3);
}

/* ---- What events tell ---- */

/* Each of so many operations tells a threshold of its own, in all its events. */
static void take_operations(ptl_handle_eq_t eq, int operations, int events)
{
	ptl_seq_t links[3 * MANY];
	bool told[3 * MANY] = {false};
	for (int i = 0; i < events; i++) {
		ptl_event_t event = take_any(eq);
		CHECK(event.md.threshold >= 0 && event.md.threshold < operations);
		if (told[event.md.threshold])
			CHECK_EQUAL(event.link, links[event.md.threshold]);
		told[event.md.threshold] = true;
		links[event.md.threshold] = event.link;
	}
	for (int i = 0; i < operations; i++)
		CHECK(told[i]);
	CHECK_EMPTY(eq);
}

/* Long ones, so that they are under way together. */
static void c3_6_operations_that_overlap_tell_each_its_own_threshold(void)
{
	for (int quiet = 0; quiet < 2; quiet++) {
		const unsigned options = quiet ? PTL_MD_EVENT_START_DISABLE : 0;
		const int pair = quiet ? 1 : 2; /* events */
		ptl_handle_eq_t out = new_eq(8 * MANY), in = new_eq(8 * MANY);
		struct window window = {0};
		if (am_target())
			window = target_window(LONG, 2 * MANY, options, in);
		barrier();
		ptl_handle_md_t md = initiator_md(LONG, 3 * MANY, options, out);
		for (int i = 0; i < MANY && am_initiator(); i++) {
			put(md, PTL_ACK_REQ, BITS);
			get(md, BITS);
		}
		if (am_initiator())
			take_operations(out, 3 * MANY, 2 * MANY * pair + MANY); /* SEND and REPLY, ACK */
		if (am_target()) {
			take_operations(in, 2 * MANY, 2 * MANY * pair); /* PUT and GET */
			close_window(window);
		}
		barrier();
	}
}

/* ---- When ---- */

/* The target stands still, so that none of the messages gets further than into the network. */
static void c3_6_units_of_requests_are_used_by_the_call_itself(void)
{
	ptl_handle_eq_t eq = new_eq(32);
	if (am_target())
		target_window(LONG, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
	open_door();
	barrier();
	if (am_initiator()) {
		ping(target_id());
		stop_process(1);
		ptl_handle_md_t put_md = initiator_md(LONG, 2, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t get_md = initiator_md(LONG, 1, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t swap_md = initiator_md(WORD, 1, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t old_md = initiator_md(WORD, 1, 0, PTL_EQ_NONE);
		put(put_md, PTL_NO_ACK_REQ, BITS);
		CHECK_EQUAL(state_of(put_md).threshold, 1);
		CHECK_OK(PtlPutRegion(put_md, 0, LONG, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(state_of(put_md).threshold, 0);
		CHECK_RC(PtlPut(put_md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
		get(get_md, BITS);
		CHECK_OK(PtlGetRegion(get_md, 0, 1, target_id(), INDEX, 0, BITS, 0));
		CHECK_EQUAL(state_of(get_md).threshold, 1);
		CHECK_OK(PtlGetPut(old_md, swap_md, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(state_of(swap_md).threshold, 0);
		CHECK_EQUAL(state_of(old_md).threshold, 1);
		continue_process(1);
		int ends[PTL_EVENT_UNLINK + 1] = {0};
		for (int i = 0; i < 4; i++)
			ends[take_any(eq).type]++;
		CHECK_EQUAL(ends[PTL_EVENT_SEND_END], 3);
		CHECK_EQUAL(ends[PTL_EVENT_REPLY_END], 1);
	}
	barrier();
}

/* The short put finds the first window closed, though the long one is still being moved into it. */
static void c3_6_used_up_window_takes_nothing_new_but_finishes_what_it_has(void)
{
	ptl_handle_eq_t first = new_eq(8), second = new_eq(8);
	fill_pattern(near, LONG, 1);
	char *spare = memory(LONG);
	if (am_target()) {
		target_window(LONG, 1, 0, first);
		open_window(BITS, md_over(spare, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, second));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = initiator_md(LONG, 2, 0, PTL_EQ_NONE);
		put(md, PTL_NO_ACK_REQ, BITS);
		CHECK_OK(PtlPutRegion(md, 0, WORD, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	}
	if (am_target()) {
		take(second, PTL_EVENT_PUT_START);
		CHECK_EQUAL(take(second, PTL_EVENT_PUT_END).mlength, WORD);
		take_pair_leaving(first, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, 0);
		CHECK_PATTERN(far, LONG, 1);
		CHECK_EMPTY(first);
	}
	barrier();
}

/* ---- How many ---- */

static void c3_6_put_that_wants_its_ack_needs_two_units(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		target_window(LONG, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t rich = initiator_md(short_and_long[i], 2, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t poor = initiator_md(short_and_long[i], 1, PTL_MD_EVENT_START_DISABLE, eq);
		put(rich, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_ACK);
		CHECK_EQUAL(drops(), i);
		put(poor, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		await_drops(i + 1);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(state_of(poor).threshold, 0);
	}
	barrier();
}

static void c3_6_acks_beyond_the_threshold_are_discarded(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		target_window(WORD, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
	open_door();
	barrier();
	if (am_initiator()) {
		ping(target_id());
		stop_process(1);
		ptl_handle_md_t md = initiator_md(WORD, 3, PTL_MD_EVENT_START_DISABLE, eq);
		put(md, PTL_ACK_REQ, BITS);
		put(md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_SEND_END);
		continue_process(1);
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).md.threshold, 0);
		await_drops(1);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(state_of(md).threshold, 0);
	}
	barrier();
}

static void c3_6_getput_with_one_descriptor_at_both_ends_needs_two_units(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		target_window(WORD, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t rich = initiator_md(WORD, 2, 0, eq), poor = initiator_md(WORD, 1, 0, eq);
		CHECK_OK(PtlGetPut(rich, rich, target_id(), INDEX, 0, BITS, 0, 0));
		take_pair_leaving(eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, 1);
		take_pair_leaving(eq, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, 0);
		CHECK_EQUAL(drops(), 0);
		CHECK_OK(PtlGetPut(poor, poor, target_id(), INDEX, 0, BITS, 0, 0));
		take_pair_leaving(eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, 0);
		await_drops(1);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(state_of(poor).threshold, 0);
	}
	barrier();
}

/* ---- The ends of the scale ---- */

/* Used up, inactive from the start, made inactive: whatever comes afterwards, 0 it stays. */
static void c3_6_threshold_never_runs_below_zero(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_process_id_t self = id_of[my_rank];
	ptl_handle_md_t source = initiator_md(WORD, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE);
	struct window windows[3];
	for (unsigned i = 0; i < 3; i++) {
		ptl_md_t md = md_over(far, WORD, ANYWHERE | PTL_MD_EVENT_START_DISABLE, eq);
		windows[i] = open_window(BITS + i, with_threshold(md, i != 1));
	}
	ptl_md_t stopped = with_threshold(state_of(windows[2].md), 0);
	CHECK_OK(PtlMDUpdate(windows[2].md, NULL, &stopped, PTL_EQ_NONE));
	CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md.threshold, 0);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + i, 0, 0));
		CHECK_OK(PtlGet(source, self, INDEX, 0, BITS + i, 0));
		CHECK_RC(PtlPut(windows[i].md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
		CHECK_RC(PtlGet(windows[i].md, self, INDEX, 0, BITS, 0), PTL_MD_INVALID);
	}
	await_drops(6);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQUAL(state_of(windows[i].md).threshold, 0);
	CHECK_EMPTY(eq);
}

static void c3_6_unlimited_threshold_never_runs_down(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		target_window(WORD, PTL_MD_THRESH_INF, 0, in);
	barrier();
	ptl_handle_md_t md = initiator_md(WORD, PTL_MD_THRESH_INF, 0, out);
	for (int i = 0; i < 3; i++) {
		if (am_initiator()) {
			put(md, PTL_ACK_REQ, BITS);
			take_pair_leaving(out, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_MD_THRESH_INF);
			CHECK_EQUAL(take(out, PTL_EVENT_ACK).md.threshold, PTL_MD_THRESH_INF);
		}
		if (am_target())
			take_pair_leaving(in, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_MD_THRESH_INF);
	}
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_6_start_and_end_of_a_put_are_one_unit, "3.6/1 3.6/5 3.6/10 3.6/17"),
	CASE_PAIR(c3_6_get_uses_a_unit_only_when_its_reply_comes, "3.6/1 3.6/7 3.6/8 3.6/10 3.6/17"),
	CASE_PAIR(c3_6_getput_uses_a_unit_of_each_of_its_three_descriptors, "3.6/1 3.6/8 3.6/9 3.6/10 3.6/17"),
	CASE_PAIR(c3_6_ack_uses_a_unit_of_its_own, "3.6/6 3.6/17"),
	CASE_PAIR(c3_6_acks_and_replies_cost_the_target_nothing, "3.6/11"),
	CASE_PAIR(c3_6_refused_requests_cost_the_target_nothing, "3.6/10"),
	CASE_PAIR(c3_6_units_are_used_without_events, "3.6/2"),
	CASE_PAIR(c3_6_unlink_uses_no_unit, "3.6/3 3.6/17 3.6/18"),
	CASE_ALONE(c3_6_local_and_refused_calls_use_no_unit, "3.6/4"),
	CASE_PAIR(c3_6_operations_that_overlap_tell_each_its_own_threshold, "3.6/17"),
	CASE_TWO(c3_6_units_of_requests_are_used_by_the_call_itself, "3.6/5 3.6/7 3.6/9 3.6/14 3.6/15"),
	CASE_PAIR(c3_6_used_up_window_takes_nothing_new_but_finishes_what_it_has, "3.6/14 3.6/15"),
	CASE_PAIR(c3_6_put_that_wants_its_ack_needs_two_units, "3.6/12"),
	CASE_TWO(c3_6_acks_beyond_the_threshold_are_discarded, "3.6/6 3.6/12"),
	CASE_PAIR(c3_6_getput_with_one_descriptor_at_both_ends_needs_two_units, "3.6/13"),
	CASE_ALONE(c3_6_threshold_never_runs_below_zero, "3.6/16"),
	CASE_PAIR(c3_6_unlimited_threshold_never_runs_down, "3.6/16 3.6/18"),
	{0},
};

const struct chapter thresholds_chapter = {.title = "3.6 Thresholds", .rows = rows, .tests = tests};
