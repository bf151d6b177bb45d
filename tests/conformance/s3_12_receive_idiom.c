/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 3.12 The receive idiom of message passing layers, under fire.
 *
 * Two processes send each other messages and receive them as an MPI would: by tag or by wildcard, each receive the oldest
 * message that it fits.  A match list has three parts: posted receives, a marker, and behind it what catches messages that
 * are not asked for yet: blocks for the data of short ones, and an entry that notes long ones, whose data the receiver
 * then fetches.  A receive is posted before the marker and becomes active only if no message came unexpected meanwhile;
 * otherwise those are looked through first.
 *
 * Which message each receive gets follows from the two orders alone, sending and receiving, whatever the timing.  So the
 * test knows it beforehand: an overtaken, lost or doubled message is one that is not the expected one.
 */
#include "tests/conformance/conformance.h"
#include "tests/conformance/requests.h"

#include <string.h>

static const struct row rows[] = {
	{"3.12/17",
	 "test and update are one step: every message is found on the test queue or in what was activated, once"},
	{"3.12/18", "receives posted so take messages in order, exact or wildcard: none is overtaken"},
	{"3.12/19", "a receive that is not needed any more is taken back by PtlMEUnlink; nothing of it is left"},
	{0},
};

#define CREDITS 64 /* messages that may be under way or unexpected */
#define BATCH   16 /* credits are given back in batches, and whenever the receiver has nothing to do */
#define POSTED  8  /* receives that may be waiting */
#define REACH   16 /* a receive aims at one of so many messages, from the oldest that none aims at */
#define SLOTS   (2 * CREDITS)
#define TAGS    4
#define BLOCKS  3

#define SHORT_MOST 256u
#define LONG_LEAST (LONG / 8)
#define LONG_MOST  (LONG_LEAST + 4096)

#define LONG_BIT    (1ull << 63)
#define CREDIT_BITS (1ull << 62)
#define ANY_TAG     TAGS

/* ---- Messages: everything about one follows from its source and its number ---- */

struct message {
	unsigned tag;
	bool is_long;
	size_t length;
};

static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* What the header of a message carries. */
static uint64_t name_of(unsigned source, uint32_t number)
{
	return (uint64_t)(source + 1) << 32 | number;
}

static struct message describe(unsigned source, uint32_t number)
{
	uint64_t random = scramble(name_of(source, number));
	bool is_long = random % 64 == 0;
	size_t length =
		is_long ? LONG_LEAST + (random >> 20) % (LONG_MOST - LONG_LEAST) : (random >> 20) % (SHORT_MOST + 1);
	return (struct message){.tag = (random >> 40) % TAGS, .is_long = is_long, .length = length};
}

static void compose(uint64_t *words, size_t length, uint64_t name)
{
	uint64_t word = scramble(name + 1);
	for (size_t i = 0; i < (length + 7) / 8; i++)
		words[i] = word += 0x9e3779b97f4a7c15u;
}

static void check_content(const char *bytes, size_t length, uint64_t name)
{
	static uint64_t expected[LONG_MOST / 8];
	compose(expected, length, name);
	if (memcmp(bytes, expected, length) != 0)
		FAIL("message %u of process %u has arrived damaged", (unsigned)name, (unsigned)(name >> 32) - 1);
}

/* ---- Both directions ---- */

/* Both directions together: a million every day in one place, and at night everywhere.  Where NIC threads never sleep
   and have no processors of their own, every call is a change of threads. */
static uint32_t message_count(void)
{
	if (at_night() || (over_transport("ofi:tcp") && in_mode("shared") && !UNDER_SANITIZER))
		return FEWER(1000000);
	return in_mode("dedicated") ? FEWER(10000) : FEWER(50000);
}

enum { MAIN, UNEXPECTED, QUEUES };

static ptl_handle_eq_t queues[QUEUES];
static unsigned peer;
static uint32_t total; /* messages in each direction */

static ptl_match_bits_t bits_of(unsigned source, const struct message *message)
{
	return (message->is_long ? LONG_BIT : 0) | (uint64_t)source << 32 | message->tag;
}

/* ---- Sending ---- */

/* A long message lies open to be fetched until the receiver has taken it, by matching or by fetching. */
struct long_send {
	ptl_handle_md_t md;
	uint64_t *words;
	bool busy, sent, acked, taken;
};

