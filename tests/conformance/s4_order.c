/* SPDX-License-Identifier: BSD-3-Clause */
/* 4 Ordering between one pair of processes: requests are matched in the order of the calls, whatever they are. */
#include "tests/conformance/conformance.h"

static const struct row rows[] = {
	{"4/1",
	 "requests of A to B match (START) at B in the order in which A started them: puts, gets, getputs alike"},
	{"4/2", "... whatever their lengths, portal table indexes and descriptors"},
	{"4/3", "A starts them in the order of its calls: its SEND_START events come in that order too (our reading)"},
	{"4/4", "a locally managed descriptor fills in message order: each put lies behind the one before it"},
	{"4/5", "entries for one message each are used up in message order"},
	{"4/6", "an ACK follows the storing of its data: who has read it finds them at the target"},
	{"4/7", "a REPLY follows the reading of its data: the target may change them once it has read GET_END"},
	{"4/8", "the data of a put are there when its own END has been read"},
	{"4/9", "in one queue the START of an operation precedes its END, and END precedes UNLINK"},
	{"4/10", "a process that talks to itself is a pair like any other"},
	{"4/11", "each pair has its order, also where several initiators or several targets take part"},
	{0},
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Mostly small, every kind of path a transport may have, up to LONG. */
static size_t mixed_length(uint32_t *state)
{
	static const uint32_t limits[] = {1, 9, 65, 300, 5000, 20000, 70000, 300000, LONG + 1};
	uint32_t kind = next_random(state) % 40;
	return next_random(state) % limits[kind < 36 ? kind / 6 : kind - 32 + 1];
}

/* A window for whatever comes, matching everything. */
static void open_hall(ptl_pt_index_t index, char *bytes, size_t length, unsigned options, ptl_handle_eq_t eq)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	options |= PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	CHECK_OK(PtlMEAttach(ni, index, anyone, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md_over(bytes, length, options, eq), PTL_RETAIN, &md));
}

/* Two bits of what has happened to an operation, found by its link. */
enum { STARTED = 1, ENDED = 2 };

/*
 * One stream of bytes is cut into a thousand puts; the target's descriptor places each behind the one before it.  The
 * stream comes out as it went in exactly if every put was matched in turn and moved its own bytes.
 */
static void c4_a_thousand_mixed_size_puts_keep_call_order(void)
{
	enum { COUNT = FEWER(1000) };
	size_t *offset = memory((COUNT + 1) * sizeof(*offset));
	uint32_t state = 12345;
	for (int i = 0; i < COUNT; i++)
		offset[i + 1] = offset[i] + mixed_length(&state);
	size_t total = offset[COUNT];
	char *stream = memory(total), *arrived = memory(total);
	ptl_handle_eq_t out = new_eq(2 * COUNT), in = new_eq(2 * COUNT);
	fill_pattern(stream, total, 1);
	if (am_target())
		open_window(BITS, md_over(arrived, total, PTL_MD_OP_PUT, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(stream, total, PTL_MD_EVENT_END_DISABLE, out));
		for (int i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, offset[i], offset[i + 1] - offset[i], PTL_NO_ACK_REQ, target_id(),
					      INDEX, 0, BITS, 0, (ptl_hdr_data_t)i));
		for (int i = 0; i < COUNT; i++)
			CHECK_EQUAL(take(out, PTL_EVENT_SEND_START).hdr_data, i);
	}
	for (int started = 0, ended = 0; ended < COUNT && am_target();) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (event.type == PTL_EVENT_PUT_END) {
			ended++;
			continue;
		}
		CHECK_EQUAL(event.type, PTL_EVENT_PUT_START);
		CHECK_EQUAL(event.hdr_data, started);
		CHECK_EQUAL(event.offset, offset[started]);
		CHECK_EQUAL(event.mlength, offset[started + 1] - offset[started]);
		started++;
	}
	if (am_target())
		CHECK_PATTERN(arrived, total, 1);
	barrier();
}

/* Issues one request of a random kind and length to a random index; its number goes in its match bits. */
static unsigned request_anything(uint32_t *state, const ptl_handle_md_t *mds, ptl_handle_md_t word, unsigned number)
{
	size_t length = mixed_length(state);
	ptl_pt_index_t index = INDEX + next_random(state) % 3;
	ptl_handle_md_t md = mds[next_random(state) % 2];
	switch (next_random(state) % 3) {
	case 0:
		CHECK_OK(PtlPutRegion(md, 0, length, PTL_NO_ACK_REQ, target_id(), index, 0, number, 0, 0));
		return 1;
	case 1:
		CHECK_OK(PtlGetRegion(md, 0, length, target_id(), index, 0, number, 0));
		return 1;
	default:
		CHECK_OK(PtlGetPut(word, word, target_id(), index, 0, number, 0, 0));
		return 2;
	}
}

