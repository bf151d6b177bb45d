/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.4 Memory descriptors: the calls. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <limits.h>
#include <string.h>

#define NONE    PTL_INVALID_HANDLE
#define ALL_PUT (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE)

static const struct row rows[] = {
	{"2.4/1", "PtlMDAttach(me_handle, md, unlink_op, md_handle) gives an entry the descriptor that requests find"},
	{"2.4/2",
	 "PtlMDBind(ni_handle, md, unlink_op, md_handle) makes a descriptor for its owner's operations, which no "
	 "request finds"},
	{"2.4/3", "a descriptor is passed by value: what becomes of the program's structure later means nothing"},
	{"2.4/4", "the array of a PTL_MD_IOVEC descriptor is copied: the program may use it for something else"},
	{"2.4/5", "an entry has at most one descriptor at a time: another one is refused with PTL_ME_IN_USE"},
	{"2.4/6",
	 "a descriptor made with PTL_UNLINK goes when an operation makes it inactive, with PTL_RETAIN it stays"},
	{"2.4/7",
	 "a threshold of 0, or below 0 but not PTL_MD_THRESH_INF, makes an inactive descriptor that is not unlinked"},
	{"2.4/8",
	 "PtlMDUnlink(md_handle) takes the descriptor from its entry, and the entry with it if made PTL_UNLINK"},
	{"2.4/9",
	 "PtlMDUnlink leaves the program's memory alone: it is the program's, and nothing writes there any more"},
	{"2.4/10", "PtlMDUnlink logs no UNLINK event, and the handle is dead"},
	{"2.4/11",
	 "PtlMDUnlink returns PTL_MD_IN_USE, and nothing changes, while operations are pending on the descriptor"},
	{"2.4/12",
	 "PtlMDUpdate(md_handle, old_md, new_md, eq_handle) replaces a descriptor; either structure may be NULL"},
	{"2.4/13", "PtlMDAttach returns PTL_ME_INVALID for a bad entry"},
	{"2.4/14", "PtlMDBind returns PTL_NI_INVALID for a bad interface"},
	{"2.4/15", "PtlMDUnlink and PtlMDUpdate return PTL_MD_INVALID for a bad descriptor"},
	{"2.4/16",
	 "PtlMDAttach, PtlMDBind and PtlMDUpdate return PTL_MD_ILLEGAL for a region that is no memory: NULL with bytes "
	 "or elements, or round the end of the address space"},
	{"2.4/17", "PtlMDAttach, PtlMDBind and PtlMDUpdate return PTL_MD_ILLEGAL for more than max_md_iovecs elements"},
	{"2.4/18",
	 "PtlMDAttach, PtlMDBind and PtlMDUpdate return PTL_MD_ILLEGAL for an event queue of another interface; "
	 "PTL_EQ_NONE is good on every interface"},
	{"2.4/19",
	 "PtlMDAttach, PtlMDBind and PtlMDUpdate return PTL_EQ_INVALID if eq_handle, or the test queue, is no queue"},
	{"2.4/20", "PtlMDAttach and PtlMDBind return PTL_SEGV if md_handle is NULL, and write it only on success"},
	{"2.4/21", "PtlMDAttach, PtlMDBind, PtlMDUnlink and PtlMDUpdate return PTL_NO_INIT without PtlInit"},
	{"2.4/22",
	 "PtlMDAttach and PtlMDBind return PTL_NO_SPACE if max_mds descriptors exist; one that goes makes room"},
	{"2.4/23", "PtlMDUpdate returns PTL_MD_NO_UPDATE, and changes nothing, if the test queue is not empty"},
	{0},
};

SIGNATURE(PtlMDAttach, int(ptl_handle_me_t, ptl_md_t, ptl_unlink_t, ptl_handle_md_t *));
SIGNATURE(PtlMDBind, int(ptl_handle_ni_t, ptl_md_t, ptl_unlink_t, ptl_handle_md_t *));
SIGNATURE(PtlMDUnlink, int(ptl_handle_md_t));
SIGNATURE(PtlMDUpdate, int(ptl_handle_md_t, ptl_md_t *, ptl_md_t *, ptl_handle_eq_t));

