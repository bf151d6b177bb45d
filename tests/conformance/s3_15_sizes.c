/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.15 Zero length, NULL, pieces, self. */
#include <string.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.15/1", "A descriptor of length 0 that starts at NULL is legal for every use: as source or destination, at "
		   "either end; all events and ACKs come as usual, with mlength 0."},
	{"3.15/2",
	 "A region of 0 bytes is legal at the beginning and at the very end of any descriptor; beyond the end it "
	 "is PTL_MD_ILLEGAL."},
	{"3.15/3", "A request for 0 bytes is accepted by a full, locally managed descriptor without PTL_MD_TRUNCATE."},
	{"3.15/4",
	 "A descriptor or piece that has bytes but starts at NULL is PTL_MD_ILLEGAL (a refusal the specification "
	 "allows)."},
	{"3.15/5", "Descriptors may overlap: each sees what was moved through the others."},
	{"3.15/6", "A descriptor of pieces behaves as one region of their summed length, in puts, gets and getputs, at "
		   "either end, whatever the lengths and places of the pieces."},
	{"3.15/7", "Offsets and regions of a descriptor of pieces count bytes, across the pieces."},
	{"3.15/8", "Pieces may have length 0; an array of 0 pieces is an empty region."},
	{"3.15/9", "Up to max_md_iovecs pieces are accepted; one more is PTL_MD_ILLEGAL."},
	{"3.15/10", "The array of pieces is copied when the descriptor is made; the user may overwrite it at once."},
	{"3.15/11", "A process can put to, get from and exchange with itself, over every transport."},
	{"3.15/12",
	 "One descriptor may be both source and target of a request to oneself: its queue hears of both sides."},
	{0},
};

static const unsigned whole_or_pieces[] = {0, PTL_MD_IOVEC};

static void c3_15_a_descriptor_without_bytes_needs_no_memory_for_any_request(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (int i = 0; i < 2; i++) {
		const unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | whole_or_pieces[i];
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(NULL, 0, options, in));
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, whole_or_pieces[i], out));
		for (enum request kind = PUT; kind < REQUESTS; kind++) {
			barrier();
			if (am_initiator()) {
				ask(kind, md, BITS, 0);
				if (kind != GET)
					take(out, PTL_EVENT_SEND_START);
				if (kind != GET)
					CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).mlength, 0);
				if (kind != PUT)
					take(out, PTL_EVENT_REPLY_START);
				ptl_event_t answer = take(out, request_kinds[kind].answer);
				CHECK_EQUAL(answer.rlength, 0);
				CHECK_EQUAL(answer.mlength, 0);
			}
			if (am_target()) {
				take(in, request_kinds[kind].start);
				ptl_event_t end = take(in, request_kinds[kind].end);
				CHECK_EQUAL(end.rlength, 0);
				CHECK_EQUAL(end.mlength, 0);
			}
		}
		barrier();
		if (am_target())
			close_window(window);
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(out);
}

static void c3_15_regions_of_no_bytes_are_legal_up_to_the_very_end(void)
{
	static const size_t sizes[] = {0, 64, LONG};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64);
	char *bytes = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(bytes, 1, ANY_REQUEST, in));
	barrier();
	for (int i = 0; i < 6; i++) {
		const size_t offset = i & 1 ? sizes[i / 2] : 0;
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(bytes, sizes[i / 2], PTL_MD_EVENT_START_DISABLE, out));
			CHECK_OK(PtlPutRegion(md, offset, 0, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).offset, offset);
			CHECK_EQUAL(take(out, PTL_EVENT_ACK).mlength, 0);
			CHECK_OK(PtlGetRegion(md, offset, 0, target_id(), INDEX, 0, BITS, 0));
			ptl_event_t end = take(out, PTL_EVENT_REPLY_END);
			CHECK_EQUAL(end.offset, offset);
			CHECK_EQUAL(end.mlength, 0);
			const ptl_size_t beyond = sizes[i / 2] + 1;
			CHECK_RC(PtlPutRegion(md, beyond, 0, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0),
				 PTL_MD_ILLEGAL);
			CHECK_RC(PtlGetRegion(md, beyond, 0, target_id(), INDEX, 0, BITS, 0), PTL_MD_ILLEGAL);
		}
		if (am_target()) {
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).mlength, 0);
			CHECK_EQUAL(take(in, PTL_EVENT_GET_END).mlength, 0);
		}
	}
	barrier();
	CHECK_EMPTY(in);
}

