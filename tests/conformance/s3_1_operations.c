/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.1, 3.2 Life of an operation. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.1/1", "A put moves its bytes to the target and logs SEND_START and SEND_END on the initiator's descriptor, "
		  "PUT_START and PUT_END on the target's, and nothing else unless it is acknowledged."},
	{"3.1/2",
	 "A get brings the target's bytes and logs GET_START and GET_END on the target's descriptor and, on the "
	 "initiator's, REPLY_START and REPLY_END alone: its request logs nothing there."},
	{"3.1/3", "A getput exchanges bytes and logs SEND_START and SEND_END on the put descriptor, REPLY_START and "
		  "REPLY_END on the get descriptor, GETPUT_START and GETPUT_END on the target's."},
	{"3.1/4", "A put is answered by an ACK only if one was asked for and the target's descriptor allows it."},
	{"3.1/5", "An accepted get or getput is always answered by a REPLY, whatever the target's descriptor logs or "
		  "says about acknowledgements."},
	{"3.1/6", "Only put, get and getput requests pass access control and match lists; an ACK or REPLY finds its "
		  "descriptor without them."},
	{"3.1/7", "A get uses up one unit of its descriptor's threshold, when the REPLY comes; its request uses none."},
	{"3.1/8",
	 "A get descriptor with threshold 1 that unlinks itself does so after REPLY_END, with an UNLINK event."},
	{"3.2/1", "A request tells the target the nid, pid, user id and job id of the process that issued it."},
	{"3.2/2", "A request carries its portal table index and all 64 match bits."},
	{"3.2/3", "A request names the entry of the target's access control table that judges it."},
	{"3.2/4", "A request carries its target offset in 64 bits."},
	{"3.2/5", "A request carries its requested length in 64 bits."},
	{"3.2/6", "A put and a getput carry the 64 bits of header data; a get carries none, the target reads 0."},
	{"3.2/7", "A put carries exactly the bytes of its descriptor, a region put those of the region."},
	{"3.2/8",
	 "An ACK brings back portal table index, match bits and requested length of its put and how many bytes "
	 "the target kept, and comes from the put's target."},
	{"3.2/9", "A REPLY brings back portal table index, match bits and requested length of its request, how many "
		  "bytes it carries, and those bytes, and comes from the request's target."},
	{"3.2/10", "Each ACK and REPLY reaches the descriptor its own request was issued from (a getput's: the get "
		   "descriptor), however many are outstanding."},
	{"3.2/11", "The bytes of a REPLY land at the local offset that the get was given, and nowhere else."},
	{0},
};

/* Around the limits of short messages of every transport. */
static const size_t lengths[] = {0, 1, 8, 16, 56, 57, 240, 1024, 4096, 4097, 16384, 65536, 65537, LONG};
#define LENGTHS   (sizeof(lengths) / sizeof(lengths[0]))
#define HEADER(i) (0xfedcba9876543210u + (i))
#define GUARD     64

/* What both events of an operation say. */
struct story {
	ptl_process_id_t initiator;
	ptl_handle_md_t md;
	ptl_size_t length, offset;
	ptl_hdr_data_t hdr;
};

static void check_story(const ptl_event_t *event, const struct story *story)
{
	CHECK_ID(event->initiator, story->initiator);
	CHECK_EQUAL(event->uid, geteuid());
	CHECK_EQUAL(event->jid, story->initiator.pid); /* no launcher gave us a job: it is the pid */
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->match_bits, BITS);
	CHECK_EQUAL(event->rlength, story->length);
	CHECK_EQUAL(event->mlength, story->length);
	CHECK_EQUAL(event->offset, story->offset);
	CHECK_EQUAL(event->hdr_data, story->hdr);
	CHECK_EQUAL(event->md_handle, story->md);
}

