/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts: what arrives, what both sides are told, where it lands, what is refused. */
#include "tests/behaviour/behaviour.h"

#include <string.h>
#include <unistd.h>

static const size_t lengths[] = {0, 1, 8, 16, 56, 57, 240, 1024, 4096, 16384, 65536, 65537, LONG};
#define LENGTHS   (sizeof lengths / sizeof lengths[0])
#define HEADER(i) (0xfedcba9876543210u + (i))

static void check_send_event(const ptl_event_t *event, ptl_handle_md_t md, size_t i)
{
	CHECK_ID(event->initiator, initiator_id());
	CHECK_EQUAL(event->uid, geteuid());
	CHECK_EQUAL(event->jid, initiator_id().pid);
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->match_bits, BITS);
	CHECK_EQUAL(event->rlength, lengths[i]);
	CHECK_EQUAL(event->mlength, lengths[i]);
	CHECK_EQUAL(event->offset, 0);
	CHECK_EQUAL(event->hdr_data, HEADER(i));
	CHECK_EQUAL(event->md_handle, md);
}

static void check_put_event(const ptl_event_t *event, ptl_handle_md_t md, size_t i, size_t offset)
{
	CHECK_ID(event->initiator, initiator_id());
	CHECK_EQUAL(event->uid, geteuid());
	CHECK_EQUAL(event->jid, initiator_id().pid);
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->match_bits, BITS);
	CHECK_EQUAL(event->rlength, lengths[i]);
	CHECK_EQUAL(event->mlength, lengths[i]);
	CHECK_EQUAL(event->offset, offset);
	CHECK_EQUAL(event->hdr_data, HEADER(i));
	CHECK_EQUAL(event->md_handle, md);
}

static void initiate_each_length(ptl_handle_eq_t eq, size_t i)
{
	char *source = memory(lengths[i]);
	fill_pattern(source, lengths[i], (unsigned)i);
	ptl_handle_md_t md = bind_md(md_over(source, lengths[i], 0, eq));
	put_word(md, PTL_NO_ACK_REQ, BITS, 3 * i, HEADER(i));
	ptl_event_t start = take(eq, PTL_EVENT_SEND_START), end = take(eq, PTL_EVENT_SEND_END);
	check_send_event(&start, md, i);
	check_send_event(&end, md, i);
	CHECK_EQUAL(start.link, end.link);
	CHECK(start.sequence != end.sequence);
	CHECK_OK(PtlMDUnlink(md)); /* not pending once its END can be read */
}

