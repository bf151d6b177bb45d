/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors made of pieces. */
#include "tests/behaviour/behaviour.h"

#include <string.h>

#define MOST 256

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
#define SHAPES (sizeof shapes / sizeof shapes[0])

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

static ptl_md_t md_of(struct pieces *pieces, unsigned options, ptl_handle_eq_t eq)
{
	return md_over(pieces->piece, pieces->count, options | PTL_MD_IOVEC, eq);
}

/* Initiator's shape i against target's shape j, moving as much as fits both. */
static void puts_and_gets_between_pieces_of_any_shape(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (size_t i = 0; i < SHAPES; i++) {
		for (size_t j = 0; j < SHAPES; j++) {
			struct pieces near = cut(i), far = cut(j), back = cut(i);
			struct window window = {0};
			size_t moved = near.total < far.total ? near.total : far.total;
			char *bytes = memory(near.total), *got = memory(near.total + far.total);
			fill_pattern(bytes, near.total, (unsigned)(i + j));
			scatter(&near, bytes);
			unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE;
			if (am_target())
				window = open_window(BITS, md_of(&far, options | PTL_MD_EVENT_START_DISABLE, in));
			barrier();
			if (am_initiator()) {
				ptl_handle_md_t md = bind_md(md_of(&near, PTL_MD_EVENT_START_DISABLE, out));
				put(md, PTL_ACK_REQ, BITS);
				CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).mlength, near.total);
				CHECK_EQUAL(take(out, PTL_EVENT_ACK).mlength, moved);
				CHECK_OK(PtlMDUnlink(md));
				md = bind_md(md_of(&back, PTL_MD_EVENT_START_DISABLE, out));
				get(md, BITS);
				CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).mlength, moved);
				CHECK_OK(PtlMDUnlink(md));
				collect(&back, got);
				CHECK_PATTERN(got, moved, (unsigned)(i + j));
			}
			if (am_target()) {
				ptl_event_t end = take(in, PTL_EVENT_PUT_END);
				CHECK_EQUAL(end.rlength, near.total);
				CHECK_EQUAL(end.mlength, moved);
				CHECK(end.md.start == far.piece);
				CHECK_EQUAL(end.md.length, far.count);
				take(in, PTL_EVENT_GET_END);
				collect(&far, got);
				CHECK_PATTERN(got, moved, (unsigned)(i + j));
				close_window(window);
			}
			barrier();
		}
	}
}

static void regions_and_offsets_count_bytes_across_pieces(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	struct pieces near = cut(1), far = cut(5);
	char bytes[29], *got = memory(far.total);
	fill_pattern(bytes, near.total, 3);
	scatter(&near, bytes);
	if (am_target())
		open_window(BITS, md_of(&far, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_of(&near, PTL_MD_EVENT_START_DISABLE, out));
	for (size_t skip = 0; skip <= near.total; skip++) {
		size_t offset = 4990 + skip, length = near.total - skip;
		if (am_initiator()) {
			CHECK_OK(
				PtlPutRegion(md, skip, length, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, offset, 0));
			CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).offset, skip);
		}
		if (am_target()) {
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.offset, offset);
			CHECK_EQUAL(end.mlength, length);
			collect(&far, got);
			CHECK(memcmp(got + offset, bytes + skip, length) == 0);
		}
		barrier();
	}
	if (am_initiator()) {
		ptl_size_t beyond = near.total + 1;
		CHECK_RC(PtlPutRegion(md, 0, beyond, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0),
			 PTL_MD_ILLEGAL);
	}
}

static void a_getput_swaps_pieces(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	struct pieces fresh = cut(1), old = cut(3), far = cut(2);
	char bytes[64], got[64];
	fill_pattern(bytes, 64, 1);
	scatter(&fresh, bytes);
	fill_pattern(bytes, 64, 2);
	scatter(&far, bytes);
	if (am_target())
		open_window(BITS, md_of(&far, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t put_md = bind_md(md_of(&fresh, 0, PTL_EQ_NONE));
		ptl_handle_md_t get_md = bind_md(md_of(&old, PTL_MD_EVENT_START_DISABLE, eq));
		CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, old.total); /* the shorter get descriptor cuts */
		collect(&old, got);
		CHECK_PATTERN(got, old.total, 2);
	}
	barrier();
	if (am_target()) {
		collect(&far, got);
		CHECK_PATTERN(got, fresh.total, 1);
	}
}

static void the_array_of_pieces_is_copied(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	struct pieces near = cut(2), far = cut(1);
	char bytes[64], got[64];
	fill_pattern(bytes, 64, 5);
	scatter(&near, bytes);
	struct pieces near_copy = near, far_copy = far;
	if (am_target())
		open_window(BITS, md_of(&far, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, in));
	memset(far.piece, 0xee, sizeof far.piece);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_of(&near, PTL_MD_EVENT_START_DISABLE, out));
		memset(near.piece, 0xee, sizeof near.piece);
		put(md, PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_END);
		collect(&far_copy, got);
		CHECK_PATTERN(got, far_copy.total, 5);
	}
	barrier();
	CHECK_EQUAL(near_copy.total, 64);
}

static void as_many_pieces_as_the_limit_says_work_and_no_more(void)
{
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	size_t most = (size_t)limits.max_md_iovecs;
	CHECK_LESS(MOST - 1, most);
	ptl_md_iovec_t *near = memory((most + 1) * sizeof *near), *far = memory((most + 1) * sizeof *far);
	char *bytes = memory(400 * (most + 1)), *buffer = memory(400 * (most + 1));
	fill_pattern(bytes, 400 * (most + 1), 1);
	for (size_t i = 0; i <= most; i++) {
		near[i] = (ptl_md_iovec_t){bytes + 400 * i, 399};
		far[i] = (ptl_md_iovec_t){buffer + 400 * i, 399};
	}
	ptl_handle_md_t md;
	CHECK_RC(PtlMDBind(ni, md_over(near, most + 1, PTL_MD_IOVEC, out), PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE;
	if (am_target())
		open_window(BITS, md_over(far, most, options, in));
	barrier();
	if (am_initiator()) {
		put(bind_md(md_over(near, most, PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE, out)), PTL_NO_ACK_REQ, BITS);
		CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).mlength, 399 * most);
	}
	if (am_target()) {
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).mlength, 399 * most);
		for (size_t i = 0; i < most; i++)
			CHECK(memcmp(far[i].iov_base, near[i].iov_base, 399) == 0);
	}
	barrier();
}

static void no_pieces_are_an_empty_region(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_IOVEC | PTL_MD_TRUNCATE, in));
	barrier();
	if (am_initiator()) {
		put(bind_md(md_over(NULL, 0, PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE, out)), PTL_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		CHECK_EQUAL(take(out, PTL_EVENT_ACK).mlength, 0);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_START);
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).rlength, 0);
	}
	barrier();
}

const struct test iovec_tests[] = {
	PAIR(puts_and_gets_between_pieces_of_any_shape),
	PAIR(regions_and_offsets_count_bytes_across_pieces),
	PAIR(a_getput_swaps_pieces),
	PAIR(the_array_of_pieces_is_copied),
	PAIR(as_many_pieces_as_the_limit_says_work_and_no_more),
	PAIR(no_pieces_are_an_empty_region),
	{0},
};
