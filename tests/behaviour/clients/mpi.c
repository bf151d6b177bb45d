/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matching layer of an MPI.  Receives are posted by PtlMEMDPost in front of blocks that take what is unexpected;
 * STARTs and ENDs are paired by their links; blocks are replaced when they fill, which the layer works out from offsets:
 * on the Cray XT there are no UNLINK events, and it gives up if it meets one.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/behaviour/clients/clients.h"

#define MESSAGES   FEWER(2000)
#define TAGS       5u
#define BLOCKS     4
#define BLOCK_SIZE 16384u
#define EAGER      2000u /* longest message; a block that has less room left is full */
#define QUEUE      16384
#define STORE      64
#define WINDOW     (4 * TAGS) /* messages under way: one for what is left of a block, 8 of the longest for each other */

/* What arrived before it was asked for. */
struct unexpected {
	uint32_t tag, length, number;
	bool used, complete;
	ptl_seq_t link;
	char bytes[EAGER];
};

static struct unexpected *store;
static unsigned arrivals; /* gives `number`: receives take the oldest */
static ptl_handle_eq_t unexpected_eq, posted_eq;
static ptl_handle_me_t last; /* entry behind the blocks: matches nothing */
static bool cray;

static uint32_t length_of(unsigned i)
{
	return i * 37 % (EAGER + 1);
}

static void post_block(char *bytes)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md = md_over(bytes, BLOCK_SIZE, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, unexpected_eq);
	md.max_size = EAGER;
	md.user_ptr = bytes;
	CHECK_OK(PtlMEInsert(last, anyone, 0, ~0ull, PTL_UNLINK, PTL_INS_BEFORE, &me));
	CHECK_OK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
}

static struct unexpected *free_place(void)
{
	for (int i = 0; i < STORE; i++)
		if (!store[i].used)
			return &store[i];
	FAIL("more than %d messages wait", STORE);
}

static struct unexpected *with_link(ptl_seq_t link)
{
	for (int i = 0; i < STORE; i++)
		if (store[i].used && !store[i].complete && store[i].link == link)
			return &store[i];
	FAIL("an END with link %u without its START", link);
}

static void begin_unexpected(const ptl_event_t *event)
{
	*free_place() = (struct unexpected){
		.tag = (uint32_t)event->match_bits, .used = true, .number = arrivals++, .link = event->link};
}

/* Copies the message out; replaces the block if this was its last one. */
static void end_unexpected(const ptl_event_t *event)
{
	struct unexpected *message = with_link(event->link);
	const char *block = event->md.user_ptr;
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	message->length = (uint32_t)event->mlength;
	message->complete = true;
	memcpy(message->bytes, block + event->offset, event->mlength);
	if (BLOCK_SIZE - event->offset - event->mlength < EAGER)
		post_block(memory(BLOCK_SIZE));
}

static void take_unexpected(void)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(&unexpected_eq, 1, PATIENCE, &event, &which);
	CHECK_RC(rc, PTL_OK);
	if (event.type == PTL_EVENT_PUT_START)
		begin_unexpected(&event);
	else if (event.type == PTL_EVENT_PUT_END)
		end_unexpected(&event);
	else if (event.type != PTL_EVENT_UNLINK || cray)
		FAIL("%s in the queue of unexpected messages", PtlEventKindStr(event.type));
}

static struct unexpected *find(uint32_t tag)
{
	struct unexpected *oldest = NULL;
	for (int i = 0; i < STORE; i++)
		if (store[i].used && store[i].tag == tag && (!oldest || store[i].number < oldest->number))
			oldest = &store[i];
	return oldest;
}

static uint32_t receive_unexpected(struct unexpected *message, char *to)
{
	while (!message->complete)
		take_unexpected();
	memcpy(to, message->bytes, message->length);
	message->used = false;
	return message->length;
}

static uint32_t receive_posted(void)
{
	ptl_seq_t link = take(posted_eq, PTL_EVENT_PUT_START).link;
	ptl_event_t end = take(posted_eq, PTL_EVENT_PUT_END);
	CHECK_EQUAL(end.link, link);
	if (!cray)
		take(posted_eq, PTL_EVENT_UNLINK);
	return (uint32_t)end.mlength;
}

/* Length of the next message with this tag, now in `to`. */
static uint32_t receive(uint32_t tag, ptl_handle_me_t first, char *to)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	struct unexpected *early;
	const ptl_md_t md = with_threshold(md_over(to, EAGER, PTL_MD_OP_PUT, posted_eq), 1);
	int rc;
	while (!(early = find(tag))) {
		rc = PtlMEMDPost(ni, first, anyone, tag, 0, PTL_UNLINK, PTL_INS_AFTER, md, PTL_UNLINK, &me, &handle,
				 unexpected_eq);
		if (rc == PTL_OK)
			return receive_posted();
		CHECK_RC(rc, PTL_MD_NO_UPDATE);
		take_unexpected();
	}
	return receive_unexpected(early, to);
}

static void receive_all(ptl_handle_me_t first)
{
	char *to = memory(EAGER);
	unsigned next[TAGS];
	for (unsigned tag = 0; tag < TAGS; tag++)
		next[tag] = tag;
	/* Tags in another order than they were sent, so that some come early. */
	for (unsigned i = 0; i < MESSAGES / TAGS * TAGS; i++) {
		unsigned tag = (i * 3 + i / TAGS) % TAGS;
		uint32_t length = receive(tag, first, to);
		CHECK_EQUAL(length, length_of(next[tag]));
		CHECK_PATTERN(to, length, next[tag]);
		next[tag] += TAGS;
		if ((i + 1) % WINDOW == 0)
			barrier();
	}
}

/* Each message is a part of one large buffer: its SEND events have the part's offset. */
static void send_all(void)
{
	char *from = memory(STORE * EAGER);
	ptl_handle_eq_t eq = new_eq(QUEUE);
	ptl_handle_md_t md = bind_md(md_over(from, STORE * EAGER, PTL_MD_EVENT_START_DISABLE, eq));
	for (unsigned i = 0; i < MESSAGES / TAGS * TAGS; i++) {
		const uint64_t offset = (uint64_t)(i % STORE) * EAGER;
		fill_pattern(from + offset, length_of(i), i);
		CHECK_OK(PtlPutRegion(md, offset, length_of(i), PTL_ACK_REQ, target_id(), INDEX, 0, i % TAGS, 0, i));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).offset, offset);
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).mlength, length_of(i));
		if ((i + 1) % WINDOW == 0)
			barrier();
	}
}

static void an_mpi_matches_messages(void)
{
	ptl_handle_me_t first = PTL_INVALID_HANDLE;
	const ptl_process_id_t impossible = {0, 0};
	const char *dialect = getenv("PTL_DIALECT");
	cray = dialect && strcmp(dialect, "cray") == 0;
	if (am_target()) {
		store = memory(STORE * sizeof(*store));
		unexpected_eq = new_eq(QUEUE);
		posted_eq = new_eq(QUEUE);
		CHECK_OK(PtlMEAttach(ni, INDEX, impossible, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &first));
		CHECK_OK(PtlMEInsert(first, impossible, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &last));
		for (int i = 0; i < BLOCKS; i++)
			post_block(memory(BLOCK_SIZE));
	}
	barrier();
	if (am_initiator())
		send_all();
	else
		receive_all(first);
}

const struct test mpi_tests[] = {
	TWO(an_mpi_matches_messages),
	{.name = "an_mpi_matches_messages: cray",
	 .run = an_mpi_matches_messages,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL,
	 .environment = "PTL_DIALECT=cray"},
	{0},
};
