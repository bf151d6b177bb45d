/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two interfaces in each process over different transports: 0 over the one this run is about, 1 over another.  Each has
 * its own objects; descriptors without an event queue on both tell nothing, so that bytes at the target are the proof.
 */
#include "tests/behaviour/threads/threads.h"

#include <p3nal_utcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOTH       2
#define PER_NI     2 /* threads that use one interface */
#define ROUNDS     FEWER(150)
#define AREA       65536u
#define LAND_THERE (PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE)

static struct side {
	ptl_handle_ni_t ni;
	ptl_process_id_t id, peer;
	char *area; /* what the other process writes to: AREA for each of its threads */
} sides[BOTH];

static const char *other_transport(void)
{
	return over_transport("node") || over_self() ? "ofi:tcp" : "node";
}

/* `second` as an old program names it, and by number. */
static void open_both(ptl_interface_t second)
{
	const ptl_interface_t numbers[BOTH] = {PTL_IFACE_DEFAULT, second};
	char list[64];
	int interfaces;
	snprintf(list, sizeof(list), "%s,%s", getenv("PTL_TRANSPORT"), other_transport());
	setenv("PTL_TRANSPORT", list, 1);
	CHECK_OK(PtlInit(&interfaces));
	for (int i = 0; i < BOTH; i++) {
		CHECK_OK(PtlNIInit(numbers[i], PTL_PID_ANY, NULL, NULL, &sides[i].ni));
		CHECK_OK(PtlNicReady(sides[i].ni));
		CHECK_OK(PtlGetId(sides[i].ni, &sides[i].id));
	}
	ni = sides[0].ni;
}

static void meet_on_both(void)
{
	for (int i = 0; i < BOTH; i++) {
		ni = sides[i].ni;
		exchange_ids();
		sides[i].peer = id_of[process_count - 1 - my_rank];
	}
	if (over_self()) /* no other process is reached there */
		sides[0].peer = sides[0].id;
	ni = sides[0].ni;
}

static bool runs_over(ptl_handle_ni_t interface, const char *transport)
{
	char text[4096];
	CHECK_OK(PtlNicInfo(interface, text, sizeof(text)));
	return strstr(text, transport) != NULL;
}

static void check_transports(void)
{
	const char *first = getenv("PTL_TRANSPORT");
	const char *const names[BOTH] = {first ? first : "", other_transport()};
	for (int i = 0; i < BOTH; i++) {
		CHECK_EQUAL(runs_over(sides[i].ni, "transport node"), strncmp(names[i], "node", 4) == 0);
		CHECK_EQUAL(runs_over(sides[i].ni, "transport ofi"), strncmp(names[i], "ofi", 3) == 0);
	}
}

/* ---- Traffic on both ---- */

static ptl_handle_md_t bind_on(const struct side *side, ptl_md_t md)
{
	ptl_handle_md_t handle;
	CHECK_OK(PtlMDBind(side->ni, md, PTL_RETAIN, &handle));
	return handle;
}

static void open_side(struct side *side)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	side->area = memory(PER_NI * AREA);
	CHECK_OK(PtlMEAttach(side->ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md_over(side->area, PER_NI * AREA, LAND_THERE, PTL_EQ_NONE), PTL_RETAIN, &md));
}

/* A long put that was sent before a get need not have ended before it. */
static void get_until_it_shows(const struct side *side, ptl_size_t offset, const char *expected, size_t length)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	char *bytes = malloc(length);
	ptl_handle_eq_t eq;
	CHECK_OK(PtlEQAlloc(side->ni, 8, PTL_EQ_HANDLER_NONE, &eq));
	ptl_handle_md_t md = bind_on(side, md_over(bytes, length, PTL_MD_EVENT_START_DISABLE, eq));
	do {
		CHECK(now_ns() < deadline);
		CHECK_OK(PtlGet(md, side->peer, INDEX, 0, BITS, offset));
		take(eq, PTL_EVENT_REPLY_END);
	} while (memcmp(bytes, expected, length) != 0);
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlEQFree(eq));
	free(bytes);
}

static void put_silently(const struct side *side, ptl_size_t offset, size_t length, unsigned seed)
{
	char *bytes = malloc(length);
	fill_pattern(bytes, length, seed);
	ptl_handle_md_t md = bind_on(side, md_over(bytes, length, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, side->peer, INDEX, 0, BITS, offset, 0));
	get_until_it_shows(side, offset, bytes, length);
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	int rc;
	while ((rc = PtlMDUnlink(md)) == PTL_MD_IN_USE && now_ns() < deadline)
		PtlProgress(side->ni, 1);
	CHECK_OK(rc);
	free(bytes);
}

