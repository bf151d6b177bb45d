/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.3 What happens to an incoming message. */
#include <string.h>
#include <unistd.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.3/1",
	 "A message reaches only the process whose nid and pid it names; if there is none it is lost, and nobody "
	 "else hears of it."},
	{"3.3/2", "Every portal table index up to the largest has a match list of its own; a request for one beyond is "
		  "dropped."},
	{"3.3/3",
	 "Every access control index up to the largest can be named; a request that names one beyond is dropped."},
	{"3.3/4",
	 "A request is dropped unless user, portal table index, job, nid and pid each equal those of the access "
	 "control entry it names, or the entry has a wildcard there."},
	{"3.3/5", "A request walks the match list from its head; the first entry that takes it is the only one to hear "
		  "of it."},
	{"3.3/6", "An entry is passed over unless its nid and its pid each equal the requester's or are wildcards."},
	{"3.3/7", "An entry is passed over unless its match bits equal the request's wherever its ignore bits are 0."},
	{"3.3/8",
	 "An entry is passed over if it has no descriptor, or one that is inactive: threshold 0 from the start, "
	 "used up, or filled up to its max_size."},
	{"3.3/9", "An entry is passed over if its descriptor does not accept the request."},
	{"3.3/10",
	 "A request that no entry takes is dropped: its data is discarded, it is counted once, and the target "
	 "logs no event."},
	{"3.3/11",
	 "Offset, length, threshold and max_size of an accepted request are settled when it is matched, so that "
	 "the next request finds them settled even while data is still moving."},
	{"3.3/12", "START is logged before the data moves and END after it, and only then is a put or getput answered: "
		   "whoever has the ACK or REPLY knows that the target's data and events are there."},
	{"3.3/13", "A get's REPLY comes after its START at the target."},
	{"3.3/14", "Unlinking is the last step of a request: UNLINK comes after its END."},
	{"3.3/15", "Requests of one process are matched in the order in which they were issued; a short one does not "
		   "overtake a long one."},
	{"3.3/16",
	 "A REPLY whose descriptor was unlinked is dropped and counted; a newer descriptor in its place does not "
	 "get it."},
	{"3.3/17", "A REPLY whose descriptor has become inactive is dropped and counted (our reading)."},
	{"3.3/18",
	 "A REPLY is accepted by every live descriptor, whatever its options, and lands where the request said, "
	 "not at the local offset."},
	{"3.3/19", "A REPLY longer than its place in the descriptor is cut to fit, PTL_MD_TRUNCATE or not."},
	{"3.3/20",
	 "The initiator of a dropped request is not told: a put logs its SEND pair and never an ACK, a getput "
	 "its SEND pair and no REPLY, a get nothing; their descriptors are free."},
	{0},
};

static char area[256];

/* An entry for these bits from this source, whose descriptor marks its events with `tag`. */
static ptl_handle_me_t add_entry(ptl_process_id_t from, ptl_match_bits_t bits, ptl_match_bits_t ignore,
				 ptl_ins_pos_t position, uintptr_t tag, ptl_handle_eq_t eq)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_md_t descriptor = md_over(area, sizeof(area), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, eq);
	descriptor.user_ptr = (void *)tag;
	CHECK_OK(PtlMEAttach(ni, INDEX, from, bits, ignore, PTL_RETAIN, position, &me));
	CHECK_OK(PtlMDAttach(me, descriptor, PTL_RETAIN, &md));
	return me;
}

static void expect_tag(ptl_handle_eq_t eq, enum request kind, uintptr_t tag)
{
	CHECK_EQUAL((uintptr_t)take(eq, request_kinds[kind].end).md.user_ptr, tag);
}

/* 8 bytes for requests of any kind that report to `eq`. */
static ptl_handle_md_t word(unsigned options, ptl_handle_eq_t eq)
{
	static char bytes[8];
	return bind_md(md_over(bytes, sizeof(bytes), options, eq));
}

static bool is_zero(const char *bytes, size_t length)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