static void take_story(ptl_handle_eq_t eq, ptl_event_kind_t start_kind, ptl_event_kind_t end_kind, struct story story)
{
	ptl_event_t start = take(eq, start_kind), end = take(eq, end_kind);
	check_story(&start, &story);
	check_story(&end, &story);
	CHECK_EQUAL(start.link, end.link);
}

static void put_one_length(ptl_handle_eq_t eq, size_t i)
{
	char *source = memory(lengths[i]);
	fill_pattern(source, lengths[i], (unsigned)i);
	ptl_handle_md_t md = bind_md(md_over(source, lengths[i], 0, eq));
	put_word(md, PTL_NO_ACK_REQ, BITS, 3 * i, HEADER(i));
	take_story(eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END,
		   (struct story){initiator_id(), md, lengths[i], 0, HEADER(i)});
	CHECK_OK(PtlMDUnlink(md));
}

static void c3_1_a_put_of_any_length_logs_a_pair_on_each_side_and_moves_its_bytes(void)
{
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	char *buffer = memory(LONG + GUARD);
	struct window window = {0};
	if (am_target())
		window = open_window(BITS, md_over(buffer, LONG + GUARD, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	for (size_t i = 0; i < LENGTHS; i++) {
		if (am_initiator())
			put_one_length(out, i);
		if (am_target()) {
			take_story(in, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
				   (struct story){initiator_id(), window.md, lengths[i], 3 * i, HEADER(i)});
			CHECK_PATTERN(buffer + 3 * i, lengths[i], (unsigned)i);
			CHECK_EQUAL(buffer[3 * i + lengths[i]], 0);
			memset(buffer, 0, LONG + GUARD);
		}
		barrier();
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(out);
}

static void c3_1_a_get_of_any_length_logs_a_reply_pair_here_a_get_pair_there_and_brings_the_bytes(void)
{
	ptl_handle_eq_t out = new_eq(16), in = new_eq(16);
	char *source = memory(LONG + GUARD), *buffer = memory(LONG + GUARD);
	struct window window = {0};
	fill_pattern(source, LONG + GUARD, 1);
	if (am_target())
		window = open_window(BITS, md_over(source, LONG + GUARD, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	for (size_t i = 0; i < LENGTHS; i++) {
		if (am_initiator()) {
			memset(buffer, 0, LONG + GUARD);
			ptl_handle_md_t md = bind_md(md_over(buffer, lengths[i], 0, out));
			CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, 3 * i));
			take_story(out, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END,
				   (struct story){target_id(), md, lengths[i], 0, 0});
			CHECK(memcmp(buffer, source + 3 * i, lengths[i]) == 0);
			CHECK_EQUAL(buffer[lengths[i]], 0);
			CHECK_OK(PtlMDUnlink(md));
		}
		if (am_target())
			take_story(in, PTL_EVENT_GET_START, PTL_EVENT_GET_END,
				   (struct story){initiator_id(), window.md, lengths[i], 3 * i, 0});
		barrier();
	}
	CHECK_EMPTY(in);
	CHECK_EMPTY(out);
}

/* The initiator's part; the get descriptor is a byte longer than what comes back. */
static void swap_one_length(ptl_handle_eq_t put_eq, ptl_handle_eq_t get_eq, size_t length)
{
	char *fresh = memory(length), *old = memory(length + 1);
	fill_pattern(fresh, length, 1);
	ptl_handle_md_t put_md = bind_md(md_over(fresh, length, 0, put_eq));
	ptl_handle_md_t get_md = bind_md(md_over(old, length, 0, get_eq));
	CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 5, HEADER(1)));
	take_story(put_eq, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END,
		   (struct story){initiator_id(), put_md, length, 0, HEADER(1)});
	take_story(get_eq, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END,
		   (struct story){target_id(), get_md, length, 0, 0});
	CHECK_PATTERN(old, length, 2);
	CHECK_EQUAL(old[length], 0);
	CHECK_PATTERN(fresh, length, 1);
}

static void c3_1_a_getput_logs_a_send_pair_a_reply_pair_and_a_getput_pair_and_exchanges_bytes(void)
{
	ptl_handle_eq_t put_eq = new_eq(8), get_eq = new_eq(8), in = new_eq(8);
	char *buffer = memory(LONG);
	const size_t most = (size_t)limits_in_force().max_getput_md, some[] = {0, 1, 8, most / 2 + 1, most};
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct window window = {0};
		if (am_target()) {
			fill_pattern(buffer + 5, some[i], 2);
			buffer[5 + some[i]] = 'x';
			window = open_window(BITS, md_over(buffer, most + 6, options, in));
		}
		barrier();
		if (am_initiator())
			swap_one_length(put_eq, get_eq, some[i]);
		if (am_target()) {
			take_story(in, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END,
				   (struct story){initiator_id(), window.md, some[i], 5, HEADER(1)});
			CHECK_PATTERN(buffer + 5, some[i], 1);
			CHECK_EQUAL(buffer[5 + some[i]], 'x');
			close_window(window);
		}
		barrier();
	}
	CHECK_EMPTY(put_eq);
	CHECK_EMPTY(get_eq);
	CHECK_EMPTY(in);
}

