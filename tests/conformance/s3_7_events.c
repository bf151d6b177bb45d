/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.7 Which events are logged when, and what each of them promises. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <string.h>
#include <unistd.h>

static const struct row rows[] = {
	{"3.7/1", "a descriptor without a queue logs nothing, and its operations work like any other"},
	{"3.7/2", "a put without ACK logs SEND_START and SEND_END at the initiator, and nothing else"},
	{"3.7/3", "a put logs PUT_START and PUT_END at the target, acknowledged or not"},
	{"3.7/4", "an acknowledged put logs SEND_START, SEND_END and ACK at the initiator"},
	{"3.7/5", "a get logs REPLY_START and REPLY_END at the initiator, and no SEND events"},
	{"3.7/6", "a get logs GET_START and GET_END at the target"},
	{"3.7/7", "a getput logs the SEND pair on the put descriptor and the REPLY pair on the get descriptor"},
	{"3.7/8", "a getput logs GETPUT_START and GETPUT_END at the target"},
	{"3.7/9", "the automatic unlink of a descriptor, at either side and by any operation, adds UNLINK"},
	{"3.7/10", "PTL_MD_EVENT_START_DISABLE suppresses the START events of the descriptor, and only them"},
	{"3.7/11", "PTL_MD_EVENT_END_DISABLE suppresses the END events of the descriptor, and only them"},
	{"3.7/12", "ACK and UNLINK are logged even if START and END events are both disabled"},
	{"3.7/13", "SEND_END: the source may be changed, the target gets what was there before"},
	{"3.7/14", "PUT_END and GETPUT_END: the data is in memory, and Portals does not touch it again"},
	{"3.7/15", "GET_END: the reply has been sent, the memory may be changed"},
	{"3.7/16", "REPLY_END: the data is in memory, and Portals does not touch it again"},
	{"3.7/17", "ACK: the target has stored the data"},
	{"3.7/18", "every START is followed by exactly one END, which may tell a failure"},
	{"3.7/19", "SEND_END comes before the ACK of the same put, always"},
	{"3.7/20", "REPLY_START and REPLY_END come after all events of the request"},
	{"3.7/21", "PUT_END does not depend on what becomes of the ACK"},
	{0},
};

static char near[LONG], far[LONG];

/* ---- The table of events ---- */

static void issue_put(ptl_handle_md_t put_md, ptl_handle_md_t get_md)
{
	(void)get_md;
	put(put_md, PTL_NO_ACK_REQ, BITS);
}

static void issue_acked_put(ptl_handle_md_t put_md, ptl_handle_md_t get_md)
{
	(void)get_md;
	put(put_md, PTL_ACK_REQ, BITS);
}

static void issue_get(ptl_handle_md_t put_md, ptl_handle_md_t get_md)
{
	(void)put_md;
	get(get_md, BITS);
}

static void issue_getput(ptl_handle_md_t put_md, ptl_handle_md_t get_md)
{
	CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
}

/* An operation, the units it takes, and all that its descriptors hear of it.  They unlink themselves afterwards. */
static const struct story {
	void (*issue)(ptl_handle_md_t put_md, ptl_handle_md_t get_md);
	bool may_be_long;
	int put_units, get_units;
	ptl_event_kind_t put_side[4], get_side[3], target[3]; /* up to UNLINK */
} stories[] = {
	{.issue = issue_put,
	 .may_be_long = true,
	 .put_units = 1,
	 .put_side = {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK},
	 .target = {PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK}},
	{.issue = issue_acked_put,
	 .may_be_long = true,
	 .put_units = 2,
	 .put_side = {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_ACK, PTL_EVENT_UNLINK},
	 .target = {PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_UNLINK}},
	{.issue = issue_get,
	 .may_be_long = true,
	 .get_units = 1,
	 .get_side = {PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK},
	 .target = {PTL_EVENT_GET_START, PTL_EVENT_GET_END, PTL_EVENT_UNLINK}},
	{.issue = issue_getput,
	 .put_units = 1,
	 .get_units = 1,
	 .put_side = {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_UNLINK},
	 .get_side = {PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK},
	 .target = {PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END, PTL_EVENT_UNLINK}},
};

enum { A_PUT, AN_ACKED_PUT, A_GET, A_GETPUT, STORIES };

static bool is_disabled(ptl_event_kind_t kind, unsigned options)
{
	switch (kind) {
	case PTL_EVENT_SEND_START:
	case PTL_EVENT_REPLY_START:
	case PTL_EVENT_PUT_START:
	case PTL_EVENT_GET_START:
	case PTL_EVENT_GETPUT_START:
		return options & PTL_MD_EVENT_START_DISABLE;
	case PTL_EVENT_ACK:
	case PTL_EVENT_UNLINK:
		return false;
	default:
		return options & PTL_MD_EVENT_END_DISABLE;
	}
}

