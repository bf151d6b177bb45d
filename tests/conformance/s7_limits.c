/* SPDX-License-Identifier: BSD-3-Clause */
/* 7 Limits: how much there is at least, and that there is as much as is told. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <string.h>
#include <sys/mman.h>

#define FOUR_GIB (UINT64_C(1) << 32)

static const struct row rows[] = {
	{"7/1", "max_pt_index is at least 63: 64 portal table entries"},
	{"7/2", "max_ac_index is at least 7; entry 0 always exists"},
	{"7/3", "max_getput_md is at least 64 bytes, and so many can be exchanged, not one more"},
	{"7/4", "max_md_iovecs is at least 256, and so many elements are accepted, not one more"},
	{"7/5", "max_me_list is at least 65536, and so many entries fit one list, not one more"},
	{"7/6", "max_mes is at least 65536, and so many entries can exist, not one more"},
	{"7/7", "max_mds is at least 65536, and so many descriptors can exist, not one more"},
	{"7/8", "max_eqs is at least 1024"},
	{"7/9", "a queue holds as many events as were asked for; memory is the only bound"},
	{"7/10", "lengths and offsets of operations have 64 bits"},
	{"7/11", "ptl_size_t, match bits and user words have 64 bits"},
	{0},
};

_Static_assert(sizeof(ptl_size_t) == 8 && sizeof(ptl_match_bits_t) == 8 && sizeof(ptl_hdr_data_t) == 8, "64 bits");

static void c7_every_limit_is_at_least_what_programs_need(void)
{
	const ptl_ni_limits_t limits = limits_in_force();
	CHECK_LESS(62, limits.max_pt_index);
	CHECK_LESS(6, limits.max_ac_index);
	CHECK_LESS(63, limits.max_getput_md);
	CHECK_LESS(255, limits.max_md_iovecs);
	CHECK_LESS(65535, limits.max_me_list);
	CHECK_LESS(65535, limits.max_mes);
	CHECK_LESS(65535, limits.max_mds);
	CHECK_LESS(1023, limits.max_eqs);
}

/* Refused beyond the largest index; that the largest is usable is seen when a request goes through both. */
static void c7_the_largest_indexes_are_usable_and_the_next_are_not(void)
{
	const ptl_pt_index_t pt = (ptl_pt_index_t)limits_in_force().max_pt_index;
	const ptl_ac_index_t ac = (ptl_ac_index_t)limits_in_force().max_ac_index;
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_me_t me;
	open_door();
	CHECK_OK(PtlACEntry(ni, ac, anyone, PTL_UID_ANY, PTL_JID_ANY, pt));
	CHECK_RC(PtlACEntry(ni, ac + 1, anyone, PTL_UID_ANY, PTL_JID_ANY, pt), PTL_AC_INDEX_INVALID);
	CHECK_RC(PtlACEntry(ni, ac, anyone, PTL_UID_ANY, PTL_JID_ANY, pt + 1), PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlMEAttach(ni, pt + 1, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_PT_INDEX_INVALID);
	if (am_target())
		open_window_on(pt, BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), pt, ac + 1, BITS, 0, 1));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), pt + 1, ac, BITS, 0, 2));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), pt, ac, BITS, 0, 3));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), pt, 0, BITS, 0, 4));
	}
	if (am_target()) {
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, 3);
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, 4);
		CHECK_EQUAL(drops(), 2);
	}
	barrier();
}

