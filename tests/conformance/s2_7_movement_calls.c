/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.7 Data movement: the calls. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <string.h>

#define NONE   PTL_INVALID_HANDLE
#define WINDOW (ANY_REQUEST | PTL_MD_MANAGE_REMOTE)

static const struct row rows[] = {
	{"2.7/1", "PtlPut(md, ack_req, target, pt_index, ac_index, match_bits, remote_offset, hdr_data) sends the "
		  "whole descriptor"},
	{"2.7/2",
	 "PtlPutRegion(md, local_offset, length, ack_req, target, pt_index, ac_index, match_bits, remote_offset, "
	 "hdr_data) sends the bytes [local_offset, local_offset + length)"},
	{"2.7/3", "PtlGet(md, target, pt_index, ac_index, match_bits, remote_offset) fetches as much as the whole "
		  "descriptor has"},
	{"2.7/4", "PtlGetRegion(md, local_offset, length, target, pt_index, ac_index, match_bits, remote_offset) "
		  "fetches into the "
		  "bytes [local_offset, local_offset + length)"},
	{"2.7/5", "PtlGetPut(get_md, put_md, target, pt_index, ac_index, match_bits, remote_offset, hdr_data) sends "
		  "the whole put_md "
		  "and brings the bytes it replaces into get_md"},
	{"2.7/6", "both descriptors of PtlGetPut may be the same"},
	{"2.7/7", "the whole of a PTL_MD_IOVEC descriptor is the sum of its elements"},
	{"2.7/8", "the calls return before the operation is over: PTL_OK means accepted, events tell the outcome"},
	{"2.7/9", "operations of the initiator neither use nor move its descriptor's local offset"},
	{"2.7/10", "the initiator's descriptor needs neither PTL_MD_OP_PUT nor PTL_MD_OP_GET"},
	{"2.7/11", "a descriptor attached to an entry may also be the initiator's"},
	{"2.7/12",
	 "PTL_ACK_REQ asks for an acknowledgement only if the descriptor has an event queue: none comes, and none is "
	 "counted, for one without"},
	{"2.7/13", "all calls return PTL_MD_INVALID for a bad handle"},
	{"2.7/14", "all calls return PTL_MD_INVALID for an inactive descriptor"},
	{"2.7/15", "PtlPutRegion and PtlGetRegion return PTL_MD_ILLEGAL for bytes outside the descriptor"},
	{"2.7/16", "PtlGetPut returns PTL_MD_ILLEGAL if a descriptor is longer than max_getput_md, or they are of two "
		   "interfaces"},
	{"2.7/17", "all calls return PTL_PROCESS_INVALID for a target that is no single process"},
	{"2.7/18", "all calls return PTL_NO_INIT without PtlInit"},
	{"2.7/19", "the target's portal index, access index and match bits are not checked by the call: the target "
		   "drops, and the "
		   "initiator hears nothing"},
	{0},
};

SIGNATURE(PtlPut, int(ptl_handle_md_t, ptl_ack_req_t, ptl_process_id_t, ptl_pt_index_t, ptl_ac_index_t,
		      ptl_match_bits_t, ptl_size_t, ptl_hdr_data_t));
SIGNATURE(PtlPutRegion, int(ptl_handle_md_t, ptl_size_t, ptl_size_t, ptl_ack_req_t, ptl_process_id_t, ptl_pt_index_t,
			    ptl_ac_index_t, ptl_match_bits_t, ptl_size_t, ptl_hdr_data_t));
SIGNATURE(PtlGet, int(ptl_handle_md_t, ptl_process_id_t, ptl_pt_index_t, ptl_ac_index_t, ptl_match_bits_t, ptl_size_t));
SIGNATURE(PtlGetRegion, int(ptl_handle_md_t, ptl_size_t, ptl_size_t, ptl_process_id_t, ptl_pt_index_t, ptl_ac_index_t,
			    ptl_match_bits_t, ptl_size_t));
SIGNATURE(PtlGetPut, int(ptl_handle_md_t, ptl_handle_md_t, ptl_process_id_t, ptl_pt_index_t, ptl_ac_index_t,
			 ptl_match_bits_t, ptl_size_t, ptl_hdr_data_t));

