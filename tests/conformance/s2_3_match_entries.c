/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.3 Match entries: the calls. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#define ALL_PUT (PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE)
#define NONE    PTL_INVALID_HANDLE

static const struct row rows[] = {
	{"2.3/1", "PtlMEAttach(ni, pt_index, match_id, match_bits, ignore_bits, unlink, position, me_handle) creates "
		  "an entry at "
		  "the head (PTL_INS_BEFORE) or tail (PTL_INS_AFTER) of the match list of an index"},
	{"2.3/2", "PtlMEAttach may be called repeatedly for one index, and for every index up to max_pt_index"},
	{"2.3/3", "a new entry has no descriptor, and requests pass over it"},
	{"2.3/4", "an entry made with PTL_UNLINK goes when its descriptor is unlinked, one made with PTL_RETAIN stays"},
	{"2.3/5",
	 "whether an entry goes is looked at only when a descriptor is unlinked: one that never had any stays"},
	{"2.3/6", "the calls that create entries write their results only on success"},
	{"2.3/7",
	 "PtlMEAttachAny(ni, pt_index, match_id, match_bits, ignore_bits, unlink, me_handle) attaches to an index with "
	 "an empty list and tells which"},
	{"2.3/8", "an index is free for PtlMEAttachAny again when its list becomes empty"},
	{"2.3/9",
	 "PtlMEInsert(base, match_id, match_bits, ignore_bits, unlink, position, me_handle) puts an entry immediately "
	 "before or after the base, in its list"},
	{"2.3/10", "PtlMEUnlink(me_handle) removes the entry and its descriptor whatever the descriptor's unlink_op"},
	{"2.3/11", "after PtlMEUnlink both handles are dead and no UNLINK event is logged"},
	{"2.3/12", "a request fits an entry if ((its bits ^ match_bits) & ~ignore_bits) is 0"},
	{"2.3/13", "PtlMEAttach and PtlMEAttachAny return PTL_NI_INVALID for a bad interface"},
	{"2.3/14", "PtlMEInsert returns PTL_ME_INVALID for a bad base, PtlMEUnlink for a bad entry"},
	{"2.3/15", "PtlMEAttach returns PTL_PT_INDEX_INVALID for an index above max_pt_index"},
	{"2.3/16", "PtlMEAttachAny returns PTL_PT_FULL if no index has an empty list"},
	{"2.3/17", "every match_id is accepted: one that names nobody matches nobody"},
	{"2.3/18",
	 "PtlMEAttach, PtlMEAttachAny and PtlMEInsert return PTL_NO_SPACE if max_mes entries exist; one that goes "
	 "makes room"},
	{"2.3/19", "PtlMEAttach and PtlMEInsert return PTL_ME_LIST_TOO_LONG if the list has max_me_list entries"},
	{"2.3/20",
	 "PtlMEUnlink returns PTL_ME_IN_USE, and changes nothing, while operations are pending on the descriptor"},
	{"2.3/21", "PtlMEAttach, PtlMEAttachAny and PtlMEInsert return PTL_SEGV if a result has no place"},
	{"2.3/22", "match_id admits one process, or with wildcards all of a node, all with a pid, or everyone"},
	{"2.3/23", "nothing but its handle is needed to insert at, or to unlink, an entry on any interface"},
	{"2.3/24", "PtlMEAttach, PtlMEAttachAny, PtlMEInsert and PtlMEUnlink return PTL_NO_INIT without PtlInit"},
	{0},
};

SIGNATURE(PtlMEAttach, int(ptl_handle_ni_t, ptl_pt_index_t, ptl_process_id_t, ptl_match_bits_t, ptl_match_bits_t,
			   ptl_unlink_t, ptl_ins_pos_t, ptl_handle_me_t *));
SIGNATURE(PtlMEAttachAny, int(ptl_handle_ni_t, ptl_pt_index_t *, ptl_process_id_t, ptl_match_bits_t, ptl_match_bits_t,
			      ptl_unlink_t, ptl_handle_me_t *));
SIGNATURE(PtlMEInsert, int(ptl_handle_me_t, ptl_process_id_t, ptl_match_bits_t, ptl_match_bits_t, ptl_unlink_t,
			   ptl_ins_pos_t, ptl_handle_me_t *));
SIGNATURE(PtlMEUnlink, int(ptl_handle_me_t));