static struct {
	uint32_t next, allowed; /* numbers */
	ptl_handle_md_t md;     /* over the slots of short messages */
	uint64_t (*slots)[SHORT_MOST / 8];
	bool busy[SLOTS];
	struct long_send longs[REACH]; /* as many as a receive may have to see past, or both sides might wait */
} sender;

static bool send_short(uint32_t number, const struct message *message)
{
	uint32_t slot = number % SLOTS;
	if (sender.busy[slot])
		return false;
	sender.busy[slot] = true;
	compose(sender.slots[slot], message->length, name_of((unsigned)my_rank, number));
	CHECK_OK(PtlPutRegion(sender.md, slot * SHORT_MOST, message->length, PTL_NO_ACK_REQ, id_of[peer], INDEX, 0,
			      bits_of((unsigned)my_rank, message), 0, name_of((unsigned)my_rank, number)));
	return true;
}

static bool send_long(uint32_t number, const struct message *message)
{
	struct long_send *slot = sender.longs;
	uint64_t name = name_of((unsigned)my_rank, number);
	ptl_handle_me_t me;
	while (slot < sender.longs + REACH && slot->busy)
		slot++;
	if (slot == sender.longs + REACH)
		return false;
	*slot = (struct long_send){.words = slot->words, .busy = true};
	compose(slot->words, message->length, name);
	ptl_md_t md = md_over(slot->words, message->length, PTL_MD_OP_GET | PTL_MD_EVENT_START_DISABLE, queues[MAIN]);
	md.user_ptr = slot;
	CHECK_OK(PtlMEAttach(ni, INDEX_SIDE, id_of[peer], LONG_BIT | name, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md, PTL_RETAIN, &slot->md));
	CHECK_OK(PtlPut(slot->md, PTL_ACK_REQ, id_of[peer], INDEX, 0, bits_of((unsigned)my_rank, message), 0, name));
	return true;
}

static bool send_next(void)
{
	if (sender.next == total || sender.next == sender.allowed)
		return false;
	const struct message message = describe((unsigned)my_rank, sender.next);
	if (!(message.is_long ? send_long : send_short)(sender.next, &message))
		return false;
	sender.next++;
	return true;
}

static void long_send_moved_on(struct long_send *slot, const ptl_event_t *event)
{
	slot->sent |= event->type == PTL_EVENT_SEND_END;
	slot->acked |= event->type == PTL_EVENT_ACK;
	slot->taken |= event->type == PTL_EVENT_GET_END || (event->type == PTL_EVENT_ACK && event->mlength > 0);
	if (!slot->sent || !slot->acked || !slot->taken)
		return;
	CHECK_OK(PtlMDUnlink(slot->md));
	slot->busy = false;
}

/* ENDs come in any order. */
static void credit_came(uint32_t prefix)
{
	if (prefix + CREDITS > sender.allowed)
		sender.allowed = prefix + CREDITS;
}

static bool all_sent(void)
{
	bool busy = sender.next < total;
	for (int i = 0; i < SLOTS; i++)
		busy |= sender.busy[i];
	for (int i = 0; i < REACH; i++)
		busy |= sender.longs[i].busy;
	return !busy;
}

/* ---- Receiving ---- */

struct receive {
	bool busy;
	unsigned tag;
	uint32_t expected; /* number of the message it must get */
	struct window window;
	char *buffer;
};

/* A message that came before its receive. */
struct surprise {
	bool present, complete;
	ptl_seq_t link;
	struct receive *taker;
	char bytes[SHORT_MOST];
};

static struct {
	uint32_t begun, finished; /* receives */
	uint32_t prefix;          /* all messages before this one have been received */
	uint32_t granted;         /* the prefix the sender knows */
	uint32_t oldest;          /* all messages before this one are expected by a receive, or received */
	uint32_t high;            /* above the numbers of all surprises so far */
	bool expected[SLOTS], received[SLOTS];
	struct surprise surprises[SLOTS];
	struct receive receives[POSTED];
	ptl_handle_me_t marker;
	ptl_handle_md_t credit_md;
	void (*post)(struct receive *);
	unsigned matched, surprised, refused, fetched, unlinks;
} receiver;

/* Half of the time the sender gets no credit before the receiver has posted all it can. */
static bool patient(void)
{
	return receiver.granted >> 8 & 1;
}

static void grant(void)
{
	if (receiver.granted == receiver.prefix)
		return;
	receiver.granted = receiver.prefix;
	CHECK_OK(PtlPut(receiver.credit_md, PTL_NO_ACK_REQ, id_of[peer], INDEX_SIDE, 0, CREDIT_BITS, 0,
			receiver.prefix));
}