static char area[64];

static ptl_handle_me_t new_entry(ptl_unlink_t unlink)
{
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, unlink, PTL_INS_AFTER, &me));
	return me;
}

static ptl_handle_md_t attach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_handle_md_t handle;
	CHECK_OK(PtlMDAttach(me, md, unlink, &handle));
	return handle;
}

static ptl_md_t window_md(ptl_handle_eq_t eq)
{
	return md_over(area, sizeof(area), ANY_REQUEST | PTL_MD_MANAGE_REMOTE, eq);
}

/* To ourselves. */
static void put_nothing(void)
{
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[my_rank], INDEX, 0, BITS, 0, 0));
}

static void c2_4_requests_find_an_attached_descriptor_and_never_a_bound_one(void)
{
	ptl_handle_eq_t eq = new_eq(8), bound_eq = new_eq(8);
	ptl_handle_md_t md = NONE;
	if (am_target()) {
		bind_md(window_md(bound_eq));
		md = attach(new_entry(PTL_RETAIN), window_md(eq), PTL_RETAIN);
	}
	barrier();
	ptl_handle_md_t source = bind_md(md_over(memory(8), 8, QUIET, PTL_EQ_NONE));
	for (enum request request = PUT; request < REQUESTS; request++) {
		if (am_initiator())
			ask(request, source, BITS, 0);
		if (am_target())
			CHECK_EQUAL(take(eq, request_kinds[request].end).md_handle, md);
		barrier();
	}
	if (am_target())
		CHECK_OK(PtlMDUnlink(md));
	barrier();
	for (enum request request = PUT; request < REQUESTS && am_initiator(); request++)
		ask(request, source, BITS, 0);
	if (am_target())
		await_drops(REQUESTS);
	barrier();
	CHECK_EMPTY(bound_eq);
}

/* What a scribbler leaves of a structure: an address where nothing may be read or written, and nonsense. */
static void scribble(ptl_md_t *md, ptl_md_iovec_t *pieces)
{
	*md = (ptl_md_t){(void *)8, 3, 0, 1, ~0u & ~(unsigned)PTL_MD_IOVEC, NULL, NONE};
	for (int i = 0; i < 3; i++)
		pieces[i] = (ptl_md_iovec_t){(void *)16, 7};
}

/* Three pieces, one of them empty, over `bytes`. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the pieces are written through */
static void cut_in_three(ptl_md_iovec_t pieces[3], char *bytes, size_t length)
{
	pieces[0] = (ptl_md_iovec_t){bytes, length / 3};
	pieces[1] = (ptl_md_iovec_t){NULL, 0};
	pieces[2] = (ptl_md_iovec_t){bytes + length / 3, length - length / 3};
}

static void c2_4_structures_and_arrays_are_copied(void)
{
	for (int i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		char *near = memory(length), *far = memory(length);
		ptl_handle_eq_t eq = new_eq(8);
		ptl_md_iovec_t pieces[3];
		ptl_md_t md = md_over(pieces, 3, ALL_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_IOVEC, eq);
		fill_pattern(near, length, 3);
		cut_in_three(pieces, far, length);
		struct window window = am_target() ? open_window(BITS, md) : (struct window){0};
		cut_in_three(pieces, near, length);
		md.eq_handle = PTL_EQ_NONE;
		ptl_handle_md_t sources[] = {bind_md(md), bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE))};
		CHECK_OK(PtlMDUpdate(sources[1], NULL, &md, PTL_EQ_NONE));
		scribble(&md, pieces);
		barrier();
		for (int s = 0; s < 2; s++) {
			if (am_initiator())
				put(sources[s], PTL_NO_ACK_REQ, BITS);
			if (am_target()) {
				take(eq, PTL_EVENT_PUT_END);
				CHECK_PATTERN(far, length, 3);
				memset(far, 0, length);
			}
			barrier();
		}
		if (am_target())
			close_window(window);
	}
}

