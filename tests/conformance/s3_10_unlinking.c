/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.10 Unlinking: when entries and descriptors go, what goes with them, and what keeps them. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

static const struct row rows[] = {
	{"3.10/1", "a descriptor with PTL_UNLINK is freed when an operation makes its threshold 0"},
	{"3.10/2", "a descriptor with PTL_UNLINK is freed when an operation leaves it less room than max_size"},
	{"3.10/3", "a used up descriptor with PTL_RETAIN stays, and its entry with it"},
	{"3.10/4", "with a descriptor that unlinks itself its entry goes if that has PTL_UNLINK; else the entry stays, "
		   "empty, and "
		   "can be given another"},
	{"3.10/5",
	 "a descriptor whose threshold was 0 from the start, or made 0 by PtlMDUpdate, does not unlink itself"},
	{"3.10/6", "automatic unlinking waits for the last pending operation to end, in whatever order they end"},
	{"3.10/7", "PtlMDUnlink frees the descriptor, and its entry if that has PTL_UNLINK, else the entry stays"},
	{"3.10/8", "PtlMDUnlink returns PTL_MD_IN_USE and changes nothing while operations are pending"},
	{"3.10/9", "PtlMEUnlink frees the entry and its descriptor, whatever unlink_op that has"},
	{"3.10/10", "PtlMEUnlink returns PTL_ME_IN_USE and changes nothing while operations are pending"},
	{"3.10/11", "an entry with PTL_UNLINK that never had a descriptor stays until it is unlinked explicitly"},
	{"3.10/12", "UNLINK comes after the END of the last operation"},
	{"3.10/13", "when UNLINK can be read the handles are dead and the match list is updated"},
	{"3.10/14", "explicit unlinking logs no UNLINK"},
	{"3.10/15", "a descriptor without a queue unlinks itself too, in silence"},
	{"3.10/16", "UNLINK leaves the threshold as it is"},
	{"3.10/17", "pending is what has started and not ended: PtlMDUnlink succeeds while an ACK or a REPLY is still "
		    "to come, which "
		    "is then dropped"},
	{"3.10/18", "once the END of its last operation can be read a descriptor is not pending"},
	{"3.10/19", "after unlinking the memory is the user's: no late write hits it"},
	{"3.10/20", "PtlMDUnlink of a descriptor that has unlinked itself returns PTL_MD_INVALID"},
	{0},
};

static char near[LONG], far[4 * LONG];

static struct window open_with_flags(ptl_unlink_t me_unlink, ptl_unlink_t md_unlink, ptl_md_t md)
{
	struct window window;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, me_unlink, PTL_INS_AFTER, &window.me));
	CHECK_OK(PtlMDAttach(window.me, md, md_unlink, &window.md));
	return window;
}

static ptl_md_t far_md(int threshold, ptl_handle_eq_t eq)
{
	return with_threshold(md_over(far, sizeof(far), ANY_REQUEST, eq), threshold);
}

/* The second put of a word leaves it one byte less than it wants. */
static ptl_md_t filling_md(ptl_handle_eq_t eq)
{
	ptl_md_t md = md_over(far, 3 * WORD, ANY_REQUEST | PTL_MD_MAX_SIZE, eq);
	md.max_size = WORD + 1;
	return md;
}

static ptl_handle_md_t silent_source(size_t length)
{
	return bind_md(md_over(near, length, 0, PTL_EQ_NONE));
}

/* ---- By itself ---- */

static void check_used_up(struct window window, ptl_unlink_t me, ptl_unlink_t md, const ptl_event_t *end,
			  ptl_handle_eq_t eq)
{
	if (md == PTL_UNLINK) {
		ptl_event_t unlink = take(eq, PTL_EVENT_UNLINK);
		CHECK_EQUAL(unlink.link, end->link);
		CHECK_EQUAL(unlink.md.threshold, end->md.threshold);
	}
	CHECK_EMPTY(eq);
	CHECK_EQUAL(list_length(INDEX), md == PTL_RETAIN || me == PTL_RETAIN);
	CHECK_RC(PtlMDUnlink(window.md), md == PTL_UNLINK ? PTL_MD_INVALID : PTL_OK);
	CHECK_EQUAL(list_length(INDEX), me == PTL_RETAIN);
	if (me == PTL_RETAIN)
		CHECK_OK(PtlMDAttach(window.me, far_md(1, eq), PTL_RETAIN, &window.md));
	CHECK_RC(PtlMEUnlink(window.me), me == PTL_RETAIN ? PTL_OK : PTL_ME_INVALID);
	CHECK_EMPTY(eq);
}

