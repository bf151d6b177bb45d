/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.12 PtlMDUpdate: replacing a descriptor in one step with looking at a queue. */
#include "tests/conformance/conformance.h"

#include <string.h>

static const struct row rows[] = {
	{"3.12/1", "PTL_MD_INVALID if md_handle is no live descriptor; PTL_NO_INIT before PtlInit and after PtlFini"},
	{"3.12/2",
	 "PTL_EQ_INVALID if the test queue is neither a live queue nor PTL_EQ_NONE, also with nothing to install"},
	{"3.12/3",
	 "old_md receives the descriptor as it was: fields as stated, threshold as counted down; it may be NULL"},
	{"3.12/4", "old_md is written also when the update is refused with PTL_MD_NO_UPDATE"},
	{"3.12/5", "without new_md the call says PTL_OK whatever the test queue holds, and changes nothing"},
	{"3.12/6", "PTL_MD_NO_UPDATE while the test queue holds an unread event; nothing changes"},
	{"3.12/7",
	 "PTL_MD_NO_UPDATE also while an operation has matched whose event on the test queue is still to come"},
	{"3.12/8", "with PTL_EQ_NONE for the test queue nothing is tested"},
	{"3.12/9", "the test queue need not be the descriptor's own, whose events then do not matter"},
	{"3.12/10", "start, length, threshold, max_size, options, user_ptr and eq_handle are all replaced"},
	{"3.12/11", "the unlink flag and the match entry stay as they are"},
	{"3.12/12", "the local offset becomes 0"},
	{"3.12/13",
	 "an inactive descriptor becomes active with a threshold above 0 or PTL_MD_THRESH_INF, and one that was "
	 "to go with its last pending operation stays"},
	{"3.12/14", "threshold 0 makes it inactive without unlinking it; it takes nothing until it is updated again"},
	{"3.12/15", "with PTL_EQ_NONE it is updated while operations are pending on it: they finish in the old region"},
	{"3.12/16",
	 "PTL_MD_ILLEGAL for a new_md that describes no memory, PTL_EQ_INVALID for its queue; nothing changes"},
	{0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char area[64], other_area[64];

static ptl_handle_md_t source(size_t length)
{
	static char bytes[LONG];
	static bool filled; /* once: earlier sends may still be reading */
	if (!filled)
		fill_pattern(bytes, LONG, 1);
	filled = true;
	return bind_md(md_over(bytes, length, QUIET, PTL_EQ_NONE));
}

static void check_same_md(const ptl_md_t *a, const ptl_md_t *b)
{
	CHECK(a->start == b->start && a->length == b->length && a->threshold == b->threshold);
	CHECK(a->max_size == b->max_size && a->options == b->options);
	CHECK(a->user_ptr == b->user_ptr && a->eq_handle == b->eq_handle);
}

/* Two descriptors that differ in every field. */
static ptl_md_t one_md(ptl_handle_eq_t eq)
{
	ptl_md_t md = md_over(area, 64, PTL_MD_OP_PUT, eq);
	md.threshold = 3;
	md.max_size = 7;
	md.user_ptr = area;
	return md;
}

static ptl_md_t other_md(ptl_handle_eq_t eq)
{
	ptl_md_t md = md_over(other_area, 32, PTL_MD_OP_GET | PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, eq);
	md.threshold = 5;
	md.max_size = 20;
	md.user_ptr = other_area;
	return md;
}

static void c3_12_an_update_reports_the_old_and_installs_the_new_descriptor(void)
{
	ptl_handle_eq_t eq = new_eq(8), other_eq = new_eq(8);
	ptl_md_t first = one_md(eq), second = other_md(other_eq), old;
	struct window window = open_window(BITS, first);
	old = state_of(window.md);
	check_same_md(&old, &first);
	CHECK_OK(PtlMDUpdate(window.md, &old, &second, eq));
	check_same_md(&old, &first);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &first, PTL_EQ_NONE));
	CHECK_OK(PtlMDUpdate(window.md, NULL, NULL, eq));
	old = state_of(window.md);
	check_same_md(&old, &first);
}