static void c2_4_an_entry_has_one_descriptor_at_a_time(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_me_t me = new_entry(PTL_RETAIN);
	ptl_handle_md_t first = attach(me, window_md(eq), PTL_RETAIN), second = 0x12345678;
	CHECK_RC(PtlMDAttach(me, window_md(PTL_EQ_NONE), PTL_RETAIN, &second), PTL_ME_IN_USE);
	CHECK_EQUAL(second, 0x12345678);
	put_nothing();
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, first);
	CHECK_OK(PtlMDUnlink(first));
	second = attach(me, window_md(eq), PTL_RETAIN);
	put_nothing();
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, second);
}

static void c2_4_a_used_up_descriptor_goes_or_stays_as_it_was_told(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_me_t me = new_entry(PTL_RETAIN);
	ptl_handle_md_t going = attach(me, with_threshold(window_md(eq), 2), PTL_UNLINK);
	put_nothing();
	take(eq, PTL_EVENT_PUT_END);
	CHECK_OK(PtlMDUpdate(going, NULL, NULL, PTL_EQ_NONE)); /* still there */
	put_nothing();
	take(eq, PTL_EVENT_PUT_END);
	CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).md_handle, going);
	CHECK_RC(PtlMDUnlink(going), PTL_MD_INVALID);

	ptl_handle_md_t staying = attach(me, with_threshold(window_md(eq), 1), PTL_RETAIN);
	put_nothing();
	take(eq, PTL_EVENT_PUT_END);
	put_nothing();
	await_drops(1);
	CHECK_EMPTY(eq);
	CHECK_OK(PtlMDUnlink(staying));
}

static void c2_4_a_threshold_that_counts_nothing_makes_an_inactive_descriptor_that_stays(void)
{
	static const int thresholds[] = {0, -2, INT_MIN};
	ptl_handle_eq_t eq = new_eq(8);
	for (int i = 0; i < 3; i++) {
		ptl_handle_me_t me = new_entry(PTL_UNLINK);
		ptl_handle_md_t md = attach(me, with_threshold(window_md(eq), thresholds[i]), PTL_UNLINK);
		ptl_md_t bound = with_threshold(md_over(NULL, 0, 0, eq), thresholds[i]);
		ptl_handle_md_t free_md = bind_mortal_md(bound);
		CHECK_RC(PtlPut(free_md, PTL_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0), PTL_MD_INVALID);
		put_nothing();
		await_drops(i + 1);
		CHECK_EMPTY(eq);
		CHECK_EQUAL(state_of(md).threshold, thresholds[i]);
		CHECK_OK(PtlMDUnlink(free_md));
		CHECK_OK(PtlMDUnlink(md));
		CHECK_RC(PtlMEUnlink(me), PTL_ME_INVALID);
	}
}

