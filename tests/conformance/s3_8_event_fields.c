/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.8 What the fields of an event hold, kind by kind. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <unistd.h>

static const struct row rows[] = {
	{"3.8/1", "initiator in SEND: this process"},
	{"3.8/2", "initiator in ACK: the sender of the ACK, that is the put's target"},
	{"3.8/3", "initiator in REPLY: the sender of the REPLY, that is the target of the get or getput"},
	{"3.8/4", "initiator in PUT, GET and GETPUT: the requester"},
	{"3.8/5", "uid and jid in SEND: this process's own"},
	{"3.8/6", "uid and jid in REPLY: the responder's"},
	{"3.8/7", "uid and jid in PUT, GET and GETPUT: the requester's"},
	{"3.8/8", "pt_index in SEND, ACK and REPLY: as the initiator passed it"},
	{"3.8/9", "pt_index in PUT, GET and GETPUT: of the request"},
	{"3.8/10", "match_bits in SEND, ACK and REPLY: as the initiator passed them"},
	{"3.8/11", "match_bits in PUT, GET and GETPUT: of the request, not of the match entry"},
	{"3.8/12", "rlength in SEND: the bytes sent"},
	{"3.8/13", "rlength in ACK: the length of the put, also if the target kept less"},
	{"3.8/14", "rlength in REPLY: the length asked for, also if less came"},
	{"3.8/15", "rlength in PUT, GET and GETPUT: the length in the request"},
	{"3.8/16", "mlength in SEND: equal to rlength, whatever the target keeps"},
	{"3.8/17", "mlength in ACK: the bytes that the target kept"},
	{"3.8/18", "mlength in REPLY: the bytes stored here"},
	{"3.8/19", "mlength in PUT and GETPUT: the bytes stored; in GET: the bytes sent"},
	{"3.8/20", "offset in SEND: where the data begins in this descriptor: 0, or local_offset of PtlPutRegion"},
	{"3.8/21", "offset in ACK: the same as in the SEND events of the put"},
	{"3.8/22", "offset in REPLY: where the data goes in this descriptor: 0, or local_offset of PtlGetRegion"},
	{"3.8/23", "offset in PUT, GET and GETPUT: the one used in the target's descriptor, remote or local"},
	{"3.8/24", "hdr_data in SEND: as passed"},
	{"3.8/25", "hdr_data in ACK and REPLY: 0"},
	{"3.8/26", "hdr_data in PUT and GETPUT: the request's, all 64 bits; in GET: 0"},
	{"3.8/27",
	 "md_handle: the descriptor of the event; md: a copy of it with start, length, threshold, max_size, options, "
	 "user_ptr and eq_handle"},
	{"3.8/28", "md.start and md.length stay as the user gave them, whatever part of the memory was used"},
	{"3.8/29", "with PTL_MD_IOVEC md.start is the user's array and md.length its number of elements"},
	{"3.8/30", "UNLINK repeats all fields of the event that caused it; its md_handle is dead when it is read"},
	{"3.8/31", "START and END of an operation carry the same link"},
	{"3.8/32", "links are unique among the operations in flight on a queue; an ACK has one of its own"},
	{"3.8/33", "an operation has its link even if its START is disabled"},
	{"3.8/34", "UNLINK carries the link of the operation that caused it"},
	{0},
};

#define HEADER  0xfedcba9876543210u
#define IGNORED 0xff00u /* bits that the target's match entry does not look at */
#define SENT    (BITS | 0x5a00u)
#define LOCAL   33 /* offsets in the descriptors of the two sides */
#define REMOTE  12
#define CUT     5 /* bytes that the target has no room for */

_Static_assert((BITS & IGNORED) != (SENT & IGNORED), "the request's bits differ from the entry's");

static char near[LONG + LOCAL], far[LONG + REMOTE];

/* ---- Expectations ---- */

/* Everything but type, link and sequence. */
#define FIELDS(X)                                                                                                      \
	X(initiator.nid)                                                                                               \
	X(initiator.pid)                                                                                               \
	X(uid)                                                                                                         \
	X(jid)                                                                                                         \
	X(pt_index)                                                                                                    \
	X(match_bits)                                                                                                  \
	X(rlength)                                                                                                     \
	X(mlength)                                                                                                     \
	X(offset)                                                                                                      \
	X(md_handle)                                                                                                   \
	X(hdr_data)                                                                                                    \
	X(ni_fail_type)                                                                                                \
	X(md.start)                                                                                                    \
	X(md.length)                                                                                                   \
	X(md.threshold)                                                                                                \
	X(md.max_size)                                                                                                 \
	X(md.options)                                                                                                  \
	X(md.user_ptr)                                                                                                 \
	X(md.eq_handle)

