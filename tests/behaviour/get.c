/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets: what comes back, what both sides are told, what is cut or refused. */
#include "tests/behaviour/behaviour.h"

#include <string.h>
#include <unistd.h>

static const size_t lengths[] = {0, 1, 8, 56, 57, 240, 4096, 16384, 65536, 65537, LONG};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

static void check_reply_event(const ptl_event_t *event, ptl_handle_md_t md, size_t offset, size_t length)
{
	CHECK_ID(event->initiator, target_id());
	CHECK_EQUAL(event->uid, geteuid());
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->match_bits, BITS);
	CHECK_EQUAL(event->rlength, length);
	CHECK_EQUAL(event->mlength, length);
	CHECK_EQUAL(event->offset, offset);
	CHECK_EQUAL(event->hdr_data, 0);
	CHECK_EQUAL(event->md_handle, md);
}

static void check_get_event(const ptl_event_t *event, ptl_handle_md_t md, size_t offset, size_t length)
{
	CHECK_ID(event->initiator, initiator_id());
	CHECK_EQUAL(event->uid, geteuid());
	CHECK_EQUAL(event->jid, initiator_id().pid);
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->match_bits, BITS);
	CHECK_EQUAL(event->rlength, length);
	CHECK_EQUAL(event->mlength, length);
	CHECK_EQUAL(event->offset, offset);
	CHECK_EQUAL(event->hdr_data, 0);
	CHECK_EQUAL(event->md_handle, md);
}

static void gets_of_every_length_return_the_bytes_and_tell_both_sides(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *source = memory(LONG + 64), *buffer = memory(LONG + 64);
	struct window window = {0};
	fill_pattern(source, LONG + 64, 1);
	if (am_target())
		window = open_window(BITS, md_over(source, LONG + 64, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	for (size_t i = 0; i < LENGTHS; i++) {
		if (am_initiator()) {
			memset(buffer, 0, LONG + 64);
			ptl_handle_md_t md = bind_md(md_over(buffer, lengths[i], 0, out));
			CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, 5 * i));
			ptl_event_t start = take(out, PTL_EVENT_REPLY_START), end = take(out, PTL_EVENT_REPLY_END);
			check_reply_event(&start, md, 0, lengths[i]);
			check_reply_event(&end, md, 0, lengths[i]);
			CHECK_EQUAL(start.link, end.link);
			CHECK(memcmp(buffer, source + 5 * i, lengths[i]) == 0);
			CHECK_EQUAL(buffer[lengths[i]], 0);
			CHECK_OK(PtlMDUnlink(md));
		}
		if (am_target()) {
			ptl_event_t start = take(in, PTL_EVENT_GET_START), end = take(in, PTL_EVENT_GET_END);
			check_get_event(&start, window.md, 5 * i, lengths[i]);
			check_get_event(&end, window.md, 5 * i, lengths[i]);
			CHECK_EQUAL(start.link, end.link);
		}
		barrier();
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(out);
}

static void a_get_with_threshold_one_unlinks_after_its_reply(void)
{
	static const size_t length[] = {8, LONG};
	ptl_handle_eq_t eq = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	fill_pattern(source, LONG, 2);
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_md_t md = md_over(buffer, length[i], 0, eq);
		md.threshold = 1;
		ptl_handle_md_t handle = bind_mortal_md(md);
		get(handle, BITS);
		ptl_event_t start = take(eq, PTL_EVENT_REPLY_START), end = take(eq, PTL_EVENT_REPLY_END);
		ptl_event_t unlink = take(eq, PTL_EVENT_UNLINK);
		CHECK_EQUAL(start.md.threshold, 0);
		CHECK_EQUAL(unlink.link, end.link);
		CHECK_EQUAL(unlink.md_handle, handle);
		CHECK_PATTERN(buffer, length[i], 2);
		CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void a_region_get_writes_only_its_region(void)
{
	static const size_t regions[][2] = {{0, 10}, {7, 100}, {4095, 65536}, {LONG - 1, 1}, {LONG, 0}, {1, LONG - 2}};
	ptl_handle_eq_t eq = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	fill_pattern(source, LONG, 3);
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(buffer, LONG, 0, eq));
		for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++) {
			size_t offset = regions[i][0], length = regions[i][1];
			memset(buffer, 0x55, LONG);
			CHECK_OK(PtlGetRegion(md, offset, length, target_id(), INDEX, 0, BITS, 0));
			take(eq, PTL_EVENT_REPLY_START);
			ptl_event_t end = take(eq, PTL_EVENT_REPLY_END);
			check_reply_event(&end, md, offset, length);
			CHECK_PATTERN(buffer + offset, length, 3);
			CHECK(offset == 0 || buffer[offset - 1] == 0x55);
			CHECK(offset + length == LONG || buffer[offset + length] == 0x55);
		}
	}
	barrier();
}