static char area[64];

/* `length` bytes of `pattern` stand at `offset` of `total` bytes that are zero otherwise. */
static void check_alone(const char *bytes, size_t total, size_t offset, size_t length, const char *pattern)
{
	for (size_t i = 0; i < total; i++) {
		const bool inside = i >= offset && i - offset < length;
		if (bytes[i] != (inside ? pattern[i - offset] : 0))
			FAIL("byte %zu of %zu is 0x%02x", i, total, (unsigned char)bytes[i]);
	}
}

/*
 * The two ends of a move of `length` bytes between 3 at the initiator and 17 at the target.  Every argument has a value
 * of its own, so that two of them exchanged would show.
 */
struct ends {
	size_t length, total;
	char *near, *far;
	ptl_handle_md_t whole, part; /* of `near`: all of it, and what is moved */
};

static struct ends lay_out(size_t length, ptl_handle_eq_t near_eq, ptl_handle_eq_t far_eq)
{
	const size_t total = length + 40;
	char *near = memory(total), *far = memory(total);
	CHECK_OK(PtlACEntry(ni, 2, anyone, PTL_UID_ANY, PTL_JID_ANY, INDEX_SIDE));
	if (am_target())
		open_window_on(INDEX_SIDE, BITS, md_over(far, total, WINDOW, far_eq));
	return (struct ends){length,
			     total,
			     near,
			     far,
			     bind_md(md_over(near, total, PTL_MD_EVENT_START_DISABLE, near_eq)),
			     bind_md(md_over(near + 3, length, PTL_MD_EVENT_START_DISABLE, near_eq))};
}

static void c2_7_a_put_takes_the_region_it_names_to_the_place_it_names(void)
{
	for (int i = 0; i < 2; i++) {
		ptl_handle_eq_t eq = new_eq(8);
		const struct ends ends = lay_out(short_and_long[i], PTL_EQ_NONE, eq);
		fill_pattern(ends.near, ends.total, 5);
		barrier();
		for (int region = 0; region < 2; region++) {
			if (am_initiator() && region)
				CHECK_OK(PtlPutRegion(ends.whole, 3, ends.length, PTL_NO_ACK_REQ, target_id(),
						      INDEX_SIDE, 2, BITS, 17, 99));
			else if (am_initiator())
				CHECK_OK(PtlPut(ends.part, PTL_NO_ACK_REQ, target_id(), INDEX_SIDE, 2, BITS, 17, 99));
			if (am_target()) {
				ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
				CHECK(end.offset == 17 && end.rlength == ends.length && end.mlength == ends.length);
				CHECK(end.pt_index == INDEX_SIDE && end.match_bits == BITS && end.hdr_data == 99);
				check_alone(ends.far, ends.total, 17, ends.length, ends.near + 3);
				memset(ends.far, 0, ends.total);
			}
			barrier();
		}
		CHECK_EMPTY(eq);
	}
}

static void c2_7_a_get_brings_what_it_names_into_the_region_it_names(void)
{
	for (int i = 0; i < 2; i++) {
		ptl_handle_eq_t eq = new_eq(8);
		const struct ends ends = lay_out(short_and_long[i], eq, PTL_EQ_NONE);
		fill_pattern(ends.far, ends.total, 6);
		barrier();
		for (int region = 0; region < 2 && am_initiator(); region++) {
			if (region)
				CHECK_OK(
					PtlGetRegion(ends.whole, 3, ends.length, target_id(), INDEX_SIDE, 2, BITS, 17));
			else
				CHECK_OK(PtlGet(ends.part, target_id(), INDEX_SIDE, 2, BITS, 17));
			ptl_event_t end = take(eq, PTL_EVENT_REPLY_END);
			CHECK(end.rlength == ends.length && end.mlength == ends.length);
			CHECK(end.offset == (region ? 3 : 0) && end.pt_index == INDEX_SIDE && end.match_bits == BITS);
			check_alone(ends.near, ends.total, 3, ends.length, ends.far + 17);
			memset(ends.near, 0, ends.total);
		}
		barrier();
	}
}

