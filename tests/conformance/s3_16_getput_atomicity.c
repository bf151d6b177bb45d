/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.16 GetPut is atomic. */
#include <string.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.16/1",
	 "Getputs of any processes to the same bytes happen one after the other: each finds what the one before "
	 "left, nothing is lost or doubled."},
	{"3.16/2",
	 "A getput of up to max_getput_md bytes is exchanged as a whole, whatever descriptors and portal table "
	 "indexes others reach the same bytes through; a longer one is PTL_MD_ILLEGAL."},
	{"3.16/3",
	 "A getput brings what was at the target before its own bytes, in full, even if get and put descriptor are "
	 "the same."},
	{"3.16/4", "If the target truncates, only the bytes it moves are exchanged and returned."},
	{0},
};

#define PROCESSES 4
#define SWAPS     FEWER(400)
#define SWAPPABLE (ANY_REQUEST | PTL_MD_MANAGE_REMOTE)

/*
 * Every process swaps numbers that no other uses with one word at the last one.  Each number then has exactly one
 * owner: the process that got it back, or the word.
 */
static void c3_16_getputs_of_many_processes_on_one_word_lose_and_double_nothing(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	uint64_t *word = memory(8), *mine = memory(8), *old = memory(8), firsts = 0, total = 0;
	unsigned char(*owned)[SWAPS] = shared_memory();
	*word = UINT64_MAX;
	if (am_target())
		open_window(BITS, md_over(word, 8, SWAPPABLE, PTL_EQ_NONE));
	barrier();
	ptl_handle_md_t put_md = bind_md(md_over(mine, 8, PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t get_md = bind_md(md_over(old, 8, PTL_MD_EVENT_START_DISABLE, eq));
	for (unsigned i = 0; i < SWAPS; i++) {
		*mine = (uint64_t)my_rank << 32 | i;
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		take_answer(GETPUT, eq);
		if (*old == UINT64_MAX) {
			firsts++;
			continue;
		}
		CHECK(*old >> 32 < (uint64_t)process_count && (uint32_t)*old < SWAPS);
		CHECK_EQUAL(__atomic_exchange_n(&owned[*old >> 32][(uint32_t)*old], 1, __ATOMIC_RELAXED), 0);
	}
	uint64_t sum[MAX_PROCESSES];
	gather(&firsts, sizeof(firsts), sum);
	for (int rank = 0; rank < process_count; rank++)
		total += sum[rank];
	CHECK_EQUAL(total, 1);
	if (am_target()) {
		CHECK_EQUAL(__atomic_exchange_n(&owned[*word >> 32][(uint32_t)*word], 1, __ATOMIC_RELAXED), 0);
		for (int rank = 0; rank < process_count; rank++)
			for (unsigned i = 0; i < SWAPS; i++)
				CHECK_EQUAL(owned[rank][i], 1);
	}
}

/* Odd ranks reach the bytes through another index and a descriptor of two pieces. */
static void open_two_ways(char *bytes, size_t length)
{
	ptl_md_iovec_t pieces[] = {{bytes, length / 3}, {bytes + length / 3, length - length / 3}};
	open_window(BITS, md_over(bytes, length, SWAPPABLE, PTL_EQ_NONE));
	open_window_on(INDEX_SIDE, BITS, md_over(pieces, 2, SWAPPABLE | PTL_MD_IOVEC, PTL_EQ_NONE));
}

/* Blocks are of one byte value each, several of them under way at a time; a mixed one was torn. */
static void c3_16_the_longest_getputs_are_exchanged_whole_through_any_descriptor(void)
{
	enum { DEPTH = 4, ROUNDS = 40 };
	const size_t most = (size_t)limits_in_force().max_getput_md;
	ptl_handle_eq_t eq = new_eq(4 * DEPTH);
	char *far = memory(most), *near = memory(DEPTH * most);
	ptl_handle_md_t md[DEPTH];
	if (am_target())
		open_two_ways(far, most);
	barrier();
	for (int i = 0; i < DEPTH; i++)
		md[i] = bind_md(md_over(near + i * most, most, PTL_MD_EVENT_START_DISABLE, eq));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < DEPTH; i++) {
			memset(near + i * most, 1 + my_rank * DEPTH + i, most);
			CHECK_OK(issue(GETPUT, md[i], (my_rank ^ i) & 1 ? INDEX_SIDE : INDEX, 0, BITS, 0, 0));
		}
		for (int i = 0; i < 2 * DEPTH; i++)
			CHECK_EQUAL(take_any(eq).ni_fail_type, PTL_NI_OK);
		for (int i = 0; i < DEPTH; i++)
			CHECK(memcmp(near + i * most, near + i * most + 1, most - 1) == 0);
	}
	barrier();
	if (am_target())
		CHECK(far[0] != 0 && memcmp(far, far + 1, most - 1) == 0);
}