/* The whole of the other descriptor works: its memory, its room, its queue, its options, and MAX_SIZE at its limit. */
static void c3_12_every_field_of_the_new_descriptor_counts(void)
{
	ptl_handle_eq_t eq = new_eq(8), other_eq = new_eq(8);
	ptl_md_t first = one_md(eq), second = other_md(other_eq);
	struct window window = {0};
	if (am_target()) {
		window = open_window(BITS, first);
		CHECK_OK(PtlMDUpdate(window.md, NULL, &second, PTL_EQ_NONE));
	}
	open_door();
	barrier();
	if (am_initiator()) {
		put(source(33), PTL_NO_ACK_REQ, BITS); /* one more than its room */
		put(source(12), PTL_NO_ACK_REQ, BITS); /* leaves 20 */
		get(source(1), BITS);                  /* leaves 19: the last */
		put(source(1), PTL_NO_ACK_REQ, BITS);
		ping(target_id());
	}
	barrier();
	if (am_target()) {
		CHECK_EQUAL(take(other_eq, PTL_EVENT_PUT_START).md.threshold, 4);
		ptl_event_t event = take(other_eq, PTL_EVENT_PUT_END);
		second.threshold = 4;
		check_same_md(&event.md, &second);
		CHECK_PATTERN(other_area, 12, 1);
		CHECK_EQUAL(take(other_eq, PTL_EVENT_GET_START).md.threshold, 3);
		take(other_eq, PTL_EVENT_GET_END);
		await_drops(2);
		CHECK_EQUAL(state_of(window.md).threshold, 3);
	}
	CHECK_EMPTY(eq);
	CHECK_EMPTY(other_eq);
	barrier();
}

static void c3_12_an_update_is_refused_while_the_test_queue_has_events(void)
{
	ptl_handle_eq_t unexpected = new_eq(8), eq = new_eq(8);
	ptl_md_t idle = with_threshold(md_over(area, 64, PTL_MD_OP_PUT, eq), 0), wanted = one_md(eq), old = {0};
	struct window posted = open_window(BITS + 1, idle);
	open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, unexpected));
	open_door();
	put(source(8), PTL_NO_ACK_REQ, BITS);
	ping(target_id());
	for (ptl_event_kind_t kind = PTL_EVENT_PUT_START; kind <= PTL_EVENT_PUT_END; kind++) {
		CHECK_RC(PtlMDUpdate(posted.md, &old, &wanted, unexpected), PTL_MD_NO_UPDATE);
		check_same_md(&old, &idle);
		CHECK_OK(PtlMDUpdate(posted.md, NULL, NULL, unexpected));
		old = state_of(posted.md);
		check_same_md(&old, &idle);
		CHECK_EQUAL(take(unexpected, kind).match_bits, BITS);
	}
	CHECK_OK(PtlMDUpdate(posted.md, &old, &wanted, unexpected));
	check_same_md(&old, &idle);
	old = state_of(posted.md);
	check_same_md(&old, &wanted);
}

/* The descriptor's own queue has events all the time; only the one that is named matters, and PTL_EQ_NONE names none. */
static void c3_12_only_the_test_queue_is_looked_at(void)
{
	ptl_handle_eq_t own = new_eq(8), quiet = new_eq(8);
	ptl_md_t md = md_over(area, 64, PTL_MD_OP_PUT, own);
	struct window window = open_window(BITS, md);
	open_door();
	put(source(8), PTL_NO_ACK_REQ, BITS);
	ping(target_id());
	CHECK_RC(PtlMDUpdate(window.md, NULL, &md, own), PTL_MD_NO_UPDATE);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &md, quiet));
	CHECK_OK(PtlMDUpdate(window.md, NULL, &md, PTL_EQ_NONE));
	take(own, PTL_EVENT_PUT_START);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &md, own), PTL_MD_NO_UPDATE);
	take(own, PTL_EVENT_PUT_END);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &md, own));
}