static void c4_starts_of_puts_gets_and_getputs_come_in_call_order(void)
{
	enum { COUNT = FEWER(300) };
	char *near = memory(LONG), *far = memory(LONG);
	ptl_handle_eq_t out = new_eq(8 * COUNT), in = new_eq(4 * COUNT);
	for (ptl_pt_index_t index = INDEX; index < INDEX + 3 && am_target(); index++)
		open_hall(index, far, LONG, 0, in);
	barrier();
	if (am_initiator()) {
		uint32_t state = 99;
		unsigned expected = 0;
		const ptl_md_t md = md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out);
		const ptl_handle_md_t mds[] = {bind_md(md), bind_md(md)};
		ptl_handle_md_t word = bind_md(md_over(near, 8, PTL_MD_EVENT_START_DISABLE, out));
		for (unsigned i = 0; i < COUNT; i++)
			expected += request_anything(&state, mds, word, i);
		for (; expected > 0; expected--)
			CHECK_EQUAL(take_any(out).ni_fail_type, PTL_NI_OK);
	}
	for (unsigned started = 0, ended = 0; ended < COUNT && am_target();) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (event.type == PTL_EVENT_PUT_START || event.type == PTL_EVENT_GET_START ||
		    event.type == PTL_EVENT_GETPUT_START)
			CHECK_EQUAL(event.match_bits, started++);
		else
			ended++;
	}
	barrier();
}

/* The target stands still meanwhile, so more answers are outstanding than any NIC lets pass without holding back. */
static void c4_order_holds_while_hundreds_of_answers_are_outstanding(void)
{
	enum { COUNT = 800 };
	ptl_handle_eq_t out = new_eq(4 * COUNT), in = new_eq(4 * COUNT);
	char *near = memory(64), *far = memory(64);
	if (am_target())
		open_hall(INDEX, far, 64, PTL_MD_EVENT_END_DISABLE, in);
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, 64, PTL_MD_EVENT_START_DISABLE, out));
		ping(target_id());
		stop_process(1);
		for (unsigned i = 0; i < COUNT; i++) /* three that want an answer, one that does not */
			if (i % 4 == 3)
				put(md, PTL_NO_ACK_REQ, i);
			else if (i % 4 == 2)
				put(md, PTL_ACK_REQ, i);
			else
				get(md, i);
		continue_process(1);
		for (unsigned left = COUNT + COUNT / 4; left > 0; left--)
			CHECK_EQUAL(take_any(out).ni_fail_type, PTL_NI_OK);
	}
	for (unsigned i = 0; i < COUNT && am_target(); i++)
		CHECK_EQUAL(take_any(in).match_bits, i);
	barrier();
}

/* Every other message is long; each entry takes one, and a short one must not reach a later entry's place sooner. */
static void c4_entries_for_one_message_are_used_up_in_message_order(void)
{
	enum { COUNT = 20 };
	ptl_handle_eq_t in = new_eq(4 * COUNT), out = new_eq(2 * COUNT);
	struct window windows[COUNT];
	char *near = memory(LONG), *far = memory(LONG);
	ptl_md_t receive = with_threshold(md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, in), 1);
	for (int i = 0; i < COUNT && am_target(); i++)
		windows[i] = open_window(BITS, receive);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (unsigned i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, 0, short_and_long[(i + 1) % 2], PTL_NO_ACK_REQ, target_id(), INDEX, 0,
					      BITS, 0, i));
		for (int i = 0; i < COUNT; i++)
			take(out, PTL_EVENT_SEND_END);
	}
	for (int i = 0; i < COUNT && am_target(); i++) {
		ptl_event_t event = take(in, PTL_EVENT_PUT_END); /* ENDs come in any order */
		CHECK_EQUAL(event.md_handle, windows[event.hdr_data].md);
		CHECK_EQUAL(event.mlength, short_and_long[(event.hdr_data + 1) % 2]);
	}
	barrier();
}

