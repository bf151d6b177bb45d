/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs of the Cray XT expect of events (PTL_DIALECT=cray): a get that is two operations of its descriptor, UNLINK
 * only where it is asked for, thresholds as they were before the operation took its unit.
 */
#include "tests/behaviour/clients/clients.h"

#define OFFSET 5
#define MANY   8

static char *there, *here;

static void open_source(void)
{
	there = memory(LONG);
	here = memory(OFFSET + LONG);
	fill_pattern(there, LONG, 1);
	if (am_target())
		open_window(BITS, md_over(there, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
}

static void get_bytes(ptl_handle_md_t md, size_t length)
{
	CHECK_OK(PtlGetRegion(md, OFFSET, length, target_id(), INDEX, 0, BITS, 0));
}

/* As a client that counts them expects it: a descriptor for one get has a threshold of 2. */
static void get_once(size_t length, ptl_handle_eq_t eq)
{
	ptl_md_t md = with_threshold(md_over(here, OFFSET + length, PTL_MD_EVENT_AUTO_UNLINK_ENABLE, eq), 2);
	const ptl_handle_md_t handle = bind_mortal_md(md);
	get_bytes(handle, length);
	ptl_event_t event = take(eq, PTL_EVENT_SEND_START);
	ptl_seq_t link = event.link;
	CHECK_ID(event.initiator, initiator_id());
	CHECK_EQUAL(event.md.threshold, 2);
	CHECK_EQUAL(event.offset, OFFSET);
	CHECK_EQUAL(event.rlength, length);
	CHECK_EQUAL(event.match_bits, BITS);
	event = take(eq, PTL_EVENT_SEND_END);
	CHECK_EQUAL(event.link, link);
	CHECK_EQUAL(event.md.threshold, 2);
	event = take(eq, PTL_EVENT_REPLY_START);
	CHECK(event.link != link);
	link = event.link;
	CHECK_EQUAL(event.md.threshold, 1);
	event = take(eq, PTL_EVENT_REPLY_END);
	CHECK_EQUAL(event.link, link);
	CHECK_EQUAL(event.md.threshold, 1);
	CHECK_EQUAL(event.offset, OFFSET);
	CHECK_EQUAL(event.mlength, length);
	CHECK_PATTERN(here + OFFSET, length, 1);
	CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).link, link);
	CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
}

static void a_get_is_two_operations(void)
{
	open_source();
	if (am_initiator()) {
		ptl_handle_eq_t eq = new_eq(16);
		get_once(0, eq);
		get_once(short_and_long[0], eq);
		get_once(LONG, eq);
	}
	barrier();
}

static void the_request_of_a_get_is_silent_where_sends_are(void)
{
	open_source();
	if (am_initiator()) {
		ptl_handle_eq_t eq = new_eq(16);
		get_bytes(bind_md(md_over(here, OFFSET + LONG, PTL_MD_EVENT_START_DISABLE, eq)), LONG);
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md.threshold, PTL_MD_THRESH_INF);
		take(eq, PTL_EVENT_REPLY_END);
		const unsigned options = QUIET | PTL_MD_EVENT_AUTO_UNLINK_ENABLE;
		get_bytes(bind_mortal_md(with_threshold(md_over(here, OFFSET + LONG, options, eq), 2)), LONG);
		take(eq, PTL_EVENT_UNLINK);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* With one unit only the request is gone before the reply comes. */
static void a_get_with_one_unit_drops_its_reply(void)
{
	open_source();
	if (am_initiator()) {
		ptl_handle_eq_t eq = new_eq(16);
		get_bytes(bind_mortal_md(with_threshold(md_over(here, OFFSET + 8, 0, eq), 1)), 8);
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		await_drops(1);
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void a_get_from_nobody_fails_in_both(void)
{
	char bytes[8];
	ptl_handle_eq_t eq = new_eq(16);
	ptl_handle_md_t md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlGet(md, nobody(), INDEX, 0, BITS, 0));
	CHECK_EQUAL(take_failed(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_UNREACHABLE);
	CHECK_EQUAL(take_failed(eq, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_UNREACHABLE);
	CHECK_OK(PtlMDUnlink(md));
}

static void unlink_is_told_on_request(void)
{
	static char byte;
	ptl_handle_eq_t eq = new_eq(16);
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_md_t source = bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE));
	for (int asked = 0; asked < 2; asked++) {
		const unsigned options =
			PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | (asked ? PTL_MD_EVENT_AUTO_UNLINK_ENABLE : 0);
		struct window window = open_mortal_window(BITS, with_threshold(md_over(&byte, 1, options, eq), 1));
		CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md.threshold, 1);
		if (asked)
			CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).md_handle, window.md);
		await_drops(asked);
		CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		await_drops(asked + 1); /* it is gone, with its entry */
		CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
		CHECK_EMPTY(eq);
	}
}

