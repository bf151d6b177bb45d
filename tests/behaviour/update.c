/* SPDX-License-Identifier: BSD-3-Clause */
/* PtlMDUpdate: replacing a descriptor in one step with looking at a queue. */
#include "tests/behaviour/behaviour.h"

#include <string.h>

#define QUIET (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

static char area[64], other_area[64];

static ptl_handle_md_t source(void)
{
	static char bytes[8];
	return bind_md(md_over(bytes, sizeof bytes, QUIET, PTL_EQ_NONE));
}

static void check_same_md(const ptl_md_t *a, const ptl_md_t *b)
{
	CHECK(a->start == b->start && a->length == b->length && a->threshold == b->threshold);
	CHECK(a->options == b->options && a->user_ptr == b->user_ptr && a->eq_handle == b->eq_handle);
}

static void an_update_reports_the_old_and_installs_the_new_descriptor(void)
{
	ptl_handle_eq_t eq = new_eq(8), other_eq = new_eq(8);
	ptl_md_t first = md_over(area, 64, PTL_MD_OP_PUT, eq), second, old;
	first.threshold = 3;
	first.user_ptr = area;
	second = md_over(other_area, 32, PTL_MD_OP_GET | PTL_MD_TRUNCATE, other_eq);
	second.threshold = 5;
	second.user_ptr = other_area;
	struct window window = open_window(BITS, first);
	CHECK_OK(PtlMDUpdate(window.md, &old, NULL, PTL_EQ_NONE)); /* looks only */
	check_same_md(&old, &first);
	CHECK_OK(PtlMDUpdate(window.md, &old, &second, eq));
	check_same_md(&old, &first);
	CHECK_OK(PtlMDUpdate(window.md, &old, &first, PTL_EQ_NONE));
	check_same_md(&old, &second);
	CHECK_OK(PtlMDUpdate(window.md, NULL, NULL, eq));
	CHECK_OK(PtlMDUpdate(window.md, NULL, &second, eq));
	CHECK_OK(PtlMDUpdate(window.md, &old, NULL, eq));
	check_same_md(&old, &second);
}

static void an_update_is_refused_while_the_test_queue_has_events(void)
{
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	struct window catch_all = {0}, posted = {0};
	if (am_target()) {
		ptl_md_t md = md_over(area, 64, PTL_MD_OP_PUT, eq);
		md.threshold = 0;
		posted = open_window(BITS + 1, md);
		catch_all = open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, unexpected));
	}
	open_door();
	barrier();
	if (am_initiator()) {
		put(source(), PTL_NO_ACK_REQ, BITS);
		knock(target_id());
	}
	barrier();
	if (am_target()) {
		ptl_md_t old = {0}, wanted = md_over(other_area, 64, PTL_MD_OP_PUT, eq);
		CHECK_RC(PtlMDUpdate(posted.md, &old, &wanted, unexpected), PTL_MD_NO_UPDATE);
		CHECK(old.start == area && old.threshold == 0);           /* recorded although refused */
		CHECK_OK(PtlMDUpdate(posted.md, NULL, NULL, unexpected)); /* nothing to install, nothing to test */
		take(unexpected, PTL_EVENT_PUT_START);
		CHECK_RC(PtlMDUpdate(posted.md, NULL, &wanted, unexpected), PTL_MD_NO_UPDATE);
		take(unexpected, PTL_EVENT_PUT_END);
		CHECK_OK(PtlMDUpdate(posted.md, &old, &wanted, unexpected));
		CHECK(old.start == area);
		CHECK_OK(PtlMDUpdate(posted.md, &old, NULL, PTL_EQ_NONE));
		CHECK(old.start == other_area);
		close_window(catch_all);
	}
	barrier();
	if (am_initiator())
		put(source(), PTL_NO_ACK_REQ, BITS + 1);
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_START);
		CHECK(take(eq, PTL_EVENT_PUT_END).md.start == other_area);
	}
	barrier();
}

/*
 * The START of the big put is disabled, so its queue stays empty while it arrives; yet its END will come there.  Seen
 * at least once: the update refused and the queue empty right afterwards.
 */
