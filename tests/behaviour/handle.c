/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: a stale or foreign one gives the *_INVALID code of the kind wanted, never another object. */
#include "tests/behaviour/behaviour.h"

#define REUSES 200 /* times the slot of a dead object is used again */

static char bytes[64];

static ptl_handle_me_t new_me(void)
{
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	return me;
}

static ptl_handle_md_t new_md(void)
{
	return bind_md(md_over(bytes, sizeof bytes, 0, PTL_EQ_NONE));
}

static void a_dead_descriptor_never_names_a_later_one(void)
{
	ptl_handle_md_t stale = new_md();
	CHECK_OK(PtlMDUnlink(stale));
	for (int i = 0; i < REUSES; i++) {
		ptl_handle_md_t md = new_md();
		CHECK(md != stale);
		CHECK_RC(PtlMDUnlink(stale), PTL_MD_INVALID);
		CHECK_RC(PtlMDUpdate(stale, NULL, NULL, PTL_EQ_NONE), PTL_MD_INVALID);
		CHECK_RC(PtlPut(stale, PTL_NO_ACK_REQ, target_id(), INDEX, 0, 0, 0, 0), PTL_MD_INVALID);
		CHECK_OK(PtlMDUnlink(md));
	}
}

static void a_dead_match_entry_never_names_a_later_one(void)
{
	ptl_handle_me_t stale = new_me(), other;
	CHECK_OK(PtlMEUnlink(stale));
	for (int i = 0; i < REUSES; i++) {
		ptl_handle_me_t me = new_me();
		ptl_handle_md_t md;
		CHECK(me != stale);
		CHECK_RC(PtlMEUnlink(stale), PTL_ME_INVALID);
		CHECK_RC(PtlMDAttach(stale, md_over(bytes, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &md), PTL_ME_INVALID);
		CHECK_RC(PtlMEInsert(stale, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_ME_INVALID);
		CHECK_OK(PtlMEUnlink(me));
	}
}

static void a_dead_queue_never_names_a_later_one(void)
{
	ptl_handle_eq_t stale = new_eq(4);
	ptl_event_t event;
	CHECK_OK(PtlEQFree(stale));
	for (int i = 0; i < REUSES; i++) {
		ptl_handle_eq_t eq = new_eq(4);
		ptl_handle_md_t md;
		CHECK(eq != stale);
		CHECK_RC(PtlEQGet(stale, &event), PTL_EQ_INVALID);
		CHECK_RC(PtlEQFree(stale), PTL_EQ_INVALID);
		CHECK_RC(PtlMDBind(ni, md_over(bytes, 8, 0, stale), PTL_RETAIN, &md), PTL_EQ_INVALID);
		CHECK_OK(PtlEQFree(eq));
	}
}

static void handles_of_a_closed_interface_are_dead_on_the_next(void)
{
	ptl_handle_ni_t old_ni = ni;
	ptl_handle_me_t me = new_me();
	ptl_handle_md_t md = new_md();
	ptl_handle_eq_t eq = new_eq(4);
	ptl_process_id_t id;
	ptl_event_t event;
	harness_while_waiting(NULL);
	CHECK_OK(PtlNIFini(ni));
	open_interface(PTL_PID_ANY);
	CHECK(ni != old_ni);
	new_me();
	new_md();
	new_eq(4);
	CHECK_RC(PtlGetId(old_ni, &id), PTL_NI_INVALID);
	CHECK_RC(PtlMEUnlink(me), PTL_ME_INVALID);
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_INVALID);
	PtlFini();
	open_interface(PTL_PID_ANY);
	CHECK_RC(PtlGetId(old_ni, &id), PTL_NI_INVALID);
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
}

static void every_object_knows_its_interface(void)
{
	ptl_handle_any_t objects[] = {ni, new_me(), new_md(), new_eq(4)};
	ptl_handle_ni_t owner;
	for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
		CHECK_OK(PtlNIHandle(objects[i], &owner));
		CHECK_EQUAL(owner, ni);
	}
	CHECK_OK(PtlMEUnlink(objects[1]));
	CHECK_OK(PtlMDUnlink(objects[2]));
	CHECK_OK(PtlEQFree(objects[3]));
	for (size_t i = 1; i < sizeof objects / sizeof objects[0]; i++)
		CHECK_RC(PtlNIHandle(objects[i], &owner), PTL_HANDLE_INVALID);
}

static void special_handles_are_never_objects(void)
{
	static const ptl_handle_any_t special[] = {PTL_INVALID_HANDLE, PTL_HANDLE_NONE, PTL_EQ_NONE};
	ptl_event_t event;
	for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
		ptl_handle_ni_t owner;
		CHECK_RC(PtlNIHandle(special[i], &owner), PTL_HANDLE_INVALID);
		CHECK_RC(PtlMDUnlink(special[i]), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(special[i]), PTL_ME_INVALID);
		CHECK_RC(PtlEQGet(special[i], &event), PTL_EQ_INVALID);
		CHECK_RC(PtlNIFini(special[i]), PTL_NI_INVALID);
	}
}

/* Any number may be passed as any handle; only the few live ones are anything, each only as what it is. */
static void random_numbers_are_refused_as_handles(void)
{
	ptl_handle_any_t live[] = {ni, new_me(), new_md(), new_eq(4)};
	uint32_t state = 1;
	ptl_event_t event;
	for (int i = 0; i < FEWER(40000); i++) {
		state = state * 1664525u + 1013904223u;
		/* Half of them near a live handle, where a check that looks at too little would be fooled. */
		ptl_handle_any_t handle = i & 1 ? state : live[i / 2 % 4] ^ 1u << (state >> 27);
		bool alive = handle == live[0] || handle == live[1] || handle == live[2] || handle == live[3];
		if (alive)
			continue;
		ptl_handle_ni_t owner;
		int rc = PtlNIHandle(handle, &owner);
		if (handle == idle_queue() && rc == PTL_OK)
			continue;
		CHECK_EQUAL(rc, PTL_HANDLE_INVALID);
		CHECK_RC(PtlMDUnlink(handle), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(handle), PTL_ME_INVALID);
		CHECK_RC(PtlEQGet(handle, &event), PTL_EQ_INVALID);
		CHECK_RC(PtlEQFree(handle), PTL_EQ_INVALID);
		CHECK_RC(PtlNIFini(handle), PTL_NI_INVALID);
	}
	CHECK_OK(PtlMEUnlink(live[1]));
	CHECK_OK(PtlMDUnlink(live[2]));
	CHECK_OK(PtlEQFree(live[3]));
}

const struct test handle_tests[] = {
	ALONE(a_dead_descriptor_never_names_a_later_one), ALONE(a_dead_match_entry_never_names_a_later_one),
	ALONE(a_dead_queue_never_names_a_later_one),      ALONE(handles_of_a_closed_interface_are_dead_on_the_next),
	ALONE(every_object_knows_its_interface),          ALONE(special_handles_are_never_objects),
	ALONE(random_numbers_are_refused_as_handles),     {0},
};
