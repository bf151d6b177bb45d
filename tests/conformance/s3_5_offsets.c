/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.5 Offsets and PTL_MD_MAX_SIZE. */
#include <string.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.5/1",
	 "A descriptor without PTL_MD_MANAGE_REMOTE manages its offset itself: it is 0 at first, and the request's "
	 "offset means nothing."},
	{"3.5/2", "The local offset grows by the bytes moved, not by those asked for, with every put, get and getput "
		  "accepted, and with those only."},
	{"3.5/3", "The local offset is neither used nor moved by the owner's own operations, by ACKs or by REPLYs."},
	{"3.5/4", "A successful PtlMDUpdate sets the local offset to 0; one that is refused leaves it."},
	{"3.5/5", "With PTL_MD_MANAGE_REMOTE each request's own offset is used and nothing adds up."},
	{"3.5/6", "With PTL_MD_MANAGE_REMOTE max_size means nothing."},
	{"3.5/7", "With PTL_MD_MAX_SIZE a descriptor becomes inactive with the accepted request that leaves fewer than "
		  "max_size bytes behind the local offset; exactly max_size bytes keep it active."},
	{"3.5/8", "A max_size of 0 never makes a descriptor inactive, nor does any without PTL_MD_MAX_SIZE."},
	{"3.5/9",
	 "Neither attaching nor a refused request nor an operation of the owner makes a descriptor inactive for "
	 "lack of room."},
	{"3.5/10", "A full descriptor is inactive as with threshold 0: the next entry gets the next request, it is no "
		   "source; it goes away if it was to unlink itself, else it stays and an update can revive it."},
	{"3.5/11",
	 "A client can tell the last message of a block from its events: exactly for that one md.length - (offset "
	 "+ mlength) < md.max_size; offsets are never padded."},
	{"3.5/12", "START and END of the message that filled a descriptor come before its UNLINK."},
	{0},
};

#define REFUSED    UINT64_MAX
#define IRRELEVANT 77 /* an offset that is not looked at */

/* The next request to a window, where in it, and how many bytes move. */
struct step {
	enum request kind;
	ptl_size_t length, offset, moved;
};

static const struct step cutting[] = {
	{PUT, 30, 0, 30},    {GET, 20, 30, 20}, {GETPUT, 10, 50, 10}, {PUT, 0, 60, 0},  {GET, 51, 60, 51},
	{PUT, 100, 111, 89}, {GET, 7, 200, 0},  {GETPUT, 9, 200, 0},  {PUT, 1, 200, 0}, {PUT, 0, 200, 0},
};
static const struct step refusing[] = {
	{PUT, 201, REFUSED, 0}, {GET, 30, 0, 30},     {PUT, 171, REFUSED, 0},
	{GET, 171, REFUSED, 0}, {PUT, 130, 30, 130},  {GETPUT, 41, REFUSED, 0},
	{GETPUT, 40, 160, 40},  {GET, 1, REFUSED, 0}, {GET, 0, 200, 0},
};
static const struct step long_steps[] = {
	{PUT, LONG, 0, LONG},     {GET, LONG, LONG, LONG}, {PUT, 8, 2 * LONG, 8}, {PUT, LONG, 2 * LONG + 8, LONG - 8},
	{GET, LONG, 3 * LONG, 0},
};

/* What a window must contain is known on both sides: `expected`. */
static void ask_step(const struct step *step, const char *expected, ptl_handle_eq_t eq)
{
	char *near = memory(step->length);
	fill_pattern(near, step->length, 1);
	ptl_handle_md_t md = bind_md(md_over(near, step->length, PTL_MD_EVENT_START_DISABLE, eq));
	ask(step->kind, md, BITS, IRRELEVANT);
	CHECK_EQUAL(take_answer(step->kind, eq).mlength, step->moved);
	CHECK(step->kind == PUT || step->moved == 0 || memcmp(near, expected + step->offset, step->moved) == 0);
}

static void walk(const struct step *steps, size_t count, size_t size, unsigned options)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8), missed = new_eq(8);
	char *far = memory(size), *expected = memory(size);
	fill_pattern(far, size, 2);
	fill_pattern(expected, size, 2);
	if (am_target()) {
		open_window(BITS, md_over(far, size, ANY_REQUEST | options, in));
		open_net(missed);
	}
	barrier();
	for (const struct step *step = steps; step < steps + count; step++) {
		if (am_initiator())
			ask_step(step, expected, out);
		if (step->kind != GET && step->offset != REFUSED)
			fill_pattern(expected + step->offset, step->moved, 1);
		if (am_target() && step->offset == REFUSED) {
			take(missed, request_kinds[step->kind].end);
		} else if (am_target()) {
			ptl_event_t end = take(in, request_kinds[step->kind].end);
			CHECK_EQUAL(end.offset, step->offset);
			CHECK_EQUAL(end.mlength, step->moved);
			CHECK(memcmp(far, expected, size) == 0);
		}
		barrier();
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(missed);
}