/* An ACK that is not wanted would come with SEND_END or before that of the ping, which is sent later. */
static void put_and_expect_ack(ptl_handle_eq_t eq, size_t length, ptl_ack_req_t asked, bool allowed)
{
	ptl_handle_md_t md = bind_md(md_over(memory(length), length, PTL_MD_EVENT_START_DISABLE, eq));
	put(md, asked, allowed ? BITS : BITS + 1);
	take(eq, PTL_EVENT_SEND_END);
	if (allowed && asked == PTL_ACK_REQ)
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).md_handle, md);
	else
		ping(target_id());
	CHECK_EMPTY(eq);
}

static void c3_1_an_ack_comes_only_if_it_is_asked_for_and_allowed(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *buffer = memory(LONG);
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
	open_door();
	if (am_target()) {
		open_window(BITS, md_over(buffer, LONG, options, PTL_EQ_NONE));
		open_window(BITS + 1, md_over(buffer, LONG, options | PTL_MD_ACK_DISABLE, PTL_EQ_NONE));
	}
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		put_and_expect_ack(eq, short_and_long[i], PTL_ACK_REQ, true);
		put_and_expect_ack(eq, short_and_long[i], PTL_NO_ACK_REQ, true);
		put_and_expect_ack(eq, short_and_long[i], PTL_ACK_REQ, false);
		put_and_expect_ack(eq, short_and_long[i], PTL_NO_ACK_REQ, false);
	}
	barrier();
}

static void c3_1_gets_and_getputs_are_answered_whatever_the_target_logs_or_acknowledges(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64);
	char *source = memory(LONG), *buffer = memory(LONG);
	const unsigned options[] = {0, PTL_MD_ACK_DISABLE, QUIET, QUIET | PTL_MD_ACK_DISABLE};
	fill_pattern(source, LONG, 3);
	for (unsigned i = 0; i < 8 && am_target(); i++) {
		unsigned all = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | options[i & 3];
		open_window(BITS + i, md_over(source, LONG, all, i < 4 ? PTL_EQ_NONE : in));
	}
	barrier();
	for (unsigned i = 0; i < 8 && am_initiator(); i++) {
		for (int size = 0; size < 2; size++) {
			ptl_handle_md_t md =
				bind_md(md_over(buffer, short_and_long[size], PTL_MD_EVENT_START_DISABLE, out));
			ask(GET, md, BITS + i, 0);
			CHECK_EQUAL(take_answer(GET, out).mlength, short_and_long[size]);
			CHECK_PATTERN(buffer, short_and_long[size], 3);
		}
		ptl_handle_md_t md = bind_md(md_over(buffer, 8, PTL_MD_EVENT_START_DISABLE, out));
		ask(GETPUT, md, BITS + i, 0);
		CHECK_EQUAL(take_answer(GETPUT, out).mlength, 8);
		CHECK_PATTERN(buffer, 8, 3);
	}
	barrier();
}

