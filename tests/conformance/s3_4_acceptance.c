/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.4 Which requests a descriptor accepts, and how much of them. */
#include <string.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.4/1", "A put needs a descriptor with PTL_MD_OP_PUT, a get one with PTL_MD_OP_GET, a getput one with both."},
	{"3.4/2", "With PTL_MD_MANAGE_REMOTE the request's offset counts, without it the descriptor's local offset."},
	{"3.4/3",
	 "Without PTL_MD_TRUNCATE a request is accepted, and moved whole, exactly if offset + requested length <= "
	 "bytes of the region."},
	{"3.4/4", "The sum of offset and requested length does not wrap round: a request beyond 2^64 is refused."},
	{"3.4/5", "With PTL_MD_TRUNCATE a request is refused exactly if its offset lies beyond the end of the region."},
	{"3.4/6", "With PTL_MD_TRUNCATE the smaller of requested length and rest of the region is moved, and no byte "
		  "behind that is touched on either side."},
	{"3.4/7", "A request cut to 0 bytes is a success with all its events and its ACK or REPLY."},
	{"3.4/8",
	 "A request is not refused for being longer than max_size, not even than a max_size of 0 (our reading)."},
	{"3.4/9", "A truncated get brings the bytes from its offset to the end of the region."},
	{"3.4/10", "The region of a descriptor of pieces is as long as the pieces together."},
	{0},
};

#define REFUSED UINT64_MAX
#define GUARD   64

/* A request for `length` bytes at `offset`: how many of them move without PTL_MD_TRUNCATE, and with it. */
struct fit {
	ptl_size_t offset, length, whole, cut;
};

#define SMALL 40
static const struct fit small_fits[] = {
	{0, 0, 0, 0},
	{0, 39, 39, 39},
	{0, 40, 40, 40},
	{0, 41, REFUSED, 40},
	{10, 30, 30, 30},
	{10, 31, REFUSED, 30},
	{39, 1, 1, 1},
	{39, 2, REFUSED, 1},
	{40, 0, 0, 0},
	{40, 1, REFUSED, 0},
	{41, 0, REFUSED, REFUSED},
	{41, 1, REFUSED, REFUSED},
	{UINT64_MAX, 1, REFUSED, REFUSED},       /* the sum would be 0 */
	{UINT64_MAX - 19, 40, REFUSED, REFUSED}, /* ... 20 */
	{UINT64_MAX - 39, 40, REFUSED, REFUSED}, /* ... 0 */
};

static const struct fit long_fits[] = {
	{0, LONG, LONG, LONG},
	{0, LONG + 1, REFUSED, LONG},
	{1, LONG - 1, LONG - 1, LONG - 1},
	{1, LONG, REFUSED, LONG - 1},
	{LONG - 10, LONG, REFUSED, 10},
	{LONG, LONG, REFUSED, 0},
	{LONG + 1, LONG, REFUSED, REFUSED},
};

/* The initiator's memory and the target's, what was in them at first, and the queues. */
static struct {
	char *near, *far, *near_before, *far_before;
	ptl_handle_eq_t out, in, missed;
} stage;

static void set_stage(size_t size)
{
	char **const buffers[] = {&stage.near, &stage.far, &stage.near_before, &stage.far_before};
	for (int i = 0; i < 4; i++)
		*buffers[i] = memory(size + GUARD);
	fill_pattern(stage.near_before, size + GUARD, 1);
	fill_pattern(stage.far_before, size + GUARD, 2);
	stage.out = new_eq(8);
	stage.in = new_eq(8);
	stage.missed = new_eq(8);
}

/* Whole or in three pieces, one of them empty, that lie one behind the other. */
static struct window open_stage(size_t size, unsigned options)
{
	ptl_md_iovec_t pieces[] = {{stage.far, 7}, {NULL, 0}, {stage.far + 7, size - 7}};
	memcpy(stage.far, stage.far_before, size + GUARD);
	if (options & PTL_MD_IOVEC)
		return open_window(BITS, md_over(pieces, 3, ANY_REQUEST | options, stage.in));
	return open_window(BITS, md_over(stage.far, size, ANY_REQUEST | options, stage.in));
}

/* A put moves a local offset to where the request is to find it. */
static bool needs_filling(const struct fit *fit, unsigned options)
{
	return !(options & PTL_MD_MANAGE_REMOTE) && fit->offset > 0;
}