#define WALK(steps, size, options) walk(steps, sizeof(steps) / sizeof(steps[0]), size, options)

static void c3_5_the_local_offset_grows_by_what_accepted_requests_move(void)
{
	WALK(cutting, 200, PTL_MD_TRUNCATE);
}

static void c3_5_the_local_offset_grows_by_nothing_for_refused_requests(void)
{
	WALK(refusing, 200, 0);
}

static void c3_5_the_local_offset_grows_by_what_long_requests_move(void)
{
	WALK(long_steps, 3 * LONG, PTL_MD_TRUNCATE);
}

/* A put of `length` bytes to myself lands in the window of BITS at `offset`. */
static void land_at_home(size_t length, ptl_size_t offset, ptl_handle_eq_t eq)
{
	static char bytes[64];
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_md_t md = bind_md(md_over(bytes, length, QUIET, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, IRRELEVANT, 0));
	ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
	CHECK_EQUAL(end.offset, offset);
	CHECK_EQUAL(end.mlength, length);
}

/* A put, a get of the same bytes and, if short, a getput: all from and to the beginning of the descriptor. */
static void operate_on(ptl_handle_md_t md, char *bytes, size_t length, ptl_handle_eq_t eq)
{
	for (enum request kind = PUT; kind < (length == LONG ? GETPUT : REQUESTS); kind++) {
		if (kind == GET)
			memset(bytes, 0, length);
		else
			fill_pattern(bytes, length, 3);
		ask(kind, md, BITS + 1, 0);
		ptl_event_t answer = take_answer(kind, eq);
		CHECK_EQUAL(answer.offset, 0);
		CHECK_EQUAL(answer.mlength, length);
		CHECK_PATTERN(bytes, length, 3);
	}
}

/* The initiator's own window is the descriptor of its operations. */
static void c3_5_own_operations_neither_use_nor_move_the_local_offset(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	if (am_target())
		open_window(BITS + 1, md_over(far, LONG, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (size_t i = 0; i < 4 && am_initiator(); i++) {
		const size_t length = short_and_long[i & 1], used = i & 2 ? 3 : 0;
		struct window window = open_window(BITS, md_over(near, length, ANY_REQUEST | PTL_MD_TRUNCATE, eq));
		land_at_home(used, 0, eq);
		operate_on(window.md, near, length, eq);
		land_at_home(1, used, eq);
		close_window(window);
	}
	barrier();
}

/* The target's part between two puts of `length` bytes. */
static void update_window(ptl_handle_md_t md, ptl_handle_eq_t eq, int expected)
{
	ptl_md_t same = state_of(md);
	CHECK_RC(PtlMDUpdate(md, NULL, &same, eq), expected);
}

static void c3_5_an_update_sets_the_local_offset_to_0_unless_it_is_refused(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(2 * LONG);
	for (int i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		const ptl_size_t offsets[] = {0, length, 0};
		ptl_handle_md_t md = bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out));
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(far, 2 * length, ANY_REQUEST, in));
		for (int j = 0; j < 3; j++) {
			barrier();
			if (am_initiator()) {
				ask(PUT, md, BITS, IRRELEVANT);
				take_answer(PUT, out);
			}
			barrier(); /* the event is there, unread */
			if (am_target() && j == 0)
				update_window(window.md, in, PTL_MD_NO_UPDATE);
			if (am_target())
				CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).offset, offsets[j]);
			if (am_target() && j == 1)
				update_window(window.md, in, PTL_OK);
		}
		if (am_target())
			close_window(window);
	}
	barrier();
}