static void finish(struct receive *receive, size_t length)
{
	check_content(receive->buffer, length, name_of(peer, receive->expected));
	receive->busy = false;
	receiver.finished++;
	receiver.received[receive->expected % SLOTS] = true;
	for (; receiver.received[receiver.prefix % SLOTS]; receiver.prefix++)
		receiver.received[receiver.prefix % SLOTS] = false;
	if (!patient() && receiver.prefix - receiver.granted >= BATCH)
		grant();
}

/* The sender still has a long message that found no receive. */
static void fetch(struct receive *receive, const struct message *message)
{
	ptl_md_t md = md_over(receive->buffer, message->length, PTL_MD_EVENT_START_DISABLE, queues[MAIN]);
	md.user_ptr = receive;
	receiver.fetched++;
	CHECK_OK(PtlGet(bind_mortal_md(with_threshold(md, 1)), id_of[peer], INDEX_SIDE, 0,
			LONG_BIT | name_of(peer, receive->expected), 0));
}

static void take_surprise(struct receive *receive, struct surprise *surprise)
{
	const struct message message = describe(peer, receive->expected);
	surprise->present = false;
	if (message.is_long) {
		fetch(receive, &message);
		return;
	}
	memcpy(receive->buffer, surprise->bytes, message.length);
	finish(receive, message.length);
}

/* Gives the receive the oldest message that came unexpected and fits. */
static bool claim_surprise(struct receive *receive)
{
	for (uint32_t number = receiver.prefix; number < receiver.high; number++) {
		struct surprise *surprise = &receiver.surprises[number % SLOTS];
		bool fits = receive->tag == ANY_TAG || receive->tag == describe(peer, number).tag;
		if (!surprise->present || surprise->taker || !fits)
			continue;
		CHECK_EQUAL(number, receive->expected);
		receiver.surprised++;
		surprise->taker = receive;
		if (surprise->complete)
			take_surprise(receive, surprise);
		return true;
	}
	return false;
}

static void open_block(char *block)
{
	const ptl_match_bits_t all_but_kind = ~LONG_BIT;
	ptl_md_t md = md_over(block, CREDITS * SHORT_MOST, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, queues[UNEXPECTED]);
	struct window window;
	md.max_size = SHORT_MOST;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, all_but_kind, PTL_UNLINK, PTL_INS_AFTER, &window.me));
	CHECK_OK(PtlMDAttach(window.me, md, PTL_UNLINK, &window.md));
}

static void surprise_began(const ptl_event_t *event, uint32_t number)
{
	CHECK_EQUAL(event->hdr_data, name_of(peer, number));
	CHECK(number >= receiver.high); /* they do not overtake each other */
	receiver.high = number + 1;
	receiver.surprises[number % SLOTS].present = true;
	receiver.surprises[number % SLOTS].complete = false;
	receiver.surprises[number % SLOTS].taker = NULL;
	receiver.surprises[number % SLOTS].link = event->link;
}

static void surprise_ended(const ptl_event_t *event, uint32_t number)
{
	struct surprise *surprise = &receiver.surprises[number % SLOTS];
	const struct message message = describe(peer, number);
	CHECK_EQUAL(event->link, surprise->link);
	CHECK_EQUAL(event->rlength, message.length);
	CHECK_EQUAL(event->mlength, message.is_long ? 0 : message.length);
	if (!message.is_long)
		memcpy(surprise->bytes, (char *)event->md.start + event->offset, message.length);
	surprise->complete = true;
	if (surprise->taker)
		take_surprise(surprise->taker, surprise);
}

static void unexpected_event(const ptl_event_t *event)
{
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	if (event->type == PTL_EVENT_UNLINK) /* the block is full, and all of it has been read */
		open_block(event->md.start);
	else if (event->type == PTL_EVENT_PUT_START)
		surprise_began(event, (uint32_t)event->hdr_data);
	else
		surprise_ended(event, (uint32_t)event->hdr_data);
}

static void read_unexpected(void)
{
	ptl_event_t event;
	int rc;
	while ((rc = PtlEQGet(queues[UNEXPECTED], &event)) == PTL_OK)
		unexpected_event(&event);
	CHECK_RC(rc, PTL_EQ_EMPTY);
}

/* What is matched, and what is ignored of it: always whether the message is long. */
struct pattern {
	ptl_process_id_t id;
	ptl_match_bits_t bits, ignore;
};