static void hear(ptl_handle_eq_t eq, const ptl_event_kind_t *kind, unsigned options)
{
	for (; *kind != PTL_EVENT_UNLINK; kind++)
		if (!is_disabled(*kind, options))
			take(eq, *kind);
	take(eq, PTL_EVENT_UNLINK);
}

static void live_through(const struct story *story, size_t length, unsigned options)
{
	ptl_handle_eq_t out = new_eq(8), back = new_eq(8), in = new_eq(8);
	const ptl_md_t put_md = md_over(near, length, options, out), get_md = md_over(near, length, options, back);
	if (am_target())
		open_mortal_window(BITS, with_threshold(md_over(far, length, ANYWHERE | options, in), 1));
	barrier();
	if (am_initiator()) {
		story->issue(bind_mortal_md(with_threshold(put_md, story->put_units)),
			     bind_mortal_md(with_threshold(get_md, story->get_units)));
		if (story->put_units)
			hear(out, story->put_side, options);
		if (story->get_units)
			hear(back, story->get_side, options);
	}
	if (am_target())
		hear(in, story->target, options);
	if (am_initiator())
		ping(target_id()); /* nothing is under way any more */
	barrier();
	CHECK_EMPTY(out);
	CHECK_EMPTY(back);
	CHECK_EMPTY(in);
}

static void live_through_lengths(int number, unsigned options)
{
	const struct story *story = &stories[number];
	for (int i = 0; i < (story->may_be_long ? 2 : 1); i++)
		live_through(story, short_and_long[i], options);
}

static void c3_7_put_logs_a_pair_at_each_side(void)
{
	open_door();
	live_through_lengths(A_PUT, 0);
}

static void c3_7_acked_put_logs_ack_too(void)
{
	open_door();
	live_through_lengths(AN_ACKED_PUT, 0);
}

static void c3_7_get_logs_a_pair_at_each_side_and_no_send(void)
{
	open_door();
	live_through_lengths(A_GET, 0);
}

static void c3_7_getput_logs_a_pair_for_each_of_its_descriptors(void)
{
	open_door();
	live_through_lengths(A_GETPUT, 0);
}

static void c3_7_disabled_starts_are_not_logged(void)
{
	open_door();
	for (int i = 0; i < STORIES; i++)
		live_through_lengths(i, PTL_MD_EVENT_START_DISABLE);
}

static void c3_7_disabled_ends_are_not_logged(void)
{
	open_door();
	for (int i = 0; i < STORIES; i++)
		live_through_lengths(i, PTL_MD_EVENT_END_DISABLE);
}

static void c3_7_ack_and_unlink_are_neither_start_nor_end(void)
{
	open_door();
	for (int i = 0; i < STORIES; i++)
		live_through_lengths(i, QUIET);
}

static void c3_7_descriptors_that_stay_log_no_unlink(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	open_door();
	if (am_target())
		open_window(BITS, with_threshold(md_over(far, WORD, ANYWHERE, in), 1));
	barrier();
	if (am_initiator()) {
		put(bind_md(with_threshold(md_over(near, WORD, 0, out), 1)), PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_START);
		take(out, PTL_EVENT_SEND_END);
		ping(target_id());
	}
	barrier();
	CHECK_EMPTY(out);
	if (am_target()) {
		take(in, PTL_EVENT_PUT_START);
		take(in, PTL_EVENT_PUT_END);
	}
	CHECK_EMPTY(in);
	barrier();
}

static void c3_7_target_without_queue_serves_in_silence(void)
{
	ptl_handle_eq_t out = new_eq(16), bystander = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		size_t length = short_and_long[i];
		ptl_handle_md_t md = bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out));
		fill_pattern(near, length, 1);
		put(md, PTL_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		CHECK_EQUAL(take(out, PTL_EVENT_ACK).mlength, length);
		memset(near, 0, length);
		get(md, BITS);
		CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).mlength, length);
		CHECK_PATTERN(near, length, 1);
	}
	barrier();
	CHECK_EMPTY(bystander);
}

static void c3_7_initiator_without_queue_is_served_in_silence(void)
{
	ptl_handle_eq_t in = new_eq(16), bystander = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	for (int i = 0; i < 2; i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i], 0, PTL_EQ_NONE));
		fill_pattern(near, short_and_long[i], 1);
		if (am_initiator())
			put(md, PTL_NO_ACK_REQ, BITS);
		if (am_target()) {
			take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far, short_and_long[i], 1);
		}
		barrier();
		if (am_initiator())
			get(md, BITS);
		if (am_target())
			take(in, PTL_EVENT_GET_END);
		barrier();
	}
	CHECK_EMPTY(bystander);
}