static void c7_a_getput_exchanges_as_many_bytes_as_its_limit_says(void)
{
	const size_t most = (size_t)limits_in_force().max_getput_md;
	char *near = memory(most + 1), *far = memory(most + 1);
	ptl_handle_eq_t eq = new_eq(8);
	fill_pattern(near, most + 1, 1);
	if (am_target()) {
		fill_pattern(far, most + 1, 2);
		open_window(BITS, md_over(far, most + 1, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, most, PTL_MD_EVENT_START_DISABLE, eq));
		ptl_handle_md_t longer = bind_md(md_over(near, most + 1, PTL_MD_EVENT_START_DISABLE, eq));
		CHECK_RC(issue(GETPUT, longer, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
		ask(GETPUT, md, BITS, 0);
		CHECK_EQUAL(take_answer(GETPUT, eq).mlength, most);
		CHECK_PATTERN(near, most, 2);
	}
	barrier();
	if (am_target())
		CHECK_PATTERN(far, most, 1);
}

static int attach_entry(ptl_pt_index_t index, ptl_handle_me_t *me)
{
	return PtlMEAttach(ni, index, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, me);
}

/* The list of INDEX lacks one entry of its limit while other lists hold the rest of what the interface has. */
static void c7_entries_run_out_at_the_limits_of_list_and_interface(void)
{
	const ptl_ni_limits_t limits = limits_in_force();
	ptl_handle_me_t me, last = PTL_INVALID_HANDLE, elsewhere = PTL_INVALID_HANDLE, untouched = 0x12345678;
	ptl_pt_index_t index = INDEX;
	CHECK_LESS(limits.max_me_list, limits.max_mes + 1);
	for (int i = 0; i < limits.max_me_list - 1; i++)
		CHECK_OK(attach_entry(INDEX, &last));
	for (int i = limits.max_me_list - 1; i < limits.max_mes; i++) {
		index += (i + 1) % limits.max_me_list == 0;
		CHECK_OK(attach_entry(index, &elsewhere));
	}
	CHECK_RC(attach_entry(INDEX, &untouched), PTL_NO_SPACE);
	CHECK_RC(PtlMEInsert(last, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &untouched), PTL_NO_SPACE);
	CHECK_RC(PtlMEAttachAny(ni, &index, anyone, 0, 0, PTL_RETAIN, &untouched), PTL_NO_SPACE);
	CHECK_OK(PtlMEUnlink(elsewhere));
	CHECK_OK(attach_entry(INDEX, &me));
	CHECK_RC(attach_entry(INDEX, &untouched), PTL_ME_LIST_TOO_LONG);
	CHECK_RC(PtlMEInsert(last, anyone, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, &untouched), PTL_ME_LIST_TOO_LONG);
	CHECK_OK(PtlMEUnlink(me));
	CHECK_OK(PtlMEInsert(last, anyone, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, &me));
	CHECK_EQUAL(untouched, 0x12345678);
}

static void c7_descriptors_run_out_at_their_limit_and_can_be_had_again(void)
{
	const int most = limits_in_force().max_mds;
	const ptl_md_t md = md_over(NULL, 0, 0, PTL_EQ_NONE);
	ptl_handle_me_t me;
	ptl_handle_md_t last = PTL_INVALID_HANDLE, untouched = 0x12345678;
	CHECK_OK(attach_entry(INDEX, &me));
	for (int i = 0; i < most; i++)
		last = bind_md(md);
	CHECK_RC(PtlMDBind(ni, md, PTL_RETAIN, &untouched), PTL_NO_SPACE);
	CHECK_RC(PtlMDAttach(me, md, PTL_RETAIN, &untouched), PTL_NO_SPACE);
	CHECK_EQUAL(untouched, 0x12345678);
	CHECK_OK(PtlMDUnlink(last));
	CHECK_OK(PtlMDAttach(me, md, PTL_RETAIN, &last));
	CHECK_RC(PtlMDBind(ni, md, PTL_RETAIN, &untouched), PTL_NO_SPACE);
}

/* Puts to ourselves that log one event each or, `loud`, five: the pairs of SEND and PUT, and the ACK. */
static void fill(ptl_handle_eq_t eq, int puts, bool loud)
{
	const unsigned options = PTL_MD_OP_PUT | (loud ? 0 : PTL_MD_EVENT_START_DISABLE);
	struct window window = open_window(BITS, md_over(NULL, 0, options, eq));
	ptl_handle_md_t md = loud ? window.md : bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE));
	for (int i = 0; i < puts; i++)
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
	ping(id_of[0]);
	close_window(window);
}

static void c7_a_queue_holds_as_many_events_as_were_asked_for(void)
{
	static const int counts[] = {1, 2, 3, 7, 100, 20000};
	open_door();
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const bool loud = counts[i] % 5 == 0;
		ptl_handle_eq_t eq = new_eq((ptl_size_t)counts[i]);
		fill(eq, loud ? counts[i] / 5 : counts[i], loud);
		ptl_seq_t first = take_any(eq).sequence;
		for (int n = 1; n < counts[i]; n++)
			CHECK_EQUAL(take_any(eq).sequence - first, n);
		CHECK_EMPTY(eq);
		CHECK_OK(PtlEQFree(eq));
	}
}

