/* SPDX-License-Identifier: BSD-3-Clause */
/* Order between one pair of processes: requests are matched in the order of the calls, whatever they are. */
#include "tests/behaviour/behaviour.h"

#include <string.h>

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Mostly small, every kind of path a transport may have, up to 1 MiB. */
static size_t mixed_length(uint32_t *state)
{
	static const uint32_t limits[] = {1, 9, 65, 300, 5000, 20000, 70000, 300000, LONG + 1};
	uint32_t kind = next_random(state) % 40;
	return next_random(state) % limits[kind < 36 ? kind / 6 : kind - 32 + 1];
}

/*
 * One stream of bytes is cut into a thousand puts; the target's descriptor places each behind the one before it.  The
 * stream comes out as it went in exactly if every put was matched in turn and moved its own bytes.
 */
static void a_thousand_mixed_size_puts_keep_call_order(void)
{
	enum { COUNT = FEWER(1000) };
	size_t *offset = memory((COUNT + 1) * sizeof *offset);
	uint32_t state = 12345;
	for (int i = 0; i < COUNT; i++)
		offset[i + 1] = offset[i] + mixed_length(&state);
	size_t total = offset[COUNT];
	char *stream = memory(total), *arrived = memory(total);
	ptl_handle_eq_t out = new_eq(2 * COUNT), in = new_eq(2 * COUNT);
	fill_pattern(stream, total, 1);
	if (am_target())
		open_window(BITS, md_over(arrived, total, PTL_MD_OP_PUT, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(stream, total, PTL_MD_EVENT_END_DISABLE, out));
		for (int i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, offset[i], offset[i + 1] - offset[i], PTL_NO_ACK_REQ, target_id(),
					      INDEX, 0, BITS, 0, (ptl_hdr_data_t)i));
		for (int i = 0; i < COUNT; i++)
			CHECK_EQUAL(take(out, PTL_EVENT_SEND_START).hdr_data, i);
	}
	for (int started = 0, ended = 0; ended < COUNT && am_target();) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (event.type == PTL_EVENT_PUT_END) {
			ended++;
			continue;
		}
		CHECK_EQUAL(event.type, PTL_EVENT_PUT_START);
		CHECK_EQUAL(event.hdr_data, started);
		CHECK_EQUAL(event.offset, offset[started]);
		CHECK_EQUAL(event.mlength, offset[started + 1] - offset[started]);
		started++;
	}
	if (am_target())
		CHECK_PATTERN(arrived, total, 1);
	barrier();
}

