/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime of a partitioned global address space: one segment under three descriptors (for others' puts and gets, for its
 * own, and one without events), active messages through a ring of blocks, and event handlers as functions in user_ptr.
 */
#include <string.h>

#include "tests/behaviour/clients/clients.h"

#define SEGMENT_INDEX 38
#define MESSAGE_INDEX 39
#define SEGMENT       (2 * LONG)
#define BLOCK         2048u
#define LARGEST       256u
#define MESSAGES      (100 + FEWER(300)) /* the fewest fill a block, too */

typedef void handler(const ptl_event_t *);

struct node {
	char *segment;
	ptl_handle_eq_t eq, system_eq;
	ptl_handle_md_t open, own, silent;
	unsigned handled, blocks_filled;
	uint64_t expected;
};

static struct node node;

/* An active message: its words are in the block, its number in the match bits above the ones that matched. */
static void handle_message(const ptl_event_t *event)
{
	const char *bytes = (const char *)event->md.start + event->offset;
	CHECK_EQUAL(event->match_bits >> 8, node.expected);
	CHECK_EQUAL(event->match_bits & 0xff, 1);
	CHECK_PATTERN(bytes, event->mlength, (unsigned)node.expected);
	node.expected++;
}

static void handle_own(const ptl_event_t *event)
{
	CHECK_EQUAL(event->match_bits & 0xff, 2);
}

static void post_block(void);

static void dispatch(const ptl_event_t *event)
{
	handler *handle;
	memcpy(&handle, &event->md.user_ptr, sizeof(handle));
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	if (event->type == PTL_EVENT_UNLINK) {
		node.blocks_filled++;
		post_block();
		return;
	}
	handle(event);
	node.handled++;
}

static void *pointer_to(handler *handle)
{
	void *pointer;
	memcpy(&pointer, &handle, sizeof(pointer));
	return pointer;
}

static void poll_once(void)
{
	ptl_event_t event;
	int which;
	CHECK_OK(PtlEQPoll(&node.eq, 1, PATIENCE, &event, &which));
	dispatch(&event);
}

static void post_block(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md =
		md_over(memory(BLOCK), BLOCK,
			PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_AUTO_UNLINK_ENABLE,
			node.eq);
	md.max_size = LARGEST;
	md.user_ptr = pointer_to(handle_message);
	CHECK_OK(PtlMEAttach(ni, MESSAGE_INDEX, anyone, 1, ~0xffull, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
}

static void open_segment(void)
{
	ptl_handle_me_t me;
	ptl_md_t md =
		md_over(node.segment, SEGMENT, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET, node.eq);
	CHECK_OK(PtlMEAttach(ni, SEGMENT_INDEX, anyone, 2, ~0xffull, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md, PTL_RETAIN, &node.open));
	md = md_over(node.segment, SEGMENT, PTL_MD_EVENT_START_DISABLE, node.eq);
	md.user_ptr = pointer_to(handle_own);
	node.own = bind_md(md);
	node.silent = bind_md(md_over(node.segment, SEGMENT, 0, PTL_EQ_NONE));
}

static void await_handled(unsigned count)
{
	while (node.handled < count)
		poll_once();
}

/* Puts from and gets into the segment, at offsets on both sides, all bits told in every event. */
static void reach_over(void)
{
	const uint64_t bits = 0xabc00 | 2;
	fill_pattern(node.segment, LONG, 1);
	node.handled = 0;
	CHECK_OK(PtlPutRegion(node.own, 0, LONG, PTL_ACK_REQ, target_id(), SEGMENT_INDEX, 0, bits, LONG, 0));
	await_handled(2); /* SEND_END and ACK */
	CHECK_OK(PtlGetRegion(node.own, LONG, LONG, target_id(), SEGMENT_INDEX, 0, bits, LONG));
	await_handled(3);
	CHECK_PATTERN(node.segment + LONG, LONG, 1);
	/* Without an event queue nothing is told and no acknowledgement is asked for. */
	CHECK_OK(PtlPutRegion(node.silent, 0, 100, PTL_ACK_REQ, target_id(), SEGMENT_INDEX, 0, bits, 7, 0));
}

static void send_messages(void)
{
	char *words = memory(LARGEST);
	ptl_handle_eq_t eq = new_eq(8);
	ptl_handle_md_t md = bind_md(md_over(words, LARGEST, QUIET, eq));
	for (uint64_t i = 0; i < MESSAGES; i++) {
		const uint64_t length = 8 + i % (LARGEST - 8);
		fill_pattern(words, length, (unsigned)i);
		CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, target_id(), MESSAGE_INDEX, 0, i << 8 | 1, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).match_bits, i << 8 | 1);
		if (i % 8 == 7)
			barrier(); /* two blocks hold so many */
	}
}

static void receive_messages(void)
{
	node.handled = 0;
	for (unsigned i = 0; i < MESSAGES; i++) {
		await_handled(i + 1);
		if (i % 8 == 7)
			barrier();
	}
	CHECK_LESS(0, node.blocks_filled);
}

static void a_runtime_reaches_into_segments(void)
{
	node.segment = memory(SEGMENT);
	node.eq = new_eq(8192);
	open_segment();
	if (am_target()) {
		post_block();
		post_block();
	}
	barrier();
	if (am_initiator())
		reach_over();
	barrier();
	if (am_initiator())
		send_messages();
	else
		receive_messages();
	CHECK_OK(PtlMDUnlink(node.open));
	if (am_target())
		CHECK_PATTERN(node.segment + LONG, LONG, 1);
}

const struct test runtime_tests[] = {
	TWO(a_runtime_reaches_into_segments),
	{0},
};