static ptl_handle_me_t attach_to(ptl_pt_index_t index, ptl_ins_pos_t position)
{
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, index, anyone, BITS, 0, PTL_RETAIN, position, &me));
	return me;
}

static ptl_handle_me_t insert(ptl_handle_me_t base, ptl_ins_pos_t position)
{
	ptl_handle_me_t me;
	CHECK_OK(PtlMEInsert(base, anyone, BITS, 0, PTL_RETAIN, position, &me));
	return me;
}

/* A descriptor for one put, whose events carry `tag`. */
static void tag_entry(ptl_handle_me_t me, size_t tag, ptl_handle_eq_t eq)
{
	ptl_handle_md_t handle;
	ptl_md_t md = with_threshold(md_over(NULL, 0, ALL_PUT, eq), 1);
	md.user_ptr = (void *)tag;
	CHECK_OK(PtlMDAttach(me, md, PTL_RETAIN, &handle));
}

static ptl_handle_md_t empty_source(void)
{
	return bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
}

/* The entries in the order in which the list must be searched: each takes one put. */
static void check_order(const ptl_handle_me_t *me, size_t count)
{
	ptl_handle_eq_t eq = new_eq(16);
	for (size_t i = 0; i < count && am_target(); i++)
		tag_entry(me[i], i, eq);
	barrier();
	for (size_t i = 0; i < count && am_initiator(); i++)
		put(empty_source(), PTL_NO_ACK_REQ, BITS);
	for (size_t i = 0; i < count && am_target(); i++)
		CHECK_EQUAL((size_t)take(eq, PTL_EVENT_PUT_END).md.user_ptr, i);
	barrier();
}

static void c2_3_attach_adds_at_the_head_or_tail(void)
{
	ptl_handle_me_t me[5] = {0};
	if (am_target()) {
		me[2] = attach_to(INDEX, PTL_INS_BEFORE); /* of an empty list */
		me[1] = attach_to(INDEX, PTL_INS_BEFORE);
		me[3] = attach_to(INDEX, PTL_INS_AFTER);
		me[0] = attach_to(INDEX, PTL_INS_BEFORE);
		me[4] = attach_to(INDEX, PTL_INS_AFTER);
		attach_to(INDEX_SIDE, PTL_INS_BEFORE);
		CHECK_EQUAL(list_length(INDEX), 5);
		CHECK_EQUAL(list_length(INDEX_SIDE), 1);
	}
	check_order(me, 5);
}

static void c2_3_insert_adds_immediately_before_or_after_the_base(void)
{
	ptl_handle_me_t me[7] = {0};
	if (am_target()) {
		me[3] = attach_to(INDEX, PTL_INS_AFTER);
		me[6] = insert(me[3], PTL_INS_AFTER);
		me[0] = insert(me[3], PTL_INS_BEFORE);
		me[2] = insert(me[3], PTL_INS_BEFORE);
		me[4] = insert(me[3], PTL_INS_AFTER);
		me[1] = insert(me[0], PTL_INS_AFTER);
		me[5] = insert(me[6], PTL_INS_BEFORE);
		CHECK_EQUAL(list_length(INDEX), 7);
	}
	check_order(me, 7);
}

/* Removed entries leave the others in order, at the head, in the middle and at the tail. */
static void c2_3_the_order_survives_unlinked_entries(void)
{
	ptl_handle_me_t me[3] = {0};
	if (am_target()) {
		ptl_handle_me_t head = attach_to(INDEX, PTL_INS_AFTER);
		me[0] = attach_to(INDEX, PTL_INS_AFTER);
		ptl_handle_me_t middle = attach_to(INDEX, PTL_INS_AFTER);
		me[1] = attach_to(INDEX, PTL_INS_AFTER);
		ptl_handle_me_t tail = attach_to(INDEX, PTL_INS_AFTER);
		CHECK_OK(PtlMEUnlink(middle));
		CHECK_OK(PtlMEUnlink(head));
		CHECK_OK(PtlMEUnlink(tail));
		me[2] = attach_to(INDEX, PTL_INS_AFTER);
		CHECK_EQUAL(list_length(INDEX), 3);
	}
	check_order(me, 3);
}

