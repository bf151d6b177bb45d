/* SPDX-License-Identifier: BSD-3-Clause */
/* When entries and descriptors go, what goes with them, and what keeps them. */
#include "tests/behaviour/behaviour.h"

#include <unistd.h>

static char area[64];

static struct window attach(ptl_unlink_t me_unlink, ptl_unlink_t md_unlink, int threshold, ptl_handle_eq_t eq)
{
	struct window window;
	ptl_md_t md = md_over(area, sizeof area, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq);
	md.threshold = threshold;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, me_unlink, PTL_INS_AFTER, &window.me));
	CHECK_OK(PtlMDAttach(window.me, md, md_unlink, &window.md));
	return window;
}

static void unlinking_an_entry_frees_its_descriptor_whatever_that_says(void)
{
	for (ptl_unlink_t me = PTL_RETAIN; me <= PTL_UNLINK; me++) {
		for (ptl_unlink_t md = PTL_RETAIN; md <= PTL_UNLINK; md++) {
			ptl_handle_eq_t eq = new_eq(4);
			struct window window = attach(me, md, 1, eq);
			CHECK_OK(PtlMEUnlink(window.me));
			CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
			CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
			CHECK_EMPTY(eq); /* explicit unlinks log nothing */
		}
	}
}

static void unlinking_a_descriptor_takes_only_an_unlink_entry_along(void)
{
	ptl_handle_eq_t eq = new_eq(4);
	struct window window = attach(PTL_UNLINK, PTL_RETAIN, 1, eq);
	CHECK_OK(PtlMDUnlink(window.md));
	CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);

	window = attach(PTL_RETAIN, PTL_UNLINK, 1, eq);
	CHECK_OK(PtlMDUnlink(window.md));
	ptl_handle_md_t again;
	CHECK_OK(PtlMDAttach(window.me, md_over(area, 8, 0, eq), PTL_RETAIN, &again));
	CHECK_RC(PtlMDUnlink(window.md), PTL_MD_INVALID);
	CHECK_OK(PtlMEUnlink(window.me));
	CHECK_EMPTY(eq);
}

static void an_unlink_entry_without_descriptor_stays_until_unlinked(void)
{
	ptl_handle_me_t me;
	ptl_sr_value_t length;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlNIStatus(ni, PTL_SR_MLIST_LEN(INDEX), &length));
	CHECK_EQUAL(length, 1);
	CHECK_OK(PtlMEUnlink(me));
}

/* All four combinations of who goes, used up by one put each. */
static void a_used_up_descriptor_goes_if_it_was_told_to_and_its_entry_likewise(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	static char bytes[8];
	for (ptl_unlink_t me = PTL_RETAIN; me <= PTL_UNLINK; me++) {
		for (ptl_unlink_t md = PTL_RETAIN; md <= PTL_UNLINK; md++) {
			struct window window = {0};
			if (am_target())
				window = attach(me, md, 1, eq);
			barrier();
			if (am_initiator())
				put(bind_md(md_over(bytes, 8, 0, PTL_EQ_NONE)), PTL_NO_ACK_REQ, BITS);
			if (am_target()) {
				ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
				if (md == PTL_UNLINK)
					CHECK_EQUAL(take(eq, PTL_EVENT_UNLINK).link, end.link);
				CHECK_RC(PtlMDUnlink(window.md), md == PTL_UNLINK ? PTL_MD_INVALID : PTL_OK);
				CHECK_RC(PtlMEUnlink(window.me), me == PTL_UNLINK ? PTL_ME_INVALID : PTL_OK);
				CHECK_EMPTY(eq);
			}
			barrier();
		}
	}
}