/* However many puts are under way together, one of them is the last: it alone tells a threshold of 1. */
static void receive_all(ptl_handle_eq_t eq)
{
	int told[MANY] = {0};
	unsigned last = 0, before = 0;
	for (int i = 0; i < 2 * MANY; i++) {
		ptl_event_t event = take_any(eq);
		CHECK(event.md.threshold >= 1 && event.md.threshold <= MANY);
		if (event.type == PTL_EVENT_PUT_START) {
			CHECK_EQUAL(event.md.threshold, MANY - (int)before++);
			told[event.md.threshold - 1] = (int)event.link;
		} else {
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
			CHECK_EQUAL(event.link, told[event.md.threshold - 1]);
			last += event.md.threshold == 1;
		}
	}
	CHECK_EQUAL(last, 1);
}

static void events_tell_the_threshold_of_before(void)
{
	ptl_handle_eq_t eq = new_eq(4 * MANY);
	here = memory(LONG);
	if (am_target())
		open_mortal_window(
			BITS,
			with_threshold(md_over(memory(LONG), LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), MANY));
	barrier();
	if (am_initiator()) {
		ptl_handle_eq_t sent = over_self() ? PTL_EQ_NONE : eq;
		ptl_handle_md_t md = bind_md(with_threshold(md_over(here, LONG, 0, sent), 2 * MANY));
		for (int i = 0; i < MANY; i++)
			put(md, PTL_ACK_REQ, BITS);
		for (int i = 0, begun = 0; i < 3 * MANY && !over_self(); i++) {
			ptl_event_t event = take_any(eq);
			CHECK(event.md.threshold >= 1 && event.md.threshold <= 2 * MANY);
			if (event.type != PTL_EVENT_SEND_START)
				continue;
			CHECK(event.md.threshold <= 2 * MANY - begun);   /* those before it took their units */
			CHECK(event.md.threshold >= 2 * (MANY - begun)); /* and their ACKs perhaps theirs */
			begun++;
		}
	}
	if (am_target())
		receive_all(eq);
	barrier();
}

#define CRAY(test, count, traits_)                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = count, .traits = traits_, .environment = "PTL_DIALECT=cray"   \
	}

const struct test dialect_tests[] = {
	CRAY(a_get_is_two_operations, 2, TRAIT_PAIR),
	CRAY(the_request_of_a_get_is_silent_where_sends_are, 2, TRAIT_PAIR),
	CRAY(a_get_with_one_unit_drops_its_reply, 2, TRAIT_PAIR),
	{.name = "a_get_from_nobody_fails_in_both",
	 .run = a_get_from_nobody_fails_in_both,
	 .processes = 1,
	 .traits = TRAIT_NETWORK,
	 .environment = "PTL_DIALECT=cray PTL_CONNECT_TIMEOUT=1s"},
	CRAY(unlink_is_told_on_request, 1, 0),
	CRAY(events_tell_the_threshold_of_before, 2, TRAIT_PAIR),
	{0},
};