static void puts_of_every_length_arrive_and_tell_both_sides_the_whole_story(void)
{
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	char *buffer = memory(LONG + 64);
	struct window window = {0};
	if (am_target())
		window = open_window(BITS, md_over(buffer, LONG + 64, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	for (size_t i = 0; i < LENGTHS; i++) {
		if (am_initiator())
			initiate_each_length(out, i);
		if (am_target()) {
			ptl_event_t start = take(in, PTL_EVENT_PUT_START), end = take(in, PTL_EVENT_PUT_END);
			check_put_event(&start, window.md, i, 3 * i);
			check_put_event(&end, window.md, i, 3 * i);
			CHECK_EQUAL(start.link, end.link);
			CHECK_PATTERN(buffer + 3 * i, lengths[i], (unsigned)i);
			CHECK_EQUAL(buffer[3 * i + lengths[i]], 0);
			memset(buffer, 0, LONG + 64);
		}
		barrier();
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(out);
}

static void events_carry_the_descriptor_as_it_is_after_them(void)
{
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	char source[24], buffer[100] = "";
	ptl_md_t sent = md_over(source, sizeof source, 0, out);
	ptl_md_t taken = md_over(buffer, sizeof buffer, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, in);
	sent.threshold = 7;
	sent.user_ptr = &source[3];
	taken.threshold = 9;
	taken.max_size = 11;
	taken.user_ptr = &buffer[5];
	fill_pattern(source, sizeof source, 1);
	if (am_target())
		open_window(BITS, taken);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(sent);
		put(md, PTL_NO_ACK_REQ, BITS);
		for (int i = 0; i < 2; i++) {
			ptl_event_t event = take_any(out);
			CHECK_EQUAL(event.md.threshold, 6);
			CHECK(event.md.start == source && event.md.length == sizeof source);
			CHECK(event.md.user_ptr == &source[3] && event.md.options == sent.options);
			CHECK_EQUAL(event.md.eq_handle, out);
		}
	}
	if (am_target()) {
		for (int i = 0; i < 2; i++) {
			ptl_event_t event = take_any(in);
			CHECK_EQUAL(event.md.threshold, 8);
			CHECK(event.md.start == buffer && event.md.length == sizeof buffer);
			CHECK(event.md.user_ptr == &buffer[5] && event.md.options == taken.options);
			CHECK_EQUAL(event.md.max_size, 11);
			CHECK_EQUAL(event.md.eq_handle, in);
		}
	}
	barrier();
}

/* The simplest program there is: one descriptor is both source and target, its queue hears of both. */
static void a_put_to_myself_with_one_descriptor_logs_both_pairs(void)
{
	ptl_process_id_t self;
	ptl_handle_eq_t eq = new_eq(8);
	char bytes[64];
	unsigned seen = 0;
	fill_pattern(bytes, sizeof bytes, 4);
	CHECK_OK(PtlGetId(ni, &self));
	struct window window = open_window(BITS, md_over(bytes, sizeof bytes, PTL_MD_OP_PUT, eq));
	CHECK_OK(PtlPut(window.md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 17));
	for (int i = 0; i < 4; i++) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		CHECK(!(seen & 1u << event.type));
		CHECK(event.type != PTL_EVENT_SEND_END || (seen & 1u << PTL_EVENT_SEND_START));
		CHECK(event.type != PTL_EVENT_PUT_END || (seen & 1u << PTL_EVENT_PUT_START));
		CHECK_EQUAL(event.hdr_data, 17);
		seen |= 1u << event.type;
	}
	CHECK_EQUAL(seen, 1u << PTL_EVENT_SEND_START | 1u << PTL_EVENT_SEND_END | 1u << PTL_EVENT_PUT_START |
				  1u << PTL_EVENT_PUT_END);
	CHECK_PATTERN(bytes, sizeof bytes, 4);
	CHECK_OK(PtlMDUnlink(window.md));
	CHECK_OK(PtlMEUnlink(window.me));
	CHECK_EMPTY(eq);
}

static void a_region_put_sends_only_its_region(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	static const size_t regions[][2] = {{0, 10},   {7, 100}, {4095, 65536}, {LONG - 1, 1},
					    {LONG, 0}, {0, 0},   {1, LONG - 1}};
	char *source = memory(LONG), *buffer = memory(LONG);
	fill_pattern(source, LONG, 6);
	if (am_target())
		open_window(BITS, md_over(buffer, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(source, LONG, 0, out));
	for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++) {
		size_t offset = regions[i][0], length = regions[i][1];
		if (am_initiator()) {
			CHECK_OK(PtlPutRegion(md, offset, length, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
			take(out, PTL_EVENT_SEND_START);
			ptl_event_t end = take(out, PTL_EVENT_SEND_END);
			CHECK_EQUAL(end.offset, offset);
			CHECK_EQUAL(end.rlength, length);
			CHECK_EQUAL(end.mlength, length);
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_START);
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.mlength, length);
			CHECK_EQUAL(end.offset, 0);
			CHECK(memcmp(buffer, source + offset, length) == 0);
		}
		barrier();
	}
}

static void a_descriptor_in_a_match_entry_can_be_the_source(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char source[40], buffer[40] = "";
	fill_pattern(source, sizeof source, 3);
	if (am_target())
		open_window(BITS, md_over(buffer, sizeof buffer, PTL_MD_OP_PUT, in));
	barrier();
	if (am_initiator()) {
		struct window window = open_window(BITS + 1, md_over(source, sizeof source, PTL_MD_OP_GET, out));
		put(window.md, PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_START);
		take(out, PTL_EVENT_SEND_END);
		close_window(window);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_START);
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(buffer, sizeof buffer, 3);
	}
	barrier();
}