static void c3_3_a_message_reaches_only_the_process_it_names(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	ptl_process_id_t other_node = target_id(), other_process = target_id();
	other_node.nid++;
	other_process.pid ^= 1u << 31;
	open_door();
	if (am_target())
		open_window(BITS, md_over(area, sizeof(area), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = word(PTL_MD_EVENT_START_DISABLE, out);
		ping_until_answered(target_id()); /* only a process that looks for none may be in a hurry */
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, other_process, INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, other_node, INDEX, 0, BITS, 0, 0));
		take_failed(out, PTL_EVENT_SEND_END);
		take_failed(out, PTL_EVENT_SEND_END);
		ping(target_id());
		CHECK_EMPTY(out);
	}
	barrier();
	CHECK_EMPTY(in);
	CHECK_EQUAL(drops(), 0);
}

static void c3_3_every_portal_table_entry_is_separate_and_requests_beyond_the_last_are_dropped(void)
{
	const ptl_pt_index_t last = (ptl_pt_index_t)limits_in_force().max_pt_index;
	const ptl_pt_index_t beyond[] = {last + 1, 0xffff, 0x10000 + INDEX, 0xffffffff};
	ptl_handle_eq_t in = new_eq(256);
	for (ptl_pt_index_t i = 0; i <= last && am_target(); i++)
		open_window_on(i, BITS, md_over(area, sizeof(area), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	ptl_handle_md_t md = word(QUIET, PTL_EQ_NONE);
	for (int i = 0; i < 4 && am_initiator(); i++)
		for (enum request kind = PUT; kind < REQUESTS; kind++)
			CHECK_OK(issue(kind, md, beyond[i], 0, BITS, 0, 0));
	for (ptl_pt_index_t i = 0; i <= last && am_initiator(); i++)
		CHECK_OK(issue(PUT, md, i, 0, BITS, 0, i));
	for (ptl_pt_index_t i = 0; i <= last && am_target(); i++) {
		ptl_event_t event = take(in, PTL_EVENT_PUT_END);
		CHECK_EQUAL(event.pt_index, i);
		CHECK_EQUAL(event.hdr_data, i);
	}
	if (am_target())
		await_drops(4 * REQUESTS);
	CHECK_EMPTY(in);
	barrier();
}

static void c3_3_every_access_control_entry_can_be_named_and_requests_beyond_the_last_are_dropped(void)
{
	const ptl_ac_index_t last = (ptl_ac_index_t)limits_in_force().max_ac_index;
	const ptl_ac_index_t beyond[] = {last + 1, 0xffff, 0x10000, 0xffffffff};
	ptl_handle_eq_t in = new_eq(64);
	if (am_target())
		open_window(BITS, md_over(area, sizeof(area), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	for (ptl_ac_index_t i = 0; i <= last && am_target(); i++)
		CHECK_OK(PtlACEntry(ni, i, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	barrier();
	ptl_handle_md_t md = word(QUIET, PTL_EQ_NONE);
	for (int i = 0; i < 4 && am_initiator(); i++)
		for (enum request kind = PUT; kind < REQUESTS; kind++)
			CHECK_OK(issue(kind, md, INDEX, beyond[i], BITS, 0, 0));
	for (ptl_ac_index_t i = 0; i <= last && am_initiator(); i++)
		CHECK_OK(issue(PUT, md, INDEX, i, BITS, 0, i));
	for (ptl_ac_index_t i = 0; i <= last && am_target(); i++)
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, i);
	if (am_target())
		await_drops(4 * REQUESTS);
	CHECK_EMPTY(in);
	barrier();
}

enum { FIELDS = 5 };

/* Entry 1 fits the initiator in every field but one, which is something else or a wildcard (all ones). */
static void set_guard(int field, bool wild)
{
	ptl_process_id_t id = initiator_id();
	ptl_uid_t uid = geteuid();
	ptl_jid_t jid = id.pid;
	ptl_pt_index_t index = INDEX;
	uint32_t *const fields[FIELDS] = {&id.nid, &id.pid, &uid, &jid, &index};
	*fields[field] = wild ? UINT32_MAX : *fields[field] + 1;
	CHECK_OK(PtlACEntry(ni, 1, id, uid, jid, index));
}

/* Each kind of request to a guarded entry. */
static void try_guard(ptl_handle_md_t md, ptl_handle_eq_t eq, bool admitted)
{
	for (enum request kind = PUT; kind < REQUESTS; kind++) {
		CHECK_OK(issue(kind, md, INDEX, 1, BITS, 0, 0));
		if (admitted)
			take_answer(kind, eq);
		else if (kind != GET)
			take(eq, PTL_EVENT_SEND_END);
	}
	ping(target_id());
	CHECK_EMPTY(eq);
}

static void c3_3_access_control_wants_every_field_of_every_request_to_fit(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	open_door();
	if (am_target())
		open_window(BITS, md_over(area, sizeof(area), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, in));
	ptl_handle_md_t md = word(PTL_MD_EVENT_START_DISABLE, out);
	for (int i = 0; i < 2 * FIELDS; i++) {
		const bool admitted = i >= FIELDS;
		if (am_target())
			set_guard(i % FIELDS, admitted);
		barrier();
		if (am_initiator())
			try_guard(md, out, admitted);
		for (enum request kind = PUT; kind < REQUESTS && am_target() && admitted; kind++)
			take(in, request_kinds[kind].end);
		barrier();
	}
	if (am_target())
		await_drops(FIELDS * REQUESTS);
	CHECK_EMPTY(in);
	barrier();
}

static void c3_3_the_first_entry_that_takes_a_request_is_the_only_one_to_hear_of_it(void)
{
	enum { ENTRIES = 3 };
	ptl_handle_eq_t out = new_eq(8), in = new_eq(16);
	ptl_handle_me_t me[ENTRIES] = {0};
	for (uintptr_t i = 0; i < ENTRIES && am_target(); i++)
		me[i] = add_entry(anyone, BITS, 0, PTL_INS_AFTER, i, in);
	barrier();
	ptl_handle_md_t md = word(PTL_MD_EVENT_START_DISABLE, out);
	for (uintptr_t i = 0; i < ENTRIES; i++) {
		for (enum request kind = PUT; kind < REQUESTS; kind++) {
			if (am_initiator()) {
				ask(kind, md, BITS, 0);
				take_answer(kind, out);
			}
			if (am_target())
				expect_tag(in, kind, i);
		}
		if (am_target())
			CHECK_OK(PtlMEUnlink(me[i]));
		barrier();
	}
	CHECK_EMPTY(in);
}

static void c3_3_an_entry_is_for_its_process_and_wildcards_are_for_all(void)
{
	ptl_handle_eq_t in = new_eq(16);
	const ptl_process_id_t him = initiator_id();
	const ptl_process_id_t fits[] = {him, {him.nid, PTL_PID_ANY}, {PTL_NID_ANY, him.pid}, anyone};
	const ptl_process_id_t others[] = {
		{him.nid + 1, him.pid}, {him.nid, him.pid + 1}, {PTL_NID_ANY, him.pid + 1}, {him.nid + 1, PTL_PID_ANY}};
	for (unsigned i = 0; i < 4 && am_target(); i++) {
		add_entry(others[i], BITS + i, 0, PTL_INS_AFTER, 200 + i, in);
		add_entry(fits[i], BITS + i, 0, PTL_INS_AFTER, i, in);
	}
	barrier();
	ptl_handle_md_t md = word(QUIET, PTL_EQ_NONE);
	for (unsigned i = 0; i < 4; i++) {
		if (am_initiator())
			put(md, PTL_NO_ACK_REQ, BITS + i);
		if (am_target())
			expect_tag(in, PUT, i);
	}
	barrier();
}

static const struct {
	ptl_match_bits_t entry, ignore, request;
	bool match;
} comparisons[] = {
	{0, 0, 0, true},
	{~0ull, 0, ~0ull, true},
	{0, ~0ull, 0x123456789abcdef0u, true},
	{0xff00, 0x00ff, 0xff5a, true},
	{0xff00, ~0xff00ull, 0xabcdef0123ffff01u, true},
	{1ull << 63, 0, 1ull << 63, true},
	{~0ull, 1, ~1ull, true},
	{0, 0, 1, false},
	{0, 0, 1ull << 63, false},
	{~0ull, 0, ~0ull >> 1, false},
	{0xff00, 0x00ff, 0xfe5a, false},
	{1ull << 32, ~(1ull << 32), 0, false},
	{0, ~1ull, ~0ull, false},
};

static void c3_3_match_bits_are_compared_except_where_ignored(void)
{
	ptl_handle_eq_t in = new_eq(16);
	ptl_handle_me_t entry = PTL_INVALID_HANDLE;
	if (am_target())
		add_entry(anyone, 0, ~0ull, PTL_INS_AFTER, 0, in); /* takes what the entry in front of it leaves */
	ptl_handle_md_t md = word(QUIET, PTL_EQ_NONE);
	for (unsigned i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
		if (am_target())
			entry = add_entry(anyone, comparisons[i].entry, comparisons[i].ignore, PTL_INS_BEFORE, 1, in);
		barrier();
		if (am_initiator())
			put(md, PTL_NO_ACK_REQ, comparisons[i].request);
		if (am_target()) {
			expect_tag(in, PUT, comparisons[i].match);
			CHECK_OK(PtlMEUnlink(entry));
		}
		barrier();
	}
}

/* The entries that refuse for every reason there is; the last two take one request each before they do. */
static void add_refusing_entries(ptl_match_bits_t bits, ptl_handle_eq_t eq)
{
	const unsigned filling = ANY_REQUEST | PTL_MD_MAX_SIZE;
	const ptl_md_t refusing[] = {
		{.start = area, .length = 8, .threshold = 0, .options = ANY_REQUEST, .eq_handle = eq},
		{.start = area, .length = 8, .threshold = -5, .options = ANY_REQUEST, .eq_handle = eq},
		{.start = area, .length = 8, .threshold = PTL_MD_THRESH_INF, .options = 0, .eq_handle = eq},
		{.start = area, .length = 7, .threshold = PTL_MD_THRESH_INF, .options = ANY_REQUEST, .eq_handle = eq},
		{.start = area,
		 .length = 16,
		 .threshold = 1,
		 .options = ANY_REQUEST,
		 .eq_handle = eq,
		 .user_ptr = area + 1},
		{.start = area,
		 .length = 16,
		 .threshold = PTL_MD_THRESH_INF,
		 .options = filling,
		 .max_size = 9,
		 .eq_handle = eq,
		 .user_ptr = area + 2},
	};
	ptl_handle_me_t empty;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &empty));
	for (unsigned i = 0; i < sizeof(refusing) / sizeof(refusing[0]); i++)
		open_window(bits, refusing[i]);
}

static void c3_3_the_search_passes_over_entries_that_do_not_accept(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(16);
	ptl_md_t last = md_over(area, sizeof(area), ANY_REQUEST, in);
	last.user_ptr = area + 3;
	for (enum request kind = PUT; kind < REQUESTS && am_target(); kind++) {
		add_refusing_entries(BITS + kind, in);
		open_window(BITS + kind, last);
	}
	barrier();
	ptl_handle_md_t md = word(PTL_MD_EVENT_START_DISABLE, out);
	for (enum request kind = PUT; kind < REQUESTS; kind++) {
		for (int i = 1; i <= 4; i++) {
			if (am_initiator()) {
				ask(kind, md, BITS + kind, 0);
				take_answer(kind, out);
			}
			if (am_target())
				CHECK(take(in, request_kinds[kind].end).md.user_ptr == area + (i < 3 ? i : 3));
		}
	}
	barrier();
	CHECK_EMPTY(in);
	CHECK_EQUAL(drops(), 0);
}

/* The initiator's part: what it hears before the ping is all it hears. */
static void ask_in_vain(enum request kind, char *bytes, size_t length, ptl_handle_eq_t eq)
{
	fill_pattern(bytes, length, 1);
	ptl_handle_md_t md = bind_md(md_over(bytes, length, 0, eq));
	ask(kind, md, BITS, 0);
	if (kind != GET) {
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
	}
	ping(target_id());
	CHECK_EMPTY(eq);
	CHECK_OK(PtlMDUnlink(md));
	CHECK_PATTERN(bytes, length, 1);
}

static void c3_3_a_request_that_nobody_takes_leaves_no_trace_but_the_count(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	open_door();
	if (am_target())
		open_window(BITS + 1, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	for (int i = 0; i < 2 && am_initiator(); i++)
		for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++)
			ask_in_vain(kind, near, short_and_long[i], out);
	barrier();
	if (am_target()) {
		await_drops(5);
		CHECK(is_zero(far, LONG));
	}
	CHECK_EMPTY(in);
	barrier();
}

/* Puts of LONG bytes, and a short one as the last, all issued before the first has moved: where must they go? */
static const struct {
	size_t window;
	ptl_size_t offset;
	int threshold; /* of the window in its START event */
} placed[] = {
	{0, 0, 1}, {0, LONG, 0}, {1, 0, PTL_MD_THRESH_INF}, {2, 0, PTL_MD_THRESH_INF}, {2, LONG, PTL_MD_THRESH_INF}};
#define PLACED (sizeof(placed) / sizeof(placed[0]))

static void open_three_windows(ptl_handle_eq_t eq)
{
	ptl_md_t md[3];
	for (size_t i = 0; i < 3; i++) {
		md[i] = md_over(memory(2 * LONG), 2 * LONG, PTL_MD_OP_PUT, eq);
		md[i].user_ptr = (void *)i;
	}
	md[0].threshold = 2;
	md[1].options |= PTL_MD_MAX_SIZE;
	md[1].max_size = LONG + 1;
	for (size_t i = 0; i < 3; i++)
		open_window(BITS, md[i]);
}

static void check_placed(const ptl_event_t *event, size_t i)
{
	CHECK_EQUAL(event->hdr_data, i);
	CHECK_EQUAL((size_t)event->md.user_ptr, placed[i].window);
	CHECK_EQUAL(event->offset, placed[i].offset);
	CHECK_EQUAL(event->md.threshold, placed[i].threshold);
}

static void c3_3_a_request_is_settled_when_it_is_matched(void)
{
	ptl_handle_eq_t in = new_eq(32);
	char *near = memory(LONG);
	fill_pattern(near, LONG, 4);
	if (am_target())
		open_three_windows(in);
	barrier();
	ptl_handle_md_t md = bind_md(md_over(near, LONG, 0, PTL_EQ_NONE));
	for (size_t i = 0; i < PLACED && am_initiator(); i++)
		CHECK_OK(PtlPutRegion(md, 0, i < PLACED - 1 ? LONG : 8, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0,
				      i));
	for (size_t started = 0, ended = 0; ended < PLACED && am_target();) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (event.type == PTL_EVENT_PUT_START) {
			check_placed(&event, started++);
		} else {
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
			CHECK_PATTERN((char *)event.md.start + event.offset, event.mlength, 4);
			ended++;
		}
	}
	CHECK_EMPTY(in);
	barrier();
}

/* An event that must have been there before the call. */
static void find(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event = {0};
	CHECK_OK(PtlEQGet(eq, &event));
	CHECK_STRING(PtlEventKindStr(event.type), PtlEventKindStr(kind));
}

static void c3_3_an_answer_comes_when_data_and_events_are_at_the_target(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	for (int i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++) {
			fill_pattern(near, length, kind);
			if (am_target())
				fill_pattern(far, length, 7);
			barrier();
			if (am_initiator()) {
				ask(kind, bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out)), BITS, 0);
				take_answer(kind, out);
			}
			barrier();
			if (am_target()) {
				CHECK_PATTERN(far, length, kind == GET ? 7 : kind);
				find(in, request_kinds[kind].start);
				if (kind == GET)
					take(in, PTL_EVENT_GET_END);
				else
					find(in, request_kinds[kind].end);
			}
		}
	}
	barrier();
	CHECK_EMPTY(in);
}