/* More bytes altogether than the region has, in no order. */
static void c3_5_remote_offsets_are_used_as_they_are(void)
{
	static const ptl_size_t offsets[] = {60, 0, 92, 30, 92, 100, 1, 60};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char word[8], buffer[100], expected[100];
	fill_pattern(buffer, 100, 2);
	fill_pattern(expected, 100, 2);
	if (am_target())
		open_window(BITS, md_over(buffer, 100, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const size_t length = offsets[i] == 100 ? 0 : 8;
		for (enum request kind = PUT; kind < REQUESTS; kind++) {
			fill_pattern(word, 8, (unsigned)i + kind);
			if (am_initiator()) {
				ask(kind, bind_md(md_over(word, length, PTL_MD_EVENT_START_DISABLE, out)), BITS,
				    offsets[i]);
				take_answer(kind, out);
				CHECK(kind == PUT || memcmp(word, expected + offsets[i], length) == 0);
			}
			if (kind != GET)
				fill_pattern(expected + offsets[i], length, (unsigned)i + kind);
			if (am_target()) {
				CHECK_EQUAL(take(in, request_kinds[kind].end).offset, offsets[i]);
				CHECK(memcmp(buffer, expected, 100) == 0);
			}
			barrier();
		}
	}
}

static ptl_md_t block(void *start, size_t length, ptl_size_t max_size, unsigned options, ptl_handle_eq_t eq)
{
	ptl_md_t md = md_over(start, length, ANY_REQUEST | options, eq);
	md.max_size = max_size;
	return md;
}

/* One request from the initiator, which the target finds in `eq` at `offset`. */
static void hit(enum request kind, size_t length, ptl_size_t offset, ptl_handle_eq_t out, ptl_handle_eq_t eq)
{
	if (am_initiator()) {
		ask(kind, bind_md(md_over(memory(length), length, PTL_MD_EVENT_START_DISABLE, out)), BITS, 0);
		take_answer(kind, out);
	}
	if (am_target())
		CHECK_EQUAL(take(eq, request_kinds[kind].end).offset, offset);
}

/* `first` bytes leave just max_size, one more is too much. */
static void fill_block(enum request kind, size_t first, ptl_unlink_t unlink)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8), missed = new_eq(8);
	char *far = memory(first + 40);
	struct window window = {0}, net = {0};
	if (am_target()) {
		window = open_window_at(__FILE__, __LINE__, INDEX, BITS,
					block(far, first + 40, 40, PTL_MD_MAX_SIZE, in), unlink);
		net = open_net(missed);
	}
	barrier();
	hit(kind, first, 0, out, in);
	hit(kind, 0, first, out, in);
	hit(kind, 1, first, out, in);
	if (am_target() && unlink == PTL_UNLINK) {
		take(in, PTL_EVENT_UNLINK);
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
	} else if (am_target()) {
		CHECK_RC(PtlPut(window.md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
	}
	hit(kind, 1, 0, out, missed);
	if (am_target() && unlink == PTL_RETAIN)
		update_window(window.md, PTL_EQ_NONE, PTL_OK);
	barrier();
	hit(kind, first, 0, out, unlink == PTL_RETAIN ? in : missed);
	CHECK_EMPTY(in);
	CHECK_EMPTY(missed);
	if (am_target() && unlink == PTL_RETAIN)
		close_window(window);
	if (am_target())
		close_window(net);
	barrier();
}

static void c3_5_exactly_max_size_bytes_left_keep_a_block_active_and_one_fewer_does_not(void)
{
	static const ptl_unlink_t unlink[] = {PTL_RETAIN, PTL_UNLINK};
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			for (enum request kind = PUT; kind < (j ? GETPUT : REQUESTS); kind++)
				fill_block(kind, short_and_long[j], unlink[i]);
}

static void c3_5_max_size_0_is_always_left(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	static char buffer[8];
	if (am_target())
		open_mortal_window(BITS, block(buffer, 8, 0, PTL_MD_MAX_SIZE, in));
	barrier();
	hit(PUT, 8, 0, out, in);
	for (enum request kind = PUT; kind < REQUESTS; kind++)
		hit(kind, 0, 8, out, in);
	barrier();
	CHECK_EMPTY(in);
}

static void c3_5_max_size_counts_only_with_its_option_and_local_offsets(void)
{
	static const unsigned options[] = {0, PTL_MD_MAX_SIZE | PTL_MD_MANAGE_REMOTE};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	static char buffer[8];
	for (int i = 0; i < 2; i++) {
		struct window window = {0};
		if (am_target())
			window = open_mortal_window(BITS, block(buffer, 8, 9, options[i], in));
		barrier();
		for (enum request kind = PUT; kind < REQUESTS; kind++)
			hit(kind, options[i] ? 8 : 1, options[i] ? 0 : kind, out, in);
		barrier();
		CHECK_EMPTY(in);
		if (am_target())
			close_window(window);
	}
}

/* A block that is too small for its max_size from the start; the first request that it accepts is its last. */
static void c3_5_only_an_accepted_request_fills_a_block(void)
{
	ptl_handle_eq_t out = new_eq(8), own = new_eq(8), missed = new_eq(8);
	static char buffer[8], far[8];
	struct window window = {0};
	if (am_target()) {
		open_window(BITS + 1, md_over(far, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
		window = open_mortal_window(BITS, block(buffer, 8, 9, PTL_MD_MAX_SIZE, own));
		open_net(missed);
	}
	barrier();
	for (enum request kind = PUT; kind < REQUESTS && am_target(); kind++) {
		ask(kind, window.md, BITS + 1, 0);
		take_answer(kind, own);
	}
	barrier();
	hit(PUT, 9, 0, out, missed);
	hit(PUT, 0, 0, out, own);
	if (am_target())
		take(own, PTL_EVENT_UNLINK);
	hit(PUT, 0, 0, out, missed);
	barrier();
	CHECK_EMPTY(own);
	CHECK_EMPTY(missed);
}

/* A receive block as MPI libraries use it: by this they recognise its last message. */
static bool is_last(const ptl_event_t *event)
{
	return event->md.length - (event->offset + event->mlength) < event->md.max_size;
}

static void c3_5_clients_recognise_the_last_message_of_a_block(void)
{
	enum { BLOCK = 1000, MOST = 100, COUNT = 60 };
	ptl_handle_eq_t eq = new_eq(4 * COUNT);
	static char blocks[3][BLOCK], bytes[MOST];
	for (int i = 0; i < 3 && am_target(); i++)
		open_mortal_window(BITS, block(blocks[i], BLOCK, MOST, PTL_MD_MAX_SIZE, eq));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(bytes, MOST, 0, PTL_EQ_NONE));
	for (size_t i = 0; i < COUNT && am_initiator(); i++)
		CHECK_OK(PtlPutRegion(md, 0, (i * 37) % MOST, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
	size_t used = 0, number = 0;
	for (size_t next = 0; am_target() && number < 3; next++) {
		ptl_event_t event = take(eq, PTL_EVENT_PUT_END);
		CHECK_EQUAL(event.hdr_data, next);
		CHECK_EQUAL(event.mlength, (next * 37) % MOST);
		CHECK_EQUAL(event.offset, used);
		CHECK(event.md.start == blocks[number]);
		used += event.mlength;
		CHECK_EQUAL(is_last(&event), BLOCK - used < MOST);
		if (is_last(&event)) {
			CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).link, event.link);
			used = 0;
			number++;
		}
	}
	barrier();
	CHECK_EMPTY(eq);
}

/* The short message fills the block while the long one may still be moving; the block waits for both. */
static void c3_5_a_full_block_unlinks_after_the_end_of_its_messages(void)
{
	ptl_handle_eq_t in = new_eq(16);
	char *near = memory(LONG), *far = memory(LONG + 100);
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE;
	ptl_md_t md = md_over(far, LONG + 100, options, in);
	md.max_size = 100;
	fill_pattern(near, LONG, 3);
	if (am_target())
		open_mortal_window(BITS, md);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t source = bind_md(md_over(near, LONG, 0, PTL_EQ_NONE));
		put(source, PTL_NO_ACK_REQ, BITS);
		CHECK_OK(PtlPutRegion(source, 0, 1, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	}
	if (am_target()) {
		ptl_seq_t first = 0, filler = 0;
		for (int i = 0; i < 4; i++) {
			ptl_event_t event = take_any(in);
			CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
			CHECK(event.type == PTL_EVENT_PUT_START || event.type == PTL_EVENT_PUT_END);
			*(event.offset == 0 ? &first : &filler) = event.link;
		}
		CHECK_EQUAL(take(in, PTL_EVENT_UNLINK).link, filler);
		CHECK(first != filler);
		CHECK_PATTERN(far, LONG, 3);
	}
	barrier();
	CHECK_EMPTY(in);
}

static const struct test tests[] = {
	CASE_PAIR(c3_5_the_local_offset_grows_by_what_accepted_requests_move, "3.5/1 3.5/2"),
	CASE_PAIR(c3_5_the_local_offset_grows_by_nothing_for_refused_requests, "3.5/2"),
	CASE_PAIR(c3_5_the_local_offset_grows_by_what_long_requests_move, "3.5/1 3.5/2"),
	CASE_PAIR(c3_5_own_operations_neither_use_nor_move_the_local_offset, "3.5/3"),
	CASE_PAIR(c3_5_an_update_sets_the_local_offset_to_0_unless_it_is_refused, "3.5/4"),
	CASE_PAIR(c3_5_remote_offsets_are_used_as_they_are, "3.5/5"),
	CASE_PAIR(c3_5_exactly_max_size_bytes_left_keep_a_block_active_and_one_fewer_does_not, "3.5/7 3.5/10 3.5/12"),
	CASE_PAIR(c3_5_max_size_0_is_always_left, "3.5/8"),
	CASE_PAIR(c3_5_max_size_counts_only_with_its_option_and_local_offsets, "3.5/6 3.5/8"),
	CASE_PAIR(c3_5_only_an_accepted_request_fills_a_block, "3.5/9"),
	CASE_PAIR(c3_5_clients_recognise_the_last_message_of_a_block, "3.5/11 3.5/12"),
	CASE_PAIR(c3_5_a_full_block_unlinks_after_the_end_of_its_messages, "3.5/12"),
	{0},
};

const struct chapter offsets_chapter = {
	.title = "3.5 Offsets and PTL_MD_MAX_SIZE", .rows = rows, .tests = tests, .core = true};