static void ask_fit(enum request kind, const struct fit *fit, ptl_size_t moved, unsigned options)
{
	if (needs_filling(fit, options)) {
		ptl_md_t filling = md_over(stage.far_before, fit->offset, PTL_MD_EVENT_START_DISABLE, stage.out);
		ask(PUT, bind_md(filling), BITS, 0);
		take_answer(PUT, stage.out);
	}
	memcpy(stage.near, stage.near_before, fit->length);
	ptl_handle_md_t md = bind_md(md_over(stage.near, fit->length, PTL_MD_EVENT_START_DISABLE, stage.out));
	ask(kind, md, BITS, fit->offset);
	ptl_event_t answer = take_answer(kind, stage.out);
	CHECK_EQUAL(answer.rlength, fit->length);
	CHECK_EQUAL(answer.mlength, moved);
	if (kind == PUT)
		moved = 0;
	CHECK(moved == 0 || memcmp(stage.near, stage.far_before + fit->offset, moved) == 0);
	CHECK(memcmp(stage.near + moved, stage.near_before + moved, fit->length - moved) == 0);
	CHECK_OK(PtlMDUnlink(md));
}

static void expect_fit(enum request kind, const struct fit *fit, ptl_size_t moved, size_t size)
{
	ptl_event_t end = take(stage.in, request_kinds[kind].end);
	CHECK_EQUAL(end.offset, fit->offset);
	CHECK_EQUAL(end.rlength, fit->length);
	CHECK_EQUAL(end.mlength, moved);
	if (kind == GET)
		moved = 0;
	const ptl_size_t behind = fit->offset + moved;
	CHECK(memcmp(stage.far, stage.far_before, fit->offset) == 0);
	CHECK(memcmp(stage.far + fit->offset, stage.near_before, moved) == 0);
	CHECK(memcmp(stage.far + behind, stage.far_before + behind, size + GUARD - behind) == 0);
}

static void check_fit(enum request kind, const struct fit *fit, size_t size, unsigned options)
{
	const ptl_size_t moved = options & PTL_MD_TRUNCATE ? fit->cut : fit->whole;
	struct window window = {0}, net = {0};
	if (am_target()) {
		window = open_stage(size, options);
		net = open_net(stage.missed);
	}
	barrier();
	if (am_initiator())
		ask_fit(kind, fit, moved == REFUSED ? 0 : moved, options);
	if (am_target()) {
		if (needs_filling(fit, options))
			take(stage.in, PTL_EVENT_PUT_END);
		if (moved == REFUSED)
			take(stage.missed, request_kinds[kind].end);
		else
			expect_fit(kind, fit, moved, size);
		CHECK_EMPTY(stage.in);
		CHECK_EMPTY(stage.missed);
		close_window(window);
		close_window(net);
	}
	barrier();
}

static void check_fits(unsigned options)
{
	set_stage(2 * LONG);
	for (int i = 0; i < 2; i++) {
		const unsigned with = options | (i ? PTL_MD_MANAGE_REMOTE : 0);
		for (size_t j = 0; j < sizeof(small_fits) / sizeof(small_fits[0]); j++)
			for (enum request kind = PUT; kind < REQUESTS; kind++)
				if (with & PTL_MD_MANAGE_REMOTE || small_fits[j].offset <= SMALL)
					check_fit(kind, &small_fits[j], SMALL, with);
		for (size_t j = 0; j < sizeof(long_fits) / sizeof(long_fits[0]); j++)
			for (enum request kind = PUT; kind < GETPUT; kind++)
				if (with & PTL_MD_MANAGE_REMOTE || long_fits[j].offset <= LONG)
					check_fit(kind, &long_fits[j], LONG, with);
	}
}

static void c3_4_without_truncate_a_request_fits_to_the_byte_or_is_refused(void)
{
	check_fits(0);
}

static void c3_4_with_truncate_a_request_keeps_what_fits_down_to_nothing(void)
{
	check_fits(PTL_MD_TRUNCATE);
}

static void c3_4_pieces_accept_as_much_as_one_region_of_their_summed_length(void)
{
	check_fits(PTL_MD_IOVEC);
	check_fits(PTL_MD_IOVEC | PTL_MD_TRUNCATE);
}