static void c3_15_requests_for_no_bytes_fit_into_a_full_window(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	for (int i = 0; i < 2; i++) {
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(far, short_and_long[i], ANY_REQUEST, in));
		barrier();
		if (am_initiator()) {
			ask(PUT, bind_md(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, out)), BITS, 0);
			take_answer(PUT, out);
		}
		if (am_target())
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).offset, 0);
		for (enum request kind = PUT; kind < REQUESTS; kind++) {
			if (am_initiator()) {
				ask(kind, bind_md(md_over(NULL, 0, PTL_MD_EVENT_START_DISABLE, out)), BITS, 0);
				CHECK_EQUAL(take_answer(kind, out).mlength, 0);
			}
			if (am_target())
				CHECK_EQUAL(take(in, request_kinds[kind].end).offset, short_and_long[i]);
		}
		barrier();
		if (am_target())
			close_window(window);
	}
}

static void c3_15_bytes_at_null_are_illegal(void)
{
	char byte;
	ptl_md_iovec_t pieces[] = {{&byte, 1}, {NULL, 0}, {NULL, 1}};
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	const ptl_md_t illegal[] = {md_over(NULL, 1, 0, PTL_EQ_NONE), md_over(NULL, LONG, PTL_MD_OP_PUT, PTL_EQ_NONE),
				    md_over(pieces, 3, PTL_MD_IOVEC, PTL_EQ_NONE),
				    md_over(NULL, 1, PTL_MD_IOVEC, PTL_EQ_NONE)};
	for (int i = 0; i < 4; i++) {
		CHECK_RC(PtlMDBind(ni, illegal[i], PTL_RETAIN, &md), PTL_MD_ILLEGAL);
		CHECK_RC(PtlMDAttach(me, illegal[i], PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	}
	CHECK_OK(PtlMDBind(ni, md_over(pieces, 2, PTL_MD_IOVEC, PTL_EQ_NONE), PTL_RETAIN, &md));
}

/* Two windows that share half of their bytes, and a third over all of them. */
static void c3_15_overlapping_descriptors_see_each_others_bytes(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (int i = 0; i < 2; i++) {
		const size_t half = short_and_long[i];
		char *far = memory(3 * half), *near = memory(3 * half), *expected = memory(3 * half);
		struct window windows[3] = {0};
		if (am_target()) {
			windows[0] = open_window(BITS, md_over(far, 2 * half, PTL_MD_OP_PUT, PTL_EQ_NONE));
			windows[1] = open_window(BITS + 1, md_over(far + half, 2 * half, PTL_MD_OP_PUT, PTL_EQ_NONE));
			windows[2] = open_window(BITS + 2, md_over(far, 3 * half, ANY_REQUEST, in));
		}
		barrier();
		for (unsigned j = 0; j < 2 && am_initiator(); j++) {
			fill_pattern(near, 2 * half, j);
			fill_pattern(expected + j * half, 2 * half, j);
			ask(PUT, bind_md(md_over(near, 2 * half, PTL_MD_EVENT_START_DISABLE, out)), BITS + j, 0);
			take_answer(PUT, out);
		}
		if (am_initiator()) {
			ask(GET, bind_md(md_over(near, 3 * half, PTL_MD_EVENT_START_DISABLE, out)), BITS + 2, 0);
			take_answer(GET, out);
			CHECK(memcmp(near, expected, 3 * half) == 0);
		}
		if (am_target())
			take(in, PTL_EVENT_GET_END);
		for (int j = 0; j < 3 && am_target(); j++)
			close_window(windows[j]);
		barrier();
	}
}

/* ---- Pieces ---- */

/* Lengths of pieces; each list ends with SIZE_MAX.  The pieces lie apart, unaligned, in any order in memory. */
static const size_t shapes[][12] = {
	{64, SIZE_MAX},
	{0, 1, 2, 3, 0, 5, 7, 11, 0, SIZE_MAX},
	{33, 0, 31, SIZE_MAX},
	{1, 1, 1, 1, 1, 1, 1, 1, SIZE_MAX},
	{0, 0, SIZE_MAX},
	{5000, 0, 60001, 3, 33333, SIZE_MAX},
	{1 << 18, 1, (1 << 18) - 7, 0, 17, 1 << 19, SIZE_MAX},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct pieces {
	ptl_md_iovec_t piece[12];
	size_t count, total;
};

static struct pieces cut(size_t shape)
{
	struct pieces pieces = {.count = 0};
	while (shapes[shape][pieces.count] != SIZE_MAX)
		pieces.total += shapes[shape][pieces.count++];
	char *bytes = memory(pieces.total + 32 * pieces.count);
	for (size_t i = pieces.count; i-- > 0;) { /* last piece first in memory */
		size_t length = shapes[shape][i];
		pieces.piece[i] = (ptl_md_iovec_t){bytes + 13, length};
		bytes += length + 29;
	}
	return pieces;
}

static void scatter(const struct pieces *to, const char *bytes)
{
	for (size_t i = 0; i < to->count; i++) {
		memcpy(to->piece[i].iov_base, bytes, to->piece[i].iov_len);
		bytes += to->piece[i].iov_len;
	}
}

static void collect(const struct pieces *from, char *bytes)
{
	for (size_t i = 0; i < from->count; i++) {
		memcpy(bytes, from->piece[i].iov_base, from->piece[i].iov_len);
		bytes += from->piece[i].iov_len;
	}
}

static void scatter_pattern(const struct pieces *to, unsigned seed)
{
	char *bytes = memory(to->total);
	fill_pattern(bytes, to->total, seed);
	scatter(to, bytes);
}

static void check_scattered(const struct pieces *pieces, size_t length, unsigned seed)
{
	char *bytes = memory(pieces->total);
	collect(pieces, bytes);
	CHECK_PATTERN(bytes, length, seed);
}

static ptl_md_t md_of(struct pieces *pieces, unsigned options, ptl_handle_eq_t eq)
{
	return md_over(pieces->piece, pieces->count, options | PTL_MD_IOVEC, eq);
}

/* Puts all pieces of `shape` and gets them back into others of that shape. */
static void put_and_get_shape(size_t shape, size_t moved, ptl_handle_eq_t eq)
{
	struct pieces near = cut(shape), back = cut(shape);
	scatter_pattern(&near, (unsigned)shape);
	ptl_handle_md_t md = bind_md(md_of(&near, PTL_MD_EVENT_START_DISABLE, eq));
	ask(PUT, md, BITS, 0);
	ptl_event_t ack = take_answer(PUT, eq);
	CHECK_EQUAL(ack.rlength, near.total);
	CHECK_EQUAL(ack.mlength, moved);
	CHECK_OK(PtlMDUnlink(md));
	md = bind_md(md_of(&back, PTL_MD_EVENT_START_DISABLE, eq));
	ask(GET, md, BITS, 0);
	CHECK_EQUAL(take_answer(GET, eq).mlength, moved);
	CHECK_OK(PtlMDUnlink(md));
	check_scattered(&back, moved, (unsigned)shape);
}

/* Initiator's shape i against target's shape j, moving as much as fits both. */
static void c3_15_pieces_of_any_shape_exchange_bytes_with_pieces_of_any_other(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (size_t i = 0; i < SHAPES; i++) {
		const size_t near_total = cut(i).total;
		for (size_t j = 0; j < SHAPES; j++) {
			struct pieces far = cut(j);
			struct window window = {0};
			const size_t moved = near_total < far.total ? near_total : far.total;
			if (am_target())
				window = open_window(
					BITS, md_of(&far, ANY_REQUEST | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, in));
			barrier();
			if (am_initiator())
				put_and_get_shape(i, moved, out);
			if (am_target()) {
				ptl_event_t end = take(in, PTL_EVENT_PUT_END);
				CHECK_EQUAL(end.rlength, near_total);
				CHECK_EQUAL(end.mlength, moved);
				CHECK(end.md.start == far.piece);
				CHECK_EQUAL(end.md.length, far.count);
				CHECK_EQUAL(take(in, PTL_EVENT_GET_END).mlength, moved);
				check_scattered(&far, moved, (unsigned)i);
				close_window(window);
			}
			barrier();
		}
	}
}

/* The put descriptor has 29 bytes, the get descriptor 8: the reply is cut, the exchange is not. */
static void c3_15_pieces_take_part_in_a_getput(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	struct pieces fresh = cut(1), old = cut(3), far = cut(2);
	scatter_pattern(&fresh, 1);
	scatter_pattern(&far, 2);
	if (am_target())
		open_window(BITS, md_of(&far, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t put_md = bind_md(md_of(&fresh, 0, PTL_EQ_NONE));
		ptl_handle_md_t get_md = bind_md(md_of(&old, PTL_MD_EVENT_START_DISABLE, eq));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, old.total);
		check_scattered(&old, old.total, 2);
	}
	barrier();
	if (am_target())
		check_scattered(&far, fresh.total, 1);
}

static void c3_15_regions_and_offsets_count_bytes_across_pieces(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	struct pieces near = cut(1), far = cut(5);
	char bytes[29], *got = memory(far.total);
	fill_pattern(bytes, near.total, 3);
	scatter(&near, bytes);
	if (am_target())
		open_window(BITS, md_of(&far, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_of(&near, PTL_MD_EVENT_START_DISABLE, out));
	for (size_t skip = 0; skip <= near.total; skip++) {
		size_t offset = 4990 + skip, length = near.total - skip;
		if (am_initiator()) {
			CHECK_OK(PtlPutRegion(md, skip, length, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, offset, 0));
			CHECK_EQUAL(take_answer(PUT, out).offset, skip);
			CHECK_OK(PtlGetRegion(md, skip, length, target_id(), INDEX, 0, BITS, offset));
			CHECK_EQUAL(take_answer(GET, out).offset, skip);
			collect(&near, got);
			CHECK(memcmp(got, bytes, near.total) == 0);
		}
		if (am_target()) {
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.offset, offset);
			CHECK_EQUAL(end.mlength, length);
			CHECK_EQUAL(take(in, PTL_EVENT_GET_END).offset, offset);
			collect(&far, got);
			CHECK(memcmp(got + offset, bytes + skip, length) == 0);
		}
		barrier();
	}
	const ptl_size_t beyond = near.total + 1;
	CHECK_RC(PtlPutRegion(md, 0, beyond, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
}

static void c3_15_the_array_of_pieces_is_copied(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	struct pieces near = cut(2), far = cut(1);
	scatter_pattern(&near, 5);
	const struct pieces far_copy = far;
	if (am_target())
		open_window(BITS, md_of(&far, ANY_REQUEST | PTL_MD_TRUNCATE, in));
	memset(far.piece, 0xee, sizeof(far.piece));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_of(&near, PTL_MD_EVENT_START_DISABLE, out));
		memset(near.piece, 0xee, sizeof(near.piece));
		ask(PUT, md, BITS, 0);
		CHECK_EQUAL(take_answer(PUT, out).mlength, far_copy.total);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_END);
		check_scattered(&far_copy, far_copy.total, 5);
	}
	barrier();
}

#define STRIDE 400 /* a piece and the byte between it and the next */

/* NOLINTNEXTLINE(readability-non-const-parameter): the pieces are written through */
static ptl_md_iovec_t *many_pieces(char *bytes, size_t count)
{
	ptl_md_iovec_t *pieces = memory(count * sizeof(*pieces));
	for (size_t i = 0; i < count; i++)
		pieces[i] = (ptl_md_iovec_t){bytes + STRIDE * i, STRIDE - 1};
	return pieces;
}

static void c3_15_as_many_pieces_as_the_limit_says_work_and_no_more(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	const size_t most = (size_t)limits_in_force().max_md_iovecs, bytes = STRIDE * (most + 1);
	char *near = memory(bytes), *far = memory(bytes);
	ptl_md_iovec_t *near_pieces = many_pieces(near, most + 1), *far_pieces = many_pieces(far, most + 1);
	ptl_handle_md_t md;
	fill_pattern(near, bytes, 1);
	CHECK_RC(PtlMDBind(ni, md_over(near_pieces, most + 1, PTL_MD_IOVEC, out), PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	if (am_target())
		open_window(BITS, md_over(far_pieces, most, ANY_REQUEST | PTL_MD_IOVEC, in));
	barrier();
	if (am_initiator()) {
		md = bind_md(md_over(near_pieces, most, PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE, out));
		ask(PUT, md, BITS, 0);
		CHECK_EQUAL(take_answer(PUT, out).mlength, (STRIDE - 1) * most);
	}
	if (am_target()) {
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).mlength, (STRIDE - 1) * most);
		for (size_t i = 0; i < most; i++) {
			CHECK(memcmp(far + STRIDE * i, near + STRIDE * i, STRIDE - 1) == 0);
			CHECK_EQUAL(far[STRIDE * i + STRIDE - 1], 0);
		}
	}
	barrier();
}

/* ---- Self ---- */

static void c3_15_a_process_can_talk_to_itself(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG), *before = memory(LONG);
	open_window(BITS, md_over(far, LONG, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	for (unsigned i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++) {
			fill_pattern(near, length, 10 + kind);
			memcpy(before, far, length);
			ask(kind, bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out)), BITS, 0);
			CHECK_EQUAL(take_answer(kind, out).mlength, length);
			CHECK_EQUAL(take(in, request_kinds[kind].end).mlength, length);
			if (kind == GET)
				CHECK(memcmp(near, before, length) == 0 && memcmp(far, before, length) == 0);
			else
				CHECK_PATTERN(far, length, 10 + kind);
			if (kind == GETPUT)
				CHECK(memcmp(near, before, length) == 0);
		}
	}
	CHECK_EMPTY(out);
	CHECK_EMPTY(in);
}

