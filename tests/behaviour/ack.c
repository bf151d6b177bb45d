/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledgements: when they come, what they say, what they cost. */
#include "tests/behaviour/behaviour.h"

/* A window of 64 bytes that takes any number of puts; everything a test of acknowledgements needs at the target. */
static void open_plain_window(ptl_match_bits_t bits, unsigned options, ptl_handle_eq_t eq)
{
	static char buffer[64];
	if (am_target())
		open_window(bits, md_over(buffer, sizeof buffer, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | options, eq));
}

static void an_acknowledged_put_with_threshold_two_unlinks_after_the_ack(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char bytes[16] = "";
	open_plain_window(BITS, 0, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(bytes, sizeof bytes, 0, eq);
		md.threshold = 2;
		md.user_ptr = bytes;
		ptl_handle_md_t handle = bind_mortal_md(md);
		put(handle, PTL_ACK_REQ, BITS);
		ptl_event_t start = take(eq, PTL_EVENT_SEND_START), end = take(eq, PTL_EVENT_SEND_END);
		ptl_event_t ack = take(eq, PTL_EVENT_ACK), unlink = take(eq, PTL_EVENT_UNLINK);
		CHECK_EQUAL(start.link, end.link);
		CHECK_EQUAL(unlink.link, ack.link);
		CHECK_EQUAL(unlink.md_handle, handle);
		CHECK_EQUAL(unlink.md.threshold, 0);
		CHECK(unlink.md.user_ptr == bytes);
		CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void ack_and_unlink_come_even_if_start_and_end_are_disabled(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char bytes[16] = "";
	open_plain_window(BITS, 0, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(bytes, sizeof bytes, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq);
		md.threshold = 2;
		ptl_handle_md_t handle = bind_mortal_md(md);
		put(handle, PTL_ACK_REQ, BITS);
		ptl_event_t ack = take(eq, PTL_EVENT_ACK), unlink = take(eq, PTL_EVENT_UNLINK);
		CHECK_EQUAL(unlink.link, ack.link);
		CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void an_ack_echoes_the_put_and_names_the_target(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	static const size_t length[] = {10, LONG - 100};
	open_door();
	if (am_target())
		open_window(BITS, md_over(buffer, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_md_t md = md_over(source, LONG, 0, eq);
		md.threshold = 5;
		ptl_handle_md_t handle = bind_md(md);
		CHECK_OK(PtlPutRegion(handle, 33, length[i], PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 12, 777));
		take(eq, PTL_EVENT_SEND_START);
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md.threshold, 4);
		ptl_event_t ack = take(eq, PTL_EVENT_ACK);
		CHECK_ID(ack.initiator, target_id());
		CHECK_EQUAL(ack.pt_index, INDEX);
		CHECK_EQUAL(ack.match_bits, BITS);
		CHECK_EQUAL(ack.rlength, length[i]);
		CHECK_EQUAL(ack.mlength, length[i]);
		CHECK_EQUAL(ack.offset, 33);
		CHECK_EQUAL(ack.hdr_data, 0);
		CHECK_EQUAL(ack.md_handle, handle);
		CHECK_EQUAL(ack.md.threshold, 3);
		CHECK_OK(PtlMDUnlink(handle));
	}
	barrier();
}

static void an_ack_comes_whatever_the_target_logs(void)
{
	static const unsigned options[] = {0, PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE,
					   PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64);
	char bytes[16] = "";
	for (unsigned i = 0; i < 4; i++) {
		open_plain_window(BITS + i, options[i], in);
		open_plain_window(BITS + 100 + i, options[i], PTL_EQ_NONE);
	}
	barrier();
	if (am_initiator()) {
		unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
		ptl_handle_md_t md = bind_md(md_over(bytes, sizeof bytes, quiet, out));
		for (unsigned i = 0; i < 8; i++) {
			put(md, PTL_ACK_REQ, BITS + (i & 3) + 100 * (i >> 2));
			take(out, PTL_EVENT_ACK);
		}
	}
	barrier();
}

/* An unwanted ACK would have come before that of the knock, which was sent later. */
static void no_ack_comes_unless_both_sides_want_it(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	char bytes[16] = "";
	open_door();
	open_plain_window(BITS, 0, PTL_EQ_NONE);
	open_plain_window(BITS + 1, PTL_MD_ACK_DISABLE, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
		ptl_handle_md_t md = bind_md(md_over(bytes, sizeof bytes, quiet, eq));
		put(md, PTL_NO_ACK_REQ, BITS);
		put(md, PTL_NOACK_REQ, BITS);
		put(md, PTL_ACK_REQ, BITS + 1);
		knock(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void a_descriptor_without_queue_asks_for_no_ack(void)
{
	char bytes[16] = "";
	open_door();
	open_plain_window(BITS, 0, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(bytes, sizeof bytes, 0, PTL_EQ_NONE);
		md.threshold = 3;
		ptl_handle_md_t handle = bind_md(md);
		for (int i = 0; i < 3; i++) {
			put(handle, PTL_ACK_REQ, BITS);
			knock(target_id());
		}
		CHECK_RC(PtlPut(handle, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static void an_ack_for_a_used_up_descriptor_is_dropped_and_counted(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char bytes[16] = "";
	open_plain_window(BITS, 0, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(bytes, sizeof bytes, 0, eq);
		md.threshold = 1;
		put(bind_md(md), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		await_drops(1);
		CHECK_EMPTY(eq);
		put(bind_mortal_md(md), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_UNLINK);
		await_drops(2);
		CHECK_EMPTY(eq);
	}
	barrier();
}

const struct test ack_tests[] = {
	PAIR(an_acknowledged_put_with_threshold_two_unlinks_after_the_ack),
	PAIR(ack_and_unlink_come_even_if_start_and_end_are_disabled),
	PAIR(an_ack_echoes_the_put_and_names_the_target),
	PAIR(an_ack_comes_whatever_the_target_logs),
	PAIR(no_ack_comes_unless_both_sides_want_it),
	PAIR(a_descriptor_without_queue_asks_for_no_ack),
	PAIR(an_ack_for_a_used_up_descriptor_is_dropped_and_counted),
	{0},
};