static void c2_3_requests_of_every_kind_pass_over_an_entry_without_descriptor(void)
{
	static char bytes[8];
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target()) {
		attach_to(INDEX, PTL_INS_AFTER);
		open_window(BITS, md_over(bytes, 8, ANY_REQUEST | PTL_MD_MANAGE_REMOTE, eq));
		attach_to(INDEX_SIDE, PTL_INS_AFTER);
	}
	barrier();
	ptl_handle_md_t md = bind_md(md_over(bytes, 8, QUIET, PTL_EQ_NONE));
	for (enum request request = PUT; request < REQUESTS; request++) {
		if (am_initiator()) {
			ask(request, md, BITS, 0);
			CHECK_OK(issue(request, md, INDEX_SIDE, 0, BITS, 0, 0));
		}
		if (am_target()) {
			take(eq, request_kinds[request].end);
			await_drops((int)request + 1);
		}
		barrier();
	}
}

static void c2_3_attach_any_takes_free_indexes_until_there_are_none(void)
{
	ptl_handle_me_t me[512], untouched = 0x12345678;
	bool taken[512] = {false};
	ptl_pt_index_t index;
	const int count = limits_in_force().max_pt_index + 1;
	CHECK_LESS(count, 513);
	me[0] = attach_to(7, PTL_INS_AFTER);
	taken[7] = true;
	for (int i = 1; i < count; i++) {
		CHECK_OK(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &me[i]));
		CHECK_LESS(index, count);
		CHECK(!taken[index]);
		CHECK_EQUAL(list_length(index), 1);
		taken[index] = true;
	}
	index = 4711;
	CHECK_RC(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &untouched), PTL_PT_FULL);
	CHECK(index == 4711 && untouched == 0x12345678);
	ptl_handle_me_t second = attach_to(7, PTL_INS_AFTER);
	CHECK_OK(PtlMEUnlink(me[0]));
	CHECK_RC(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &me[0]), PTL_PT_FULL);
	CHECK_OK(PtlMEUnlink(second));
	CHECK_OK(PtlMEAttachAny(ni, &index, anyone, BITS, 0, PTL_RETAIN, &me[0]));
	CHECK_EQUAL(index, 7);
}

/* The entry is for the request's process and bits, like any other. */
static void c2_3_an_entry_of_attach_any_takes_requests(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_pt_index_t mine = 0, all[MAX_PROCESSES];
	if (am_target()) {
		ptl_handle_me_t me;
		attach_to(0, PTL_INS_AFTER);
		CHECK_OK(PtlMEAttachAny(ni, &mine, initiator_id(), 0xff00, 0xff, PTL_RETAIN, &me));
		tag_entry(me, 3, eq);
		CHECK(mine != 0);
	}
	gather(&mine, sizeof(mine), all);
	if (am_initiator()) {
		const ptl_pt_index_t index = all[process_count - 1];
		CHECK_OK(PtlPut(empty_source(), PTL_NO_ACK_REQ, target_id(), index, 0, 0xfe5a, 0, 0));
		CHECK_OK(PtlPut(empty_source(), PTL_NO_ACK_REQ, target_id(), index, 0, 0xff5a, 0, 0));
	}
	if (am_target()) {
		ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
		CHECK(end.match_bits == 0xff5a && end.pt_index == mine && end.md.user_ptr == (void *)3);
		CHECK_EQUAL(drops(), 1);
	}
	barrier();
}

static void c2_3_unlink_entries_go_with_their_descriptor_and_others_stay(void)
{
	static const ptl_unlink_t unlink[] = {PTL_RETAIN, PTL_UNLINK};
	for (int i = 0; i < 2; i++) {
		ptl_handle_me_t me[3];
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, unlink[i], PTL_INS_AFTER, &me[0]));
		CHECK_OK(PtlMEInsert(me[0], anyone, BITS, 0, unlink[i], PTL_INS_AFTER, &me[1]));
		ptl_pt_index_t index;
		CHECK_OK(PtlMEAttachAny(ni, &index, anyone, BITS, 0, unlink[i], &me[2]));
		for (int e = 0; e < 3; e++) {
			ptl_handle_md_t md;
			CHECK_OK(PtlMDAttach(me[e], md_over(NULL, 0, ALL_PUT, PTL_EQ_NONE), PTL_RETAIN, &md));
			CHECK_OK(PtlMDUnlink(md));
			CHECK_RC(PtlMEUnlink(me[e]), unlink[i] == PTL_UNLINK ? PTL_ME_INVALID : PTL_OK);
		}
		CHECK_EQUAL(list_length(INDEX), 0);
	}
}

