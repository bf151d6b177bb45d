/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.6 The call that sets the access control table. */
#include "tests/conformance/conformance.h"

#include <unistd.h>

static const struct row rows[] = {
	{"2.6/1",
	 "PtlACEntry overwrites one entry of the table and no other; requests that arrive later are judged by it"},
	{"2.6/2", "nid, pid, user id, job id and portal table index may be wildcards, each alone and all together"},
	{"2.6/3", "PtlACEntry: PTL_NO_INIT before PtlInit and after PtlFini"},
	{"2.6/4", "PtlACEntry: PTL_NI_INVALID if ni_handle is no live interface"},
	{"2.6/5", "PtlACEntry: PTL_AC_INDEX_INVALID for every index above max_ac_index, none up to it"},
	{"2.6/6",
	 "PtlACEntry: PTL_PT_INDEX_INVALID for every index above max_pt_index but PTL_PT_INDEX_ANY, none up to it"},
	{"2.6/7", "PtlACEntry never says PTL_PROCESS_INVALID: an id that names nobody is taken and admits nobody"},
	{0},
};

#define NOBODY ((ptl_process_id_t){0, 0})

static ptl_handle_md_t one_byte(void)
{
	static char byte;
	return bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE));
}

static ptl_handle_eq_t open_byte(void)
{
	static char byte;
	ptl_handle_eq_t eq = new_eq(64);
	open_window(BITS, md_over(&byte, 1, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	return eq;
}

static int admit_anyone(ptl_ac_index_t ac_index, ptl_pt_index_t pt_index)
{
	return PtlACEntry(ni, ac_index, anyone, PTL_UID_ANY, PTL_JID_ANY, pt_index);
}

/* Puts through three neighbouring entries; `in` is the target's queue. */
static void put_through_entries_one_to_three(ptl_handle_eq_t in, bool middle_admits, int refused)
{
	barrier();
	for (ptl_ac_index_t i = 1; i <= 3 && am_initiator(); i++)
		CHECK_OK(PtlPut(one_byte(), PTL_NO_ACK_REQ, target_id(), INDEX, i, BITS, 0, i));
	for (ptl_ac_index_t i = 1; i <= 3 && am_target(); i++)
		if (i != 2 || middle_admits)
			CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, i);
	if (am_target())
		await_drops(refused);
	barrier();
}

static void c2_6_an_entry_is_overwritten_alone(void)
{
	ptl_handle_eq_t in = am_target() ? open_byte() : PTL_EQ_NONE;
	put_through_entries_one_to_three(in, true, 0);
	if (am_target())
		CHECK_OK(PtlACEntry(ni, 2, NOBODY, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	put_through_entries_one_to_three(in, false, 1);
	if (am_target())
		CHECK_OK(admit_anyone(2, PTL_PT_INDEX_ANY));
	put_through_entries_one_to_three(in, true, 1);
}

static void c2_6_any_set_of_fields_may_be_wildcards(void)
{
	ptl_handle_eq_t in = open_byte();
	ptl_process_id_t self = id_of[0];
	ptl_jid_t jid;
	CHECK_OK(PtlGetJid(ni, &jid));
	for (unsigned wild = 0; wild < 32; wild++) {
		ptl_process_id_t id = {wild & 1 ? PTL_NID_ANY : self.nid, wild & 2 ? PTL_PID_ANY : self.pid};
		CHECK_OK(PtlACEntry(ni, 0, id, wild & 4 ? PTL_UID_ANY : geteuid(), wild & 8 ? PTL_JID_ANY : jid,
				    wild & 16 ? PTL_PT_INDEX_ANY : INDEX));
		put_word(one_byte(), PTL_NO_ACK_REQ, BITS, 0, wild);
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, wild);
	}
	CHECK_EQUAL(drops(), 0);
}

/* A refused call changes nothing: entry 0 stays as it was, and so does the last. */
static void c2_6_access_calls_refuse_bad_arguments(void)
{
	const ptl_ni_limits_t limits = limits_in_force();
	const ptl_ac_index_t last_ac = (ptl_ac_index_t)limits.max_ac_index;
	const ptl_pt_index_t last_pt = (ptl_pt_index_t)limits.max_pt_index;
	ptl_handle_eq_t in = open_byte();
	CHECK_RC(PtlACEntry(PTL_INVALID_HANDLE, 0, NOBODY, 0, 0, 0), PTL_NI_INVALID);
	CHECK_RC(PtlACEntry(in, 0, NOBODY, 0, 0, 0), PTL_NI_INVALID);
	CHECK_RC(PtlACEntry(ni, last_ac + 1, NOBODY, 0, 0, 0), PTL_AC_INDEX_INVALID);
	CHECK_RC(PtlACEntry(ni, 0xffffffffu, NOBODY, 0, 0, 0), PTL_AC_INDEX_INVALID);
	CHECK_RC(PtlACEntry(ni, 0, NOBODY, 0, 0, last_pt + 1), PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlACEntry(ni, 0, NOBODY, 0, 0, PTL_PT_INDEX_ANY - 1), PTL_PT_INDEX_INVALID);
	for (ptl_ac_index_t i = 0; i <= last_ac; i += last_ac) {
		CHECK_OK(PtlPut(one_byte(), PTL_NO_ACK_REQ, target_id(), INDEX, i, BITS, 0, i));
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, i);
	}
	CHECK_EQUAL(drops(), 0);
}

/* The last entry, and the last portal table index in it, are as good as the others. */
static void c2_6_the_last_indexes_are_accepted_and_work(void)
{
	const ptl_ni_limits_t limits = limits_in_force();
	const ptl_ac_index_t last_ac = (ptl_ac_index_t)limits.max_ac_index;
	const ptl_pt_index_t last_pt = (ptl_pt_index_t)limits.max_pt_index;
	static char byte;
	ptl_handle_eq_t in = open_byte();
	open_window_on(last_pt, BITS, md_over(&byte, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, in));
	CHECK_OK(admit_anyone(last_ac, last_pt));
	CHECK_OK(PtlPut(one_byte(), PTL_NO_ACK_REQ, target_id(), INDEX, last_ac, BITS, 0, 0));
	await_drops(1);
	CHECK_OK(PtlPut(one_byte(), PTL_NO_ACK_REQ, target_id(), last_pt, last_ac, BITS, 0, 0));
	CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).pt_index, last_pt);
	CHECK_EQUAL(drops(), 1);
}