static void c3_3_unlinking_is_the_last_step_of_a_request(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	for (int i = 0; i < 2; i++) {
		ptl_handle_md_t md = bind_md(md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, out));
		for (enum request kind = PUT; kind < (i ? GETPUT : REQUESTS); kind++) {
			if (am_target())
				open_mortal_window(
					BITS,
					with_threshold(md_over(far, LONG, request_kinds[kind].operations, in), 1));
			barrier();
			if (am_initiator()) {
				ask(kind, md, BITS, 0);
				take_answer(kind, out);
			}
			if (am_target()) {
				ptl_seq_t link = take(in, request_kinds[kind].start).link;
				CHECK_EQUAL(take(in, request_kinds[kind].end).link, link);
				CHECK_EQUAL(take(in, PTL_EVENT_UNLINK).link, link);
			}
			barrier();
		}
	}
	CHECK_EMPTY(in);
}

/* LONG bytes at the target for gets at any offset; first contact is over, so that the target may be stopped. */
static void open_source_for_gets(void)
{
	char *source = memory(LONG);
	fill_pattern(source, LONG, 2);
	open_door();
	if (am_target())
		open_window(BITS, md_over(source, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator())
		ping(target_id());
}

/*
 * The target is stopped while gets are issued, their descriptors unlinked and others made: so many that some must have
 * taken the places of the first, whichever those are.
 */
static void c3_3_late_replies_do_not_reach_newer_descriptors(void)
{
	enum { GETS = 600, SUCCESSORS = 400 };
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t successor[SUCCESSORS];
	char *bytes = memory(LONG);
	open_source_for_gets();
	if (am_initiator()) {
		stop_process(1);
		for (int i = 0; i < GETS; i++) {
			ptl_handle_md_t md = bind_md(md_over(bytes, short_and_long[i % 100 == 0], 0, eq));
			get(md, BITS);
			CHECK_OK(PtlMDUnlink(md));
		}
		for (int i = 0; i < SUCCESSORS; i++)
			successor[i] = bind_md(md_over(bytes, short_and_long[i % 100 == 0], 0, eq));
		continue_process(1);
		await_drops(GETS);
		ping(target_id());
		CHECK_EMPTY(eq);
		CHECK(is_zero(bytes, LONG));
		for (int i = 0; i < SUCCESSORS; i++)
			CHECK_OK(PtlMDUnlink(successor[i]));
	}
	barrier();
}

/* The send of a getput uses up the descriptor that its reply is for. */
static void c3_3_a_reply_to_an_inactive_descriptor_is_dropped(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char bytes[8] = "fresh", buffer[8] = "old";
	if (am_target())
		open_window(BITS, md_over(buffer, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(with_threshold(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq), 1));
		ask(GETPUT, md, BITS, 0);
		take(eq, PTL_EVENT_SEND_END);
		await_drops(1);
		CHECK_EMPTY(eq);
		CHECK_STRING(bytes, "fresh");
		CHECK_OK(PtlMDUnlink(md));
	}
	barrier();
	if (am_target())
		CHECK_STRING(buffer, "fresh");
}

/* Options of the descriptor that the reply comes to. */
static const unsigned reply_options[] = {0, PTL_MD_TRUNCATE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
					 PTL_MD_MAX_SIZE | PTL_MD_OP_GET,
					 PTL_MD_ACK_DISABLE | PTL_MD_OP_PUT | PTL_MD_OP_GET};
#define REPLY_OPTIONS (sizeof(reply_options) / sizeof(reply_options[0]))

/* A put of three bytes has moved the local offset of the descriptor, if it takes puts. */
static void c3_3_every_descriptor_accepts_replies_and_not_at_its_local_offset(void)
{
	ptl_handle_eq_t out = new_eq(16);
	char *near = memory(LONG), *far = memory(LONG);
	fill_pattern(far, LONG, 5);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (size_t i = 0; i < 2 * REPLY_OPTIONS && am_initiator(); i++) {
		const size_t length = short_and_long[i & 1];
		ptl_md_t md = md_over(near, length, reply_options[i / 2] | PTL_MD_EVENT_START_DISABLE, out);
		struct window window = open_window(BITS + 1, md);
		memset(near, 0, length);
		if (md.options & PTL_MD_OP_PUT) {
			ptl_handle_md_t source = bind_md(md_over(near, 3, QUIET, PTL_EQ_NONE));
			CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, initiator_id(), INDEX, 0, BITS + 1, 0, 0));
			take(out, PTL_EVENT_PUT_END);
		}
		get(window.md, BITS);
		ptl_event_t end = take(out, PTL_EVENT_REPLY_END);
		CHECK_EQUAL(end.offset, 0);
		CHECK_EQUAL(end.mlength, length);
		CHECK_PATTERN(near, length, 5);
		close_window(window);
	}
	barrier();
}

