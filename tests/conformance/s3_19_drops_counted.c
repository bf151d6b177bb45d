/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.19 What counts as dropped. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <string.h>

static const struct row rows[] = {
	{"3.19/1", "a put, get or getput that names a portal table index above the last adds 1 to PTL_SR_DROP_COUNT"},
	{"3.19/2", "... one that names an access control index above the last does"},
	{"3.19/3", "... one that access control refuses does"},
	{"3.19/4", "... one that no descriptor accepts does"},
	{"3.19/5", "a REPLY whose descriptor is gone or inactive adds 1 at the initiator, and logs nothing"},
	{"3.19/6", "an ACK whose descriptor is gone, is inactive or has no event queue adds 1, and logs nothing"},
	{"3.19/7", "a request for a process that does not exist reaches no interface and is counted by none"},
	{"3.19/8", "a truncated put adds nothing"},
	{"3.19/9", "events lost because their queue is full add nothing"},
	{"3.19/10", "a dropped request leaves nothing at the target: no event, no byte, and what follows is served"},
	{"3.19/11", "an initiator is not told of a drop: a put has its SEND pair and no ACK, a get or getput no REPLY"},
	{"3.19/12", "PTL_SR_DROP_LENGTH adds up the bytes that dropped requests asked for"},
	{0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CLOSED       1 /* access control entry that admits no process */

/* Where a request goes. */
struct errand {
	ptl_pt_index_t pt_index;
	ptl_ac_index_t ac_index;
	ptl_match_bits_t bits;
	ptl_size_t offset;
};

static ptl_handle_md_t over(char *bytes, size_t length)
{
	return bind_md(md_over(bytes, length, QUIET, PTL_EQ_NONE));
}

/* A put and a get, short and long, and a getput, all to the same place. */
static void run_errands(const struct errand *to, char *bytes)
{
	for (enum request kind = PUT; kind < REQUESTS; kind++)
		for (size_t i = 0; i < (kind == GETPUT ? 1 : COUNT(short_and_long)); i++)
			CHECK_OK(issue(kind, over(bytes, kind == GETPUT ? WORD : short_and_long[i]), to->pt_index,
				       to->ac_index, to->bits, to->offset, 0));
}

enum { ERRANDS = 5 };

/* Numbers beyond the table's end, and such as would be inside if they lost their upper bits on the way. */
static size_t list_misdirections(struct errand *errands)
{
	const ptl_ni_limits_t limits = limits_in_force();
	const ptl_pt_index_t pt = (ptl_pt_index_t)limits.max_pt_index;
	const ptl_ac_index_t ac = (ptl_ac_index_t)limits.max_ac_index;
	const struct errand all[] = {
		{pt + 1, 0, BITS, 0},
		{0x100 + INDEX, 0, BITS, 0},
		{0x10000 + INDEX, 0, BITS, 0},
		{PTL_PT_INDEX_ANY, 0, BITS, 0},
		{INDEX, ac + 1, BITS, 0},
		{INDEX, 0x100, BITS, 0},
		{INDEX, 0x10000, BITS, 0},
		{INDEX, 0xffffffffu, BITS, 0},
		{INDEX, CLOSED, BITS, 0},
		{INDEX, 0, BITS + 1, 0},           /* no entry matches */
		{INDEX_SIDE + 1, 0, BITS, 0},      /* empty list */
		{INDEX, 0, BITS, LONG - WORD + 1}, /* does not fit */
		{INDEX, 0, BITS, ~0ull},           /* offset + length wraps round */
		{INDEX, 0, BITS, ~0ull - WORD + 1},
	};
	memcpy(errands, all, sizeof(all));
	return COUNT(all);
}

static void c3_19_requests_that_nobody_takes_are_counted(void)
{
	const struct errand good = {INDEX, 0, BITS, 0};
	struct errand bad[16];
	const size_t count = list_misdirections(bad);
	ptl_handle_eq_t in = new_eq(64);
	char *bytes = memory(LONG), *buffer = memory(LONG);
	const unsigned options = ANY_REQUEST | PTL_MD_MANAGE_REMOTE;
	if (am_target()) {
		open_window(BITS, md_over(buffer, LONG, options, in));
		CHECK_OK(PtlACEntry(ni, CLOSED, (ptl_process_id_t){0, 0}, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
		fill_pattern(buffer, LONG, 2);
		CHECK_EQUAL(drops(), 0);
	}
	open_door();
	for (size_t i = 0; i < count; i++) {
		barrier();
		if (am_initiator()) {
			run_errands(&bad[i], bytes);
			ping(target_id());
		}
		barrier();
		if (am_target())
			await_drops((long long)(i + 1) * ERRANDS);
	}
	if (am_target()) {
		CHECK_PATTERN(buffer, LONG, 2);
		CHECK_EMPTY(in);
		CHECK_EQUAL(drops(), (long long)count * ERRANDS);
	}
	barrier();
	if (am_initiator())
		run_errands(&good, bytes);
	for (int i = 0; i < ERRANDS && am_target(); i++)
		CHECK_EQUAL(take_any(in).ni_fail_type, PTL_NI_OK);
	if (am_target())
		CHECK_EQUAL(drops(), (long long)count * ERRANDS);
	barrier();
}

static void c3_19_operations_that_a_descriptor_does_not_allow_are_counted(void)
{
	static char buffer[WORD];
	const struct errand putting = {INDEX, 0, BITS, 0}, getting = {INDEX, 0, BITS + 1, 0};
	char *bytes = memory(LONG);
	if (am_target()) {
		open_window(BITS, md_over(buffer, WORD, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE));
		open_window(BITS + 1, md_over(buffer, WORD, PTL_MD_OP_GET | PTL_MD_TRUNCATE, PTL_EQ_NONE));
	}
	barrier();
	if (am_initiator()) {
		run_errands(&putting, bytes); /* two gets and the getput are in vain */
		run_errands(&getting, bytes); /* two puts and the getput */
	}
	if (am_target())
		await_drops(6);
	barrier();
}

static void c3_19_dropped_lengths_are_added_up(void)
{
	const struct errand nowhere = {INDEX, 0, BITS, 0};
	char *bytes = memory(LONG);
	barrier();
	if (am_initiator())
		run_errands(&nowhere, bytes);
	if (am_target()) {
		await_drops(ERRANDS);
		CHECK_EQUAL(status_register(PTL_SR_DROP_LENGTH), 2 * (short_and_long[0] + short_and_long[1]) + WORD);
	}
	barrier();
}

/* Descriptors are free afterwards, and their units were spent on nothing but the SENDs. */
static void c3_19_the_initiator_of_a_dropped_request_is_not_told(void)
{
	char *bytes = memory(LONG);
	ptl_handle_eq_t eq = new_eq(8);
	open_door();
	barrier();
	for (size_t i = 0; i < COUNT(short_and_long) && am_initiator(); i++) {
		ptl_md_t md = with_threshold(md_over(bytes, short_and_long[i], 0, eq), 5);
		ptl_handle_md_t put_md = bind_md(md), get_md = bind_md(md);
		md.length = WORD;
		ptl_handle_md_t swap_md = bind_md(md), old_md = bind_md(md);
		put(put_md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		get(get_md, BITS);
		CHECK_OK(PtlGetPut(old_md, swap_md, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		ping(target_id());
		CHECK_EMPTY(eq);
		CHECK_EQUAL(state_of(put_md).threshold, 4);
		CHECK_EQUAL(state_of(get_md).threshold, 5);
		CHECK_EQUAL(state_of(swap_md).threshold, 4);
		CHECK_EQUAL(state_of(old_md).threshold, 5);
		const ptl_handle_md_t all[] = {put_md, get_md, swap_md, old_md};
		for (size_t k = 0; k < COUNT(all); k++)
			CHECK_OK(PtlMDUnlink(all[k]));
	}
	barrier();
	CHECK_EQUAL(drops(), am_target() ? 6 : 0);
}

/* ---- Answers that find no interface ---- */

static void open_generous_window(void)
{
	const unsigned options = ANY_REQUEST | PTL_MD_MANAGE_REMOTE;
	open_window(BITS, md_over(memory(LONG), LONG, options, PTL_EQ_NONE));
}

/* What its owner may do to a descriptor, which has one unit, while an answer for it is on its way. */
enum loss { UNLINKED, STOPPED, SPENT, DEAFENED, QUEUE_FREED };

static void lose(enum loss how, ptl_handle_md_t md, ptl_handle_eq_t eq)
{
	ptl_md_t state = state_of(md);
	switch (how) {
	case UNLINKED:
		CHECK_OK(PtlMDUnlink(md));
		break;
	case STOPPED:
		state.threshold = 0;
		CHECK_OK(PtlMDUpdate(md, NULL, &state, PTL_EQ_NONE));
		break;
	case SPENT:
		CHECK_OK(PtlPutRegion(md, 0, 0, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		break;
	case DEAFENED:
		state.eq_handle = PTL_EQ_NONE;
		CHECK_OK(PtlMDUpdate(md, NULL, &state, PTL_EQ_NONE));
		break;
	case QUEUE_FREED:
		CHECK_OK(PtlEQFree(eq));
		break;
	}
}

/* The target stands still while the requests are issued and their descriptors lost. */
static void c3_19_a_reply_that_finds_no_descriptor_is_counted(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	if (am_target())
		open_generous_window();
	open_door();
	barrier();
	if (am_initiator()) {
		ping(target_id());
		stop_process(1);
		for (enum loss how = UNLINKED; how <= SPENT; how++) {
			ptl_md_t md = with_threshold(md_over(bytes, WORD, PTL_MD_EVENT_START_DISABLE, eq), 1);
			ptl_handle_md_t handle = bind_md(md);
			CHECK_OK(PtlGetPut(handle, over(bytes, WORD), target_id(), INDEX, 0, BITS, 0, 0));
			lose(how, handle, eq);
			for (size_t i = 0; i < COUNT(short_and_long); i++) {
				md.length = short_and_long[i];
				handle = bind_md(md);
				get(handle, BITS);
				lose(how, handle, eq);
			}
		}
		continue_process(1);
		await_drops(3 * (SPENT + 1));
		ping(target_id());
		CHECK_EMPTY(eq);
	}
	barrier();
	CHECK_EQUAL(drops(), am_initiator() ? 3 * (SPENT + 1) : 0);
}

/* Short puts: a long one is pending, and its descriptor not to be had, until its ACK comes. */
static void c3_19_an_ack_that_finds_no_descriptor_or_queue_is_counted(void)
{
	static char bytes[WORD];
	if (am_target())
		open_generous_window();
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_eq_t eqs[QUEUE_FREED + 1];
		ping(target_id());
		stop_process(1);
		for (enum loss how = UNLINKED; how <= QUEUE_FREED; how++) {
			eqs[how] = new_eq(8);
			ptl_md_t state = with_threshold(md_over(bytes, WORD, PTL_MD_EVENT_START_DISABLE, eqs[how]), 2);
			ptl_handle_md_t md = bind_md(state);
			put(md, PTL_ACK_REQ, BITS);
			take(eqs[how], PTL_EVENT_SEND_END);
			lose(how, md, eqs[how]);
		}
		continue_process(1);
		await_drops(QUEUE_FREED + 1);
		ping(target_id());
		for (enum loss how = UNLINKED; how < QUEUE_FREED; how++)
			CHECK_EMPTY(eqs[how]);
	}
	barrier();
	CHECK_EQUAL(drops(), am_initiator() ? QUEUE_FREED + 1 : 0);
}

static void c3_19_an_ack_that_finds_its_descriptor_used_up_is_counted(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	if (am_target())
		open_generous_window();
	barrier();
	for (size_t i = 0; i < COUNT(short_and_long) && am_initiator(); i++) {
		put(bind_md(with_threshold(md_over(bytes, short_and_long[i], 0, eq), 1)), PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_START);
		take(eq, PTL_EVENT_SEND_END);
		await_drops((int)i + 1);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* ---- What is no drop ---- */

static void c3_19_truncated_puts_are_not_counted(void)
{
	static char buffer[8];
	ptl_handle_eq_t in = new_eq(8);
	char *bytes = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(buffer, 8, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	for (size_t i = 0; i < 4; i++) { /* 8 bytes remain at first, then none */
		if (am_initiator())
			put(over(bytes, short_and_long[i % 2]), PTL_NO_ACK_REQ, BITS);
		if (am_target())
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).mlength, i == 0 ? 8 : 0);
	}
	barrier();
	CHECK_EQUAL(drops(), 0);
}

static void c3_19_lost_events_are_not_counted(void)
{
	enum { MESSAGES = 100 };
	static char buffer[8];
	ptl_handle_eq_t in = new_eq(2);
	ptl_event_t event;
	if (am_target())
		open_window(BITS, md_over(buffer, 8, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = over(buffer, 8);
		for (int i = 0; i < MESSAGES; i++)
			put(md, PTL_NO_ACK_REQ, BITS);
		ping(target_id());
	}
	barrier();
	if (am_target()) {
		CHECK_RC(PtlEQGet(in, &event), PTL_EQ_DROPPED);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static const struct test tests[] = {
	CASE_PAIR(c3_19_requests_that_nobody_takes_are_counted, "3.19/1 3.19/2 3.19/3 3.19/4 3.19/10"),
	CASE_PAIR(c3_19_operations_that_a_descriptor_does_not_allow_are_counted, "3.19/4"),
	CASE_PAIR(c3_19_dropped_lengths_are_added_up, "3.19/12"),
	CASE_PAIR(c3_19_the_initiator_of_a_dropped_request_is_not_told, "3.19/11"),
	CASE_TWO(c3_19_a_reply_that_finds_no_descriptor_is_counted, "3.19/5"),
	CASE_TWO(c3_19_an_ack_that_finds_no_descriptor_or_queue_is_counted, "3.19/6"),
	CASE_PAIR(c3_19_an_ack_that_finds_its_descriptor_used_up_is_counted, "3.19/6"),
	CASE_PAIR(c3_19_truncated_puts_are_not_counted, "3.19/8"),
	CASE_PAIR(c3_19_lost_events_are_not_counted, "3.19/9"),
	{0},
};

const struct chapter drops_counted_chapter = {.title = "3.19 What counts as dropped", .rows = rows, .tests = tests};