static void a_get_of_more_than_there_is_returns_what_there_is(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *source = memory(100), *buffer = memory(LONG);
	fill_pattern(source, 100, 4);
	unsigned options = PTL_MD_OP_GET | PTL_MD_TRUNCATE | PTL_MD_MANAGE_REMOTE;
	if (am_target())
		open_window(BITS, md_over(source, 100, options, in));
	barrier();
	for (size_t offset = 0; offset <= 100; offset += 50) {
		if (am_initiator()) {
			memset(buffer, 0, 101);
			ptl_handle_md_t md = bind_md(md_over(buffer, LONG, 0, out));
			CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, offset));
			take(out, PTL_EVENT_REPLY_START);
			ptl_event_t end = take(out, PTL_EVENT_REPLY_END);
			CHECK_EQUAL(end.rlength, LONG);
			CHECK_EQUAL(end.mlength, 100 - offset);
			CHECK(memcmp(buffer, source + offset, 100 - offset) == 0);
			CHECK_EQUAL(buffer[100 - offset], 0);
			CHECK_OK(PtlMDUnlink(md));
		}
		if (am_target()) {
			take(in, PTL_EVENT_GET_START);
			ptl_event_t end = take(in, PTL_EVENT_GET_END);
			CHECK_EQUAL(end.rlength, LONG);
			CHECK_EQUAL(end.mlength, 100 - offset);
			CHECK_EQUAL(end.offset, offset);
		}
		barrier();
	}
}

static void gets_from_a_locally_managed_descriptor_walk_through_it(void)
{
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	char *source = memory(100), *buffer = memory(100);
	fill_pattern(source, 100, 5);
	if (am_target())
		open_window(BITS, md_over(source, 100, PTL_MD_OP_GET, in));
	barrier();
	for (size_t offset = 0; offset < 100; offset += 20) {
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(buffer + offset, 20, PTL_MD_EVENT_START_DISABLE, out));
			get(md, BITS);
			take(out, PTL_EVENT_REPLY_END);
			CHECK_PATTERN(buffer, offset + 20, 5);
		}
		if (am_target()) {
			CHECK_EQUAL(take(in, PTL_EVENT_GET_START).offset, offset);
			CHECK_EQUAL(take(in, PTL_EVENT_GET_END).offset, offset);
		}
		barrier();
	}
}

static void a_get_request_costs_no_threshold_and_its_reply_one(void)
{
	ptl_handle_eq_t out = new_eq(16);
	char *source = memory(64), *buffer = memory(64);
	if (am_target())
		open_window(BITS, md_over(source, 64, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(buffer, 64, PTL_MD_EVENT_START_DISABLE, out);
		md.threshold = 2;
		ptl_handle_md_t handle = bind_md(md);
		get(handle, BITS);
		CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).md.threshold, 1);
		get(handle, BITS);
		CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).md.threshold, 0);
		CHECK_RC(PtlGet(handle, target_id(), INDEX, 0, BITS, 0), PTL_MD_INVALID);
		CHECK_EMPTY(out);
	}
	barrier();
}

static void a_get_from_myself_works_while_i_am_also_the_target(void)
{
	static const size_t length[] = {0, 64, LONG};
	ptl_process_id_t self;
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	fill_pattern(source, LONG, 7);
	CHECK_OK(PtlGetId(ni, &self));
	open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	for (int i = 0; i < 3; i++) {
		ptl_handle_md_t md = bind_md(md_over(buffer, length[i], 0, out));
		CHECK_OK(PtlGet(md, self, INDEX, 0, BITS, 0));
		take(out, PTL_EVENT_REPLY_START);
		CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).mlength, length[i]);
		take(in, PTL_EVENT_GET_START);
		take(in, PTL_EVENT_GET_END);
		CHECK_PATTERN(buffer, length[i], 7);
	}
}

const struct test get_tests[] = {
	PAIR(gets_of_every_length_return_the_bytes_and_tell_both_sides),
	PAIR(a_get_with_threshold_one_unlinks_after_its_reply),
	PAIR(a_region_get_writes_only_its_region),
	PAIR(a_get_of_more_than_there_is_returns_what_there_is),
	PAIR(gets_from_a_locally_managed_descriptor_walk_through_it),
	PAIR(a_get_request_costs_no_threshold_and_its_reply_one),
	ALONE(a_get_from_myself_works_while_i_am_also_the_target),
	{0},
};