static void c3_3_a_reply_is_cut_to_fit_whatever_the_options(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char fresh[32], old[33], buffer[32];
	if (am_target())
		open_window(BITS, md_over(buffer, 32, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	for (size_t i = 0; i < REPLY_OPTIONS; i++) {
		if (am_target())
			fill_pattern(buffer, 32, 5);
		barrier();
		for (size_t length = 0; length < 32 && am_initiator(); length += 31) {
			memset(old, 0, sizeof(old));
			ptl_handle_md_t put_md = bind_md(md_over(fresh, 32, QUIET, PTL_EQ_NONE));
			ptl_handle_md_t get_md =
				bind_md(md_over(old, length, reply_options[i] | PTL_MD_EVENT_START_DISABLE, eq));
			fill_pattern(fresh, 32, 5);
			CHECK_OK(PtlGetPut(get_md, put_md, target_id(), INDEX, 0, BITS, 0, 0));
			ptl_event_t end = take(eq, PTL_EVENT_REPLY_END);
			CHECK_EQUAL(end.mlength, length);
			CHECK_PATTERN(old, length, 5);
			CHECK_EQUAL(old[length], 0);
		}
		barrier();
	}
}

/* The target is stopped while the descriptor of a get shrinks below the region that was asked for. */
static void c3_3_a_reply_to_a_descriptor_that_shrank_is_cut(void)
{
	static const size_t left[] = {10, 5, 4, 0}; /* the region begins at 5 */
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	open_source_for_gets();
	for (size_t i = 0; i < 8 && am_initiator(); i++) {
		const size_t length = short_and_long[i & 1], size = left[i / 2];
		ptl_md_t md = md_over(bytes, length, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t handle = bind_md(md);
		memset(bytes, 0, length);
		stop_process(1);
		CHECK_OK(PtlGetRegion(handle, 5, length - 5, target_id(), INDEX, 0, BITS, 0));
		md.length = size;
		CHECK_OK(PtlMDUpdate(handle, NULL, &md, PTL_EQ_NONE));
		continue_process(1);
		ptl_event_t end = take(eq, PTL_EVENT_REPLY_END);
		CHECK_EQUAL(end.rlength, length - 5);
		CHECK_EQUAL(end.mlength, size > 5 ? size - 5 : 0);
		CHECK_PATTERN(bytes + 5, end.mlength, 2);
		CHECK_EQUAL(bytes[5 + end.mlength], 0);
	}
	barrier();
}

static const struct test tests[] = {
	{.name = "c3_3_a_message_reaches_only_the_process_it_names",
	 .run = c3_3_a_message_reaches_only_the_process_it_names,
	 .proves = "3.3/1 3.19/7",
	 .processes = 2,
	 .traits = TRAIT_PAIR,
	 .environment = "PTL_CONNECT_TIMEOUT=1s"},
	CASE_PAIR(c3_3_every_portal_table_entry_is_separate_and_requests_beyond_the_last_are_dropped, "3.3/2"),
	CASE_PAIR(c3_3_every_access_control_entry_can_be_named_and_requests_beyond_the_last_are_dropped, "3.3/3"),
	CASE_PAIR(c3_3_access_control_wants_every_field_of_every_request_to_fit, "3.3/4 3.3/20"),
	CASE_PAIR(c3_3_the_first_entry_that_takes_a_request_is_the_only_one_to_hear_of_it, "3.3/5"),
	CASE_PAIR(c3_3_an_entry_is_for_its_process_and_wildcards_are_for_all, "3.3/6 2.3/22"),
	CASE_PAIR(c3_3_match_bits_are_compared_except_where_ignored, "3.3/7 2.3/12"),
	CASE_PAIR(c3_3_the_search_passes_over_entries_that_do_not_accept, "3.3/8 3.3/9"),
	CASE_PAIR(c3_3_a_request_that_nobody_takes_leaves_no_trace_but_the_count, "3.3/10 3.3/20"),
	CASE_PAIR(c3_3_a_request_is_settled_when_it_is_matched, "3.3/11 3.3/15"),
	CASE_PAIR(c3_3_an_answer_comes_when_data_and_events_are_at_the_target, "3.3/12 3.3/13"),
	CASE_PAIR(c3_3_unlinking_is_the_last_step_of_a_request, "3.3/14"),
	CASE_TWO(c3_3_late_replies_do_not_reach_newer_descriptors, "3.3/16 3.10/17 3.10/19"),
	CASE_PAIR(c3_3_a_reply_to_an_inactive_descriptor_is_dropped, "3.3/17"),
	CASE_PAIR(c3_3_every_descriptor_accepts_replies_and_not_at_its_local_offset, "3.3/18"),
	CASE_PAIR(c3_3_a_reply_is_cut_to_fit_whatever_the_options, "3.3/19"),
	CASE_TWO(c3_3_a_reply_to_a_descriptor_that_shrank_is_cut, "3.3/19"),
	{0},
};

const struct chapter arrival_chapter = {
	.title = "3.3 What happens to an incoming message", .rows = rows, .tests = tests, .core = true};