static void c2_3_an_unlink_entry_that_never_had_a_descriptor_stays(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_me_t me = NONE;
	if (am_target())
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	barrier();
	if (am_initiator())
		put(empty_source(), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		await_drops(1);
		CHECK_EQUAL(list_length(INDEX), 1);
		tag_entry(me, 1, eq);
	}
	barrier();
	if (am_initiator())
		put(empty_source(), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_END);
		CHECK_OK(PtlMEUnlink(me));
	}
	barrier();
}

static void c2_3_unlinking_an_entry_frees_its_descriptor_whatever_that_says(void)
{
	ptl_handle_eq_t eq = new_eq(4);
	for (ptl_unlink_t me = PTL_RETAIN; me <= PTL_UNLINK; me++) {
		for (ptl_unlink_t md = PTL_RETAIN; md <= PTL_UNLINK; md++) {
			struct window window;
			ptl_md_t one = with_threshold(md_over(NULL, 0, ALL_PUT, eq), 1);
			CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, me, PTL_INS_AFTER, &window.me));
			CHECK_OK(PtlMDAttach(window.me, one, md, &window.md));
			CHECK_OK(PtlMEUnlink(window.me));
			CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
			CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
			CHECK_EQUAL(list_length(INDEX), 0);
		}
	}
	CHECK_OK(PtlPut(empty_source(), PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
	await_drops(1);
	CHECK_EMPTY(eq);
}

static void c2_3_ids_that_name_nobody_are_accepted_and_match_nobody(void)
{
	const ptl_process_id_t self = id_of[0];
	const ptl_process_id_t ids[] = {{0, 0},
					{0xfffffffeu, 0xfffffffeu},
					{PTL_NID_ANY, self.pid + 1},
					{self.nid + 1, PTL_PID_ANY},
					{self.nid, self.pid + 1}};
	const int count = sizeof(ids) / sizeof(ids[0]);
	ptl_handle_eq_t eq = new_eq(8);
	for (int i = 0; i < count; i++) {
		ptl_handle_me_t me[3];
		ptl_pt_index_t index;
		CHECK_OK(PtlMEAttach(ni, INDEX, ids[i], BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me[0]));
		CHECK_OK(PtlMEInsert(me[0], ids[i], BITS, 0, PTL_RETAIN, PTL_INS_BEFORE, &me[1]));
		CHECK_OK(PtlMEAttachAny(ni, &index, ids[i], BITS, 0, PTL_RETAIN, &me[2]));
		for (int e = 0; e < 3; e++)
			tag_entry(me[e], 0, eq);
		CHECK_OK(PtlPut(empty_source(), PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(empty_source(), PTL_NO_ACK_REQ, self, index, 0, BITS, 0, 0));
	}
	await_drops(2 * count);
	CHECK_EMPTY(eq);
}

static void c2_3_calls_refuse_bad_handles_and_indexes_and_change_nothing(void)
{
	const ptl_pt_index_t last = (ptl_pt_index_t)limits_in_force().max_pt_index;
	ptl_handle_me_t me = attach_to(INDEX, PTL_INS_AFTER), dead = attach_to(INDEX, PTL_INS_AFTER), out = 0x12345678;
	ptl_pt_index_t index = 4711;
	CHECK_OK(PtlMEUnlink(dead));
	const ptl_handle_any_t bad[] = {NONE, PTL_HANDLE_NONE, PTL_EQ_NONE, dead, new_eq(4), empty_source()};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_RC(PtlMEAttach(bad[i], INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &out), PTL_NI_INVALID);
		CHECK_RC(PtlMEAttachAny(bad[i], &index, anyone, 0, 0, PTL_RETAIN, &out), PTL_NI_INVALID);
		CHECK_RC(PtlMEInsert(bad[i], anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &out), PTL_ME_INVALID);
		CHECK_RC(PtlMEUnlink(bad[i]), PTL_ME_INVALID);
	}
	const ptl_pt_index_t beyond[] = {last + 1, last + 2, 0x80000000u, PTL_PT_INDEX_ANY};
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
		CHECK_RC(PtlMEAttach(ni, beyond[i], anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &out),
			 PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlMEInsert(ni, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &out), PTL_ME_INVALID);
	CHECK_RC(PtlMEUnlink(ni), PTL_ME_INVALID);
	CHECK(out == 0x12345678 && index == 4711);
	CHECK_EQUAL(list_length(INDEX), 1);
	CHECK_OK(PtlMEUnlink(me));
	attach_to(last, PTL_INS_AFTER);
}

static void c2_3_results_without_a_place_are_refused(void)
{
	ptl_handle_me_t me = attach_to(INDEX, PTL_INS_AFTER);
	ptl_pt_index_t index = 4711;
	CHECK_RC(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV);
	CHECK_RC(PtlMEAttachAny(ni, &index, anyone, 0, 0, PTL_RETAIN, NULL), PTL_SEGV);
	CHECK_RC(PtlMEAttachAny(ni, NULL, anyone, 0, 0, PTL_RETAIN, &me), PTL_SEGV);
	CHECK_RC(PtlMEInsert(me, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV);
	CHECK_EQUAL(index, 4711);
	CHECK_EQUAL(list_length(INDEX), 1);
}

/* The target stands still before there was any contact, which keeps the send, and with it the descriptor, pending. */
static void c2_3_an_entry_with_pending_operations_is_in_use(void)
{
	static char bytes[8];
	if (am_initiator()) {
		ptl_handle_eq_t eq = new_eq(8);
		struct window window = open_window(BITS, md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
		stop_process(1);
		put(window.md, PTL_NO_ACK_REQ, BITS);
		CHECK_RC(PtlMEUnlink(window.me), PTL_ME_IN_USE);
		CHECK_EQUAL(list_length(INDEX), 1);
		continue_process(1);
		take(eq, PTL_EVENT_SEND_END);
		CHECK_OK(PtlMEUnlink(window.me));
		CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
	}
	barrier();
}

static void c2_3_entries_of_every_interface_are_reached_by_their_handle(void)
{
	ptl_handle_ni_t first = ni, second;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	ni = second;
	ptl_handle_me_t there = attach_to(INDEX, PTL_INS_AFTER);
	ni = first;
	ptl_handle_me_t here = attach_to(INDEX, PTL_INS_AFTER);
	insert(there, PTL_INS_AFTER);
	CHECK_OK(PtlMEUnlink(here));
	CHECK_EQUAL(list_length(INDEX), 0);
	ni = second;
	CHECK_EQUAL(list_length(INDEX), 2);
	ni = first;
}

static const struct test tests[] = {
	CASE_PAIR(c2_3_attach_adds_at_the_head_or_tail, "2.3/1 2.3/2"),
	CASE_PAIR(c2_3_insert_adds_immediately_before_or_after_the_base, "2.3/9"),
	CASE_PAIR(c2_3_the_order_survives_unlinked_entries, "2.3/1 2.3/10"),
	CASE_PAIR(c2_3_requests_of_every_kind_pass_over_an_entry_without_descriptor, "2.3/3"),
	CASE_ALONE(c2_3_attach_any_takes_free_indexes_until_there_are_none, "2.3/6 2.3/7 2.3/8 2.3/16 1.6/22"),
	CASE_PAIR(c2_3_an_entry_of_attach_any_takes_requests, "2.3/7 2.3/12"),
	CASE_ALONE(c2_3_unlink_entries_go_with_their_descriptor_and_others_stay, "2.3/4"),
	CASE_PAIR(c2_3_an_unlink_entry_that_never_had_a_descriptor_stays, "2.3/5"),
	CASE_ALONE(c2_3_unlinking_an_entry_frees_its_descriptor_whatever_that_says, "2.3/10 2.3/11"),
	CASE_ALONE(c2_3_ids_that_name_nobody_are_accepted_and_match_nobody, "2.3/17 2.3/22"),
	CASE_ALONE(c2_3_calls_refuse_bad_handles_and_indexes_and_change_nothing,
		   "2.3/6 2.3/13 2.3/14 2.3/15 1.3/4 1.6/14 1.6/23"),
	CASE_ALONE(c2_3_results_without_a_place_are_refused, "2.3/21"),
	CASE_TWO(c2_3_an_entry_with_pending_operations_is_in_use, "2.3/20 1.6/15"),
	CASE_ALONE(c2_3_entries_of_every_interface_are_reached_by_their_handle, "2.3/23"),
	{0},
};

const struct chapter match_entries_chapter = {.title = "2.3 Match entries: the calls", .rows = rows, .tests = tests};