/* Takes `count` events: each of `kinds` once, START before END. */
static void take_both_sides(ptl_handle_eq_t eq, const ptl_event_kind_t *kinds, int count)
{
	bool seen[PTL_EVENT_UNLINK + 1] = {false};
	for (int i = 0; i < count; i++) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		CHECK(!seen[event.type]);
		seen[event.type] = true;
		for (int j = 1; j < count; j += 2)
			CHECK(!seen[kinds[j]] || seen[kinds[j - 1]]);
	}
	for (int j = 0; j < count; j++)
		CHECK(seen[kinds[j]]);
	CHECK_EMPTY(eq);
}

/* The simplest program there is: what it moves lands where it was. */
static void c3_15_one_descriptor_can_be_both_ends_of_a_request_to_oneself(void)
{
	static const ptl_event_kind_t put_kinds[] = {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_PUT_START,
						     PTL_EVENT_PUT_END},
				      get_kinds[] = {PTL_EVENT_GET_START, PTL_EVENT_GET_END, PTL_EVENT_REPLY_START,
						     PTL_EVENT_REPLY_END},
				      swap_kinds[] = {PTL_EVENT_SEND_START,   PTL_EVENT_SEND_END,
						      PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END,
						      PTL_EVENT_REPLY_START,  PTL_EVENT_REPLY_END};
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	fill_pattern(bytes, LONG, 4);
	for (int i = 0; i < 2; i++) {
		ptl_md_t md =
			md_over(bytes, short_and_long[i], PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, eq);
		struct window window = open_window(BITS, md);
		CHECK_OK(PtlPut(window.md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		take_both_sides(eq, put_kinds, 4);
		ask(GET, window.md, BITS, 0);
		take_both_sides(eq, get_kinds, 4);
		if (i == 0) {
			ask(GETPUT, window.md, BITS, 0);
			take_both_sides(eq, swap_kinds, 6);
		}
		CHECK_PATTERN(bytes, short_and_long[i], 4);
		CHECK_OK(PtlMDUnlink(window.md));
		CHECK_OK(PtlMEUnlink(window.me));
	}
}

static const struct test tests[] = {
	CASE_PAIR(c3_15_a_descriptor_without_bytes_needs_no_memory_for_any_request, "3.15/1 3.15/8"),
	CASE_PAIR(c3_15_regions_of_no_bytes_are_legal_up_to_the_very_end, "3.15/2"),
	CASE_PAIR(c3_15_requests_for_no_bytes_fit_into_a_full_window, "3.15/1 3.15/3"),
	CASE_ALONE(c3_15_bytes_at_null_are_illegal, "3.15/4"),
	CASE_PAIR(c3_15_overlapping_descriptors_see_each_others_bytes, "3.15/5"),
	CASE_PAIR(c3_15_pieces_of_any_shape_exchange_bytes_with_pieces_of_any_other, "3.15/6 3.15/8"),
	CASE_PAIR(c3_15_pieces_take_part_in_a_getput, "3.15/6"),
	CASE_PAIR(c3_15_regions_and_offsets_count_bytes_across_pieces, "3.15/7"),
	CASE_PAIR(c3_15_the_array_of_pieces_is_copied, "3.15/10"),
	CASE_PAIR(c3_15_as_many_pieces_as_the_limit_says_work_and_no_more, "3.15/9"),
	CASE_ALONE(c3_15_a_process_can_talk_to_itself, "3.15/11"),
	CASE_ALONE(c3_15_one_descriptor_can_be_both_ends_of_a_request_to_oneself, "3.15/11 3.15/12"),
	{0},
};

const struct chapter sizes_chapter = {
	.title = "3.15 Zero length, NULL, pieces, self", .rows = rows, .tests = tests, .core = true};