static void a_descriptor_with_threshold_zero_from_the_start_stays(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	struct window window = attach(PTL_UNLINK, PTL_UNLINK, 0, eq);
	ptl_process_id_t self;
	static char bytes[8];
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_OK(PtlPut(bind_md(md_over(bytes, 8, 0, PTL_EQ_NONE)), PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	await_drops(1);
	CHECK_EMPTY(eq);
	CHECK_OK(PtlMDUnlink(window.md));
	CHECK_RC(PtlMEUnlink(window.me), PTL_ME_INVALID);
}

/* The last operation to end may not be the one that used the descriptor up. */
static void auto_unlink_waits_for_the_last_operation_to_end(void)
{
	ptl_handle_eq_t out = new_eq(32), in = new_eq(32);
	char *bytes = memory(LONG), *buffer = memory(4 * LONG);
	if (am_target()) {
		ptl_md_t md = md_over(buffer, 4 * LONG, PTL_MD_OP_PUT, in);
		md.threshold = 4;
		open_mortal_window(BITS, md);
	}
	barrier();
	if (am_initiator()) {
		static const size_t length[] = {LONG, 8, LONG, 8};
		ptl_handle_md_t md = bind_md(md_over(bytes, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (int i = 0; i < 4; i++)
			CHECK_OK(PtlPutRegion(md, 0, length[i], PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, i));
		for (int i = 0; i < 4; i++)
			take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		ptl_seq_t last = 0;
		for (int started = 0, ended = 0; ended < 4;) {
			ptl_event_t event = take_any(in);
			CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
			if (event.type == PTL_EVENT_PUT_START) {
				CHECK_EQUAL(event.hdr_data, started);
				last = event.link;
				started++;
			} else {
				CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
				ended++;
			}
		}
		CHECK_EQUAL(take(in, PTL_EVENT_UNLINK).link, last); /* the operation that used it up */
		CHECK_EMPTY(in);
	}
	barrier();
}

/* First contact with a process that is not there keeps the send, and with it the descriptor, pending. */
static void pending_descriptors_and_their_entries_are_in_use(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	static char bytes[8];
	ptl_process_id_t nobody = {initiator_id().nid, 3000000000u + (unsigned)getpid()};
	struct window window = open_window(BITS, md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlPut(window.md, PTL_NO_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
	CHECK_RC(PtlMDUnlink(window.md), PTL_MD_IN_USE);
	CHECK_RC(PtlMEUnlink(window.me), PTL_ME_IN_USE);
	take_failed(eq, PTL_EVENT_SEND_END);
	CHECK_OK(PtlMDUnlink(window.md));
	CHECK_OK(PtlMEUnlink(window.me));
}

static void a_queue_may_be_freed_before_its_descriptors(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8), other = new_eq(8);
	static char bytes[8];
	struct window window = {0};
	if (am_target()) {
		window = attach(PTL_RETAIN, PTL_RETAIN, PTL_MD_THRESH_INF, in);
		CHECK_OK(PtlEQFree(in));
		in = new_eq(8); /* most likely in the slot of the one just freed */
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, out));
		put(md, PTL_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_ACK);
	}
	barrier();
	CHECK_EMPTY(other);
	if (am_target()) {
		CHECK_EMPTY(in);
		close_window(window);
	}
}

const struct test unlink_tests[] = {
	ALONE(unlinking_an_entry_frees_its_descriptor_whatever_that_says),
	ALONE(unlinking_a_descriptor_takes_only_an_unlink_entry_along),
	ALONE(an_unlink_entry_without_descriptor_stays_until_unlinked),
	PAIR(a_used_up_descriptor_goes_if_it_was_told_to_and_its_entry_likewise),
	ALONE(a_descriptor_with_threshold_zero_from_the_start_stays),
	PAIR(auto_unlink_waits_for_the_last_operation_to_end),
	{.name = "pending_descriptors_and_their_entries_are_in_use",
	 .run = pending_descriptors_and_their_entries_are_in_use,
	 .processes = 1,
	 .traits = TRAIT_NETWORK,
	 .environment = "PTL_CONNECT_TIMEOUT=1s"},
	PAIR(a_queue_may_be_freed_before_its_descriptors),
	{0},
};