/* Fetched back at once, the last bytes must be the new ones; likewise what the target sees after its END. */
static void c4_acks_ends_and_replies_follow_the_data(void)
{
	enum { ROUNDS = 20 };
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	char *near = memory(LONG), *far = memory(LONG), *back = memory(LONG);
	if (am_target())
		open_window(BITS,
			    md_over(far, LONG,
				    PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
				    in));
	for (unsigned round = 1; round <= ROUNDS; round++) {
		const size_t length = short_and_long[round % 2];
		barrier();
		if (am_initiator()) {
			fill_pattern(near, length, round);
			ptl_md_t md = md_over(near, length, PTL_MD_EVENT_START_DISABLE, out);
			put(bind_md(md), PTL_ACK_REQ, BITS);
			take(out, PTL_EVENT_SEND_END);
			take(out, PTL_EVENT_ACK);
			md.start = back;
			get(bind_md(md), BITS);
		}
		if (am_target()) {
			take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far, length, round);
			take(in, PTL_EVENT_GET_END);
			fill_pattern(far, length, 0);
			CHECK_EQUAL(drops(), 0); /* a call that hands the memory over to the engine's thread */
		}
		if (am_initiator()) {
			take(out, PTL_EVENT_REPLY_END);
			CHECK_PATTERN(back, length, round);
		}
	}
	barrier();
}

/* Short and long operations overlap on one descriptor, which goes away by the last of them. */
static void c4_start_comes_before_end_and_end_before_unlink(void)
{
	enum { COUNT = 40 };
	ptl_handle_eq_t in = new_eq(4 * COUNT), out = new_eq(4 * COUNT);
	char *near = memory(LONG), *far = memory(LONG);
	unsigned seen[COUNT] = {0};
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
	if (am_target())
		open_mortal_window(BITS, with_threshold(md_over(far, LONG, options, in), COUNT));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (unsigned i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, 0, short_and_long[i % 2], PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      0, i));
		for (int i = 0; i < COUNT; i++)
			take(out, PTL_EVENT_SEND_END);
	}
	for (int i = 0; i < 2 * COUNT && am_target(); i++) {
		ptl_event_t event = take_any(in);
		bool start = event.type == PTL_EVENT_PUT_START;
		CHECK_EQUAL(event.type, start ? PTL_EVENT_PUT_START : PTL_EVENT_PUT_END);
		CHECK_EQUAL(seen[event.hdr_data], start ? 0 : STARTED);
		seen[event.hdr_data] |= start ? STARTED : ENDED;
	}
	if (am_target())
		CHECK_EQUAL(take(in, PTL_EVENT_UNLINK).hdr_data, COUNT - 1);
	CHECK_EMPTY(in);
	barrier();
}

/* All STARTs, by their initiator's pid, must count up; `senders` processes send `count` messages each. */
static void check_everybodys_order(ptl_handle_eq_t in, unsigned senders, unsigned count)
{
	unsigned next[MAX_PROCESSES] = {0};
	for (unsigned ended = 0; ended < senders * count;) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		ended += event.type == PTL_EVENT_PUT_END;
		for (int rank = 0; rank < process_count; rank++)
			if (event.type == PTL_EVENT_PUT_START && event.initiator.pid == id_of[rank].pid)
				CHECK_EQUAL(event.hdr_data, next[rank]++);
	}
	CHECK_EMPTY(in);
}

/* Each sends to each, itself included, taking turns among them. */
static void c4_each_pair_keeps_its_own_order(void)
{
	enum { COUNT = FEWER(200) };
	char *near = memory(LONG), *far = memory(LONG);
	ptl_handle_eq_t in = new_eq(2 * MAX_PROCESSES * COUNT), out = new_eq(MAX_PROCESSES * COUNT);
	uint32_t state = (uint32_t)my_rank;
	open_hall(INDEX, far, LONG, 0, in);
	barrier();
	ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
	for (unsigned i = 0; i < COUNT; i++)
		for (int rank = 0; rank < process_count; rank++)
			CHECK_OK(PtlPutRegion(md, 0, mixed_length(&state), PTL_NO_ACK_REQ, id_of[rank], INDEX, 0, BITS,
					      0, i));
	check_everybodys_order(in, (unsigned)process_count, COUNT);
	for (int i = 0; i < process_count * COUNT; i++)
		take(out, PTL_EVENT_SEND_END);
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c4_a_thousand_mixed_size_puts_keep_call_order, "4/1 4/2 4/3 4/4"),
	CASE_PAIR(c4_starts_of_puts_gets_and_getputs_come_in_call_order, "4/1 4/2"),
	CASE_TWO(c4_order_holds_while_hundreds_of_answers_are_outstanding, "4/1"),
	CASE_PAIR(c4_entries_for_one_message_are_used_up_in_message_order, "4/5"),
	CASE_PAIR(c4_acks_ends_and_replies_follow_the_data, "4/6 4/7 4/8"),
	CASE_PAIR(c4_start_comes_before_end_and_end_before_unlink, "4/9"),
	CASE(c4_each_pair_keeps_its_own_order, "4/10 4/11", 3, TRAIT_PAIR),
	{0},
};

const struct chapter order_chapter = {
	.title = "4 Ordering between one pair of processes", .rows = rows, .tests = tests, .core = true};