static struct pattern pattern_of(const struct receive *receive)
{
	if (receive->tag == ANY_TAG)
		return (struct pattern){anyone, 0, ~0ull};
	return (struct pattern){id_of[peer], (uint64_t)peer << 32 | receive->tag, LONG_BIT};
}

static ptl_md_t descriptor_of(struct receive *receive, int threshold)
{
	ptl_md_t md = md_over(receive->buffer, LONG_MOST, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, queues[MAIN]);
	md.user_ptr = receive;
	return with_threshold(md, threshold);
}

static bool was_refused(int rc)
{
	CHECK(rc == PTL_OK || rc == PTL_MD_NO_UPDATE);
	receiver.refused += rc == PTL_MD_NO_UPDATE;
	return rc == PTL_MD_NO_UPDATE;
}

/* As the specification wants it: post inactive, then activate if nothing came. */
static void post_by_update(struct receive *receive)
{
	const struct pattern pattern = pattern_of(receive);
	ptl_md_t active = descriptor_of(receive, 1);
	CHECK_OK(PtlMEInsert(receiver.marker, pattern.id, pattern.bits, pattern.ignore, PTL_UNLINK, PTL_INS_BEFORE,
			     &receive->window.me));
	CHECK_OK(PtlMDAttach(receive->window.me, descriptor_of(receive, 0), PTL_UNLINK, &receive->window.md));
	while (was_refused(PtlMDUpdate(receive->window.md, NULL, &active, queues[UNEXPECTED]))) {
		read_unexpected();
		if (claim_surprise(receive)) {
			CHECK_OK(PtlMEUnlink(receive->window.me));
			return;
		}
	}
}

static void post_in_one_call(struct receive *receive)
{
	const struct pattern pattern = pattern_of(receive);
	while (was_refused(PtlMEMDPost(ni, receiver.marker, pattern.id, pattern.bits, pattern.ignore, PTL_UNLINK,
				       PTL_INS_BEFORE, descriptor_of(receive, 1), PTL_UNLINK, &receive->window.me,
				       &receive->window.md, queues[UNEXPECTED]))) {
		read_unexpected();
		if (claim_surprise(receive))
			return;
	}
}

/* Decides what the next receive asks for, and finds out what it must get. */
static void aim(struct receive *receive)
{
	uint64_t random = scramble(~name_of(peer, receiver.begun));
	for (; receiver.expected[receiver.oldest % SLOTS]; receiver.oldest++)
		receiver.expected[receiver.oldest % SLOTS] = false;
	uint32_t left = total - receiver.oldest;
	uint32_t number = receiver.oldest + (uint32_t)(random >> 8) % (left < REACH ? left : REACH);
	while (receiver.expected[number % SLOTS])
		number--;
	receive->tag = random & 1 ? ANY_TAG : describe(peer, number).tag;
	for (number = receiver.oldest; receiver.expected[number % SLOTS] ||
				       (receive->tag != ANY_TAG && describe(peer, number).tag != receive->tag);)
		number++;
	receiver.expected[number % SLOTS] = true;
	receive->expected = number;
}

static bool receive_next(void)
{
	struct receive *receive = receiver.receives;
	while (receive < receiver.receives + POSTED && receive->busy)
		receive++;
	if (receive == receiver.receives + POSTED || receiver.begun == total)
		return false;
	receive->busy = true;
	aim(receive);
	receiver.begun++;
	if (!claim_surprise(receive))
		receiver.post(receive);
	return true;
}

/* ---- The exchange ---- */

static void main_event(const ptl_event_t *event)
{
	void *owner = event->md.user_ptr;
	CHECK_EQUAL(event->ni_fail_type, PTL_NI_OK);
	if (event->type == PTL_EVENT_UNLINK) {
		receiver.unlinks++;
	} else if (event->type == PTL_EVENT_PUT_END && !owner) {
		credit_came((uint32_t)event->hdr_data);
	} else if (event->type == PTL_EVENT_PUT_END) {
		CHECK_EQUAL(event->hdr_data, name_of(peer, ((struct receive *)owner)->expected));
		CHECK_EQUAL(event->mlength, describe(peer, (uint32_t)event->hdr_data).length);
		receiver.matched++;
		finish(owner, event->mlength);
	} else if (event->type == PTL_EVENT_REPLY_END) {
		CHECK_EQUAL(event->mlength, describe(peer, ((struct receive *)owner)->expected).length);
		finish(owner, event->mlength);
	} else if (owner) {
		long_send_moved_on(owner, event);
	} else {
		CHECK_EQUAL(event->type, PTL_EVENT_SEND_END);
		sender.busy[event->offset / SHORT_MOST] = false;
	}
}