static void c2_7_a_getput_sends_the_second_descriptor_and_fills_the_first(void)
{
	char brought[8] = "", sent[8] = "newword", far[24] = "";
	ptl_handle_eq_t eq = new_eq(8), out = new_eq(8);
	CHECK_OK(PtlACEntry(ni, 2, anyone, PTL_UID_ANY, PTL_JID_ANY, INDEX_SIDE));
	if (am_target()) {
		memcpy(far + 5, "oldword", 8);
		open_window_on(INDEX_SIDE, BITS, md_over(far, 24, WINDOW, eq));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t get_md = bind_md(md_over(brought, 8, PTL_MD_EVENT_START_DISABLE, out));
		ptl_handle_md_t put_md = bind_md(md_over(sent, 8, PTL_MD_EVENT_START_DISABLE, out));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX_SIDE, 2, BITS, 5, 99));
		CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).md_handle, put_md);
		CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).md_handle, get_md);
		CHECK_STRING(brought, "oldword");
		CHECK_STRING(sent, "newword");
	}
	if (am_target()) {
		ptl_event_t end = take(eq, PTL_EVENT_GETPUT_END);
		CHECK(end.offset == 5 && end.rlength == 8 && end.mlength == 8 && end.hdr_data == 99);
		check_alone(far, 24, 5, 7, "newword");
	}
	barrier();
}

static void c2_7_a_getput_may_use_one_descriptor_for_both(void)
{
	char word[8] = "mine", far[8] = "yours";
	ptl_handle_eq_t eq = new_eq(8), out = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, 8, WINDOW, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(with_threshold(md_over(word, 8, PTL_MD_EVENT_START_DISABLE, out), 2));
		CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_REPLY_END);
		CHECK_STRING(word, "yours");
	}
	if (am_target()) {
		take(eq, PTL_EVENT_GETPUT_END);
		CHECK_STRING(far, "mine");
	}
	barrier();
}

static void c2_7_the_whole_of_pieces_is_their_sum(void)
{
	for (int i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		char *near = memory(length), *far = memory(length);
		ptl_md_iovec_t pieces[] = {{near, 1}, {near + 1, length - 11}, {NULL, 0}, {near + length - 10, 10}};
		ptl_handle_eq_t eq = new_eq(8), out = new_eq(8);
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(far, length, WINDOW, eq));
		fill_pattern(near, length, 8);
		ptl_handle_md_t md = bind_md(md_over(pieces, 4, PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE, out));
		barrier();
		if (am_initiator()) {
			put(md, PTL_ACK_REQ, BITS);
			CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).rlength, length);
			take(out, PTL_EVENT_ACK);
			memset(near, 0, length);
			get(md, BITS);
			CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).mlength, length);
			CHECK_PATTERN(near, length, 8);
		}
		if (am_target()) {
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).mlength, length);
			CHECK_PATTERN(far, length, 8);
			CHECK_EQUAL(take(eq, PTL_EVENT_GET_END).mlength, length);
			close_window(window);
		}
		barrier();
	}
}

