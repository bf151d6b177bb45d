/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.9 Acknowledgements: when they are sent, what they find on arrival. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.9/1", "a put is acknowledged if it was issued with PTL_ACK_REQ from a descriptor with a queue, was "
		  "accepted, and the "
		  "target's descriptor lacks PTL_MD_ACK_DISABLE"},
	{"3.9/2", "no ACK is sent for a put with PTL_NO_ACK_REQ, also spelled PTL_NOACK_REQ"},
	{"3.9/3",
	 "no ACK is asked for from a descriptor without a queue: none comes, none is dropped, no unit is used"},
	{"3.9/4", "no ACK is sent for a put that was dropped"},
	{"3.9/5", "no ACK is sent if the target's descriptor has PTL_MD_ACK_DISABLE"},
	{"3.9/6", "whether an ACK is sent depends neither on the target's queue nor on the events disabled there"},
	{"3.9/7", "truncated puts, even to 0 bytes, are acknowledged with the length that was kept"},
	{"3.9/8", "the ACK is sent after the data is in memory"},
	{"3.9/9", "gets and getputs are never acknowledged"},
	{"3.9/10", "an ACK that finds its descriptor active and with a queue is logged and uses one unit"},
	{"3.9/11", "an ACK whose descriptor is gone is discarded and counted as dropped, whatever has taken its place"},
	{"3.9/12", "an ACK whose descriptor is inactive is discarded and counted as dropped"},
	{"3.9/13", "an ACK whose descriptor has no queue any more is discarded and counted as dropped"},
	{"3.9/14", "ACKs pass access control"},
	{"3.9/15", "ACKs pass the match lists: no entry catches them"},
	{0},
};

static char near[LONG], far[LONG];

static void open_far(ptl_match_bits_t bits, size_t length, unsigned options, ptl_handle_eq_t eq)
{
	if (am_target())
		open_window(bits, md_over(far, length, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | options, eq));
}

/* A source that logs nothing but ACK and UNLINK. */
static ptl_handle_md_t quiet_source(size_t length, ptl_handle_eq_t eq)
{
	return bind_md(md_over(near, length, QUIET, eq));
}

/* ---- Sending ---- */

static void c3_9_an_accepted_put_is_acknowledged(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_far(BITS, LONG, 0, PTL_EQ_NONE);
	open_door();
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(with_threshold(md_over(near, short_and_long[i], QUIET, eq), 3));
		put(md, PTL_ACK_REQ, BITS);
		ptl_event_t ack = take(eq, PTL_EVENT_ACK);
		CHECK_EQUAL(ack.md_handle, md);
		CHECK_EQUAL(ack.mlength, short_and_long[i]);
		CHECK_EQUAL(ack.md.threshold, 1);
		ping(target_id());
		CHECK_EMPTY(eq);
		CHECK_EQUAL(state_of(md).threshold, 1);
	}
	barrier();
	CHECK_EQUAL(drops(), 0);
}

/* An unwanted ACK would have come before that of the ping, which was sent later. */
static void c3_9_no_ack_comes_unless_both_sides_want_it(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	open_far(BITS, LONG, 0, PTL_EQ_NONE);
	open_far(BITS + 1, LONG, PTL_MD_ACK_DISABLE, PTL_EQ_NONE);
	open_door();
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, eq));
		put(md, PTL_NO_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		put(md, PTL_NOACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		put(md, PTL_ACK_REQ, BITS + 1);
		take(eq, PTL_EVENT_SEND_END);
		ping(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
	CHECK_EQUAL(drops(), 0);
}

static void c3_9_a_descriptor_without_queue_asks_for_no_ack(void)
{
	open_far(BITS, LONG, 0, PTL_EQ_NONE);
	open_door();
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(with_threshold(md_over(near, short_and_long[i], 0, PTL_EQ_NONE), 3));
		for (int left = 2; left >= 0; left--) {
			put(md, PTL_ACK_REQ, BITS);
			ping(target_id());
			CHECK_EQUAL(state_of(md).threshold, left);
		}
		CHECK_RC(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
	}
	barrier();
	CHECK_EQUAL(drops(), 0);
}

static void c3_9_a_dropped_put_is_not_acknowledged(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_far(BITS, WORD, 0, PTL_EQ_NONE);
	open_door();
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, eq));
		put(md, PTL_ACK_REQ, BITS); /* too long */
		take(eq, PTL_EVENT_SEND_END);
		ping(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
	if (am_target())
		await_drops(2);
	barrier();
}

static void c3_9_the_ack_comes_whatever_the_target_logs(void)
{
	static const unsigned options[] = {0, PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE, QUIET};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64);
	for (unsigned i = 0; i < 4; i++) {
		open_far(BITS + i, LONG, options[i], in);
		open_far(BITS + 100 + i, LONG, options[i], PTL_EQ_NONE);
	}
	barrier();
	for (unsigned i = 0; i < 16 && am_initiator(); i++) {
		put(quiet_source(short_and_long[i & 1], out), PTL_ACK_REQ, BITS + i / 2 % 4 + i / 8 * 100);
		take(out, PTL_EVENT_ACK);
	}
	barrier();
}