static void c3_4_a_descriptor_takes_only_the_operations_it_allows(void)
{
	static const unsigned allowed[] = {0, PTL_MD_OP_PUT, PTL_MD_OP_GET, PTL_MD_OP_PUT | PTL_MD_OP_GET};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8), missed = new_eq(8);
	static char word[8], buffer[8];
	ptl_handle_md_t md = bind_md(md_over(word, 8, PTL_MD_EVENT_START_DISABLE, out));
	for (unsigned i = 0; i < 4; i++) {
		struct window window = {0}, net = {0};
		if (am_target()) {
			unsigned options = allowed[i] | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
			window = open_window(BITS, md_over(buffer, 8, options, in));
			net = open_net(missed);
		}
		barrier();
		for (enum request kind = PUT; kind < REQUESTS; kind++) {
			const unsigned needed = request_kinds[kind].operations;
			if (am_initiator()) {
				ask(kind, md, BITS, 0);
				take_answer(kind, out);
			}
			if (am_target())
				take((allowed[i] & needed) == needed ? in : missed, request_kinds[kind].end);
		}
		barrier();
		if (am_target()) {
			close_window(window);
			close_window(net);
		}
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(missed);
}

/* Into a window that is full from the start: nothing fits, everything is told. */
static void c3_4_a_request_cut_to_nothing_is_a_success_with_all_its_events(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *bytes = memory(LONG);
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_TRUNCATE;
	if (am_target())
		open_window(BITS, with_threshold(md_over(NULL, 0, options, in), 9));
	barrier();
	for (int i = 0, units = 9; i < 2; i++) {
		for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++) {
			if (am_initiator()) {
				ask(kind, bind_md(md_over(bytes, short_and_long[i], PTL_MD_EVENT_START_DISABLE, out)),
				    BITS, 0);
				ptl_event_t answer = take_answer(kind, out);
				CHECK_EQUAL(answer.rlength, short_and_long[i]);
				CHECK_EQUAL(answer.mlength, 0);
			}
			if (am_target()) {
				CHECK_EQUAL(take(in, request_kinds[kind].start).md.threshold, --units);
				ptl_event_t end = take(in, request_kinds[kind].end);
				CHECK_EQUAL(end.rlength, short_and_long[i]);
				CHECK_EQUAL(end.mlength, 0);
			}
		}
		barrier();
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(out);
	CHECK_EQUAL(drops(), 0);
}

static void c3_4_no_request_is_too_long_for_max_size(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(16);
	char *near = memory(LONG), *far = memory(3 * LONG);
	for (ptl_size_t max_size = 0; max_size < 20; max_size += 10) {
		struct window window = {0};
		ptl_md_t md = md_over(far, 3 * LONG, ANY_REQUEST | PTL_MD_MAX_SIZE, in);
		md.max_size = max_size;
		if (am_target())
			window = open_window(BITS, md);
		barrier();
		for (int i = 0; i < 2; i++) {
			md = md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, out);
			for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++) {
				if (am_initiator()) {
					ask(kind, bind_md(md), BITS, 0);
					CHECK_EQUAL(take_answer(kind, out).mlength, short_and_long[i]);
				}
				if (am_target())
					CHECK_EQUAL(take(in, request_kinds[kind].end).mlength, short_and_long[i]);
			}
		}
		barrier();
		if (am_target())
			close_window(window);
	}
}

static const struct test tests[] = {
	CASE_PAIR(c3_4_a_descriptor_takes_only_the_operations_it_allows, "3.4/1"),
	CASE_PAIR(c3_4_without_truncate_a_request_fits_to_the_byte_or_is_refused, "3.4/2 3.4/3 3.4/4"),
	CASE_PAIR(c3_4_with_truncate_a_request_keeps_what_fits_down_to_nothing, "3.4/2 3.4/4 3.4/5 3.4/6 3.4/7 3.4/9"),
	CASE_PAIR(c3_4_pieces_accept_as_much_as_one_region_of_their_summed_length, "3.4/3 3.4/5 3.4/6 3.4/10"),
	CASE_PAIR(c3_4_a_request_cut_to_nothing_is_a_success_with_all_its_events, "3.4/7"),
	CASE_PAIR(c3_4_no_request_is_too_long_for_max_size, "3.4/8"),
	{0},
};

const struct chapter acceptance_chapter = {
	.title = "3.4 Which requests a descriptor accepts", .rows = rows, .tests = tests, .core = true};