static void a_put_without_bytes_needs_no_memory(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, out));
		put_word(md, PTL_ACK_REQ, BITS, 0, 99);
		take(out, PTL_EVENT_SEND_START);
		take(out, PTL_EVENT_SEND_END);
		ptl_event_t ack = take(out, PTL_EVENT_ACK);
		CHECK_EQUAL(ack.rlength, 0);
		CHECK_EQUAL(ack.mlength, 0);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_START);
		ptl_event_t end = take(in, PTL_EVENT_PUT_END);
		CHECK_EQUAL(end.rlength, 0);
		CHECK_EQUAL(end.mlength, 0);
		CHECK_EQUAL(end.hdr_data, 99);
	}
	barrier();
}

/* Four puts of these lengths into a locally managed window of 100 bytes. */
static void local_offsets_grow_by_what_was_moved(void)
{
	ptl_handle_eq_t out = new_eq(32), in = new_eq(32);
	static const size_t length[] = {30, 0, 50, 40, 0}, offset[] = {0, 30, 30, 80, 100},
			    moved[] = {30, 0, 50, 20, 0};
	char source[100], buffer[101] = "";
	fill_pattern(source, sizeof source, 2);
	if (am_target())
		open_window(BITS, md_over(buffer, 100, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(source, sizeof source, 0, out));
	for (size_t i = 0; i < 5; i++) {
		if (am_initiator()) {
			/* The remote offset means nothing to a locally managed descriptor. */
			CHECK_OK(PtlPutRegion(md, 0, length[i], PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 77, 0));
			take(out, PTL_EVENT_SEND_START);
			take(out, PTL_EVENT_SEND_END);
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_START);
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.offset, offset[i]);
			CHECK_EQUAL(end.rlength, length[i]);
			CHECK_EQUAL(end.mlength, moved[i]);
			CHECK_PATTERN(buffer + offset[i], moved[i], 2);
		}
		barrier();
	}
	CHECK_EQUAL(buffer[100], 0);
}

static void a_put_without_bytes_fits_into_a_full_window_that_does_not_truncate(void)
{
	ptl_handle_eq_t out = new_eq(32), in = new_eq(32);
	char source[16] = "", buffer[16];
	if (am_target())
		open_window(BITS, md_over(buffer, sizeof buffer, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(source, sizeof source, PTL_MD_EVENT_START_DISABLE, out));
		put(md, PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		CHECK_OK(PtlPutRegion(md, 16, 0, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_ACK);
	}
	if (am_target()) {
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).offset, 0);
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).offset, 16);
	}
	barrier();
}

static void a_put_that_is_too_long_is_cut_where_the_window_allows_it(void)
{
	static const size_t sent[] = {101, 300, 70000, LONG};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *source = memory(LONG), *buffer = memory(200);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_MANAGE_REMOTE;
	fill_pattern(source, LONG, 8);
	if (am_target())
		open_window(BITS, md_over(buffer, 100, options, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(source, LONG, 0, out));
	for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
		if (am_initiator()) {
			CHECK_OK(PtlPutRegion(md, 0, sent[i], PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 10, 0));
			take(out, PTL_EVENT_SEND_START);
			CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).mlength, sent[i]);
			ptl_event_t ack = take(out, PTL_EVENT_ACK);
			CHECK_EQUAL(ack.rlength, sent[i]);
			CHECK_EQUAL(ack.mlength, 90);
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_START);
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.rlength, sent[i]);
			CHECK_EQUAL(end.mlength, 90);
			CHECK_PATTERN(buffer + 10, 90, 8);
			CHECK_EQUAL(buffer[100], 0);
		}
		barrier();
	}
}