static void c2_6_an_entry_for_nobody_is_taken_and_admits_nobody(void)
{
	ptl_handle_eq_t in = open_byte();
	CHECK_OK(PtlACEntry(ni, 1, NOBODY, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	CHECK_OK(PtlPut(one_byte(), PTL_NO_ACK_REQ, target_id(), INDEX, 1, BITS, 0, 0));
	await_drops(1);
	CHECK_EMPTY(in);
}

static void c2_6_access_calls_need_an_initialised_library(void)
{
	CHECK_RC(admit_anyone(0, PTL_PT_INDEX_ANY), PTL_NO_INIT);
	open_interface(PTL_PID_ANY);
	CHECK_OK(admit_anyone(0, PTL_PT_INDEX_ANY));
	PtlFini();
	CHECK_RC(admit_anyone(0, PTL_PT_INDEX_ANY), PTL_NO_INIT);
}

static const struct test tests[] = {
	CASE_PAIR(c2_6_an_entry_is_overwritten_alone, "2.6/1"),
	CASE_ALONE(c2_6_any_set_of_fields_may_be_wildcards, "2.6/2"),
	CASE_ALONE(c2_6_access_calls_refuse_bad_arguments, "2.6/4 2.6/5 2.6/6"),
	CASE_ALONE(c2_6_the_last_indexes_are_accepted_and_work, "2.6/5 2.6/6"),
	CASE_ALONE(c2_6_an_entry_for_nobody_is_taken_and_admits_nobody, "2.6/7"),
	CASE(c2_6_access_calls_need_an_initialised_library, "2.6/3", 1, TRAIT_BARE),
	{0},
};

const struct chapter access_calls_chapter = {
	.title = "2.6 The call that sets the access control table", .rows = rows, .tests = tests};