/* All are accepted though no process is there; that is learned from events. */
static void c2_7_the_calls_return_before_the_operation_is_over(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	ptl_handle_md_t md = bind_md(md_over(area, 8, PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlGet(md, nobody(), INDEX, 0, BITS, 0));
	CHECK_OK(PtlGetRegion(md, 0, 8, nobody(), INDEX, 0, BITS, 0));
	CHECK_OK(PtlGetPut(md, md, nobody(), INDEX, 0, BITS, 0, 0));
	int kinds[12] = {0};
	for (int i = 0; i < 6; i++) {
		ptl_event_t event = take_any(eq);
		CHECK(event.ni_fail_type != PTL_NI_OK);
		kinds[event.type]++;
	}
	CHECK_EQUAL(kinds[PTL_EVENT_SEND_END], 3);
	CHECK_EQUAL(kinds[PTL_EVENT_REPLY_END], 3);
	CHECK_EMPTY(eq);
}

/* An attached descriptor with a local offset of its own receives, sends, fetches and receives again. */
static void c2_7_own_operations_leave_the_local_offset_alone(void)
{
	static char region[16], sink[16];
	ptl_handle_eq_t in = new_eq(16), out = new_eq(16);
	struct window window = open_window(BITS, md_over(region, 16, ANY_REQUEST, in));
	struct window other = open_window(BITS + 1, md_over(sink, 16, WINDOW, out));
	ptl_handle_md_t four = bind_md(md_over("four", 4, QUIET, PTL_EQ_NONE));
	const ptl_process_id_t self = id_of[my_rank];
	CHECK_OK(PtlPut(four, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).offset, 0);
	CHECK_OK(PtlPut(window.md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + 1, 0, 0));
	CHECK_EQUAL(take(in, PTL_EVENT_SEND_END).offset, 0);
	CHECK_EQUAL(take(out, PTL_EVENT_PUT_END).mlength, 16);
	CHECK(memcmp(sink, "four\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
	CHECK_OK(PtlGetRegion(window.md, 8, 4, self, INDEX, 0, BITS + 1, 0));
	CHECK_EQUAL(take(out, PTL_EVENT_GET_END).mlength, 4);
	CHECK_EQUAL(take(in, PTL_EVENT_REPLY_END).offset, 8);
	CHECK_OK(PtlGetPut(window.md, window.md, self, INDEX, 0, BITS + 1, 0, 0));
	take(out, PTL_EVENT_GETPUT_END);
	take(in, PTL_EVENT_SEND_END);
	take(in, PTL_EVENT_REPLY_END);
	CHECK_OK(PtlPut(four, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).offset, 4);
	close_window(window);
	close_window(other);
}

static void c2_7_the_initiator_needs_no_operation_bits(void)
{
	for (int i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		char *near = memory(length), *far = memory(length);
		ptl_handle_eq_t out = new_eq(16);
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(far, length, WINDOW, PTL_EQ_NONE));
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out));
			put(md, PTL_ACK_REQ, BITS);
			CHECK_EQUAL(take_answer(PUT, out).mlength, length);
			get(md, BITS);
			CHECK_EQUAL(take_answer(GET, out).mlength, length);
			ptl_handle_md_t word = bind_md(md_over(near, 8, PTL_MD_EVENT_START_DISABLE, out));
			ask(GETPUT, word, BITS, 0);
			CHECK_EQUAL(take_answer(GETPUT, out).mlength, 8);
		}
		barrier();
		if (am_target())
			close_window(window);
	}
}