static void disabled_start_and_end_events_are_not_logged(void)
{
	ptl_handle_eq_t out[3], in[3];
	static const unsigned disable[] = {PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE,
					   PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE};
	char source[32] = "", buffer[3][32];
	for (int i = 0; i < 3; i++) {
		out[i] = new_eq(8);
		in[i] = new_eq(8);
		if (am_target())
			open_window(BITS + i, md_over(buffer[i], 32, PTL_MD_OP_PUT | disable[i], in[i]));
	}
	open_door();
	barrier();
	if (am_initiator()) {
		for (int i = 0; i < 3; i++)
			put(bind_md(md_over(source, sizeof source, disable[i], out[i])), PTL_NO_ACK_REQ, BITS + i);
		knock(target_id());
		take(out[0], PTL_EVENT_SEND_END);
		take(out[1], PTL_EVENT_SEND_START);
	}
	barrier();
	if (am_target()) {
		take(in[0], PTL_EVENT_PUT_END);
		take(in[1], PTL_EVENT_PUT_START);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_EMPTY(out[i]);
		CHECK_EMPTY(in[i]);
	}
	barrier();
}

static void a_used_up_descriptor_sends_nothing_more(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char bytes[8] = "";
	if (am_target())
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, in));
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(bytes, sizeof bytes, PTL_MD_EVENT_START_DISABLE, out);
		md.threshold = 2;
		ptl_handle_md_t handle = bind_md(md);
		put(handle, PTL_NO_ACK_REQ, BITS);
		CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).md.threshold, 1);
		put(handle, PTL_NO_ACK_REQ, BITS);
		CHECK_RC(PtlPut(handle, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
		CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).md.threshold, 0);
		CHECK_EMPTY(out);
		CHECK_OK(PtlMDUnlink(handle));
	}
	if (am_target())
		for (int i = 0; i < 2; i++) {
			take(in, PTL_EVENT_PUT_START);
			take(in, PTL_EVENT_PUT_END);
		}
	barrier();
	CHECK_EMPTY(in);
}

static void overlapping_descriptors_work_side_by_side(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char source[10], buffer[30] = "";
	fill_pattern(source, sizeof source, 5);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	if (am_target()) {
		open_window(BITS, md_over(buffer, 20, options, in));
		open_window(BITS + 1, md_over(buffer + 10, 20, options, in));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(source, sizeof source, PTL_MD_EVENT_START_DISABLE, out));
		put(md, PTL_NO_ACK_REQ, BITS);
		put(md, PTL_NO_ACK_REQ, BITS + 1);
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_END);
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(buffer, 10, 5);
		CHECK_PATTERN(buffer + 10, 10, 5);
	}
	barrier();
}

const struct test put_tests[] = {
	PAIR(puts_of_every_length_arrive_and_tell_both_sides_the_whole_story),
	PAIR(events_carry_the_descriptor_as_it_is_after_them),
	ALONE(a_put_to_myself_with_one_descriptor_logs_both_pairs),
	PAIR(a_region_put_sends_only_its_region),
	PAIR(a_descriptor_in_a_match_entry_can_be_the_source),
	PAIR(a_put_without_bytes_needs_no_memory),
	PAIR(local_offsets_grow_by_what_was_moved),
	PAIR(a_put_without_bytes_fits_into_a_full_window_that_does_not_truncate),
	PAIR(a_put_that_is_too_long_is_cut_where_the_window_allows_it),
	PAIR(disabled_start_and_end_events_are_not_logged),
	PAIR(a_used_up_descriptor_sends_nothing_more),
	PAIR(overlapping_descriptors_work_side_by_side),
	{0},
};