static void c3_16_a_getput_longer_than_the_limit_is_illegal(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	const size_t most = (size_t)limits_in_force().max_getput_md;
	char *near = memory(most + 1), *far = memory(most);
	CHECK_LESS(63, most);
	fill_pattern(near, most, 1);
	fill_pattern(far, most, 2);
	open_door();
	if (am_target())
		open_window(BITS, md_over(far, most, SWAPPABLE | PTL_MD_TRUNCATE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t fits = bind_md(md_over(near, most, PTL_MD_EVENT_START_DISABLE, eq));
		ptl_handle_md_t too_long = bind_md(md_over(near, most + 1, 0, eq));
		CHECK_RC(PtlGetPut(fits, too_long, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
		CHECK_RC(PtlGetPut(too_long, fits, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
		ask(GETPUT, fits, BITS, 0);
		CHECK_EQUAL(take_answer(GETPUT, eq).mlength, most);
		CHECK_PATTERN(near, most, 2);
		CHECK_EMPTY(eq);
	}
	barrier();
	if (am_target())
		CHECK_PATTERN(far, most, 1);
}

static void c3_16_one_descriptor_serves_both_ends_of_a_getput(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char word[9] = "initiate", buffer[9] = "targeted";
	if (am_target())
		open_window(BITS, md_over(buffer, 8, SWAPPABLE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_mortal_md(with_threshold(md_over(word, 8, 0, eq), 2));
		ask(GETPUT, md, BITS, 0);
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_START).md.threshold, 1);
		take(eq, PTL_EVENT_SEND_END);
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_START).md.threshold, 0);
		take(eq, PTL_EVENT_REPLY_END);
		take(eq, PTL_EVENT_UNLINK);
		CHECK_EMPTY(eq);
		CHECK_STRING(word, "targeted");
	}
	barrier();
	if (am_target())
		CHECK_STRING(buffer, "initiate");
}

static void c3_16_a_truncated_getput_exchanges_only_what_fits(void)
{
	static const size_t room[] = {40, 1, 0};
	ptl_handle_eq_t eq = new_eq(8);
	for (int i = 0; i < 3; i++) {
		struct window window = {0};
		char *near = memory(64), *far = memory(64), *expected = memory(64);
		fill_pattern(near, 64, 1);
		fill_pattern(far, 64, 2);
		if (am_target())
			window = open_window(BITS, md_over(far, room[i], SWAPPABLE | PTL_MD_TRUNCATE, PTL_EQ_NONE));
		barrier();
		if (am_initiator()) {
			ask(GETPUT, bind_md(md_over(near, 64, PTL_MD_EVENT_START_DISABLE, eq)), BITS, 0);
			ptl_event_t end = take_answer(GETPUT, eq);
			CHECK_EQUAL(end.rlength, 64);
			CHECK_EQUAL(end.mlength, room[i]);
			fill_pattern(expected, 64, 1);
			fill_pattern(expected, room[i], 2);
			CHECK(memcmp(near, expected, 64) == 0);
		}
		barrier();
		if (am_target()) {
			fill_pattern(expected, 64, 2);
			fill_pattern(expected, room[i], 1);
			CHECK(memcmp(far, expected, 64) == 0);
			close_window(window);
		}
		barrier();
	}
}

static const struct test tests[] = {
	CASE(c3_16_getputs_of_many_processes_on_one_word_lose_and_double_nothing, "3.16/1 3.16/3", PROCESSES,
	     TRAIT_PAIR),
	CASE(c3_16_the_longest_getputs_are_exchanged_whole_through_any_descriptor, "3.16/2 3.16/3", PROCESSES,
	     TRAIT_PAIR),
	CASE_PAIR(c3_16_a_getput_longer_than_the_limit_is_illegal, "3.16/2"),
	CASE_PAIR(c3_16_one_descriptor_serves_both_ends_of_a_getput, "3.16/3"),
	CASE_PAIR(c3_16_a_truncated_getput_exchanges_only_what_fits, "3.16/4"),
	{0},
};

const struct chapter getput_atomicity_chapter = {
	.title = "3.16 GetPut is atomic", .rows = rows, .tests = tests, .core = true};