static void c2_4_after_unlinking_the_memory_is_the_programs_alone(void)
{
	for (int i = 0; i < 2; i++) {
		const size_t length = short_and_long[i];
		ptl_handle_eq_t eq = new_eq(8);
		char *bytes = memory(length), *from = memory(length);
		struct window window = {0};
		open_door();
		if (am_target())
			window = open_window(BITS, md_over(bytes, length, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
		fill_pattern(from, length, 1);
		ptl_handle_md_t md = bind_md(md_over(from, length, QUIET, PTL_EQ_NONE));
		barrier();
		if (am_initiator())
			put(md, PTL_NO_ACK_REQ, BITS);
		if (am_target()) {
			take(eq, PTL_EVENT_PUT_START);
			take(eq, PTL_EVENT_PUT_END);
			CHECK_OK(PtlMDUnlink(window.md));
			CHECK_PATTERN(bytes, length, 1);
			fill_pattern(bytes, length, 2);
		}
		barrier();
		if (am_initiator()) {
			put(md, PTL_NO_ACK_REQ, BITS);
			ping(target_id());
		}
		barrier();
		if (am_target()) {
			CHECK_PATTERN(bytes, length, 2);
			CHECK_EQUAL(drops(), i + 1);
			close_window(window);
		}
		CHECK_EMPTY(eq);
	}
}

/* The target stands still before there was any contact, which keeps sends, and with them their descriptors, pending. */
static void c2_4_a_descriptor_with_pending_operations_is_in_use(void)
{
	if (am_initiator()) {
		ptl_handle_eq_t eq = new_eq(8);
		struct window window = open_window(BITS, window_md(eq));
		ptl_handle_md_t bound = bind_md(md_over(area, 8, PTL_MD_EVENT_START_DISABLE, eq));
		stop_process(1);
		put(window.md, PTL_NO_ACK_REQ, BITS);
		put(bound, PTL_NO_ACK_REQ, BITS);
		CHECK_RC(PtlMDUnlink(window.md), PTL_MD_IN_USE);
		CHECK_RC(PtlMDUnlink(bound), PTL_MD_IN_USE);
		put_nothing(); /* the window is open as before */
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).md_handle, window.md);
		continue_process(1);
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md_handle, window.md);
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).md_handle, bound);
		CHECK_OK(PtlMDUnlink(window.md));
		CHECK_OK(PtlMDUnlink(bound));
	}
	barrier();
}

static void c2_4_update_takes_null_for_what_is_not_wanted(void)
{
	ptl_handle_eq_t eq = new_eq(4);
	ptl_md_t first = window_md(eq), second = md_over(area, 10, PTL_MD_OP_PUT, PTL_EQ_NONE), old;
	ptl_handle_md_t md = bind_md(first);
	CHECK_OK(PtlMDUpdate(md, NULL, NULL, PTL_EQ_NONE));
	CHECK_OK(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE));
	CHECK(old.start == area && old.length == sizeof(area) && old.options == first.options && old.eq_handle == eq);
	CHECK_OK(PtlMDUpdate(md, NULL, &second, PTL_EQ_NONE));
	CHECK_OK(PtlMDUpdate(md, &old, &first, eq));
	CHECK(old.start == area && old.length == 10 && old.options == PTL_MD_OP_PUT && old.eq_handle == PTL_EQ_NONE);
	CHECK_EQUAL(state_of(md).length, sizeof(area));
}

static void c2_4_update_tests_a_queue_before_it_changes_anything(void)
{
	ptl_handle_eq_t eq = new_eq(4);
	ptl_md_t fresh = md_over(area, 10, 0, PTL_EQ_NONE);
	struct window window = open_window(BITS, window_md(eq));
	put_nothing();
	open_door();
	ping(id_of[0]);
	CHECK_RC(PtlMDUpdate(window.md, NULL, &fresh, eq), PTL_MD_NO_UPDATE);
	CHECK_EQUAL(state_of(window.md).length, sizeof(area));
	take(eq, PTL_EVENT_PUT_END);
	CHECK_OK(PtlMDUpdate(window.md, NULL, &fresh, eq));
	CHECK_EQUAL(state_of(window.md).length, 10);
}