/* Each of the two puts costs one unit; an acknowledgement would cost another, or be counted as dropped. */
static void c2_7_a_descriptor_without_a_queue_asks_for_no_acknowledgement(void)
{
	open_door();
	if (am_target())
		open_window(BITS, md_over(area, 64, WINDOW, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(with_threshold(md_over(area, 8, 0, PTL_EQ_NONE), 3));
		put(md, PTL_ACK_REQ, BITS);
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		ping(target_id());
		CHECK_EQUAL(state_of(md).threshold, 1);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

#define EVERY_CALL(X, md, to)                                                                                          \
	X(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, BITS, 0, 0))                                                        \
	X(PtlPutRegion(md, 0, 0, PTL_NO_ACK_REQ, to, INDEX, 0, BITS, 0, 0))                                            \
	X(PtlGet(md, to, INDEX, 0, BITS, 0))                                                                           \
	X(PtlGetRegion(md, 0, 0, to, INDEX, 0, BITS, 0))                                                               \
	X(PtlGetPut(md, good, to, INDEX, 0, BITS, 0, 0))                                                               \
	X(PtlGetPut(good, md, to, INDEX, 0, BITS, 0, 0))

#define CHECK_MD_INVALID(call)      CHECK_RC(call, PTL_MD_INVALID);
#define CHECK_PROCESS_INVALID(call) CHECK_RC(call, PTL_PROCESS_INVALID);

/* A refused call has not happened: no event, no message, no unit of the good descriptor's threshold. */
static void c2_7_bad_descriptors_and_targets_are_refused(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	const ptl_process_id_t self = id_of[0];
	ptl_handle_md_t good = bind_md(with_threshold(md_over(area, 8, 0, eq), 5)),
			dead = bind_md(md_over(area, 8, 0, eq));
	struct window window = open_window(BITS, md_over(area, 8, WINDOW, eq));
	CHECK_OK(PtlMDUnlink(dead));
	const ptl_handle_any_t bad[] = {NONE, PTL_HANDLE_NONE, PTL_EQ_NONE, dead, ni, eq, window.me};
	const ptl_process_id_t wild[] = {anyone, {PTL_NID_ANY, self.pid}, {self.nid, PTL_PID_ANY}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EVERY_CALL(CHECK_MD_INVALID, bad[i], self)
	}
	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		EVERY_CALL(CHECK_PROCESS_INVALID, good, wild[i])
	}
	open_door();
	ping(self);
	CHECK_EMPTY(eq);
	CHECK_EQUAL(drops(), 0);
	CHECK_EQUAL(state_of(good).threshold, 5);
}

/* From the start, by being used up, and by an update. */
static void c2_7_inactive_descriptors_are_refused(void)
{
	const ptl_process_id_t self = id_of[0];
	ptl_md_t md = md_over(area, 8, QUIET, PTL_EQ_NONE), zero = with_threshold(md, 0);
	ptl_handle_md_t good = bind_md(md);
	const ptl_handle_md_t inactive[] = {bind_md(zero), bind_md(with_threshold(md, 1)), bind_md(md)};
	open_door();
	CHECK_OK(PtlPut(inactive[1], PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlMDUpdate(inactive[2], NULL, &zero, PTL_EQ_NONE));
	for (int i = 0; i < 3; i++) {
		EVERY_CALL(CHECK_MD_INVALID, inactive[i], self)
	}
	ping(self);
	CHECK_EQUAL(drops(), 1);
}

static void c2_7_bytes_outside_the_descriptor_are_refused(void)
{
	static const ptl_size_t outside[][2] = {{0, 65},
						{1, 64},
						{64, 1},
						{65, 0},
						{2, ~0ull},
						{~0ull, 2},
						{~0ull, ~0ull},
						{0, ~0ull},
						{~0ull, 0},
						{63, 2},
						{1ull << 63, 1ull << 63}},
				inside[][2] = {{0, 64}, {64, 0}, {63, 1}, {0, 0}, {1, 63}};
	const ptl_process_id_t self = id_of[0];
	ptl_md_iovec_t halves[] = {{area, 32}, {area + 32, 32}};
	const ptl_handle_md_t mds[] = {bind_md(md_over(area, 64, 0, PTL_EQ_NONE)),
				       bind_md(md_over(halves, 2, PTL_MD_IOVEC, PTL_EQ_NONE))};
	for (int i = 0; i < 2; i++) {
		for (size_t o = 0; o < sizeof(outside) / sizeof(outside[0]); o++) {
			const ptl_size_t at = outside[o][0], length = outside[o][1];
			CHECK_RC(PtlPutRegion(mds[i], at, length, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0),
				 PTL_MD_ILLEGAL);
			CHECK_RC(PtlGetRegion(mds[i], at, length, self, INDEX, 0, BITS, 0), PTL_MD_ILLEGAL);
		}
		for (size_t o = 0; o < sizeof(inside) / sizeof(inside[0]); o++) {
			const ptl_size_t at = inside[o][0], length = inside[o][1];
			CHECK_OK(PtlPutRegion(mds[i], at, length, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
			CHECK_OK(PtlGetRegion(mds[i], at, length, self, INDEX, 0, BITS, 0));
		}
	}
	await_drops(2 * 2 * 5);
}

static void c2_7_a_getput_of_two_interfaces_or_too_many_bytes_is_refused(void)
{
	const ptl_process_id_t self = id_of[0];
	const size_t most = (size_t)limits_in_force().max_getput_md;
	char *bytes = memory(most + 1);
	ptl_handle_ni_t second;
	ptl_handle_md_t there, here = bind_md(md_over(bytes, most, 0, PTL_EQ_NONE)),
			       longer = bind_md(md_over(bytes, most + 1, 0, PTL_EQ_NONE));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlMDBind(second, md_over(bytes, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &there));
	CHECK_RC(PtlGetPut(here, there, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_RC(PtlGetPut(there, here, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_OK(PtlMDUnlink(there)); /* dead, it is of no interface */
	CHECK_RC(PtlGetPut(here, there, self, INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
	CHECK_RC(PtlGetPut(here, longer, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_RC(PtlGetPut(longer, here, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_OK(PtlGetPut(here, here, self, INDEX, 0, BITS, 0, 0));
	await_drops(1);
}

static void c2_7_bad_indexes_and_bits_are_dropped_by_the_target_in_silence(void)
{
	static const struct {
		ptl_pt_index_t index;
		ptl_ac_index_t ac_index;
		ptl_match_bits_t bits;
	} bad[] = {{100000, 0, BITS},  {PTL_PT_INDEX_ANY, 0, BITS}, {INDEX, 100000, BITS},
		   {INDEX, ~0u, BITS}, {INDEX, 0, BITS + 1},        {INDEX_SIDE + 1, 0, BITS}};
	const int count = sizeof(bad) / sizeof(bad[0]);
	ptl_handle_eq_t eq = new_eq(64), in = new_eq(8);
	open_door();
	if (am_target())
		open_window(BITS, md_over(area, 64, WINDOW, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(memory(8), 8, QUIET, eq));
		for (int i = 0; i < count; i++)
			for (enum request request = PUT; request < REQUESTS; request++)
				CHECK_OK(issue(request, md, bad[i].index, bad[i].ac_index, bad[i].bits, 0, 0));
		ping(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
	if (am_target())
		CHECK_EQUAL(drops(), count * REQUESTS);
	CHECK_EMPTY(in);
}

static const struct test tests[] = {
	CASE_PAIR(c2_7_a_put_takes_the_region_it_names_to_the_place_it_names, "2.7/1 2.7/2"),
	CASE_PAIR(c2_7_a_get_brings_what_it_names_into_the_region_it_names, "2.7/3 2.7/4"),
	CASE_PAIR(c2_7_a_getput_sends_the_second_descriptor_and_fills_the_first, "2.7/5"),
	CASE_PAIR(c2_7_a_getput_may_use_one_descriptor_for_both, "2.7/6"),
	CASE_PAIR(c2_7_the_whole_of_pieces_is_their_sum, "2.7/1 2.7/3 2.7/7"),
	{.name = "c2_7_the_calls_return_before_the_operation_is_over",
	 .run = c2_7_the_calls_return_before_the_operation_is_over,
	 .proves = "2.7/8",
	 .processes = 1,
	 .environment = "PTL_CONNECT_TIMEOUT=100ms"},
	CASE_ALONE(c2_7_own_operations_leave_the_local_offset_alone, "2.7/9 2.7/11"),
	CASE_PAIR(c2_7_the_initiator_needs_no_operation_bits, "2.7/10"),
	CASE_PAIR(c2_7_a_descriptor_without_a_queue_asks_for_no_acknowledgement, "2.7/12"),
	CASE_ALONE(c2_7_bad_descriptors_and_targets_are_refused, "2.7/13 2.7/17 1.6/11 1.6/21"),
	CASE_ALONE(c2_7_inactive_descriptors_are_refused, "2.7/14"),
	CASE_ALONE(c2_7_bytes_outside_the_descriptor_are_refused, "2.7/15 1.6/10"),
	CASE_ALONE(c2_7_a_getput_of_two_interfaces_or_too_many_bytes_is_refused, "2.7/16 1.3/5"),
	CASE_PAIR(c2_7_bad_indexes_and_bits_are_dropped_by_the_target_in_silence, "2.7/19"),
	{0},
};

const struct chapter movement_calls_chapter = {.title = "2.7 Data movement: the calls", .rows = rows, .tests = tests};