/* Both ways of posting a receive, tried once: was it refused for the test queue's sake? */
static bool refused_by(ptl_handle_eq_t test_eq, struct window posted)
{
	ptl_md_t wanted = md_over(area, 32, PTL_MD_OP_PUT, PTL_EQ_NONE);
	struct window another;
	int update = PtlMDUpdate(posted.md, NULL, &wanted, test_eq);
	int post = PtlMEMDPost(ni, posted.me, anyone, BITS + 2, 0, PTL_UNLINK, PTL_INS_BEFORE, wanted, PTL_UNLINK,
			       &another.me, &another.md, test_eq);
	CHECK(update == PTL_OK || update == PTL_MD_NO_UPDATE);
	CHECK(post == PTL_OK || post == PTL_MD_NO_UPDATE);
	if (post == PTL_OK)
		close_window(another);
	return update == PTL_MD_NO_UPDATE && post == PTL_MD_NO_UPDATE;
}

/*
 * The START of the big put is disabled, so its queue stays empty while it arrives; yet its END will come there.  Seen
 * at least once: update and post refused, and the queue empty right afterwards.  Where threads are more than cores the whole
 * put may come while the target waits for one, so it is tried often.
 */
static void c3_12_an_update_or_post_is_refused_while_an_event_of_the_test_queue_is_to_come(void)
{
	enum { BIG = 32 << 20, TRIES = 400 };
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
			ptl_event_t event;
			bool refused = refused_by(test_eq, posted);
			arrived = PtlEQGet(test_eq, &event) == PTL_OK;
			half_done |= refused && !arrived;
		}
		if (am_target())
			CHECK(!refused_by(test_eq, posted));
		gather(&half_done, sizeof(half_done), seen);
		half_done = seen[process_count - 1];
	}
	CHECK_EQUAL(half_done, 1);
}

static void c3_12_an_update_resets_the_local_offset_and_wakes_an_inactive_descriptor(void)
{
	static const int thresholds[] = {2, 3, PTL_MD_THRESH_INF};
	for (size_t i = 0; i < COUNT(short_and_long); i++) {
		const size_t length = short_and_long[i];
		ptl_handle_eq_t eq = new_eq(16);
		char *buffer = memory(3 * length);
		ptl_md_t md = md_over(buffer, 3 * length, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq);
		struct window window = {0};
		if (am_target())
			window = open_window(BITS + i, with_threshold(md, 0));
		for (size_t round = 0; round < COUNT(thresholds); round++) {
			md.threshold = thresholds[round];
			if (am_target())
				CHECK_OK(PtlMDUpdate(window.md, NULL, &md, eq));
			barrier();
			for (int n = 0; n < 2 && am_initiator(); n++)
				put(source(length), PTL_NO_ACK_REQ, BITS + i);
			if (am_target()) { /* long puts may end in either order */
				const ptl_size_t one = take(eq, PTL_EVENT_PUT_END).offset,
						 other = take(eq, PTL_EVENT_PUT_END).offset;
				CHECK_EQUAL(one + other, length);
				CHECK(one == 0 || other == 0);
			}
			barrier();
		}
		if (am_target())
			CHECK_PATTERN(buffer + length, length, 1);
	}
	CHECK_EQUAL(drops(), 0);
}

static void c3_12_an_update_to_threshold_zero_stops_a_descriptor_without_unlinking_it(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	ptl_md_t active = with_threshold(md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), 1);
	ptl_md_t stopped = with_threshold(active, 0);
	struct window window = open_mortal_window(BITS, active);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &stopped, PTL_EQ_NONE));
	for (int i = 1; i <= 3; i++) { /* must not run below 0, which would mean for ever */
		put(source(8), PTL_NO_ACK_REQ, BITS);
		await_drops(i);
	}
	CHECK_EMPTY(eq);
	CHECK_EQUAL(state_of(window.md).threshold, 0);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &active, eq));
	put(source(8), PTL_NO_ACK_REQ, BITS);
	take(eq, PTL_EVENT_PUT_END);
	take(eq, PTL_EVENT_UNLINK);
	CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
	CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
}

/*
 * Used up by a big put, the descriptor would go when that ends.  Caught before that, at least once, it goes on.
 */