static void c2_4_calls_refuse_bad_handles(void)
{
	ptl_handle_eq_t eq = new_eq(4);
	ptl_handle_me_t me = new_entry(PTL_RETAIN), dead_me = new_entry(PTL_RETAIN);
	ptl_handle_md_t md = bind_md(window_md(eq)), dead_md = bind_md(window_md(eq)), out = 0x12345678;
	ptl_md_t fresh = window_md(eq);
	CHECK_OK(PtlMEUnlink(dead_me));
	CHECK_OK(PtlMDUnlink(dead_md));
	const ptl_handle_any_t no_me[] = {NONE, PTL_EQ_NONE, ni, md, eq, dead_me},
			       no_ni[] = {NONE, PTL_EQ_NONE, me, md, eq, dead_me},
			       no_md[] = {NONE, PTL_EQ_NONE, me, ni, eq, dead_md},
			       no_eq[] = {NONE, PTL_HANDLE_NONE, me, ni, md, dead_md};
	for (int i = 0; i < 6; i++) {
		ptl_md_t bad = window_md(no_eq[i]);
		CHECK_RC(PtlMDAttach(no_me[i], fresh, PTL_RETAIN, &out), PTL_ME_INVALID);
		CHECK_RC(PtlMDBind(no_ni[i], fresh, PTL_RETAIN, &out), PTL_NI_INVALID);
		CHECK_RC(PtlMDUnlink(no_md[i]), PTL_MD_INVALID);
		CHECK_RC(PtlMDUpdate(no_md[i], NULL, &fresh, PTL_EQ_NONE), PTL_MD_INVALID);
		CHECK_RC(PtlMDAttach(me, bad, PTL_RETAIN, &out), PTL_EQ_INVALID);
		CHECK_RC(PtlMDBind(ni, bad, PTL_RETAIN, &out), PTL_EQ_INVALID);
		CHECK_RC(PtlMDUpdate(md, NULL, &bad, PTL_EQ_NONE), PTL_EQ_INVALID);
		CHECK_RC(PtlMDUpdate(md, NULL, &fresh, no_eq[i]), PTL_EQ_INVALID);
	}
	CHECK_RC(PtlMDAttach(me, fresh, PTL_RETAIN, NULL), PTL_SEGV);
	CHECK_RC(PtlMDBind(ni, fresh, PTL_RETAIN, NULL), PTL_SEGV);
	CHECK_EQUAL(out, 0x12345678);
	CHECK_EQUAL(state_of(md).eq_handle, eq);
	attach(me, fresh, PTL_RETAIN); /* nothing refused has left a descriptor there */
}

/* All three calls that take a descriptor. */
static void check_illegal(ptl_md_t md)
{
	ptl_handle_me_t me = new_entry(PTL_RETAIN);
	ptl_handle_md_t good = bind_md(window_md(PTL_EQ_NONE)), out = 0x12345678;
	CHECK_RC(PtlMDAttach(me, md, PTL_RETAIN, &out), PTL_MD_ILLEGAL);
	CHECK_RC(PtlMDBind(ni, md, PTL_RETAIN, &out), PTL_MD_ILLEGAL);
	CHECK_RC(PtlMDUpdate(good, NULL, &md, PTL_EQ_NONE), PTL_MD_ILLEGAL);
	CHECK_EQUAL(out, 0x12345678);
	CHECK(state_of(good).start == area && state_of(good).length == sizeof(area));
	CHECK_OK(PtlMDUnlink(attach(me, window_md(PTL_EQ_NONE), PTL_RETAIN)));
	CHECK_OK(PtlMEUnlink(me));
	CHECK_OK(PtlMDUnlink(good));
}

static void check_legal(ptl_md_t md)
{
	ptl_handle_me_t me = new_entry(PTL_UNLINK);
	ptl_handle_md_t bound = bind_md(md);
	CHECK_OK(PtlMDUpdate(bound, NULL, &md, PTL_EQ_NONE));
	CHECK_OK(PtlMDUnlink(bound));
	CHECK_OK(PtlMDUnlink(attach(me, md, PTL_RETAIN)));
}

static void c2_4_regions_that_are_no_memory_are_illegal(void)
{
	ptl_md_iovec_t null_piece[] = {{area, 8}, {NULL, 8}}, round_the_end[] = {{area, 8}, {area, ~0ull}},
		       empty_null[] = {{area, 8}, {NULL, 0}};
	check_illegal(md_over(NULL, 1, 0, PTL_EQ_NONE));
	check_legal(md_over(NULL, 0, 0, PTL_EQ_NONE));
	check_illegal(md_over(area, ~0ull, 0, PTL_EQ_NONE));
	check_illegal(md_over(NULL, 1, PTL_MD_IOVEC, PTL_EQ_NONE));
	check_legal(md_over(NULL, 0, PTL_MD_IOVEC, PTL_EQ_NONE));
	check_illegal(md_over(null_piece, 2, PTL_MD_IOVEC, PTL_EQ_NONE));
	check_legal(md_over(empty_null, 2, PTL_MD_IOVEC, PTL_EQ_NONE));
	check_illegal(md_over(round_the_end, 2, PTL_MD_IOVEC, PTL_EQ_NONE));
}