/* Address space alone: of its five GiB only the pages that are written become memory. */
static char *five_gib(void)
{
	char *bytes = mmap(NULL, 5 * FOUR_GIB / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	if (bytes == MAP_FAILED)
		skip_test("there are no 5 GiB of address space");
	return bytes;
}

static void c7_offsets_have_more_than_32_bits(void)
{
	char *near = five_gib(), *far = five_gib();
	ptl_handle_eq_t in = new_eq(8), out = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, 5 * FOUR_GIB / 4, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, 5 * FOUR_GIB / 4, PTL_MD_EVENT_START_DISABLE, out));
		memcpy(near + FOUR_GIB + 5, "farther", 8);
		CHECK_OK(PtlPutRegion(md, FOUR_GIB + 5, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, FOUR_GIB + 11, 0));
		CHECK(take(out, PTL_EVENT_SEND_END).offset == FOUR_GIB + 5);
		CHECK_EQUAL(take(out, PTL_EVENT_ACK).mlength, 8);
		CHECK_OK(PtlGetRegion(md, FOUR_GIB + 77, 8, target_id(), INDEX, 0, BITS, FOUR_GIB + 11));
		CHECK(take(out, PTL_EVENT_REPLY_END).offset == FOUR_GIB + 77);
		CHECK_STRING(near + FOUR_GIB + 77, "farther");
	}
	if (am_target()) {
		CHECK(take(in, PTL_EVENT_PUT_END).offset == FOUR_GIB + 11);
		CHECK_STRING(far + FOUR_GIB + 11, "farther");
		CHECK(take(in, PTL_EVENT_GET_END).offset == FOUR_GIB + 11);
	}
	barrier();
}

/* More than 4 GiB are offered and asked for, of which the target's 8 bytes are moved. */
static void c7_lengths_have_more_than_32_bits(void)
{
	const ptl_size_t length = FOUR_GIB + 16;
	char *near = five_gib(), *far = memory(8);
	ptl_handle_eq_t in = new_eq(8), out = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(far, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out));
		memcpy(near, "longest", 8);
		put(md, PTL_ACK_REQ, BITS);
		CHECK(take(out, PTL_EVENT_SEND_END).rlength == length);
		ptl_event_t ack = take(out, PTL_EVENT_ACK);
		CHECK(ack.rlength == length && ack.mlength == 8);
		memset(near, 0, 8);
		get(md, BITS);
		ptl_event_t reply = take(out, PTL_EVENT_REPLY_END);
		CHECK(reply.rlength == length && reply.mlength == 8);
		CHECK_STRING(near, "longest");
	}
	if (am_target()) {
		ptl_event_t end = take(in, PTL_EVENT_PUT_END);
		CHECK(end.rlength == length && end.mlength == 8);
		end = take(in, PTL_EVENT_GET_END);
		CHECK(end.rlength == length && end.mlength == 8);
	}
	barrier();
}

static void c7_bits_and_words_arrive_with_all_64_bits(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		open_window(~(ptl_match_bits_t)1, md_over(NULL, 0, ANY_REQUEST, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
		put_word(md, PTL_NO_ACK_REQ, ~(ptl_match_bits_t)1, 0, UINT64_C(0x8000000180000001));
	}
	if (am_target()) {
		ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
		CHECK(end.match_bits == ~(ptl_match_bits_t)1 && end.hdr_data == UINT64_C(0x8000000180000001));
	}
	barrier();
}

static const struct test tests[] = {
	CASE_ALONE(c7_every_limit_is_at_least_what_programs_need, "7/1 7/2 7/3 7/4 7/5 7/6 7/7 7/8"),
	CASE_PAIR(c7_the_largest_indexes_are_usable_and_the_next_are_not, "7/1 7/2 1.3/4 1.6/3 1.6/23 2.3/2"),
	CASE_PAIR(c7_a_getput_exchanges_as_many_bytes_as_its_limit_says, "7/3 1.3/5"),
	CASE_MANY_CALLS(c7_entries_run_out_at_the_limits_of_list_and_interface,
			"7/5 7/6 1.3/3 1.3/5 2.3/18 2.3/19 1.6/16 1.6/19", TRAIT_NIGHTLY),
	CASE_MANY_CALLS(c7_descriptors_run_out_at_their_limit_and_can_be_had_again, "7/7 1.3/3 2.4/22 1.6/19",
			TRAIT_NIGHTLY),
	CASE_ALONE(c7_a_queue_holds_as_many_events_as_were_asked_for, "7/9"),
	CASE_PAIR(c7_offsets_have_more_than_32_bits, "7/10"),
	CASE_PAIR(c7_lengths_have_more_than_32_bits, "7/10"),
	CASE_PAIR(c7_bits_and_words_arrive_with_all_64_bits, "7/11"),
	{0},
};

const struct chapter limits_chapter = {.title = "7 Limits", .rows = rows, .tests = tests};