static void an_update_is_refused_while_an_operation_on_the_test_queue_is_half_done(void)
{
	enum { BIG = 32 << 20, TRIES = 20 };
	ptl_handle_eq_t test_eq = new_eq(64), eq = new_eq(64);
	char *bytes = memory(BIG);
	struct window posted = {0};
	uint64_t seen[MAX_PROCESSES] = {0}, half_done = 0;
	if (am_target()) {
		posted = open_window(BITS + 1, md_over(area, 64, PTL_MD_OP_PUT, PTL_EQ_NONE));
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
		open_window(BITS, md_over(bytes, BIG, options, test_eq));
	}
	barrier();
	ptl_handle_md_t md = bind_md(md_over(bytes, BIG, PTL_MD_EVENT_START_DISABLE, eq));
	for (int i = 0; i < TRIES && !half_done; i++) {
		if (am_initiator()) {
			put(md, PTL_NO_ACK_REQ, BITS);
			take(eq, PTL_EVENT_SEND_END);
		}
		for (bool arrived = false; am_target() && !arrived;) {
			ptl_md_t wanted = md_over(area, 32, PTL_MD_OP_PUT, PTL_EQ_NONE);
			ptl_event_t event;
			int rc = PtlMDUpdate(posted.md, NULL, &wanted, test_eq);
			CHECK(rc == PTL_OK || rc == PTL_MD_NO_UPDATE);
			int got = PtlEQGet(test_eq, &event);
			arrived = got == PTL_OK;
			half_done |= rc == PTL_MD_NO_UPDATE && got == PTL_EQ_EMPTY;
		}
		gather(&half_done, sizeof half_done, seen);
		half_done = seen[process_count - 1];
	}
	CHECK_EQUAL(half_done, 1);
}

static void an_update_resets_the_local_offset_and_wakes_an_inactive_descriptor(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	ptl_md_t md = md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq);
	struct window window = {0};
	md.threshold = 2;
	if (am_target())
		window = open_window(BITS, md);
	barrier();
	for (int round = 0; round < 3; round++) {
		if (am_initiator()) {
			put(source(), PTL_NO_ACK_REQ, BITS);
			put(source(), PTL_NO_ACK_REQ, BITS);
		}
		if (am_target()) {
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).offset, 0);
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).offset, 8);
			CHECK_OK(PtlMDUpdate(window.md, NULL, &md, eq));
		}
		barrier();
	}
}