static void c2_4_more_elements_than_the_limit_are_illegal(void)
{
	const size_t most = (size_t)limits_in_force().max_md_iovecs;
	ptl_md_iovec_t *pieces = memory((most + 1) * sizeof(*pieces));
	for (size_t i = 0; i <= most; i++)
		pieces[i] = (ptl_md_iovec_t){area + i % sizeof(area), i % 2};
	check_legal(md_over(pieces, most, PTL_MD_IOVEC, PTL_EQ_NONE));
	check_illegal(md_over(pieces, most + 1, PTL_MD_IOVEC, PTL_EQ_NONE));
	check_illegal(md_over(pieces, ~0ull, PTL_MD_IOVEC, PTL_EQ_NONE));
}

static void c2_4_queues_of_another_interface_are_illegal_and_eq_none_is_good_everywhere(void)
{
	ptl_handle_ni_t first = ni, second;
	ptl_handle_eq_t first_eq = new_eq(8), second_eq, dead_eq;
	ptl_handle_md_t md;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlEQAlloc(second, 8, PTL_EQ_HANDLER_NONE, &second_eq));
	check_illegal(window_md(second_eq));
	check_legal(window_md(first_eq));
	CHECK_OK(PtlEQAlloc(second, 8, PTL_EQ_HANDLER_NONE, &dead_eq));
	CHECK_OK(PtlEQFree(dead_eq));
	CHECK_RC(PtlMDBind(ni, window_md(dead_eq), PTL_RETAIN, &md), PTL_EQ_INVALID);
	ni = second;
	check_illegal(window_md(first_eq));
	check_legal(window_md(second_eq));
	check_legal(window_md(PTL_EQ_NONE));
	ni = first;
}

static const struct test tests[] = {
	CASE_PAIR(c2_4_requests_find_an_attached_descriptor_and_never_a_bound_one, "2.4/1 2.4/2"),
	CASE_PAIR(c2_4_structures_and_arrays_are_copied, "2.4/3 2.4/4"),
	CASE_ALONE(c2_4_an_entry_has_one_descriptor_at_a_time, "2.4/5 1.6/15"),
	CASE_ALONE(c2_4_a_used_up_descriptor_goes_or_stays_as_it_was_told, "2.4/6"),
	CASE_ALONE(c2_4_a_threshold_that_counts_nothing_makes_an_inactive_descriptor_that_stays, "2.4/7"),
	CASE_PAIR(c2_4_after_unlinking_the_memory_is_the_programs_alone, "2.4/9 2.4/10"),
	CASE_TWO(c2_4_a_descriptor_with_pending_operations_is_in_use, "2.4/11 1.6/12"),
	CASE_ALONE(c2_4_update_takes_null_for_what_is_not_wanted, "2.4/12"),
	CASE_ALONE(c2_4_update_tests_a_queue_before_it_changes_anything, "2.4/23 1.6/13"),
	CASE_ALONE(c2_4_calls_refuse_bad_handles, "2.4/13 2.4/14 2.4/15 2.4/19 2.4/20 1.6/11"),
	CASE_ALONE(c2_4_regions_that_are_no_memory_are_illegal, "2.4/16 1.6/10"),
	CASE_ALONE(c2_4_more_elements_than_the_limit_are_illegal, "2.4/17 7/4 1.3/5"),
	CASE_ALONE(c2_4_queues_of_another_interface_are_illegal_and_eq_none_is_good_everywhere, "2.4/18 1.6/10"),
	{0},
};

const struct chapter descriptors_chapter = {.title = "2.4 Memory descriptors: the calls", .rows = rows, .tests = tests};