static bool serve(ptl_time_t timeout)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(queues, QUEUES, timeout, &event, &which);
	if (rc == PTL_EQ_EMPTY)
		return false;
	CHECK_OK(rc);
	(which == MAIN ? main_event : unexpected_event)(&event);
	return true;
}

static void prepare(void (*post)(struct receive *))
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	peer = (unsigned)((my_rank + 1) % process_count);
	receiver.post = post;
	for (int i = 0; i < QUEUES; i++)
		queues[i] = new_eq(16 * SLOTS);
	for (int i = 0; i < REACH; i++)
		sender.longs[i].words = memory(LONG_MOST);
	for (int i = 0; i < POSTED; i++)
		receiver.receives[i].buffer = memory(LONG_MOST);
	sender.slots = memory(SLOTS * SHORT_MOST);
	sender.allowed = CREDITS;
	sender.md = bind_md(md_over(sender.slots, SLOTS * SHORT_MOST, PTL_MD_EVENT_START_DISABLE, queues[MAIN]));
	receiver.credit_md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	CHECK_OK(PtlMEAttach(ni, INDEX, (ptl_process_id_t){0, 0}, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &receiver.marker));
	for (int i = 0; i < BLOCKS; i++)
		open_block(memory(CREDITS * SHORT_MOST));
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, LONG_BIT, ~LONG_BIT, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMDAttach(me, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, queues[UNEXPECTED]), PTL_RETAIN,
			     &md));
	open_window_on(INDEX_SIDE, CREDIT_BITS,
		       md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, queues[MAIN]));
	open_door();
}

/* Nothing is left over, and each way of receiving has been gone. */
static void check_the_books(void)
{
	while (serve(0))
		;
	CHECK_EQUAL(list_length(INDEX), 1 + BLOCKS + 1);
	for (int i = 0; i < SLOTS; i++)
		CHECK(!receiver.surprises[i].present);
	CHECK_EQUAL(receiver.matched + receiver.surprised, total);
	CHECK_EQUAL(receiver.matched + receiver.fetched, receiver.unlinks);
	CHECK_LESS(0, receiver.matched);
	CHECK_LESS(0, receiver.surprised);
	CHECK_LESS(0, receiver.refused);
	CHECK_EQUAL(drops(), 0);
}

/* The first messages come before any receive; the rest as it happens. */
static void exchange_messages(void (*post)(struct receive *))
{
	total = message_count() / (uint32_t)process_count;
	prepare(post);
	barrier();
	while (send_next())
		;
	ping(id_of[peer]);
	barrier();
	while (receiver.finished < total || !all_sent()) {
		while (send_next())
			;
		while (receive_next())
			;
		if (serve(0))
			continue;
		grant();
		if (!serve(PATIENCE))
			FAIL("nothing came within %d ms, with %u of %u received and %u sent", PATIENCE,
			     receiver.finished, total, sender.next);
	}
	ping(id_of[peer]); /* the UNLINK that follows a last END is logged at both sides */
	barrier();
	check_the_books();
	barrier();
}

static void c3_12_receives_activated_by_update_lose_double_and_overtake_nothing(void)
{
	exchange_messages(post_by_update);
}

static void c3_12_receives_posted_in_one_call_lose_double_and_overtake_nothing(void)
{
	exchange_messages(post_in_one_call);
}

/* The time is for a million messages in dedicated mode, on processors that others use as well. */
#define UNDER_FIRE(test, numbers)                                                                                      \
	{                                                                                                              \
		.name = #test, .run = test, .proves = numbers, .processes = 2, .traits = TRAIT_PAIR, .seconds = 1800   \
	}

static const struct test tests[] = {
	UNDER_FIRE(c3_12_receives_activated_by_update_lose_double_and_overtake_nothing, "3.12/17 3.12/18 3.12/19"),
	UNDER_FIRE(c3_12_receives_posted_in_one_call_lose_double_and_overtake_nothing, "2.8/17 3.12/18"),
	{0},
};

const struct chapter receive_idiom_chapter = {
	.title = "3.12 The receive idiom of message passing layers", .rows = rows, .tests = tests};