static void check_fields_at(const char *file, int line, const ptl_event_t *event, const ptl_event_t *expected)
{
#define CHECK_FIELD(field) check_equal_at(file, line, #field, (long long)event->field, (long long)expected->field);
	FIELDS(CHECK_FIELD)
}
#define CHECK_FIELDS(event, expected) check_fields_at(__FILE__, __LINE__, event, expected)

/* The two events of an operation; returns the second. */
#define take_as_expected(eq, kind, expected)                                                                           \
	take_as_expected_at(__FILE__, __LINE__, eq, kind##_START, kind##_END, expected)
static ptl_event_t take_as_expected_at(const char *file, int line, ptl_handle_eq_t eq, ptl_event_kind_t start_kind,
				       ptl_event_kind_t end_kind, const ptl_event_t *expected)
{
	ptl_event_t start = take_at(file, line, eq, start_kind, false), end = take_at(file, line, eq, end_kind, false);
	check_fields_at(file, line, &start, expected);
	check_fields_at(file, line, &end, expected);
	check_equal_at(file, line, "START and END have one link", end.link, start.link);
	return end;
}

/* The descriptor that `cause` used up is gone, and its UNLINK says the same as that. */
#define take_unlink(eq, cause) take_unlink_at(__FILE__, __LINE__, eq, cause)
static void take_unlink_at(const char *file, int line, ptl_handle_eq_t eq, const ptl_event_t *cause)
{
	ptl_event_t unlink = take_at(file, line, eq, PTL_EVENT_UNLINK, false);
	check_fields_at(file, line, &unlink, cause);
	check_equal_at(file, line, "UNLINK has its cause's link", unlink.link, cause->link);
	check_code_at(file, line, "PtlMDUnlink", PtlMDUnlink(unlink.md_handle), PTL_MD_INVALID);
}

/* A descriptor all of whose fields can be recognised, over the memory of one side; it logs all events. */
static ptl_md_t rich_md(void *start, size_t length, unsigned options, ptl_handle_eq_t eq, int threshold)
{
	ptl_md_t md = with_threshold(md_over(start, length, options | PTL_MD_MAX_SIZE, eq), threshold);
	md.max_size = 3;
	md.user_ptr = (char *)start + 7;
	return md;
}

/* Takes all but CUT bytes of one request at REMOTE, and goes; any bits that differ in IGNORED match. */
static ptl_event_t open_narrow_window(size_t length, ptl_handle_eq_t eq)
{
	unsigned options = ANYWHERE | PTL_MD_TRUNCATE;
	ptl_event_t expected = {.md = rich_md(far, REMOTE + length - CUT, options, eq, 1)};
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, IGNORED, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, expected.md, PTL_UNLINK, &expected.md_handle));
	expected.md.threshold = 0;
	expected.initiator = initiator_id();
	expected.uid = geteuid();
	expected.jid = initiator_id().pid;
	expected.pt_index = INDEX;
	expected.match_bits = SENT;
	expected.rlength = length;
	expected.mlength = length - CUT;
	expected.offset = REMOTE;
	return expected;
}

/* A descriptor of the initiator that goes when it is used up, and what its first event will say of a request. */
static ptl_event_t bind_rich_md(size_t region, size_t length, ptl_handle_eq_t eq, int threshold)
{
	ptl_event_t expected = {.md = rich_md(near, region, 0, eq, threshold)};
	expected.md_handle = bind_mortal_md(expected.md);
	expected.md.threshold--;
	expected.initiator = initiator_id();
	expected.uid = geteuid();
	expected.jid = initiator_id().pid;
	expected.pt_index = INDEX;
	expected.match_bits = SENT;
	expected.rlength = length;
	expected.mlength = length;
	return expected;
}

/* ... of an answer to it. */
static void expect_answer(ptl_event_t *expected)
{
	expected->initiator = target_id();
	expected->jid = target_id().pid;
	expected->mlength = expected->rlength - CUT;
	expected->hdr_data = 0;
}