static _Atomic unsigned finished;

static void *use_one_side(void *argument)
{
	const uintptr_t number = (uintptr_t)argument, within = number / BOTH;
	const struct side *side = &sides[number % BOTH];
	for (unsigned i = 0; i < ROUNDS; i++)
		put_silently(side, within * AREA, i % 16 ? 1 + i : AREA, i);
	atomic_fetch_add(&finished, 1);
	return NULL;
}

/* What one thread after the other wrote there last is not told: the last round's pattern. */
static void check_area(const struct side *side)
{
	const unsigned last = ROUNDS - 1;
	for (unsigned i = 0; i < PER_NI; i++)
		CHECK_PATTERN(side->area + i * AREA, last % 16 ? 1 + last : AREA, last);
}

static void drive_both(void)
{
	for (int i = 0; i < BOTH; i++)
		PtlProgress(sides[i].ni, 0);
}

static void use_both(ptl_interface_t second)
{
	pthread_t threads[BOTH * PER_NI];
	open_both(second);
	meet_on_both();
	for (int i = 0; i < BOTH; i++)
		open_side(&sides[i]);
	harness_while_waiting(in_mode("host") ? drive_both : NULL);
	barrier();
	for (uintptr_t i = 0; i < BOTH * PER_NI; i++)
		start_thread(&threads[i], use_one_side, (void *)i);
	while (in_mode("host") && atomic_load(&finished) < BOTH * PER_NI)
		drive_both(); /* also the one that this process no longer needs */
	for (int i = 0; i < BOTH * PER_NI; i++)
		pthread_join(threads[i], NULL);
	barrier();
	for (int i = 0; i < BOTH && !UNDER_TSAN; i++) /* no event tells, so the sanitizer sees no order */
		check_area(&sides[i]);
	CHECK_OK(PtlNIFini(sides[0].ni));
	ni = sides[1].ni; /* the other goes on */
	put_to_myself();
	harness_while_waiting(NULL);
	PtlFini();
}

static void threads_use_two_interfaces_over_different_transports(void)
{
	use_both(PTL_IFACE_UTCP1);
}

/* ---- Objects of the other interface ---- */

static void objects_of_another_interface_are_refused(void)
{
	static char bytes[64];
	struct window window[BOTH];
	ptl_handle_md_t bound[BOTH], md;
	ptl_handle_eq_t eq[BOTH];
	ptl_handle_me_t me;
	ptl_event_t event;
	int which;
	open_both(1);
	check_transports();
	for (int i = 0; i < BOTH; i++) {
		ni = sides[i].ni;
		eq[i] = new_eq(8);
		bound[i] = bind_md(md_over(bytes, 8, 0, PTL_EQ_NONE));
		window[i] = open_window(BITS, md_over(bytes, 64, LAND_THERE, PTL_EQ_NONE));
		CHECK_OK(PtlMEAttach(ni, INDEX_SIDE, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	}
	for (int i = 0; i < BOTH; i++) {
		const int other = !i;
		ptl_md_t state = md_over(bytes, 8, 0, eq[other]);
		CHECK_RC(PtlMDBind(sides[i].ni, state, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
		CHECK_RC(PtlMDUpdate(bound[i], NULL, &state, PTL_EQ_NONE), PTL_MD_ILLEGAL);
		state.eq_handle = PTL_EQ_NONE;
		CHECK_RC(PtlMDUpdate(bound[i], NULL, &state, eq[other]), PTL_EQ_INVALID);
		CHECK_RC(PtlMEMDPost(sides[i].ni, window[other].me, anyone, BITS, 0, PTL_RETAIN, PTL_INS_BEFORE, state,
				     PTL_RETAIN, &me, &md, eq[i]),
			 PTL_ME_INVALID);
		CHECK_RC(PtlGetPut(bound[i], bound[other], sides[i].id, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
		const ptl_handle_eq_t mixed[] = {eq[i], eq[other]};
		CHECK_RC(PtlEQPoll((ptl_handle_eq_t *)mixed, 2, 0, &event, &which), PTL_EQ_INVALID);
		CHECK_RC(PtlEQGet(eq[i], &event), PTL_EQ_EMPTY);
	}
	for (int i = 0; i < BOTH; i++) { /* what was refused did no harm */
		ni = sides[i].ni;
		put_to_myself();
	}
	PtlFini();
}

const struct test interface_tests[] = {
	{.name = "threads_use_two_interfaces_over_different_transports",
	 .run = threads_use_two_interfaces_over_different_transports,
	 .processes = 2,
	 .traits = TRAIT_BARE},
	{.name = "objects_of_another_interface_are_refused",
	 .run = objects_of_another_interface_are_refused,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{0},
};