static void an_update_to_threshold_zero_stops_a_descriptor_without_unlinking_it(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	ptl_process_id_t self;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_md_t active = md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), stopped = active;
	active.threshold = 1;
	stopped.threshold = 0;
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, active, PTL_UNLINK, &md));
	CHECK_OK(PtlMDUpdate(md, NULL, &stopped, PTL_EQ_NONE));
	for (int i = 1; i <= 3; i++) { /* must not run below 0, which would mean for ever */
		CHECK_OK(PtlPut(source(), PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		await_drops(i);
	}
	CHECK_EMPTY(eq);
	CHECK_OK(PtlMDUpdate(md, NULL, &active, eq));
	CHECK_OK(PtlPut(source(), PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_PUT_END);
	take(eq, PTL_EVENT_UNLINK);
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
}

static void an_operation_under_way_finishes_in_the_old_region(void)
{
	enum { BIG = 8 << 20 };
	ptl_handle_eq_t eq = new_eq(16), out = new_eq(16);
	char *before = memory(BIG), *after = memory(BIG), *bytes = memory(BIG);
	fill_pattern(bytes, BIG, 1);
	struct window window = {0};
	ptl_md_t md = md_over(before, BIG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq);
	if (am_target())
		window = open_window(BITS, md);
	barrier();
	if (am_initiator()) {
		put(bind_md(md_over(bytes, BIG, PTL_MD_EVENT_START_DISABLE, out)), PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_START);
		md.start = after;
		CHECK_OK(PtlMDUpdate(window.md, NULL, &md, PTL_EQ_NONE));
		take(eq, PTL_EVENT_PUT_END);
		CHECK_PATTERN(before, BIG, 1);
		CHECK_EQUAL(after[0], 0);
		CHECK_EQUAL(after[BIG - 1], 0);
	}
	barrier();
	if (am_initiator()) {
		put(bind_md(md_over(bytes, 100, PTL_MD_EVENT_START_DISABLE, out)), PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_START);
		take(eq, PTL_EVENT_PUT_END);
		CHECK_PATTERN(after, 100, 1);
	}
	barrier();
}

/*
 * The classic receive: post inactive, look through what came unexpected, activate by an update that succeeds only if
 * nothing came meanwhile.  Every message must be found exactly once, here or there, while the sender never pauses.
 */
static void post_and_update_loses_no_message(void)
{
	enum { MESSAGES = FEWER(3000) };
	ptl_handle_eq_t unexpected = new_eq(4 * MESSAGES), eq = new_eq(8);
	unsigned posted = 0, surprised = 0;
	ptl_handle_me_t last = PTL_INVALID_HANDLE;
	if (am_target()) {
		ptl_handle_md_t md;
		unsigned options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE;
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &last));
		CHECK_OK(PtlMDAttach(last, md_over(NULL, 0, options, unexpected), PTL_RETAIN, &md));
	}
	barrier();
	if (am_initiator())
		for (unsigned i = 0; i < MESSAGES; i++)
			CHECK_OK(PtlPut(source(), PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
	for (unsigned i = 0; i < MESSAGES && am_target(); i++) {
		ptl_md_t idle = md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), ready = idle;
		ptl_handle_me_t me;
		ptl_handle_md_t md;
		ptl_event_t event;
		bool found = false;
		idle.threshold = 0;
		ready.threshold = 1;
		CHECK_OK(PtlMEInsert(last, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, &me));
		CHECK_OK(PtlMDAttach(me, idle, PTL_UNLINK, &md));
		while (!found && PtlMDUpdate(md, NULL, &ready, unexpected) == PTL_MD_NO_UPDATE)
			found = PtlEQGet(unexpected, &event) == PTL_OK;
		if (found) {
			CHECK_EQUAL(event.hdr_data, i);
			CHECK_OK(PtlMEUnlink(me));
			surprised++;
		} else {
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, i);
			take(eq, PTL_EVENT_UNLINK);
			posted++;
		}
	}
	if (am_target()) {
		CHECK_EQUAL(posted + surprised, MESSAGES);
		CHECK_EQUAL(drops(), 0);
		CHECK_EMPTY(unexpected);
	}
	barrier();
}

/* The put is long, so that it is still pending when it is updated; nothing is begun between the two updates. */
static void updates_while_a_put_is_under_way_leave_its_ack_and_its_end_alone(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	open_window(BITS, md_over(area, sizeof area, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE));
	for (int updates = 0; updates < 3; updates++) {
		ptl_md_t md = md_over(memory(LONG), LONG, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t handle = bind_md(md);
		CHECK_OK(PtlPut(handle, PTL_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		for (int i = 0; i < updates; i++)
			CHECK_OK(PtlMDUpdate(handle, NULL, &md, PTL_EQ_NONE));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md_handle, handle);
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).md_handle, handle);
		CHECK_OK(PtlMDUnlink(handle));
	}
	CHECK_EQUAL(drops(), 0);
}

const struct test update_tests[] = {
	ALONE(updates_while_a_put_is_under_way_leave_its_ack_and_its_end_alone),
	ALONE(an_update_reports_the_old_and_installs_the_new_descriptor),
	PAIR(an_update_is_refused_while_the_test_queue_has_events),
	TWO(an_update_is_refused_while_an_operation_on_the_test_queue_is_half_done),
	PAIR(an_update_resets_the_local_offset_and_wakes_an_inactive_descriptor),
	ALONE(an_update_to_threshold_zero_stops_a_descriptor_without_unlinking_it),
	PAIR(an_operation_under_way_finishes_in_the_old_region),
	PAIR(post_and_update_loses_no_message),
	{0},
};