/* ---- Fields ---- */

static void c3_8_fields_of_an_acked_put(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (int i = 0; i < 2; i++) {
		size_t length = short_and_long[i];
		ptl_event_t expected = {0};
		if (am_target())
			expected = open_narrow_window(length, in);
		barrier();
		if (am_initiator()) {
			ptl_event_t sent = bind_rich_md(sizeof(near), length, out, 2), ack;
			sent.offset = LOCAL;
			sent.hdr_data = HEADER;
			CHECK_OK(PtlPutRegion(sent.md_handle, LOCAL, length, PTL_ACK_REQ, target_id(), INDEX, 0, SENT,
					      REMOTE, HEADER));
			ptl_seq_t link = take_as_expected(out, PTL_EVENT_SEND, &sent).link;
			expect_answer(&sent);
			sent.md.threshold = 0;
			ack = take(out, PTL_EVENT_ACK);
			sent.uid = ack.uid; /* unspecified, like jid */
			sent.jid = ack.jid;
			CHECK_FIELDS(&ack, &sent);
			CHECK(ack.link != link);
			take_unlink(out, &ack);
			CHECK_EMPTY(out);
		}
		if (am_target()) {
			expected.hdr_data = HEADER;
			ptl_event_t end = take_as_expected(in, PTL_EVENT_PUT, &expected);
			take_unlink(in, &end);
			CHECK_EMPTY(in);
		}
		barrier();
	}
}

static void c3_8_fields_of_a_put_that_unlinks_its_source(void)
{
	ptl_handle_eq_t out = new_eq(8);
	if (am_target())
		open_window(SENT, md_over(far, sizeof(far), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++) {
		ptl_event_t expected = bind_rich_md(short_and_long[i], short_and_long[i], out, 1);
		put_word(expected.md_handle, PTL_NO_ACK_REQ, SENT, REMOTE, HEADER);
		expected.hdr_data = HEADER;
		ptl_event_t end = take_as_expected(out, PTL_EVENT_SEND, &expected);
		take_unlink(out, &end);
	}
	barrier();
	CHECK_EMPTY(out);
}

static void c3_8_fields_of_a_get(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (int i = 0; i < 2; i++) {
		size_t length = short_and_long[i];
		ptl_event_t expected = {0};
		if (am_target())
			expected = open_narrow_window(length, in);
		barrier();
		if (am_initiator()) {
			ptl_event_t reply = bind_rich_md(sizeof(near), length, out, 1);
			expect_answer(&reply);
			reply.offset = LOCAL;
			CHECK_OK(PtlGetRegion(reply.md_handle, LOCAL, length, target_id(), INDEX, 0, SENT, REMOTE));
			ptl_event_t end = take_as_expected(out, PTL_EVENT_REPLY, &reply);
			take_unlink(out, &end);
			CHECK_EMPTY(out);
		}
		if (am_target()) {
			ptl_event_t end = take_as_expected(in, PTL_EVENT_GET, &expected);
			take_unlink(in, &end);
			CHECK_EMPTY(in);
		}
		barrier();
	}
}

static void c3_8_reply_to_a_get_of_everything_begins_at_offset_0(void)
{
	ptl_handle_eq_t out = new_eq(8);
	if (am_target())
		open_narrow_window(WORD, PTL_EQ_NONE);
	barrier();
	if (am_initiator()) {
		ptl_event_t reply = bind_rich_md(WORD, WORD, out, 1);
		expect_answer(&reply);
		CHECK_OK(PtlGet(reply.md_handle, target_id(), INDEX, 0, SENT, REMOTE));
		take_as_expected(out, PTL_EVENT_REPLY, &reply);
	}
	barrier();
}

static void c3_8_fields_of_a_getput(void)
{
	ptl_handle_eq_t out = new_eq(8), back = new_eq(8), in = new_eq(8);
	ptl_event_t expected = {0};
	if (am_target())
		expected = open_narrow_window(WORD, in);
	barrier();
	if (am_initiator()) {
		ptl_event_t sent = bind_rich_md(WORD, WORD, out, 1), reply = bind_rich_md(WORD, WORD, back, 1), end;
		CHECK_OK(PtlGetPut(reply.md_handle, sent.md_handle, target_id(), INDEX, 0, SENT, REMOTE, HEADER));
		sent.hdr_data = HEADER;
		end = take_as_expected(out, PTL_EVENT_SEND, &sent);
		take_unlink(out, &end);
		expect_answer(&reply);
		end = take_as_expected(back, PTL_EVENT_REPLY, &reply);
		take_unlink(back, &end);
	}
	if (am_target()) {
		expected.hdr_data = HEADER;
		ptl_event_t end = take_as_expected(in, PTL_EVENT_GETPUT, &expected);
		take_unlink(in, &end);
	}
	barrier();
	CHECK_EMPTY(out);
	CHECK_EMPTY(back);
	CHECK_EMPTY(in);
}

/* The remote offset, which means nothing here, is passed all the same. */
static void c3_8_offset_of_a_locally_managed_window_is_its_own(void)
{
	ptl_handle_eq_t in = new_eq(8);
	struct window window = {0};
	if (am_target())
		window = open_window(BITS, rich_md(far, 4 * WORD, ANY_KIND, in, 3));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, WORD, 0, PTL_EQ_NONE));
		put_word(md, PTL_NO_ACK_REQ, BITS, REMOTE, 0);
		CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, REMOTE));
		CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, REMOTE, 0));
	}
	for (unsigned i = 0; i < 6 && am_target(); i++) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.offset, i / 2 * WORD);
		CHECK_EQUAL(event.mlength, WORD);
		CHECK(event.md.start == far);
		CHECK_EQUAL(event.md.length, 4 * WORD);
		CHECK_EQUAL(event.md_handle, window.md);
	}
	barrier();
}

