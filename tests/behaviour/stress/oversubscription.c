/* SPDX-License-Identifier: BSD-3-Clause */
/* Many processes, many messages. */
#include "tests/behaviour/stress/stress.h"

#include <string.h>

#define AREA   (64u << 10)
#define ROUNDS FEWER(400)

/* Each puts to and gets from each, in lengths of every kind; what was put is read back. */
static void everybody_talks_to_everybody(void)
{
	unsigned char *far = memory(AREA * MAX_PROCESSES), *near = memory(AREA), *back = memory(AREA);
	ptl_handle_eq_t eq = new_eq(64);
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	uint32_t random = (uint32_t)my_rank + 1;
	open_window(BITS, md_over(far, AREA * MAX_PROCESSES, options, PTL_EQ_NONE));
	ptl_handle_md_t put_md = bind_md(md_over(near, AREA, QUIET, eq));
	ptl_handle_md_t get_md = bind_md(md_over(back, AREA, PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	for (int i = 0; i < ROUNDS; i++) {
		static const uint32_t limits[] = {2, 100, 5000, AREA + 1};
		size_t length = next_random(&random) % limits[next_random(&random) % 4];
		ptl_process_id_t peer = id_of[next_random(&random) % (uint32_t)process_count];
		size_t offset = AREA * (size_t)my_rank;
		fill_pattern(near, length, random);
		CHECK_OK(PtlPutRegion(put_md, 0, length, PTL_ACK_REQ, peer, INDEX, 0, BITS, offset, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).mlength, length);
		CHECK_OK(PtlGetRegion(get_md, 0, length, peer, INDEX, 0, BITS, offset));
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, length);
		CHECK(memcmp(near, back, length) == 0);
	}
	barrier();
	CHECK_EMPTY(eq);
	CHECK_EQUAL(drops(), 0);
}

/* More than any queue in between holds, into a target that looks at none of it before all is sent. */
static void a_flood_of_small_messages_arrives_whole(void)
{
	enum { COUNT = FEWER(40000) };
	uint32_t *words = memory(4 * COUNT), *sources = memory(4 * COUNT);
	ptl_handle_eq_t in = new_eq(8), out = new_eq(8); /* the target's queue overflows: events go, data stays */
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (am_target())
		open_window(BITS, md_over(words, 4 * COUNT, options, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(sources, 4 * COUNT, QUIET, out));
		for (uint32_t i = 0; i < COUNT; i++) {
			sources[i] = i + 1;
			ptl_ack_req_t ack = i + 1 == COUNT ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
			CHECK_OK(PtlPutRegion(md, 4 * i, 4, ack, target_id(), INDEX, 0, BITS, 4 * i, i));
		}
		take(out, PTL_EVENT_ACK);
	}
	barrier();
	if (am_target()) {
		ptl_event_t event;
		CHECK_RC(PtlEQGet(in, &event), PTL_EQ_DROPPED);
		while (event.hdr_data != COUNT - 1)
			event = take(in, PTL_EVENT_PUT_END);
		for (uint32_t i = 0; i < COUNT; i++)
			CHECK_EQUAL(words[i], i + 1);
	}
	barrier();
}

/* Both directions at once, neither side reading before all of its own is sent: a classic deadlock. */
static void floods_in_both_directions_do_not_block_each_other(void)
{
	enum { COUNT = FEWER(3000), LENGTH = 3000 };
	char *far = memory(LENGTH), *near = memory(LENGTH);
	ptl_handle_eq_t eq = new_eq(2 * COUNT);
	int peer = process_count - 1 - my_rank, acks = 0;
	open_window(BITS, md_over(far, LENGTH, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	ptl_handle_md_t put_md = bind_md(md_over(near, LENGTH, QUIET, eq));
	ptl_handle_md_t get_md = bind_md(md_over(near, LENGTH, PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	for (int i = 0; i < COUNT; i++) {
		CHECK_OK(PtlPut(put_md, PTL_ACK_REQ, id_of[peer], INDEX, 0, BITS, 0, 0));
		if (i % 4 == 0)
			CHECK_OK(PtlGet(get_md, id_of[peer], INDEX, 0, BITS, 0));
	}
	for (int i = 0; i < COUNT + (COUNT + 3) / 4; i++) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		acks += event.type == PTL_EVENT_ACK;
	}
	CHECK_EQUAL(acks, COUNT);
	barrier();
}

#define CROWD(test, count)                                                                                             \
	{                                                                                                              \
		.name = #test, .run = test, .processes = count, .traits = TRAIT_PAIR                                   \
	}

const struct test oversubscription_tests[] = {
	CROWD(everybody_talks_to_everybody, 6),
	CROWD(a_flood_of_small_messages_arrives_whole, 2),
	CROWD(floods_in_both_directions_do_not_block_each_other, 2),
	{0},
};
