/* SPDX-License-Identifier: BSD-3-Clause */
/* Getput: an exchange that is atomic against other exchanges. */
#include "tests/behaviour/behaviour.h"

#include <string.h>

#define SWAPPERS 4
#define SWAPS    FEWER(400)

static int limit(void)
{
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	return limits.max_getput_md;
}

static void check_getput_event(const ptl_event_t *event, size_t length, size_t offset)
{
	CHECK_ID(event->initiator, initiator_id());
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->match_bits, BITS);
	CHECK_EQUAL(event->rlength, length);
	CHECK_EQUAL(event->mlength, length);
	CHECK_EQUAL(event->offset, offset);
	CHECK_EQUAL(event->hdr_data, 4711);
}

static void a_getput_exchanges_and_logs_send_reply_and_getput_pairs(void)
{
	ptl_handle_eq_t put_eq = new_eq(8), get_eq = new_eq(8), in = new_eq(8);
	char *fresh = memory(64), *old = memory(64), *buffer = memory(100);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	fill_pattern(fresh, 64, 1);
	fill_pattern(buffer, 100, 2);
	if (am_target())
		open_window(BITS, md_over(buffer, 100, options, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t put_md = bind_md(md_over(fresh, 64, 0, put_eq));
		ptl_handle_md_t get_md = bind_md(md_over(old, 64, 0, get_eq));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 4711));
		ptl_event_t start = take(put_eq, PTL_EVENT_SEND_START), end = take(put_eq, PTL_EVENT_SEND_END);
		CHECK_EQUAL(start.link, end.link);
		CHECK_EQUAL(end.md_handle, put_md);
		CHECK_EQUAL(end.rlength, 64);
		start = take(get_eq, PTL_EVENT_REPLY_START);
		end = take(get_eq, PTL_EVENT_REPLY_END);
		CHECK_EQUAL(start.link, end.link);
		CHECK_EQUAL(end.md_handle, get_md);
		CHECK_EQUAL(end.mlength, 64);
		CHECK_EQUAL(end.match_bits, BITS);
		CHECK_ID(end.initiator, target_id());
		CHECK_PATTERN(old, 64, 2);
	}
	if (am_target()) {
		ptl_event_t start = take(in, PTL_EVENT_GETPUT_START), end = take(in, PTL_EVENT_GETPUT_END);
		check_getput_event(&start, 64, 0);
		check_getput_event(&end, 64, 0);
		CHECK_EQUAL(start.link, end.link);
		CHECK_PATTERN(buffer, 64, 1);
	}
	barrier();
}

static void one_descriptor_serves_both_ends_of_a_getput(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *word = memory(8), *buffer = memory(8);
	memcpy(word, "initiate", 8);
	memcpy(buffer, "targeted", 8);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	if (am_target())
		open_window(BITS, md_over(buffer, 8, options, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_md_t md = md_over(word, 8, 0, eq);
		md.threshold = 2;
		ptl_handle_md_t handle = bind_mortal_md(md);
		CHECK_OK(PtlGetPut(handle, handle, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_START).md.threshold, 1);
		take(eq, PTL_EVENT_SEND_END);
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_START).md.threshold, 0);
		take(eq, PTL_EVENT_REPLY_END);
		take(eq, PTL_EVENT_UNLINK);
		CHECK(memcmp(word, "targeted", 8) == 0);
		CHECK_EMPTY(eq);
	}
	barrier();
	if (am_target())
		CHECK(memcmp(buffer, "initiate", 8) == 0);
}

static void a_truncated_getput_exchanges_only_what_fits(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *fresh = memory(64), *old = memory(64), *buffer = memory(64);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE;
	fill_pattern(fresh, 64, 1);
	fill_pattern(buffer, 64, 2);
	if (am_target())
		open_window(BITS, md_over(buffer, 40, options, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t put_md = bind_md(md_over(fresh, 64, 0, PTL_EQ_NONE));
		ptl_handle_md_t get_md = bind_md(md_over(old, 64, 0, eq));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_REPLY_START);
		ptl_event_t end = take(eq, PTL_EVENT_REPLY_END);
		CHECK_EQUAL(end.rlength, 64);
		CHECK_EQUAL(end.mlength, 40);
		CHECK_PATTERN(old, 40, 2);
		CHECK_EQUAL(old[40], 0);
	}
	barrier();
	if (am_target()) {
		char *expected = memory(64);
		fill_pattern(expected, 64, 2);
		fill_pattern(expected, 40, 1);
		CHECK(memcmp(buffer, expected, 64) == 0);
	}
}

