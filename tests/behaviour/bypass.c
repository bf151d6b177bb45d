/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Application bypass: while the target's application computes and never calls Portals, its NIC receives, answers and
 * acknowledges.  The target computes until the initiator, having received every answer, tells it through memory they
 * share; if anything needed the target's help, the initiator would miss its answer.
 */
#include "tests/behaviour/behaviour.h"

#include <stdatomic.h>
#include <time.h>

#define SHORT_COUNT FEWER(60)
#define LONG_COUNT  FEWER(6)

static void compute_until_told(void)
{
	_Atomic int *enough = shared_memory();
	volatile double x = 1;
	while (!atomic_load(enough))
		for (int i = 0; i < 10000; i++)
			x = x * 1.0000001 + 1e-9;
}

static void tell(void)
{
	_Atomic int *enough = shared_memory();
	atomic_store(enough, 1);
}

static void puts_land_and_are_acknowledged_while_the_target_computes(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(2 * (SHORT_COUNT + LONG_COUNT));
	char *near = memory(LONG), *far = memory(LONG);
	fill_pattern(near, LONG, 1);
	if (am_target())
		open_window(BITS,
			    md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (int i = 0; i < SHORT_COUNT + LONG_COUNT; i++) {
			size_t length = i < SHORT_COUNT ? 100 : LONG;
			CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			take(out, PTL_EVENT_SEND_END);
			CHECK_EQUAL(take(out, PTL_EVENT_ACK).mlength, length);
		}
		tell();
	}
	if (am_target()) {
		compute_until_told();
		for (int i = 0; i < SHORT_COUNT + LONG_COUNT; i++) {
			ptl_event_t event; /* everything is there already: nothing has to be waited for */
			CHECK_OK(PtlEQGet(in, &event));
		}
		CHECK_PATTERN(far, LONG, 1);
	}
	barrier();
}

static void gets_and_getputs_are_answered_while_the_target_computes(void)
{
	ptl_handle_eq_t out = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	fill_pattern(far, LONG, 2);
	if (am_target())
		open_window(BITS, md_over(far, LONG, options, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (int i = 0; i < SHORT_COUNT + LONG_COUNT; i++) {
			size_t length = i < SHORT_COUNT ? 100 : LONG;
			CHECK_OK(PtlGetRegion(md, 0, length, target_id(), INDEX, 0, BITS, 0));
			CHECK_EQUAL(take(out, PTL_EVENT_REPLY_END).mlength, length);
		}
		CHECK_PATTERN(near, LONG, 2);
		ptl_handle_md_t word = bind_md(md_over(near, 8, PTL_MD_EVENT_START_DISABLE, out));
		CHECK_OK(PtlGetPut(word, word, target_id(), INDEX, 0, BITS, 0, 0));
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_REPLY_END);
		tell();
	}
	if (am_target())
		compute_until_told();
	barrier();
}

/* The initiator, too, may compute: its NIC sends the body of a long put when the target's asks for it. */
static void a_long_put_completes_while_its_initiator_computes(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	fill_pattern(near, LONG, 3);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		put(md, PTL_NO_ACK_REQ, BITS);
		compute_until_told();
		take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(far, LONG, 3);
		tell();
	}
	barrier();
}

/* The process sleeps in a system call; nothing of it runs but the NIC thread. */
static void a_target_that_sleeps_outside_portals_is_served_too(void)
{
	ptl_handle_eq_t out = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (int i = 0; i < 3; i++) {
			struct timespec pause = {0, 20000000}; /* lets the target's NIC thread fall asleep as well */
			nanosleep(&pause, NULL);
			CHECK_OK(
				PtlPutRegion(md, 0, i == 1 ? LONG : 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			take(out, PTL_EVENT_SEND_END);
			take(out, PTL_EVENT_ACK);
		}
	}
	barrier(); /* the target is here all the time, asleep in poll() */
}

#define BYPASS(test)                                                                                                   \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_SEVERAL | TRAIT_NIC_THREAD                 \
	}

const struct test bypass_tests[] = {
	BYPASS(puts_land_and_are_acknowledged_while_the_target_computes),
	BYPASS(gets_and_getputs_are_answered_while_the_target_computes),
	BYPASS(a_long_put_completes_while_its_initiator_computes),
	BYPASS(a_target_that_sleeps_outside_portals_is_served_too),
	{0},
};