/* All four combinations of what goes, used up by the second of two puts. */
static void use_up(ptl_md_t used_up_by_two_puts, ptl_handle_eq_t eq)
{
	for (int round = 0; round < 4; round++) {
		ptl_unlink_t me = round & 1 ? PTL_UNLINK : PTL_RETAIN, md = round & 2 ? PTL_UNLINK : PTL_RETAIN;
		struct window window = {0};
		if (am_target())
			window = open_with_flags(me, md, used_up_by_two_puts);
		barrier();
		if (am_initiator())
			put(silent_source(WORD), PTL_NO_ACK_REQ, BITS);
		if (am_target()) {
			take(eq, PTL_EVENT_PUT_END);
			CHECK_EMPTY(eq);
			CHECK_EQUAL(list_length(INDEX), 1);
		}
		barrier();
		if (am_initiator())
			put(silent_source(WORD), PTL_NO_ACK_REQ, BITS);
		if (am_target()) {
			ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
			check_used_up(window, me, md, &end, eq);
		}
		barrier();
	}
}

static void c3_10_a_descriptor_used_up_by_its_threshold_goes_if_told_to_and_its_entry_likewise(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	use_up(far_md(2, eq), eq);
}

static void c3_10_a_descriptor_used_up_by_its_max_size_goes_if_told_to_and_its_entry_likewise(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	use_up(filling_md(eq), eq);
}

static void c3_10_a_descriptor_without_queue_goes_in_silence(void)
{
	ptl_handle_eq_t bystander = new_eq(8);
	struct window window = {0};
	if (am_target())
		window = open_with_flags(PTL_UNLINK, PTL_UNLINK, far_md(1, PTL_EQ_NONE));
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_mortal_md(with_threshold(md_over(near, WORD, 0, PTL_EQ_NONE), 2));
		put(md, PTL_NO_ACK_REQ, BITS);
		put(md, PTL_NO_ACK_REQ, BITS); /* dropped, but sent */
		ping(target_id());
		CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
	}
	barrier();
	if (am_target()) {
		await_drops(1);
		CHECK_EQUAL(list_length(INDEX), 0);
		CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
	}
	CHECK_EMPTY(bystander);
	barrier();
}

/* Inactive from the start, and made so: neither has been used up by an operation, and a request does not do it now. */
static void c3_10_descriptors_that_no_operation_used_up_stay(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	for (int i = 0; i < 2; i++) {
		struct window window = open_with_flags(PTL_UNLINK, PTL_UNLINK, far_md(i, eq));
		ptl_md_t stopped = far_md(0, eq);
		if (i == 1)
			CHECK_OK(PtlMDUpdate(window.md, NULL, &stopped, eq));
		CHECK_OK(PtlPut(silent_source(WORD), PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0));
		await_drops(i + 1);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(list_length(INDEX), 1);
		CHECK_OK(PtlMDUnlink(window.md));
		CHECK_EMPTY(eq);
	}
}

/* One unit is left when the descriptor is made inactive; the put is still under way, because the target stands still. */
static void c3_10_an_update_to_threshold_0_under_a_put_does_not_unlink(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		open_window(BITS, far_md(PTL_MD_THRESH_INF, PTL_EQ_NONE));
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_md_t source = with_threshold(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, eq), 2);
		ptl_md_t stopped = with_threshold(source, 0);
		ptl_handle_md_t md = bind_mortal_md(source);
		ping(target_id());
		stop_process(1);
		put(md, PTL_NO_ACK_REQ, BITS);
		CHECK_OK(PtlMDUpdate(md, NULL, &stopped, PTL_EQ_NONE));
		continue_process(1);
		take(eq, PTL_EVENT_SEND_END);
		CHECK_EMPTY(eq);
		CHECK_OK(PtlMDUnlink(md));
	}
	barrier();
}

/* The short puts may end before the long ones. */
static void await_last_end(ptl_md_t used_up_by_four_puts, ptl_handle_eq_t in)
{
	ptl_handle_eq_t out = new_eq(8);
	struct window window = {0};
	if (am_target())
		window = open_with_flags(PTL_UNLINK, PTL_UNLINK, used_up_by_four_puts);
	barrier();
	if (am_initiator()) {
		ptl_md_t source = md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out);
		ptl_handle_md_t md = bind_mortal_md(with_threshold(source, 4));
		for (int i = 0; i < 4; i++)
			CHECK_OK(PtlPutRegion(md, 0, i & 1 ? WORD : LONG, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      0, i));
	}
	for (int side = 0; side < 2; side++) {
		ptl_event_t last = {0};
		if (!(side ? am_target() : am_initiator()))
			continue;
		for (int i = 0; i < 4; i++) {
			ptl_event_t end = take(side ? in : out, side ? PTL_EVENT_PUT_END : PTL_EVENT_SEND_END);
			if (end.hdr_data == 3)
				last = end;
		}
		CHECK_EQUAL(take(side ? in : out, PTL_EVENT_UNLINK).link, last.link);
		CHECK_EMPTY(side ? in : out);
		CHECK_RC(PtlMDUnlink(last.md_handle), PTL_MD_INVALID);
	}
	if (am_target())
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
	barrier();
}

