/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A byte transport below an MPI.  It switches all START and END events of its sends off and lives on ACKs; receive blocks
 * stand before an entry that truncates everything to nothing, so that a sender that finds no room is told by an ACK
 * without bytes, and sends again.
 */
#include "tests/behaviour/clients/clients.h"

#define MESSAGES   FEWER(3000)
#define BLOCKS     2
#define BLOCK_SIZE 4096u
#define FRAGMENT   400u
#define QUEUE      16384
#define WINDOW     8

struct block {
	unsigned number;
	char bytes[BLOCK_SIZE];
};

static ptl_handle_me_t reject;

static uint32_t length_of(uint64_t i)
{
	return (uint32_t)(1 + i * 13 % FRAGMENT);
}

static void post_block(struct block *block, ptl_handle_eq_t eq)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md =
		md_over(block->bytes, BLOCK_SIZE, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE, eq);
	md.max_size = FRAGMENT;
	md.user_ptr = block;
	CHECK_OK(PtlMEInsert(reject, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, &me));
	CHECK_OK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
}

/* The entry at the end: takes anything, keeps nothing, and no event tells of it. */
static void post_reject(void)
{
	ptl_handle_md_t handle;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &reject));
	CHECK_OK(PtlMDAttach(reject, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE), PTL_RETAIN,
			     &handle));
}

static void receive_all(ptl_handle_eq_t eq)
{
	char seen[3001] = {0};
	for (int received = 0; received < MESSAGES;) {
		ptl_event_t event;
		int which, rc = PtlEQPoll(&eq, 1, PATIENCE, &event, &which);
		CHECK_RC(rc, PTL_OK);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		struct block *block = event.md.user_ptr; /* looked at for every event, UNLINK too */
		CHECK(block != NULL && event.md.start == block->bytes);
		if (event.type == PTL_EVENT_UNLINK) {
			post_block(block, eq);
			continue;
		}
		CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
		CHECK_EQUAL(event.mlength, length_of(event.hdr_data));
		CHECK(event.hdr_data < MESSAGES && !seen[event.hdr_data]);
		CHECK_PATTERN(block->bytes + event.offset, event.mlength, (unsigned)event.hdr_data);
		seen[event.hdr_data] = 1;
		received++;
	}
}

struct fragment {
	uint64_t number;
	char bytes[FRAGMENT];
	ptl_handle_md_t md;
};

static void send_fragment(struct fragment *fragment, ptl_handle_eq_t eq)
{
	ptl_md_t md = md_over(fragment->bytes, length_of(fragment->number), QUIET, eq);
	md.user_ptr = fragment;
	fill_pattern(fragment->bytes, md.length, (unsigned)fragment->number);
	fragment->md = bind_md(md);
	CHECK_OK(PtlPut(fragment->md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, fragment->number));
}

/* True if it was rejected. */
static bool acknowledged(const ptl_event_t *event)
{
	struct fragment *fragment = event->md.user_ptr;
	CHECK_EQUAL(event->type, PTL_EVENT_ACK);
	CHECK_EQUAL(event->rlength, length_of(fragment->number));
	CHECK(event->mlength == event->rlength || event->mlength == 0);
	CHECK_OK(PtlMDUnlink(fragment->md));
	CHECK_RC(PtlMDUnlink(fragment->md), PTL_MD_INVALID); /* it does so twice */
	return event->mlength == 0;
}

static int send_all(ptl_handle_eq_t eq)
{
	struct fragment *fragments = memory(WINDOW * sizeof(*fragments));
	uint64_t next = 0;
	int rejected = 0, open = 0;
	for (; next < WINDOW; open++) {
		fragments[next].number = next;
		send_fragment(&fragments[next++], eq);
	}
	while (open > 0) {
		ptl_event_t event;
		int which;
		CHECK_OK(PtlEQPoll(&eq, 1, PATIENCE, &event, &which));
		struct fragment *fragment = event.md.user_ptr;
		if (acknowledged(&event)) {
			rejected++;
		} else if (next < MESSAGES) {
			fragment->number = next++;
		} else {
			open--;
			continue;
		}
		send_fragment(fragment, eq);
	}
	return rejected;
}

static void a_transport_lives_on_acknowledgements(void)
{
	ptl_handle_eq_t eq = new_eq(QUEUE);
	if (am_target()) {
		post_reject();
		barrier(); /* without a block: everything is rejected, until ... */
		barrier();
		struct block *blocks = memory(BLOCKS * sizeof(*blocks));
		for (unsigned i = 0; i < BLOCKS; i++)
			post_block(&blocks[i], eq);
		barrier();
		receive_all(eq);
		return;
	}
	barrier();
	struct fragment *probe = memory(sizeof(*probe));
	send_fragment(probe, eq);
	ptl_event_t event = take(eq, PTL_EVENT_ACK);
	CHECK(acknowledged(&event));
	barrier();
	barrier();
	send_all(eq);
}

const struct test btl_tests[] = {
	TWO(a_transport_lives_on_acknowledgements),
	{0},
};