static void the_longest_getput_works_and_a_longer_one_is_illegal(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	size_t most = (size_t)limit();
	CHECK_LESS(63, most);
	char *fresh = memory(most + 1), *old = memory(most + 1), *buffer = memory(most);
	fill_pattern(fresh, most + 1, 1);
	fill_pattern(buffer, most, 2);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	if (am_target())
		open_window(BITS, md_over(buffer, most, options, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t good_put = bind_md(md_over(fresh, most, 0, PTL_EQ_NONE));
		ptl_handle_md_t good_get = bind_md(md_over(old, most, 0, eq));
		ptl_handle_md_t bad_put = bind_md(md_over(fresh, most + 1, 0, PTL_EQ_NONE));
		ptl_handle_md_t bad_get = bind_md(md_over(old, most + 1, 0, eq));
		CHECK_RC(PtlGetPut(good_get, bad_put, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
		CHECK_RC(PtlGetPut(bad_get, good_put, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
		CHECK_OK(PtlGetPut(good_get, good_put, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_REPLY_START);
		take(eq, PTL_EVENT_REPLY_END);
		CHECK_PATTERN(old, most, 2);
		CHECK_EMPTY(eq);
	}
	barrier();
	if (am_target())
		CHECK_PATTERN(buffer, most, 1);
}

/*
 * Every process swaps numbers that nobody else uses with one word at the last one.  Each number then has exactly one
 * owner: whoever got it back, or the word.
 */
static void getputs_of_many_processes_on_one_word_lose_and_double_nothing(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	uint64_t *word = memory(8), *mine = memory(8), *old = memory(8);
	unsigned char(*owned)[SWAPS] = shared_memory();
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	*word = UINT64_MAX;
	if (am_target())
		open_window(BITS, md_over(word, 8, options, PTL_EQ_NONE));
	barrier();
	ptl_handle_md_t put_md = bind_md(md_over(mine, 8, PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t get_md = bind_md(md_over(old, 8, PTL_MD_EVENT_START_DISABLE, eq));
	unsigned firsts = 0;
	for (unsigned i = 0; i < SWAPS; i++) {
		*mine = (uint64_t)my_rank << 32 | i;
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		ptl_event_t a = take_any(eq), b = take_any(eq);
		CHECK_EQUAL(a.ni_fail_type, PTL_NI_OK);
		CHECK_EQUAL(b.ni_fail_type, PTL_NI_OK);
		if (*old == UINT64_MAX) {
			firsts++;
			continue;
		}
		CHECK(*old >> 32 < (uint64_t)process_count && (uint32_t)*old < SWAPS);
		CHECK_EQUAL(__atomic_exchange_n(&owned[*old >> 32][(uint32_t)*old], 1, __ATOMIC_RELAXED), 0);
	}
	uint64_t sum[MAX_PROCESSES], count = firsts;
	gather(&count, sizeof count, sum);
	if (am_target()) {
		uint64_t total = 0, missing = 0;
		for (int rank = 0; rank < process_count; rank++)
			total += sum[rank];
		CHECK_EQUAL(total, 1);
		CHECK_EQUAL(__atomic_exchange_n(&owned[*word >> 32][(uint32_t)*word], 1, __ATOMIC_RELAXED), 0);
		for (int rank = 0; rank < process_count; rank++)
			for (unsigned i = 0; i < SWAPS; i++)
				missing += owned[rank][i] == 0;
		CHECK_EQUAL(missing, 0);
	}
}

const struct test getput_tests[] = {
	PAIR(a_getput_exchanges_and_logs_send_reply_and_getput_pairs),
	PAIR(one_descriptor_serves_both_ends_of_a_getput),
	PAIR(a_truncated_getput_exchanges_only_what_fits),
	PAIR(the_longest_getput_works_and_a_longer_one_is_illegal),
	{.name = "getputs_of_many_processes_on_one_word_lose_and_double_nothing",
	 .run = getputs_of_many_processes_on_one_word_lose_and_double_nothing,
	 .processes = SWAPPERS,
	 .traits = TRAIT_PAIR},
	{0},
};