static void c3_8_descriptors_of_pieces_show_the_array(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	ptl_md_iovec_t source[] = {{near, 10}, {near + 100, 0}, {near + 50, 30}}, sink[] = {{far + 7, 25}, {far, 7}};
	if (am_target())
		open_window(BITS, md_over(sink, 2, ANYWHERE | PTL_MD_IOVEC, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(source, 3, PTL_MD_IOVEC, out));
		CHECK_OK(PtlPutRegion(md, 15, 20, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, REMOTE, 0));
		for (int i = 0; i < 3; i++) {
			ptl_event_t event = take_any(out);
			CHECK(event.md.start == source);
			CHECK_EQUAL(event.md.length, 3);
			CHECK_EQUAL(event.offset, 15);
			CHECK_EQUAL(event.mlength, 20);
		}
	}
	for (int i = 0; i < 2 && am_target(); i++) {
		ptl_event_t event = take_any(in);
		CHECK(event.md.start == sink);
		CHECK_EQUAL(event.md.length, 2);
		CHECK_EQUAL(event.offset, REMOTE);
		CHECK_EQUAL(event.mlength, 20);
	}
	barrier();
}

/* ---- Links ---- */

static bool is_start(ptl_event_kind_t kind)
{
	return kind == PTL_EVENT_SEND_START || kind == PTL_EVENT_REPLY_START || kind == PTL_EVENT_PUT_START ||
	       kind == PTL_EVENT_GET_START || kind == PTL_EVENT_GETPUT_START;
}

/* Two events share a link exactly if the one is the END, which is the next kind, of the other. */
static void check_links(const ptl_event_t *events, int count)
{
	for (int i = 0; i < count; i++) {
		int partners = 0;
		CHECK_EQUAL(events[i].ni_fail_type, PTL_NI_OK);
		for (int j = i + 1; j < count; j++) {
			if (events[j].link != events[i].link)
				continue;
			CHECK(is_start(events[i].type));
			CHECK_EQUAL(events[j].type, events[i].type + 1);
			CHECK(events[j].md_handle == events[i].md_handle);
			partners++;
		}
		CHECK_EQUAL(partners, is_start(events[i].type));
	}
}

/* One queue hears of everything in a process; over self that is both sides of each operation. */
static void c3_8_links_are_unique_among_operations_in_flight(void)
{
	enum { ROUNDS = 8, SENT_EVENTS = 9 * ROUNDS, TAKEN_EVENTS = 6 * ROUNDS };
	ptl_event_t events[SENT_EVENTS + TAKEN_EVENTS];
	ptl_handle_eq_t eq = new_eq(SENT_EVENTS + TAKEN_EVENTS);
	int count = (am_initiator() ? SENT_EVENTS : 0) + (am_target() ? TAKEN_EVENTS : 0);
	if (am_target())
		open_window(BITS, md_over(far, sizeof(far), ANYWHERE, eq));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, sizeof(near), 0, eq));
		ptl_handle_md_t word = bind_md(md_over(near, WORD, 0, eq));
		for (int i = 0; i < ROUNDS; i++) {
			size_t length = short_and_long[i & 1];
			CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			CHECK_OK(PtlGetRegion(md, 0, length, target_id(), INDEX, 0, BITS, 0));
			CHECK_OK(PtlGetPut(word, word, target_id(), INDEX, 0, BITS, 0, 0));
		}
	}
	for (int i = 0; i < count; i++)
		events[i] = take_any(eq);
	check_links(events, count);
	CHECK_EMPTY(eq);
	barrier();
}