/* The initiator admits no process, and an entry of its own would take everything that looks at its match list. */
static void c3_1_acks_and_replies_pass_neither_access_control_nor_match_lists(void)
{
	ptl_handle_eq_t out = new_eq(8), own = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	open_window(BITS, md_over(far, LONG, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, own));
	for (int i = 0; i <= limits_in_force().max_ac_index && am_initiator(); i++)
		CHECK_OK(PtlACEntry(ni, (ptl_ac_index_t)i, (ptl_process_id_t){0, 0}, 0, 0, 0));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, out));
		for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++) {
			ask(kind, md, BITS, 0);
			CHECK_EQUAL(take_answer(kind, out).mlength, short_and_long[i]);
		}
	}
	barrier();
	if (am_target()) { /* a request in the other direction is refused */
		ptl_handle_md_t md = bind_md(md_over(far, 8, 0, PTL_EQ_NONE));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, initiator_id(), INDEX, 0, BITS, 0, 0));
	} else {
		await_drops(1);
		CHECK_EMPTY(own);
	}
	barrier();
}

static void c3_1_a_get_costs_one_unit_when_its_reply_comes(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_md_t md = md_over(buffer, short_and_long[i], PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t handle = bind_md(with_threshold(md, 2));
		get(handle, BITS);
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).md.threshold, 1);
		get(handle, BITS);
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).md.threshold, 0);
		CHECK_RC(PtlGet(handle, target_id(), INDEX, 0, BITS, 0), PTL_MD_INVALID);
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void c3_1_a_get_with_threshold_one_unlinks_after_its_reply(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	fill_pattern(source, LONG, 2);
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_handle_md_t handle = bind_mortal_md(with_threshold(md_over(buffer, short_and_long[i], 0, eq), 1));
		get(handle, BITS);
		ptl_event_t start = take(eq, PTL_EVENT_REPLY_START), end = take(eq, PTL_EVENT_REPLY_END);
		ptl_event_t unlink = take(eq, PTL_EVENT_UNLINK);
		CHECK_EQUAL(start.md.threshold, 0);
		CHECK_EQUAL(unlink.link, end.link);
		CHECK_EQUAL(unlink.md_handle, handle);
		CHECK_PATTERN(buffer, short_and_long[i], 2);
		CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* An entry that takes any bits shows which came. */
static void c3_2_match_bits_and_header_data_travel_whole(void)
{
	static const uint64_t words[] = {0, 1, 1ull << 63, ~0ull, 0x0123456789abcdefu, 0xfedcba9876543210u};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64);
	static char word[8], buffer[8];
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	if (am_target()) {
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		CHECK_OK(PtlMDAttach(me, md_over(buffer, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in), PTL_RETAIN, &md));
	}
	barrier();
	md = bind_md(md_over(word, 8, PTL_MD_EVENT_START_DISABLE, out));
	for (enum request kind = PUT; kind < REQUESTS; kind++) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			uint64_t bits = words[i], hdr = ~words[i] * 3;
			if (am_initiator()) {
				CHECK_OK(issue(kind, md, INDEX, 0, bits, 0, hdr));
				ptl_event_t answer = take_answer(kind, out);
				CHECK(answer.match_bits == bits);
				CHECK_EQUAL(answer.hdr_data, 0);
			}
			if (am_target()) {
				ptl_event_t event = take(in, request_kinds[kind].end);
				CHECK(event.match_bits == bits);
				CHECK(event.hdr_data == (kind == GET ? 0 : hdr));
			}
		}
	}
	barrier();
}

