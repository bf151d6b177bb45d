/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive blocks of an MPI's byte transfer layer.  A block is one descriptor for so many messages, of any sender.
 * The layer does not count them: the message whose event tells a threshold of 1 marks the block full, and a full block is
 * attached again as soon as it has unlinked itself.  If no event tells 1 the block is lost; when all are, nothing is received
 * any more.  Behind the blocks stands an entry that keeps nothing, so that a sender that finds no room is told by an ACK
 * without bytes, and sends again.  Every process sends to all others.
 */
#include <string.h>

#include "tests/behaviour/clients/clients.h"

#define BLOCKS    4
#define PER_BLOCK 8
#define LONGEST   8192u
#define BLOCK     (PER_BLOCK * LONGEST) /* 64 KiB */
#define WINDOW    8                     /* messages that a process has under way */
#define QUEUE     16384
#define MESSAGES  (at_night() ? 1000000 : FEWER(30000)) /* of all together */
#define MOST      (1000000 / 3 + 1)                     /* of one sender */

struct block {
	bool full, unlinked;
	unsigned ended;
	char bytes[BLOCK];
};

static ptl_handle_me_t reject;
static ptl_handle_eq_t in, out;
static char *seen[MAX_PROCESSES]; /* of each sender's messages */
static int received;

static int messages_of_each(void)
{
	return MESSAGES / process_count;
}

/* Every other one travels with its header, the rest does not. */
static uint32_t length_of(uint64_t i)
{
	return (uint32_t)(i % 2 ? LONGEST - i * 13 % 4096 : 1 + i * 13 % 400);
}

/* Those of a sender go to the others in turn. */
static int receiver_of(int sender, uint64_t i)
{
	return (sender + 1 + (int)(i % (unsigned)(process_count - 1))) % process_count;
}

static int messages_for_us(void)
{
	int count = 0;
	for (int sender = 0; sender < process_count; sender++)
		for (int i = 0; i < messages_of_each() && sender != my_rank; i++)
			count += receiver_of(sender, (uint64_t)i) == my_rank;
	return count;
}

/* ---- Receiving ---- */

static void post_block(struct block *block)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md = md_over(block->bytes, BLOCK,
			      PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_AUTO_UNLINK_ENABLE, in);
	md.user_ptr = block;
	block->full = block->unlinked = false;
	block->ended = 0;
	CHECK_OK(PtlMEInsert(reject, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, &me));
	CHECK_OK(PtlMDAttach(me, with_threshold(md, PER_BLOCK), PTL_UNLINK, &handle));
}

static void open_receiver(void)
{
	static struct block blocks[BLOCKS];
	ptl_handle_md_t handle;
	for (int i = 0; i < process_count; i++)
		seen[i] = memory(MOST);
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &reject));
	CHECK_OK(PtlMDAttach(reject, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE), PTL_RETAIN,
			     &handle));
	for (unsigned i = 0; i < BLOCKS; i++)
		post_block(&blocks[i]);
}

static int rank_of(ptl_process_id_t id)
{
	int rank = 0;
	while (id.nid != id_of[rank].nid || id.pid != id_of[rank].pid)
		CHECK(++rank < process_count);
	return rank;
}

static void receive(const struct block *block, const ptl_event_t *event)
{
	const int sender = rank_of(event->initiator);
	const uint64_t i = event->hdr_data;
	CHECK(i < (uint64_t)messages_of_each() && receiver_of(sender, i) == my_rank);
	CHECK_EQUAL(event->mlength, length_of(i));
	CHECK(!seen[sender][i]);
	CHECK_PATTERN(block->bytes + event->offset, event->mlength, (unsigned)i);
	seen[sender][i] = 1;
	received++;
}

static void arrived(const ptl_event_t *event)
{
	struct block *block = event->md.user_ptr;
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	CHECK(event->md.start == block->bytes);
	if (event->type == PTL_EVENT_UNLINK) {
		CHECK_EQUAL(block->ended, PER_BLOCK);
		block->unlinked = true;
	} else {
		CHECK_EQUAL(event->type, PTL_EVENT_PUT_END);
		receive(block, event);
		block->ended++;
		if (event->md.threshold == 1)
			block->full = true;
	}
	if (block->full && block->unlinked)
		post_block(block);
}

/* ---- Sending ---- */

struct fragment {
	uint64_t number;
	char bytes[LONGEST];
	ptl_handle_md_t md;
};

static uint64_t next_number;
static int under_way;

static void send_fragment(struct fragment *fragment)
{
	ptl_md_t md = md_over(fragment->bytes, length_of(fragment->number), QUIET, out);
	md.user_ptr = fragment;
	fragment->md = bind_md(md);
	CHECK_OK(PtlPut(fragment->md, PTL_ACK_REQ, id_of[receiver_of(my_rank, fragment->number)], INDEX, 0, BITS, 0,
			fragment->number));
}

static void send_next(struct fragment *fragment)
{
	if (next_number >= (uint64_t)messages_of_each())
		return;
	fragment->number = next_number++;
	fill_pattern(fragment->bytes, length_of(fragment->number), (unsigned)fragment->number);
	under_way++;
	send_fragment(fragment);
}

static void acknowledged(const ptl_event_t *event)
{
	struct fragment *fragment = event->md.user_ptr;
	CHECK_EQUAL(event->type, PTL_EVENT_ACK);
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	CHECK_EQUAL(event->rlength, length_of(fragment->number));
	CHECK_OK(PtlMDUnlink(fragment->md));
	if (event->mlength == 0) {
		send_fragment(fragment);
		return;
	}
	CHECK_EQUAL(event->mlength, event->rlength);
	under_way--;
	send_next(fragment);
}

/* No process may wait long for anything: nothing comes any more once the blocks of one process are lost. */
static void receive_blocks(void)
{
	struct fragment *fragments = memory(WINDOW * sizeof(*fragments));
	ptl_handle_eq_t queues[2];
	queues[0] = in = new_eq(QUEUE);
	queues[1] = out = new_eq(QUEUE);
	open_receiver();
	barrier();
	for (int i = 0; i < WINDOW; i++)
		send_next(&fragments[i]);
	uint64_t progress = now_ns();
	for (int before = 0, wanted = messages_for_us(); received < wanted || under_way > 0;) {
		ptl_event_t event;
		int which, rc = PtlEQPoll(queues, 2, PATIENCE, &event, &which);
		CHECK_RC(rc, PTL_OK);
		if (which == 0)
			arrived(&event);
		else
			acknowledged(&event);
		if (received > before || received == wanted) {
			before = received;
			progress = now_ns();
		}
		if (now_ns() - progress > (uint64_t)PATIENCE * 1000000)
			FAIL("%d of %d messages received, and none for %d ms", received, wanted, PATIENCE);
	}
	barrier();
}

#define BLOCK_TEST(sentence, settings)                                                                                 \
	{                                                                                                              \
		.name = #sentence, .run = receive_blocks, .processes = 3, .traits = TRAIT_SEVERAL,                     \
		.environment = "PTL_SHORT_MAX=2K" settings, .seconds = 1200                                            \
	}

const struct test block_tests[] = {
	BLOCK_TEST(a_block_comes_back_when_its_last_message_is_told, ""),
	BLOCK_TEST(a_block_comes_back_in_the_dialect_of_before, " PTL_DIALECT=cray"),
	{0},
};
