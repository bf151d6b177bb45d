/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.13 Access control: which processes the table admits. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <unistd.h>

static const struct row rows[] = {
	{"3.13/1", "at first entry 0 admits every process of our own user, of any job, to every portal table index"},
	{"3.13/2", "so does every other entry (our reading: the specification says nothing about them)"},
	{"3.13/3", "a process of another user is refused until an entry names its user id or PTL_UID_ANY"},
	{0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char area[64];

static ptl_handle_eq_t open_area(ptl_pt_index_t index)
{
	const unsigned options = ANY_REQUEST | PTL_MD_MANAGE_REMOTE;
	ptl_handle_eq_t eq = new_eq(64);
	open_window_on(index, BITS, md_over(area, sizeof(area), options, eq));
	return eq;
}

/* One request of each kind through an entry. */
static void send_one_of_each_kind(ptl_ac_index_t entry, ptl_pt_index_t index)
{
	static char word[8];
	for (enum request kind = PUT; kind < REQUESTS; kind++)
		CHECK_OK(issue(kind, bind_md(md_over(word, 8, 0, PTL_EQ_NONE)), index, entry, BITS, 0, 0));
}

/* At the target: all three of them came through. */
static void take_one_of_each_kind(ptl_handle_eq_t in)
{
	unsigned kinds = 0;
	for (int i = 0; i < 3; i++) /* ENDs come in any order */
		kinds |= 1u << take_any(in).type;
	CHECK_EQUAL(kinds, 1u << PTL_EVENT_PUT_END | 1u << PTL_EVENT_GET_END | 1u << PTL_EVENT_GETPUT_END);
}

static void c3_13_every_entry_admits_our_own_user_everywhere_at_first(void)
{
	const ptl_ni_limits_t limits = limits_in_force();
	const ptl_pt_index_t indexes[] = {INDEX, (ptl_pt_index_t)limits.max_pt_index};
	for (size_t i = 0; i < COUNT(indexes); i++) {
		ptl_handle_eq_t in = am_target() ? open_area(indexes[i]) : PTL_EQ_NONE;
		barrier();
		for (ptl_ac_index_t entry = 0; entry <= (ptl_ac_index_t)limits.max_ac_index; entry++) {
			if (am_initiator())
				send_one_of_each_kind(entry, indexes[i]);
			if (am_target())
				take_one_of_each_kind(in);
			barrier();
		}
	}
	CHECK_EQUAL(drops(), 0);
}

#define OTHER_UID 65534u

static void open_interface_as(uid_t uid)
{
	const uid_t myself = geteuid();
	CHECK(seteuid(uid) == 0);
	open_interface(PTL_PID_ANY);
	CHECK(seteuid(myself) == 0);
}

static void c3_13_another_user_needs_an_entry_that_names_him(void)
{
	const ptl_uid_t admitted[] = {PTL_UID_ANY, OTHER_UID};
	const uid_t us = geteuid();
	open_interface_as(am_initiator() ? OTHER_UID : us);
	exchange_ids();
	drive_while_waiting();
	ptl_handle_eq_t in = am_target() ? open_area(INDEX) : PTL_EQ_NONE;
	barrier();
	if (am_initiator())
		send_one_of_each_kind(0, INDEX);
	if (am_target())
		await_drops(3);
	for (size_t i = 0; i < COUNT(admitted); i++) {
		if (am_target())
			CHECK_OK(PtlACEntry(ni, 0, anyone, admitted[i], PTL_JID_ANY, PTL_PT_INDEX_ANY));
		barrier();
		if (am_initiator())
			send_one_of_each_kind(0, INDEX);
		for (int k = 0; k < REQUESTS && am_target(); k++)
			CHECK_EQUAL(take_any(in).uid, OTHER_UID);
	}
	if (am_target())
		CHECK_EQUAL(drops(), 3);
}

static const struct test tests[] = {
	CASE_PAIR(c3_13_every_entry_admits_our_own_user_everywhere_at_first, "3.13/1 3.13/2"),
	CASE(c3_13_another_user_needs_an_entry_that_names_him, "3.13/3", 2,
	     TRAIT_SEVERAL | TRAIT_BARE | TRAIT_ROOT | TRAIT_USERS),
	{0},
};

const struct chapter access_control_chapter = {
	.title = "3.13 Access control: whom the table admits", .rows = rows, .tests = tests};