/* ---- Promises ---- */

static void c3_7_send_end_gives_the_source_back(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	for (int i = 0; i < 2; i++) {
		size_t length = short_and_long[i];
		if (am_initiator()) {
			fill_pattern(near, length, 1);
			put(bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out)), PTL_NO_ACK_REQ, BITS);
			take(out, PTL_EVENT_SEND_END);
			fill_pattern(near, length, 2);
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far, length, 1);
		}
		barrier();
	}
}

/* The message has not left the network when its source changes. */
static void c3_7_send_end_gives_the_source_back_before_the_data_arrives(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE | PTL_MD_EVENT_START_DISABLE, in));
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[0], PTL_MD_EVENT_START_DISABLE, out));
		fill_pattern(near, short_and_long[0], 1);
		ping(target_id());
		stop_process(1);
		put(md, PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		fill_pattern(near, short_and_long[0], 2);
		continue_process(1);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(far, short_and_long[0], 1);
	}
	barrier();
}

/* A target that overwrites the data once it is there finds its own bytes when all is over. */
static void c3_7_put_end_and_getput_end_mean_that_the_data_is_there_for_good(void)
{
	ptl_handle_eq_t in = new_eq(8);
	open_door();
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE | PTL_MD_EVENT_START_DISABLE, in));
	for (int i = 0; i < 3; i++) {
		size_t length = short_and_long[i & 1];
		memset(far, 0, sizeof(far));
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(near, length, 0, PTL_EQ_NONE));
			fill_pattern(near, length, 1);
			if (i < 2)
				put(md, PTL_NO_ACK_REQ, BITS);
			else
				CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
			ping(target_id());
		}
		if (am_target()) {
			take(in, i < 2 ? PTL_EVENT_PUT_END : PTL_EVENT_GETPUT_END);
			CHECK_PATTERN(far, length, 1);
			fill_pattern(far, length, 3);
		}
		barrier();
		if (am_initiator())
			ping(target_id());
		barrier();
		if (am_target())
			CHECK_PATTERN(far, length, 3);
	}
}

static void c3_7_get_end_gives_the_source_back_and_reply_end_the_data(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	open_door();
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE | PTL_MD_EVENT_START_DISABLE, in));
	for (int i = 0; i < 2; i++) {
		size_t length = short_and_long[i];
		fill_pattern(far, length, 1);
		memset(near, 0, sizeof(near));
		barrier();
		if (am_initiator())
			get(bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out)), BITS);
		if (am_target()) {
			take(in, PTL_EVENT_GET_END);
			fill_pattern(far, length, 2);
		}
		if (am_initiator()) {
			take(out, PTL_EVENT_REPLY_END);
			CHECK_PATTERN(near, length, 1);
			fill_pattern(near, length, 3);
			ping(target_id());
			CHECK_PATTERN(near, length, 3);
		}
		barrier();
	}
}

static void c3_7_put_end_does_not_wait_for_the_ack(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, WORD, ANYWHERE, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(near, WORD, PTL_MD_EVENT_START_DISABLE, out));
	if (am_initiator()) {
		put(md, PTL_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		CHECK_OK(PtlMDUnlink(md)); /* the ACK is not wanted any more, and nothing is there to take it */
	}
	barrier();
	if (am_target()) {
		stop_process(0);
		take(in, PTL_EVENT_PUT_START);
		take(in, PTL_EVENT_PUT_END);
		continue_process(0);
	}
	barrier();
}

/* ---- Order ---- */

/* Takes the events of `operations`, in any order, and finds for each END the START with its link. */
static void take_pairs(ptl_handle_eq_t eq, int operations)
{
	ptl_seq_t started[32] = {0};
	int open = 0;
	for (int i = 0; i < 2 * operations; i++) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (is_disabled(event.type, PTL_MD_EVENT_START_DISABLE)) {
			started[open++] = event.link;
			continue;
		}
		int j = 0;
		while (j < open && started[j] != event.link)
			j++;
		CHECK_LESS(j, open);
		started[j] = started[--open];
	}
	CHECK_EQUAL(open, 0);
	CHECK_EMPTY(eq);
}

static void c3_7_every_start_has_one_end(void)
{
	enum { ROUNDS = 6 };
	ptl_handle_eq_t out = new_eq(4 * ROUNDS), in = new_eq(4 * ROUNDS);
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE, in));
	barrier();
	for (unsigned i = 0; i < ROUNDS && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i & 1], 0, out));
		put(md, PTL_NO_ACK_REQ, BITS);
		get(md, BITS);
	}
	if (am_initiator())
		take_pairs(out, 2 * ROUNDS);
	if (am_target())
		take_pairs(in, 2 * ROUNDS);
	barrier();
}