static void c3_2_the_access_control_entry_named_is_the_one_that_judges(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64);
	static char word[8], buffer[8];
	open_door();
	if (am_target()) {
		open_window(BITS, md_over(buffer, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
		CHECK_OK(PtlACEntry(ni, 2, (ptl_process_id_t){0, 0}, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	}
	barrier();
	ptl_handle_md_t md = bind_md(md_over(word, 8, PTL_MD_EVENT_START_DISABLE, out));
	for (enum request kind = PUT; kind < REQUESTS && am_initiator(); kind++) {
		CHECK_OK(issue(kind, md, INDEX, 2, BITS, 0, 2));
		if (kind != GET)
			take(out, PTL_EVENT_SEND_END);
		CHECK_OK(issue(kind, md, INDEX, 1, BITS, 0, 1));
		take_answer(kind, out);
		CHECK_OK(issue(kind, md, INDEX, 3, BITS, 0, 3));
		take_answer(kind, out);
		CHECK_EMPTY(out);
	}
	for (enum request kind = PUT; kind < REQUESTS && am_target(); kind++) {
		CHECK_EQUAL(take(in, request_kinds[kind].end).hdr_data, kind == GET ? 0 : 1);
		CHECK_EQUAL(take(in, request_kinds[kind].end).hdr_data, kind == GET ? 0 : 3);
	}
	if (am_target())
		await_drops(REQUESTS);
	CHECK_EMPTY(in);
	barrier();
}

static void c3_2_target_offsets_have_64_bits(void)
{
	static const ptl_size_t offsets[] = {1ull << 32, (1ull << 32) + 4, 1ull << 48, 1ull << 63, 4};
	enum { COUNT = sizeof(offsets) / sizeof(offsets[0]) };
	ptl_handle_eq_t out = new_eq(8), in = new_eq(64), missed = new_eq(64);
	static char word[8], buffer[16];
	if (am_target()) {
		open_window(BITS, md_over(buffer, sizeof(buffer), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
		open_net(missed);
	}
	barrier();
	ptl_handle_md_t md = bind_md(md_over(word, 8, PTL_MD_EVENT_START_DISABLE, out));
	for (enum request kind = PUT; kind < REQUESTS; kind++) {
		for (size_t i = 0; i < COUNT; i++) {
			if (am_initiator()) {
				ask(kind, md, BITS, offsets[i]);
				take_answer(kind, out);
			}
			if (am_target() && i < COUNT - 1)
				take(missed, request_kinds[kind].end);
			else if (am_target())
				CHECK_EQUAL(take(in, request_kinds[kind].end).offset, 4);
		}
	}
	barrier();
	CHECK_EMPTY(in);
}

/* More than 4 GiB asked for, of memory that is not touched but for the 8 bytes that the target keeps or has. */
static void c3_2_requested_lengths_have_64_bits(void)
{
	const size_t huge = (1ull << 32) + 8;
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	static char buffer[16] = "received";
	char *source = mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (source == MAP_FAILED)
		skip_test("no address space for 4 GiB");
	if (am_target())
		open_window(BITS, md_over(buffer, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(source, huge, PTL_MD_EVENT_START_DISABLE, out));
	for (int i = 0; i < 2; i++) {
		const enum request kind = i == 0 ? GET : PUT;
		if (am_initiator()) {
			ask(kind, md, BITS, 0);
			ptl_event_t answer = take_answer(kind, out);
			CHECK_EQUAL(answer.rlength, huge);
			CHECK_EQUAL(answer.mlength, 8);
			CHECK(memcmp(source, i == 0 ? "received" : "sent now", 8) == 0);
			memcpy(source, "sent now", 8);
		}
		if (am_target()) {
			ptl_event_t event = take(in, request_kinds[kind].end);
			CHECK_EQUAL(event.rlength, huge);
			CHECK_EQUAL(event.mlength, 8);
			CHECK(kind == GET || memcmp(buffer, "sent now", 8) == 0);
		}
	}
	barrier();
	munmap(source, huge);
}

static const size_t regions[][2] = {{0, 10},   {7, 100}, {4095, 65536}, {LONG - 1, 1},
				    {LONG, 0}, {0, 0},   {1, LONG - 1}, {1, LONG - 2}};
#define REGIONS (sizeof(regions) / sizeof(regions[0]))

static void c3_2_a_region_put_carries_only_its_region(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG + 1);
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	fill_pattern(source, LONG, 6);
	if (am_target())
		open_window(BITS, md_over(buffer, LONG + 1, options, in));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(source, LONG, PTL_MD_EVENT_START_DISABLE, out));
	for (size_t i = 0; i < REGIONS; i++) {
		size_t offset = regions[i][0], length = regions[i][1];
		if (am_initiator()) {
			CHECK_OK(PtlPutRegion(md, offset, length, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
			ptl_event_t end = take(out, PTL_EVENT_SEND_END);
			CHECK_EQUAL(end.offset, offset);
			CHECK_EQUAL(end.rlength, length);
			CHECK_EQUAL(end.mlength, length);
		}
		if (am_target()) {
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.rlength, length);
			CHECK_EQUAL(end.mlength, length);
			CHECK(memcmp(buffer, source + offset, length) == 0);
			CHECK_EQUAL(buffer[length], 0);
			memset(buffer, 0, LONG);
		}
		barrier();
	}
}

static void c3_2_a_reply_lands_in_the_region_of_its_get_only(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *source = memory(LONG), *buffer = memory(LONG);
	fill_pattern(source, LONG, 3);
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(buffer, LONG, PTL_MD_EVENT_START_DISABLE, eq));
	for (size_t i = 0; i < REGIONS && am_initiator(); i++) {
		size_t offset = regions[i][0], length = regions[i][1];
		memset(buffer, 0x55, LONG);
		CHECK_OK(PtlGetRegion(md, offset, length, target_id(), INDEX, 0, BITS, 0));
		ptl_event_t end = take(eq, PTL_EVENT_REPLY_END);
		CHECK_EQUAL(end.offset, offset);
		CHECK_EQUAL(end.rlength, length);
		CHECK_EQUAL(end.mlength, length);
		CHECK_PATTERN(buffer + offset, length, 3);
		CHECK(offset == 0 || buffer[offset - 1] == 0x55);
		CHECK(offset + length == LONG || buffer[offset + length] == 0x55);
	}
	barrier();
}

#define OUTSTANDING 4

/* Request number `i` of a kind has bits and a length of its own; every other one is long, if it may be. */
static size_t length_of(enum request kind, size_t i)
{
	return (i & 1 && kind != GETPUT ? LONG - 64 : 8) + 3 * i + kind;
}

static ptl_match_bits_t own_bits(enum request kind, size_t i)
{
	return BITS + 16 * kind + i;
}

static void check_own_answer(const ptl_event_t *event, ptl_handle_md_t own[REQUESTS][OUTSTANDING])
{
	const size_t number = event->match_bits - BITS, i = number % 16;
	const enum request kind = (enum request)(number / 16);
	CHECK(number / 16 < REQUESTS && i < OUTSTANDING);
	CHECK_EQUAL(event->type, request_kinds[kind].answer);
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	CHECK_ID(event->initiator, target_id());
	CHECK_EQUAL(event->pt_index, INDEX);
	CHECK_EQUAL(event->md_handle, own[kind][i]);
	CHECK_EQUAL(event->rlength, length_of(kind, i));
	CHECK_EQUAL(event->mlength, length_of(kind, i));
	if (kind == GET)
		CHECK_PATTERN(event->md.start, event->mlength, 9);
	own[kind][i] = PTL_INVALID_HANDLE; /* each one once */
}

/* Puts write what is there already, so that they disturb no get. */
static void issue_numbered(enum request kind, size_t i, ptl_handle_md_t own[REQUESTS][OUTSTANDING], ptl_handle_eq_t eq)
{
	const size_t length = length_of(kind, i);
	const unsigned options = kind == PUT ? QUIET : PTL_MD_EVENT_START_DISABLE;
	char *near = memory(length);
	fill_pattern(near, length, 9);
	own[kind][i] = bind_md(md_over(near, length, options, eq));
	if (kind == GETPUT) {
		ptl_handle_md_t put_md = bind_md(md_over(near, length, QUIET, eq));
		CHECK_OK(PtlGetPut(own[kind][i], put_md, target_id(), INDEX, 0, own_bits(kind, i), 0, 0));
	} else {
		ask(kind, own[kind][i], own_bits(kind, i), 0);
	}
}

static void c3_2_every_answer_finds_the_descriptor_of_its_request(void)
{
	ptl_handle_eq_t out = new_eq(64);
	ptl_handle_md_t own[REQUESTS][OUTSTANDING];
	char *far = memory(LONG);
	const ptl_md_t md = md_over(far, LONG, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
	fill_pattern(far, LONG, 9);
	for (enum request kind = PUT; kind < REQUESTS && am_target(); kind++)
		for (size_t i = 0; i < OUTSTANDING; i++)
			open_window(own_bits(kind, i), md);
	barrier();
	for (size_t i = 0; i < OUTSTANDING && am_initiator(); i++)
		for (enum request kind = PUT; kind < REQUESTS; kind++)
			issue_numbered(kind, i, own, out);
	for (size_t i = 0; i < REQUESTS * OUTSTANDING && am_initiator(); i++) {
		ptl_event_t event = take_any(out);
		check_own_answer(&event, own);
	}
	CHECK_EMPTY(out);
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_1_a_put_of_any_length_logs_a_pair_on_each_side_and_moves_its_bytes,
		  "3.1/1 3.2/1 3.2/2 3.2/4 3.2/5 3.2/6 3.2/7"),
	CASE_PAIR(c3_1_a_get_of_any_length_logs_a_reply_pair_here_a_get_pair_there_and_brings_the_bytes,
		  "3.1/2 3.2/1 3.2/2 3.2/4 3.2/5 3.2/6 3.2/9"),
	CASE_PAIR(c3_1_a_getput_logs_a_send_pair_a_reply_pair_and_a_getput_pair_and_exchanges_bytes,
		  "3.1/3 3.2/1 3.2/2 3.2/4 3.2/5 3.2/6 3.2/9"),
	CASE_PAIR(c3_1_an_ack_comes_only_if_it_is_asked_for_and_allowed, "3.1/1 3.1/4"),
	CASE_PAIR(c3_1_gets_and_getputs_are_answered_whatever_the_target_logs_or_acknowledges, "3.1/5"),
	CASE_TWO(c3_1_acks_and_replies_pass_neither_access_control_nor_match_lists, "3.1/6"),
	CASE_PAIR(c3_1_a_get_costs_one_unit_when_its_reply_comes, "3.1/7"),
	CASE_PAIR(c3_1_a_get_with_threshold_one_unlinks_after_its_reply, "3.1/7 3.1/8"),
	CASE_PAIR(c3_2_match_bits_and_header_data_travel_whole, "3.2/2 3.2/6 3.2/8 3.2/9"),
	CASE_PAIR(c3_2_the_access_control_entry_named_is_the_one_that_judges, "3.2/3"),
	CASE_PAIR(c3_2_target_offsets_have_64_bits, "3.2/4"),
	CASE(c3_2_requested_lengths_have_64_bits, "3.2/5 3.2/8 3.2/9", 2, TRAIT_PAIR | TRAIT_HUGE),
	CASE_PAIR(c3_2_a_region_put_carries_only_its_region, "3.2/7"),
	CASE_PAIR(c3_2_a_reply_lands_in_the_region_of_its_get_only, "3.2/11"),
	CASE_PAIR(c3_2_every_answer_finds_the_descriptor_of_its_request, "3.2/8 3.2/9 3.2/10"),
	{0},
};

const struct chapter operations_chapter = {
	.title = "3.1, 3.2 Life of an operation", .rows = rows, .tests = tests, .core = true};