static void c3_12_an_update_keeps_a_descriptor_that_was_about_to_unlink(void)
{
	enum { BIG = 32 << 20, TRIES = 400 };
	ptl_handle_eq_t eq = new_eq(16);
	char *bytes = memory(BIG);
	ptl_md_t once = with_threshold(md_over(bytes, BIG, PTL_MD_OP_PUT, eq), 1), twice = with_threshold(once, 2);
	ptl_handle_md_t md = bind_md(md_over(bytes, BIG, QUIET, PTL_EQ_NONE));
	struct window window = {0};
	uint64_t seen[MAX_PROCESSES] = {0}, kept = 0;
	for (int i = 0; i < TRIES && !kept; i++) {
		if (am_target())
			window = open_mortal_window(BITS, once);
		barrier();
		if (am_initiator())
			put(md, PTL_NO_ACK_REQ, BITS);
		if (am_target()) {
			take(eq, PTL_EVENT_PUT_START);
			int rc = PtlMDUpdate(window.md, NULL, &twice, PTL_EQ_NONE);
			kept = rc == PTL_OK;
			take(eq, PTL_EVENT_PUT_END);
			if (!kept)
				take(eq, PTL_EVENT_UNLINK);
			CHECK_RC(rc, kept ? PTL_OK : PTL_MD_INVALID);
		}
		gather(&kept, sizeof(kept), seen);
		kept = seen[process_count - 1];
	}
	CHECK_EQUAL(kept, 1);
	if (am_initiator())
		put(source(8), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_START);
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md.threshold, 1);
	}
	barrier();
}

/* The updated window is the first of two with the same bits: it keeps its place, its bits and its RETAIN. */
static void c3_12_an_update_leaves_entry_and_unlink_flag_alone(void)
{
	ptl_handle_eq_t eq = new_eq(16), behind = new_eq(16);
	ptl_md_t once = with_threshold(md_over(area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), 1);
	struct window first = open_window(BITS, md_over(NULL, 0, PTL_MD_OP_GET, behind));
	open_window(BITS, md_over(other_area, 64, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, behind));
	CHECK_OK(PtlMDUpdate(first.md, NULL, &once, behind));
	put(source(8), PTL_NO_ACK_REQ, BITS);
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, first.md);
	put(source(8), PTL_NO_ACK_REQ, BITS);
	take(behind, PTL_EVENT_PUT_END);
	CHECK_EMPTY(eq); /* used up, and not unlinked */
	CHECK_OK(PtlMDUpdate(first.md, NULL, &once, eq));
	put(source(8), PTL_NO_ACK_REQ, BITS);
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, first.md);
	CHECK_OK(PtlMEUnlink(first.me));
}

/* Also its events stay together: the END comes where the START came. */
static void c3_12_an_operation_under_way_finishes_in_the_old_region(void)
{
	enum { BIG = 8 << 20 };
	ptl_handle_eq_t eq = new_eq(16), later = new_eq(16), out = new_eq(16);
	char *before = memory(BIG), *after = memory(BIG), *bytes = memory(BIG);
	fill_pattern(bytes, BIG, 1);
	struct window window = {0};
	if (am_target())
		window = open_window(BITS, md_over(before, BIG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
	barrier();
	if (am_initiator()) {
		put(bind_md(md_over(bytes, BIG, PTL_MD_EVENT_START_DISABLE, out)), PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		ptl_md_t md = md_over(after, BIG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, later);
		ptl_seq_t link = take(eq, PTL_EVENT_PUT_START).link;
		CHECK_OK(PtlMDUpdate(window.md, NULL, &md, PTL_EQ_NONE));
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).link, link);
		CHECK_PATTERN(before, BIG, 1);
		CHECK_EQUAL(after[0], 0);
		CHECK_EQUAL(after[BIG - 1], 0);
		CHECK_EQUAL(drops(), 0); /* a call that hands the memory over to the engine's thread */
	}
	barrier();
	if (am_initiator()) {
		put(bind_md(md_over(bytes, 100, PTL_MD_EVENT_START_DISABLE, out)), PTL_NO_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		take(later, PTL_EVENT_PUT_START);
		take(later, PTL_EVENT_PUT_END);
		CHECK_PATTERN(after, 100, 1);
		CHECK_EMPTY(eq);
	}
	barrier();
}

/* The put is long, so that it is still pending when it is updated; nothing is begun between the two updates. */
static void c3_12_updates_leave_a_put_under_way_its_end_and_its_ack(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	open_window(BITS, md_over(area, sizeof(area), PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE));
	for (int updates = 0; updates < 3; updates++) {
		ptl_md_t md = md_over(memory(LONG), LONG, PTL_MD_EVENT_START_DISABLE, eq);
		ptl_handle_md_t handle = bind_md(md);
		put(handle, PTL_ACK_REQ, BITS);
		for (int i = 0; i < updates; i++)
			CHECK_OK(PtlMDUpdate(handle, NULL, &md, PTL_EQ_NONE));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md_handle, handle);
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).md_handle, handle);
		CHECK_OK(PtlMDUnlink(handle));
	}
	CHECK_EQUAL(drops(), 0);
}