static void c3_10_automatic_unlinking_waits_for_the_last_end(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	await_last_end(far_md(4, eq), eq);
}

static void c3_10_automatic_unlinking_of_a_full_window_waits_for_the_last_end(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t md = far_md(PTL_MD_THRESH_INF, eq);
	md.options |= PTL_MD_MAX_SIZE;
	md.max_size = sizeof(far) - 2 * (LONG + WORD) + 1;
	await_last_end(md, eq);
}

/* ---- By call ---- */

static void c3_10_unlinking_an_entry_frees_its_descriptor_whatever_that_says(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	for (int i = 0; i < 4; i++) {
		struct window window = open_with_flags(i & 1 ? PTL_UNLINK : PTL_RETAIN, i & 2 ? PTL_UNLINK : PTL_RETAIN,
						       far_md(1, eq));
		CHECK_OK(PtlMEUnlink(window.me));
		CHECK_EQUAL(list_length(INDEX), 0);
		CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
		CHECK_EMPTY(eq);
	}
}

static void c3_10_unlinking_a_descriptor_takes_only_an_unlink_entry_along(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	for (int i = 0; i < 4; i++) {
		bool entry_stays = i & 1;
		struct window window = open_with_flags(entry_stays ? PTL_RETAIN : PTL_UNLINK,
						       i & 2 ? PTL_UNLINK : PTL_RETAIN, far_md(1, eq));
		CHECK_OK(PtlMDUnlink(window.md));
		CHECK_EQUAL(list_length(INDEX), entry_stays);
		CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
		ptl_handle_md_t again;
		int rc = PtlMDAttach(window.me, far_md(1, eq), PTL_RETAIN, &again);
		CHECK_EQUAL(rc, entry_stays ? PTL_OK : PTL_ME_INVALID);
		CHECK_RC(PtlMEUnlink(window.me), entry_stays ? PTL_OK : PTL_ME_INVALID);
		CHECK_EMPTY(eq);
	}
}

static void c3_10_an_unlink_entry_without_descriptor_stays_until_unlinked(void)
{
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlPut(silent_source(WORD), PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0));
	await_drops(1);
	CHECK_EQUAL(list_length(INDEX), 1);
	CHECK_OK(PtlMEUnlink(me));
	CHECK_EQUAL(list_length(INDEX), 0);
}

/* ---- Pending ---- */

/* The target stands still, before there was any contact, and then in the middle of a long put. */
static void c3_10_pending_sources_and_their_entries_are_in_use(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	struct window sink = {0};
	fill_pattern(near, LONG, 1);
	if (am_target())
		sink = open_window(BITS, far_md(PTL_MD_THRESH_INF, in));
	for (int i = 0; i < 2; i++) {
		barrier();
		if (am_initiator()) {
			ptl_md_t md = md_over(near, short_and_long[i], PTL_MD_EVENT_START_DISABLE, out);
			struct window source = open_window(BITS, md);
			stop_process(1);
			put(source.md, PTL_NO_ACK_REQ, BITS);
			CHECK_RC(PtlMDUnlink(source.md), PTL_MD_IN_USE);
			CHECK_RC(PtlMEUnlink(source.me), PTL_ME_IN_USE);
			CHECK_EMPTY(out);
			continue_process(1);
			take(out, PTL_EVENT_SEND_END);
			if (i == 0)
				CHECK_OK(PtlMDUnlink(source.md));
			CHECK_OK(PtlMEUnlink(source.me));
		}
		if (am_target()) {
			ptl_event_t end = take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far + end.offset, short_and_long[i], 1);
			CHECK_EQUAL(end.md_handle, sink.md);
		}
	}
	barrier();
}