static void c3_8_links_are_given_although_starts_are_disabled(void)
{
	enum { PUTS = 8 };
	ptl_handle_eq_t out = new_eq(4 * PUTS), in = new_eq(4 * PUTS);
	ptl_event_t events[PUTS];
	ptl_md_t source = md_over(near, sizeof(near), PTL_MD_EVENT_START_DISABLE, out);
	ptl_md_t sink = md_over(far, sizeof(far), ANYWHERE | PTL_MD_EVENT_START_DISABLE, in);
	if (am_target())
		open_mortal_window(BITS, with_threshold(sink, PUTS));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_mortal_md(with_threshold(source, PUTS));
		for (int i = 0; i < PUTS; i++)
			CHECK_OK(PtlPutRegion(md, 0, short_and_long[i & 1], PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      0, i));
	}
	for (int side = 0; side < 2; side++) {
		ptl_handle_eq_t eq = side ? in : out;
		ptl_seq_t last = 0;
		if (!(side ? am_target() : am_initiator()))
			continue;
		for (int i = 0; i < PUTS; i++) {
			events[i] = take(eq, side ? PTL_EVENT_PUT_END : PTL_EVENT_SEND_END);
			if (events[i].hdr_data ==
			    PUTS - 1) /* it used the descriptor up, and may not be the last to end */
				last = events[i].link;
		}
		check_links(events, PUTS);
		CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).link, last);
	}
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_8_fields_of_an_acked_put,
		  "3.8/1 3.8/2 3.8/4 3.8/5 3.8/7 3.8/8 3.8/9 3.8/10 3.8/11 3.8/12 3.8/13 3.8/15 3.8/16 3.8/17 3.8/19 "
		  "3.8/20 3.8/21 3.8/23 3.8/24 3.8/25 3.8/26 3.8/27 3.8/28 3.8/30 3.8/31 3.8/32 3.8/34"),
	CASE_PAIR(c3_8_fields_of_a_put_that_unlinks_its_source, "3.8/1 3.8/20 3.8/24 3.8/30 3.8/34"),
	CASE_PAIR(c3_8_fields_of_a_get,
		  "3.8/3 3.8/4 3.8/6 3.8/7 3.8/8 3.8/9 3.8/10 3.8/11 3.8/14 3.8/15 3.8/18 3.8/19 3.8/22 3.8/23 3.8/25 "
		  "3.8/26 3.8/27 3.8/28 3.8/30 3.8/31 3.8/34"),
	CASE_PAIR(c3_8_reply_to_a_get_of_everything_begins_at_offset_0, "3.8/22"),
	CASE_PAIR(c3_8_fields_of_a_getput,
		  "3.8/1 3.8/3 3.8/4 3.8/5 3.8/6 3.8/7 3.8/8 3.8/9 3.8/10 3.8/11 3.8/12 3.8/14 3.8/15 3.8/16 3.8/18 "
		  "3.8/19 3.8/20 3.8/22 3.8/23 3.8/24 3.8/25 3.8/26 3.8/27 3.8/30 3.8/31 3.8/34"),
	CASE_PAIR(c3_8_offset_of_a_locally_managed_window_is_its_own, "3.8/23 3.8/28"),
	CASE_PAIR(c3_8_descriptors_of_pieces_show_the_array, "3.8/29"),
	CASE_PAIR(c3_8_links_are_unique_among_operations_in_flight, "3.8/31 3.8/32"),
	CASE_PAIR(c3_8_links_are_given_although_starts_are_disabled, "3.8/33 3.8/34"),
	{0},
};

const struct chapter event_fields_chapter = {.title = "3.8 Event fields", .rows = rows, .tests = tests, .core = true};