static void c3_12_a_refused_update_changes_nothing(void)
{
	ptl_handle_eq_t eq = new_eq(8), gone = new_eq(8);
	const ptl_md_t good = one_md(eq);
	struct window window = open_window(BITS, good);
	ptl_handle_md_t dead = bind_md(good);
	ptl_md_t deaf = other_md(gone), nowhere = other_md(eq), wrapped = other_md(eq), wanted = other_md(eq), old;
	CHECK_OK(PtlMDUnlink(dead));
	CHECK_OK(PtlEQFree(gone));
	nowhere.start = NULL;
	wrapped.length = ~0ull;
	CHECK_RC(PtlMDUpdate(PTL_INVALID_HANDLE, NULL, &wanted, PTL_EQ_NONE), PTL_MD_INVALID);
	CHECK_RC(PtlMDUpdate(window.me, NULL, &wanted, PTL_EQ_NONE), PTL_MD_INVALID);
	CHECK_RC(PtlMDUpdate(dead, NULL, &wanted, PTL_EQ_NONE), PTL_MD_INVALID);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &wanted, PTL_INVALID_HANDLE), PTL_EQ_INVALID);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &wanted, gone), PTL_EQ_INVALID);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &wanted, window.md), PTL_EQ_INVALID);
	CHECK_RC(PtlMDUpdate(window.md, NULL, NULL, gone), PTL_EQ_INVALID);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &nowhere, eq), PTL_MD_ILLEGAL);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &wrapped, eq), PTL_MD_ILLEGAL);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &deaf, eq), PTL_EQ_INVALID);
	old = state_of(window.md);
	check_same_md(&old, &good);
	PtlFini();
	CHECK_RC(PtlMDUpdate(window.md, NULL, &wanted, PTL_EQ_NONE), PTL_NO_INIT);
}

static const struct test tests[] = {
	CASE_ALONE(c3_12_an_update_reports_the_old_and_installs_the_new_descriptor, "3.12/3 3.12/5 3.12/10"),
	CASE_PAIR(c3_12_every_field_of_the_new_descriptor_counts, "3.12/10 3.12/3"),
	CASE_ALONE(c3_12_an_update_is_refused_while_the_test_queue_has_events,
		   "3.12/3 3.12/4 3.12/5 3.12/6 3.12/9 3.12/13"),
	CASE_ALONE(c3_12_only_the_test_queue_is_looked_at, "3.12/6 3.12/8 3.12/9"),
	CASE_TWO(c3_12_an_update_or_post_is_refused_while_an_event_of_the_test_queue_is_to_come, "3.12/7 2.8/14"),
	CASE_PAIR(c3_12_an_update_resets_the_local_offset_and_wakes_an_inactive_descriptor, "3.12/12 3.12/13"),
	CASE_ALONE(c3_12_an_update_to_threshold_zero_stops_a_descriptor_without_unlinking_it,
		   "3.12/11 3.12/13 3.12/14"),
	CASE_TWO(c3_12_an_update_keeps_a_descriptor_that_was_about_to_unlink, "3.12/13"),
	CASE_ALONE(c3_12_an_update_leaves_entry_and_unlink_flag_alone, "3.12/10 3.12/11"),
	CASE_PAIR(c3_12_an_operation_under_way_finishes_in_the_old_region, "3.12/8 3.12/15"),
	CASE_ALONE(c3_12_updates_leave_a_put_under_way_its_end_and_its_ack, "3.12/15"),
	CASE_ALONE(c3_12_a_refused_update_changes_nothing, "3.12/1 3.12/2 3.12/16"),
	{0},
};

const struct chapter updating_chapter = {.title = "3.12 PtlMDUpdate", .rows = rows, .tests = tests, .core = true};