static void c3_7_start_of_a_send_that_fails_has_its_end_too(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_process_id_t nobody = {initiator_id().nid, 3000000000u + (unsigned)getpid()};
	for (int i = 0; i < 2; i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i], 0, eq));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
		ptl_seq_t link = take(eq, PTL_EVENT_SEND_START).link;
		CHECK_EQUAL(take_failed(eq, PTL_EVENT_SEND_END).link, link);
	}
	CHECK_EMPTY(eq);
}

/* Each put has a descriptor of its own, which tells whose ACK it is. */
static void c3_7_send_end_comes_before_the_ack(void)
{
	enum { PUTS = 16 };
	ptl_handle_eq_t eq = new_eq(2 * PUTS);
	bool ended[PUTS] = {0};
	int acks = 0;
	if (am_target())
		open_window(BITS, md_over(far, LONG, ANYWHERE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < PUTS && am_initiator(); i++) {
		ptl_md_t md = md_over(near, short_and_long[i & 1], PTL_MD_EVENT_START_DISABLE, eq);
		md.user_ptr = &ended[i];
		put(bind_md(md), PTL_ACK_REQ, BITS);
	}
	while (am_initiator() && acks < PUTS) {
		ptl_event_t event = take_any(eq);
		bool *end = event.md.user_ptr;
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		CHECK_EQUAL(event.type, *end ? PTL_EVENT_ACK : PTL_EVENT_SEND_END);
		acks += *end;
		*end = true;
	}
	barrier();
}

static void c3_7_reply_comes_after_the_events_of_the_request(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, WORD, ANYWHERE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 20 && am_initiator(); i++) {
		ptl_handle_md_t put_md = bind_md(md_over(near, WORD, 0, eq));
		ptl_handle_md_t get_md = bind_md(md_over(near + WORD, WORD, 0, eq));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_REPLY_START);
		take(eq, PTL_EVENT_REPLY_END);
	}
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_7_put_logs_a_pair_at_each_side, "3.7/2 3.7/3 3.7/9"),
	CASE_PAIR(c3_7_acked_put_logs_ack_too, "3.7/3 3.7/4 3.7/9"),
	CASE_PAIR(c3_7_get_logs_a_pair_at_each_side_and_no_send, "3.7/5 3.7/6 3.7/9"),
	CASE_PAIR(c3_7_getput_logs_a_pair_for_each_of_its_descriptors, "3.7/7 3.7/8 3.7/9"),
	CASE_PAIR(c3_7_disabled_starts_are_not_logged, "3.7/10"),
	CASE_PAIR(c3_7_disabled_ends_are_not_logged, "3.7/11"),
	CASE_PAIR(c3_7_ack_and_unlink_are_neither_start_nor_end, "3.7/12"),
	CASE_PAIR(c3_7_descriptors_that_stay_log_no_unlink, "3.7/2 3.7/3 3.7/9"),
	CASE_PAIR(c3_7_target_without_queue_serves_in_silence, "3.7/1"),
	CASE_PAIR(c3_7_initiator_without_queue_is_served_in_silence, "3.7/1"),
	CASE_PAIR(c3_7_send_end_gives_the_source_back, "3.7/13"),
	CASE_TWO(c3_7_send_end_gives_the_source_back_before_the_data_arrives, "3.7/13"),
	CASE_PAIR(c3_7_put_end_and_getput_end_mean_that_the_data_is_there_for_good, "3.7/14"),
	CASE_PAIR(c3_7_get_end_gives_the_source_back_and_reply_end_the_data, "3.7/15 3.7/16"),
	CASE_TWO(c3_7_put_end_does_not_wait_for_the_ack, "3.7/21"),
	CASE_PAIR(c3_7_every_start_has_one_end, "3.7/18"),
	{.name = "c3_7_start_of_a_send_that_fails_has_its_end_too",
	 .run = c3_7_start_of_a_send_that_fails_has_its_end_too,
	 .processes = 1,
	 .traits = TRAIT_NETWORK,
	 .environment = "PTL_CONNECT_TIMEOUT=100ms",
	 .proves = "3.7/18"},
	CASE_PAIR(c3_7_send_end_comes_before_the_ack, "3.7/19"),
	CASE_PAIR(c3_7_reply_comes_after_the_events_of_the_request, "3.7/20"),
	{0},
};

const struct chapter events_chapter = {.title = "3.7 Events", .rows = rows, .tests = tests};