/* Requests are numbered in their match bits; START events at the target must count up. */
static void starts_of_puts_gets_and_getputs_come_in_call_order(void)
{
	enum { COUNT = FEWER(300) };
	char *near = memory(LONG), *far = memory(LONG);
	ptl_handle_eq_t out = new_eq(8 * COUNT), in = new_eq(4 * COUNT);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	for (ptl_pt_index_t index = INDEX; index < INDEX + 3 && am_target(); index++) {
		ptl_handle_me_t me;
		ptl_handle_md_t md;
		CHECK_OK(PtlMEAttach(ni, index, anyone, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		CHECK_OK(PtlMDAttach(me, md_over(far, LONG, options, in), PTL_RETAIN, &md));
	}
	barrier();
	if (am_initiator()) {
		uint32_t state = 99;
		unsigned expected = 0;
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		ptl_handle_md_t word = bind_md(md_over(near, 8, PTL_MD_EVENT_START_DISABLE, out));
		for (unsigned i = 0; i < COUNT; i++) {
			size_t length = mixed_length(&state);
			ptl_pt_index_t index = INDEX + next_random(&state) % 3;
			int rc;
			switch (next_random(&state) % 3) {
			case 0:
				rc = PtlPutRegion(md, 0, length, PTL_NO_ACK_REQ, target_id(), index, 0, i, 0, 0);
				expected += 1;
				break;
			case 1:
				rc = PtlGetRegion(md, 0, length, target_id(), index, 0, i, 0);
				expected += 1;
				break;
			default:
				rc = PtlGetPut(word, word, target_id(), index, 0, i, 0, 0);
				expected += 2;
			}
			CHECK_OK(rc);
		}
		for (; expected > 0; expected--)
			CHECK_EQUAL(take_any(out).ni_fail_type, PTL_NI_OK);
	}
	for (unsigned started = 0, ended = 0; ended < COUNT && am_target();) {
		ptl_event_t event = take_any(in);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (event.type == PTL_EVENT_PUT_START || event.type == PTL_EVENT_GET_START ||
		    event.type == PTL_EVENT_GETPUT_START)
			CHECK_EQUAL(event.match_bits, started++);
		else
			ended++;
	}
	barrier();
}

/* The target stands still meanwhile, so more answers are outstanding than any NIC lets pass without holding back. */
static void order_holds_while_hundreds_of_answers_are_outstanding(void)
{
	enum { COUNT = 800 };
	ptl_handle_eq_t out = new_eq(4 * COUNT), in = new_eq(4 * COUNT);
	char *near = memory(64), *far = memory(64);
	if (am_target()) {
		ptl_handle_me_t me;
		ptl_handle_md_t md;
		unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_END_DISABLE;
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		CHECK_OK(PtlMDAttach(me, md_over(far, 64, options, in), PTL_RETAIN, &md));
	}
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, 64, PTL_MD_EVENT_START_DISABLE, out));
		knock(target_id());
		stop_process(1);
		for (unsigned i = 0; i < COUNT; i++) /* three that want an answer, one that does not */
			if (i % 4 == 3)
				put(md, PTL_NO_ACK_REQ, i);
			else if (i % 4 == 2)
				put(md, PTL_ACK_REQ, i);
			else
				get(md, i);
		continue_process(1);
		for (unsigned left = COUNT + COUNT / 4; left > 0; left--)
			CHECK_EQUAL(take_any(out).ni_fail_type, PTL_NI_OK);
	}
	for (unsigned i = 0; i < COUNT && am_target(); i++)
		CHECK_EQUAL(take_any(in).match_bits, i);
	barrier();
}

static void messages_of_several_initiators_each_keep_their_order(void)
{
	enum { COUNT = FEWER(300) };
	char *near = memory(LONG), *far = memory(LONG);
	ptl_handle_eq_t in = new_eq(8 * COUNT), out = new_eq(2 * COUNT);
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	if (!am_target() || process_count == 1) {
		uint32_t state = (uint32_t)my_rank;
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
		for (unsigned i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, 0, mixed_length(&state), PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      0, i));
		for (unsigned i = 0; i < COUNT; i++)
			take(out, PTL_EVENT_SEND_END);
	}
	if (am_target()) {
		unsigned next[MAX_PROCESSES] = {0}, senders = process_count == 1 ? 1 : (unsigned)process_count - 1;
		for (unsigned ended = 0; ended < senders * COUNT;) {
			ptl_event_t event = take_any(in);
			CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
			ended += event.type == PTL_EVENT_PUT_END;
			for (int rank = 0; rank < process_count; rank++)
				if (event.type == PTL_EVENT_PUT_START && event.initiator.pid == id_of[rank].pid)
					CHECK_EQUAL(event.hdr_data, next[rank]++);
		}
		CHECK_EMPTY(in);
	}
	barrier();
}

const struct test order_tests[] = {
	PAIR(a_thousand_mixed_size_puts_keep_call_order),
	PAIR(starts_of_puts_gets_and_getputs_come_in_call_order),
	TWO(order_holds_while_hundreds_of_answers_are_outstanding),
	{.name = "messages_of_several_initiators_each_keep_their_order",
	 .run = messages_of_several_initiators_each_keep_their_order,
	 .processes = 4,
	 .traits = TRAIT_PAIR},
	{0},
};