/* By descriptor, then by entry: it is either in use or has ended, which its END then tells. */
static void c3_10_a_window_is_in_use_until_its_operation_ends(void)
{
	ptl_handle_eq_t in = new_eq(8);
	for (int i = 0; i < 2; i++) {
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT, in));
		fill_pattern(near, LONG, 1);
		barrier();
		if (am_initiator())
			put(silent_source(LONG), PTL_NO_ACK_REQ, BITS);
		if (am_target()) {
			ptl_event_t end;
			take(in, PTL_EVENT_PUT_START);
			int rc = i == 0 ? PtlMDUnlink(window.md) : PtlMEUnlink(window.me);
			bool ended = PtlEQGet(in, &end) == PTL_OK;
			CHECK(ended || rc == (i == 0 ? PTL_MD_IN_USE : PTL_ME_IN_USE));
			if (!ended)
				end = take(in, PTL_EVENT_PUT_END);
			CHECK_EQUAL(end.type, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far, LONG, 1);
			if (rc != PTL_OK)
				close_window(window);
			else if (i == 0)
				CHECK_OK(PtlMEUnlink(window.me));
			fill_pattern(far, LONG, 2);
		}
		barrier();
		if (am_target())
			CHECK_PATTERN(far, LONG, 2);
	}
}

/* At both sides, for every kind of operation. */
static void c3_10_nothing_is_pending_once_the_end_is_read(void)
{
	static const ptl_event_kind_t end_of[] = {PTL_EVENT_PUT_END, PTL_EVENT_GET_END, PTL_EVENT_GETPUT_END};
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	for (int i = 0; i < 30; i++) {
		int kind = i % 3;
		size_t length = kind == 2 ? WORD : short_and_long[i & 1];
		struct window window = {0};
		if (am_target())
			window = open_window(BITS, far_md(PTL_MD_THRESH_INF, in));
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(near, length, PTL_MD_EVENT_START_DISABLE, out));
			if (kind == 0)
				put(md, PTL_NO_ACK_REQ, BITS);
			else if (kind == 1)
				get(md, BITS);
			else
				CHECK_OK(PtlGetPut(md, md, target_id(), INDEX, 0, BITS, 0, 0));
			if (kind != 1)
				take(out, PTL_EVENT_SEND_END);
			if (kind != 0)
				take(out, PTL_EVENT_REPLY_END);
			CHECK_OK(PtlMDUnlink(md));
		}
		if (am_target()) {
			take(in, end_of[kind]);
			CHECK_OK(PtlMDUnlink(window.md));
			CHECK_OK(PtlMEUnlink(window.me));
		}
		barrier();
	}
}

static const struct test tests[] = {
	CASE_PAIR(c3_10_a_descriptor_used_up_by_its_threshold_goes_if_told_to_and_its_entry_likewise,
		  "3.10/1 3.10/3 3.10/4 3.10/12 3.10/13 3.10/16 3.10/20"),
	CASE_PAIR(c3_10_a_descriptor_used_up_by_its_max_size_goes_if_told_to_and_its_entry_likewise,
		  "3.10/2 3.10/3 3.10/4 3.10/12 3.10/13 3.10/16 3.10/20"),
	CASE_PAIR(c3_10_a_descriptor_without_queue_goes_in_silence, "3.10/15"),
	CASE_ALONE(c3_10_descriptors_that_no_operation_used_up_stay, "3.10/5"),
	CASE_TWO(c3_10_an_update_to_threshold_0_under_a_put_does_not_unlink, "3.10/5"),
	CASE_PAIR(c3_10_automatic_unlinking_waits_for_the_last_end, "3.10/1 3.10/6 3.10/12 3.10/13"),
	CASE_PAIR(c3_10_automatic_unlinking_of_a_full_window_waits_for_the_last_end, "3.10/2 3.10/6 3.10/12 3.10/13"),
	CASE_ALONE(c3_10_unlinking_an_entry_frees_its_descriptor_whatever_that_says, "3.10/9 3.10/14"),
	CASE_ALONE(c3_10_unlinking_a_descriptor_takes_only_an_unlink_entry_along, "3.10/7 3.10/14 2.4/8 2.4/10"),
	CASE_ALONE(c3_10_an_unlink_entry_without_descriptor_stays_until_unlinked, "3.10/11"),
	CASE_TWO(c3_10_pending_sources_and_their_entries_are_in_use, "3.10/8 3.10/10"),
	CASE_PAIR(c3_10_a_window_is_in_use_until_its_operation_ends, "3.10/8 3.10/10 3.10/19"),
	CASE_PAIR(c3_10_nothing_is_pending_once_the_end_is_read, "3.10/18"),
	{0},
};

const struct chapter unlinking_chapter = {.title = "3.10 Unlinking", .rows = rows, .tests = tests, .core = true};