static void c3_9_a_truncated_put_is_acknowledged_with_what_was_kept(void)
{
	static const size_t room[] = {0, 1, 63};
	ptl_handle_eq_t eq = new_eq(8);
	for (unsigned i = 0; i < 3; i++)
		open_far(BITS + i, room[i], PTL_MD_TRUNCATE, PTL_EQ_NONE);
	barrier();
	for (unsigned i = 0; i < 6 && am_initiator(); i++) {
		put(quiet_source(short_and_long[i & 1], eq), PTL_ACK_REQ, BITS + i / 2);
		ptl_event_t ack = take(eq, PTL_EVENT_ACK);
		CHECK_EQUAL(ack.mlength, room[i / 2]);
		CHECK_EQUAL(ack.rlength, short_and_long[i & 1]);
	}
	barrier();
}

/* The initiator looks into the memory that the target gives to all. */
static void c3_9_the_data_is_in_memory_before_the_ack_is_sent(void)
{
	static const size_t length[] = {64, SHARED_SIZE};
	ptl_handle_eq_t eq = new_eq(8);
	char *stored = shared_memory();
	if (am_target())
		open_window(BITS, md_over(stored, SHARED_SIZE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (unsigned i = 0; i < 20 && am_initiator(); i++) {
		fill_pattern(near, length[i & 1], i);
		put(quiet_source(length[i & 1], eq), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_ACK);
		CHECK_PATTERN(stored, length[i & 1], i);
	}
	barrier();
}

static void c3_9_gets_and_getputs_are_not_acknowledged(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	open_far(BITS, LONG, PTL_MD_OP_GET, PTL_EQ_NONE);
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t word = bind_md(md_over(near, WORD, PTL_MD_EVENT_START_DISABLE, eq));
		for (int i = 0; i < 2; i++) {
			get(bind_md(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, eq)), BITS);
			take(eq, PTL_EVENT_REPLY_END);
		}
		CHECK_OK(PtlGetPut(word, word, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_REPLY_END);
		ping(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
	CHECK_EQUAL(drops(), 0);
}

/* ---- Arrival ---- */

/*
 * What the initiator does with the source of a put before its ACK comes: the target stands still meanwhile.  The source
 * logs its SEND_END.
 */
static void disown_before_the_ack(void (*disown)(ptl_handle_md_t md, ptl_handle_eq_t eq))
{
	ptl_handle_eq_t eq = new_eq(8);
	open_far(BITS, WORD, 0, PTL_EQ_NONE);
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, WORD, PTL_MD_EVENT_START_DISABLE, eq));
		ping(target_id());
		stop_process(1);
		put(md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		disown(md, eq);
		continue_process(1);
		await_drops(1);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* Any of the later descriptors would be content with an ACK. */
static void replace(ptl_handle_md_t md, ptl_handle_eq_t eq)
{
	CHECK_OK(PtlMDUnlink(md));
	take_freed_places(md_over(near, WORD, 0, eq));
}

static void c3_9_the_ack_of_a_descriptor_that_is_gone_is_dropped(void)
{
	disown_before_the_ack(replace);
}

static void take_queue_away(ptl_handle_md_t md, ptl_handle_eq_t eq)
{
	ptl_md_t silent = md_over(near, WORD, 0, PTL_EQ_NONE);
	(void)eq;
	CHECK_OK(PtlMDUpdate(md, NULL, &silent, PTL_EQ_NONE));
}

static void c3_9_the_ack_of_a_descriptor_without_queue_is_dropped(void)
{
	disown_before_the_ack(take_queue_away);
}

static void deactivate(ptl_handle_md_t md, ptl_handle_eq_t eq)
{
	ptl_md_t inactive = with_threshold(md_over(near, WORD, 0, eq), 0);
	CHECK_OK(PtlMDUpdate(md, NULL, &inactive, PTL_EQ_NONE));
}

static void c3_9_the_ack_of_a_descriptor_made_inactive_is_dropped(void)
{
	disown_before_the_ack(deactivate);
}

/* Used up by the put itself: the first stays, the second unlinks itself. */
static void c3_9_the_ack_of_a_used_up_descriptor_is_dropped(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_far(BITS, LONG, 0, PTL_EQ_NONE);
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_md_t md = with_threshold(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, eq), 1);
		put(bind_md(md), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		await_drops(2 * i + 1);
		put(bind_mortal_md(md), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_UNLINK);
		await_drops(2 * i + 2);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* No process may send requests to the initiator, and entries that match everything lie in wait on all its lists. */
static void c3_9_acks_pass_access_control_and_match_lists(void)
{
	ptl_handle_eq_t eq = new_eq(8), trap = new_eq(8);
	open_far(BITS, LONG, 0, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_ni_limits_t limits = limits_in_force();
		for (ptl_pt_index_t i = 0; i <= (ptl_pt_index_t)limits.max_pt_index; i++) {
			ptl_handle_me_t me;
			ptl_handle_md_t md;
			CHECK_OK(PtlMEAttach(ni, i, anyone, 0, ~0ull, PTL_RETAIN, PTL_INS_BEFORE, &me));
			CHECK_OK(PtlMDAttach(me, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, trap), PTL_RETAIN,
					     &md));
		}
		for (ptl_ac_index_t i = 0; i <= (ptl_ac_index_t)limits.max_ac_index; i++)
			CHECK_OK(PtlACEntry(ni, i, (ptl_process_id_t){0, 0}, 0, 0, 0));
	}
	for (int i = 0; i < 2 && am_initiator(); i++) {
		put(quiet_source(short_and_long[i], eq), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_ACK);
		CHECK_EQUAL(drops(), 0);
	}
	CHECK_EMPTY(trap);
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_9_an_accepted_put_is_acknowledged, "3.9/1 3.9/10"),
	CASE_PAIR(c3_9_no_ack_comes_unless_both_sides_want_it, "3.9/2 3.9/5"),
	CASE_PAIR(c3_9_a_descriptor_without_queue_asks_for_no_ack, "3.9/3"),
	CASE_PAIR(c3_9_a_dropped_put_is_not_acknowledged, "3.9/4"),
	CASE_PAIR(c3_9_the_ack_comes_whatever_the_target_logs, "3.9/6"),
	CASE_PAIR(c3_9_a_truncated_put_is_acknowledged_with_what_was_kept, "3.9/7"),
	{.name = "c3_9_the_data_is_in_memory_before_the_ack_is_sent",
	 .run = c3_9_the_data_is_in_memory_before_the_ack_is_sent,
	 .processes = 2,
	 .traits = TRAIT_PAIR,
	 .environment = "PTL_SHORT_MAX=4K", /* so that shared memory holds a long message */
	 .proves = "3.9/8 3.7/17"},
	CASE_PAIR(c3_9_gets_and_getputs_are_not_acknowledged, "3.9/9"),
	CASE_TWO(c3_9_the_ack_of_a_descriptor_that_is_gone_is_dropped, "3.9/11 3.10/17"),
	CASE_TWO(c3_9_the_ack_of_a_descriptor_made_inactive_is_dropped, "3.9/12"),
	CASE_PAIR(c3_9_the_ack_of_a_used_up_descriptor_is_dropped, "3.9/12"),
	CASE_TWO(c3_9_the_ack_of_a_descriptor_without_queue_is_dropped, "3.9/13"),
	CASE_TWO(c3_9_acks_pass_access_control_and_match_lists, "3.9/14 3.9/15"),
	{0},
};

const struct chapter acknowledgements_chapter = {
	.title = "3.9 Acknowledgements", .rows = rows, .tests = tests, .core = true};
