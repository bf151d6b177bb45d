/* SPDX-License-Identifier: BSD-3-Clause */
/* 3.11 Event queues: overflow, waiting, handlers. */
#include "tests/conformance/conformance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define LAND (PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE)

static const struct row rows[] = {
	{"3.11/1", "Events leave a queue in the order in which they were put in"},
	{"3.11/2", "Any number of descriptors may share a queue"},
	{"3.11/3", "A queue holds as many unread events as were asked for when it was allocated"},
	{"3.11/4",
	 "A full queue delays and refuses nothing: every operation goes on, data is stored, acknowledgements are "
	 "sent, descriptors are unlinked, nothing is counted as dropped; only events are lost"},
	{"3.11/5",
	 "After a loss the next call that takes an event returns PTL_EQ_DROPPED with it; later ones return PTL_OK "
	 "until events are lost again"},
	{"3.11/6", "PtlEQWait blocks until there is an event"},
	{"3.11/7", "Several threads may wait for one queue: each event is returned to exactly one of them, whichever"},
	{"3.11/8", "PtlEQPoll takes an event of the first queue in the array that has one and says which queue it was"},
	{"3.11/9", "PtlEQPoll with timeout 0 looks once and does not wait"},
	{"3.11/10",
	 "PtlEQPoll with PTL_TIME_FOREVER blocks until there is an event, also if the constant went through an "
	 "int"},
	{"3.11/11",
	 "PtlEQPoll with a timeout in milliseconds waits neither less nor much (a second) longer, and returns as "
	 "soon as an event comes"},
	{"3.11/12", "PtlEQGet and PtlEQPoll leave the event as it was when they return PTL_EQ_EMPTY, but for "
		    "ni_fail_type, which is "
		    "PTL_NI_OK then"},
	{"3.11/13", "All queues of one PtlEQPoll must belong to one interface; otherwise it returns PTL_EQ_INVALID"},
	{"3.11/14",
	 "A queue's handler is called once for each event, between its deposit and the return of the call that "
	 "takes it, which returns the same event; also if that call says PTL_EQ_DROPPED"},
	{"3.11/15",
	 "A handler consumes nothing: every event has still to be taken by PtlEQGet, PtlEQWait or PtlEQPoll"},
	{"3.11/16", "A handler may make any other call that does not block: it is called with nothing locked"},
	{"3.11/17", "The sequence numbers of the events of a queue are all different"},
	{0},
};

static ptl_handle_eq_t new_eq_with(ptl_eq_handler_t handler, ptl_size_t count)
{
	ptl_handle_eq_t eq;
	CHECK_OK(PtlEQAlloc(ni, count, handler, &eq));
	return eq;
}

enum taker { BY_GET, BY_WAIT, BY_POLL, TAKERS };

static int take_by(enum taker taker, ptl_handle_eq_t eq, ptl_event_t *event)
{
	int which = -1, rc;
	switch (taker) {
	case BY_GET:
		return PtlEQGet(eq, event);
	case BY_WAIT:
		return PtlEQWait(eq, event);
	default:
		rc = PtlEQPoll(&eq, 1, 0, event, &which);
		CHECK_EQUAL(which, rc == PTL_EQ_EMPTY ? -1 : 0);
		return rc;
	}
}

/* ---- Messages numbered by their hdr_data: number i goes to i * length at the target ---- */

#define MOST 32 /* of them in one test, but for the one that counts them */

/* All of them are stored and acknowledged when this returns. */
static void put_numbers(unsigned first, unsigned count, size_t length)
{
	ptl_handle_eq_t eq = new_eq(count);
	char *bytes = memory(length);
	fill_pattern(bytes, length, 1);
	ptl_handle_md_t md = bind_md(md_over(bytes, length, QUIET, eq));
	for (unsigned i = first; i < first + count; i++)
		put_word(md, PTL_ACK_REQ, BITS, i * length, i);
	for (unsigned i = 0; i < count; i++)
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).mlength, length);
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlEQFree(eq));
}

/* Only START events are logged: they come in the order of the messages, whatever their length. */
static struct window open_numbers(unsigned count, size_t length, ptl_handle_eq_t eq, char **bytes)
{
	*bytes = memory(count * length);
	return open_window(BITS, md_over(*bytes, count * length, LAND | PTL_MD_EVENT_END_DISABLE, eq));
}

static void c3_11_a_queue_holds_as_many_events_as_were_asked_for(void)
{
	static const unsigned sizes[] = {1, 2, 3, 5, 8, 100, 16384};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ptl_handle_eq_t eq = new_eq(sizes[i]);
		struct window window = {0};
		char *bytes;
		if (am_target())
			window = open_numbers(sizes[i], 8, eq, &bytes);
		barrier();
		if (am_initiator())
			put_numbers(0, sizes[i], 8);
		barrier();
		for (unsigned j = 0; j < sizes[i] && am_target(); j++)
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_START).hdr_data, j);
		CHECK_EMPTY(eq);
		if (am_target())
			close_window(window);
		CHECK_OK(PtlEQFree(eq));
		barrier();
	}
}

/* What a reader of the queue knows: the number of the next message, and how the last event was numbered. */
struct reader {
	ptl_handle_eq_t eq;
	unsigned next;
	ptl_seq_t sequence;
};

/* Takes one event: it says so if, and only if, messages before it went unheard. */
static bool read_one(struct reader *reader)
{
	ptl_event_t event;
	int rc = PtlEQGet(reader->eq, &event);
	if (rc == PTL_EQ_EMPTY)
		return false;
	CHECK_EQUAL(event.type, PTL_EVENT_PUT_START);
	CHECK_LESS((long long)reader->next - 1, event.hdr_data);
	CHECK_RC(rc, event.hdr_data == reader->next ? PTL_OK : PTL_EQ_DROPPED);
	if (reader->next > 0)
		CHECK_EQUAL((ptl_seq_t)(event.sequence - reader->sequence), event.hdr_data + 1 - reader->next);
	reader->next = (unsigned)event.hdr_data + 1;
	reader->sequence = event.sequence;
	return true;
}

static unsigned read_all(struct reader *reader)
{
	unsigned count = 0;
	while (read_one(reader))
		count++;
	return count;
}

/* Fills a queue for `room` events, takes one, and then has `more` messages come than there is room for. */
static void overflow(unsigned room, unsigned more, size_t length)
{
	struct reader reader = {.eq = new_eq(room)};
	struct window window = {0};
	char *bytes = NULL;
	if (am_target())
		window = open_numbers(MOST, length, reader.eq, &bytes);
	barrier();
	if (am_initiator())
		put_numbers(0, room, length);
	barrier();
	CHECK(!am_target() || read_one(&reader));
	CHECK_EQUAL(reader.next, am_target());
	barrier();
	if (am_initiator())
		put_numbers(room, 1 + more, length);
	barrier();
	if (am_target()) {
		CHECK_LESS(room - 1, read_all(&reader));
		CHECK_EQUAL(reader.next, room + 1 + more); /* here it is the oldest that are lost */
		for (unsigned i = 0; i < room + 1 + more; i++)
			CHECK_PATTERN(bytes + i * length, length, 1);
		close_window(window);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static void c3_11_an_overflow_is_told_once_and_loses_no_data(void)
{
	for (unsigned room = 1; room <= 8; room++)
		for (unsigned more = 0; more < 2 * room; more++)
			overflow(room, more, 8);
	overflow(2, 0, LONG);
	overflow(2, 3, LONG);
}

/* Has a queue lose events for each of the calls, which says so once and then takes what is left; `check` sees it all. */
static void lose_events_by_every_call(ptl_handle_eq_t eq, void (*check)(unsigned taken, const ptl_event_t *event))
{
	unsigned taken = 0;
	ptl_event_t event;
	char *bytes;
	if (am_target())
		open_numbers(MOST, 8, eq, &bytes);
	for (enum taker taker = 0; taker < TAKERS; taker++) {
		barrier();
		if (am_initiator())
			put_numbers(0, MOST, 8);
		barrier();
		if (!am_target())
			continue;
		CHECK_RC(take_by(taker, eq, &event), PTL_EQ_DROPPED);
		check(++taken, &event);
		while (event.hdr_data != MOST - 1) {
			CHECK_OK(take_by(taker, eq, &event));
			check(++taken, &event);
		}
		CHECK_EMPTY(eq);
	}
	barrier();
}

static void check_start(unsigned taken, const ptl_event_t *event)
{
	(void)taken;
	CHECK_EQUAL(event->type, PTL_EVENT_PUT_START);
}

static void c3_11_every_call_that_takes_an_event_tells_of_a_loss(void)
{
	lose_events_by_every_call(new_eq(2), check_start);
}

static void c3_11_every_call_takes_the_oldest_event(void)
{
	ptl_handle_eq_t eq = new_eq(MOST);
	ptl_event_t event;
	char *bytes;
	if (am_target())
		open_numbers(MOST, 8, eq, &bytes);
	barrier();
	if (am_initiator())
		put_numbers(0, MOST, 8);
	barrier();
	for (unsigned i = 0; i < MOST && am_target(); i++) {
		CHECK_OK(take_by(i % TAKERS, eq, &event));
		CHECK_EQUAL(event.hdr_data, i);
	}
	CHECK_EMPTY(eq);
	barrier();
}

/* All events of a put but the newest are lost to the initiator, whose descriptor ends as if it had heard of them. */
static void overflow_at_the_initiator(size_t length)
{
	enum { COUNT = 5 };
	ptl_handle_eq_t in = new_eq(2 * COUNT), out = new_eq(1);
	char *bytes = memory(length);
	struct window window = {0};
	if (am_target())
		window = open_window(BITS, md_over(bytes, length, LAND | PTL_MD_EVENT_START_DISABLE, in));
	open_door();
	barrier();
	ptl_md_t md = md_over(bytes, length, 0, out);
	md.threshold = 2 * COUNT;
	ptl_handle_md_t mortal = am_initiator() ? bind_mortal_md(md) : PTL_INVALID_HANDLE;
	for (unsigned i = 0; i < COUNT && am_initiator(); i++)
		put(mortal, PTL_ACK_REQ, BITS);
	for (unsigned i = 0; i < COUNT && am_target(); i++)
		take(in, PTL_EVENT_PUT_END);
	barrier();
	if (am_initiator()) {
		ptl_event_t event;
		int rc;
		ping(target_id()); /* its ACK is behind the others */
		CHECK_RC(PtlEQGet(out, &event), PTL_EQ_DROPPED);
		while ((rc = PtlEQGet(out, &event)) == PTL_OK)
			;
		CHECK_RC(rc, PTL_EQ_EMPTY);
		CHECK_EQUAL(event.type, PTL_EVENT_UNLINK);
		CHECK_RC(PtlMDUnlink(mortal), PTL_MD_INVALID);
	}
	if (am_target())
		close_window(window);
	CHECK_EQUAL(drops(), 0);
	barrier();
}

static void c3_11_a_full_queue_holds_up_no_operation_of_the_initiator(void)
{
	overflow_at_the_initiator(8);
	overflow_at_the_initiator(LONG);
}

static void c3_11_descriptors_share_a_queue_in_order_of_arrival(void)
{
	enum { COUNT = 24 };
	ptl_handle_eq_t eq = new_eq(2 * COUNT);
	char *near = memory(LONG), *far = memory(LONG);
	if (am_target()) {
		open_window(BITS, md_over(far, LONG, LAND, eq));
		open_window_on(INDEX_SIDE, BITS, md_over(far, LONG, LAND, eq));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, 0, PTL_EQ_NONE));
		for (unsigned i = 0; i < COUNT; i++)
			CHECK_OK(PtlPutRegion(md, 0, i % 4 ? 8 : LONG, PTL_NO_ACK_REQ, target_id(),
					      i % 3 ? INDEX : INDEX_SIDE, 0, BITS, 0, i));
	}
	bool ended[COUNT] = {false};
	for (unsigned started = 0, i = 0; i < 2 * COUNT && am_target(); i++) {
		ptl_event_t event = take_any(eq);
		CHECK_EQUAL(event.pt_index, event.hdr_data % 3 ? INDEX : INDEX_SIDE);
		if (event.type == PTL_EVENT_PUT_START) {
			CHECK_EQUAL(event.hdr_data, started);
			started++;
		} else {
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
			CHECK_LESS(event.hdr_data, started);
			CHECK(!ended[event.hdr_data]);
			ended[event.hdr_data] = true;
		}
	}
	CHECK_EMPTY(eq);
	barrier();
}

/* ---- Waiting ---- */

static void c3_11_poll_takes_from_the_first_queue_that_has_an_event(void)
{
	enum { QUEUES = 40 };
	static const unsigned busy[] = {37, 20, 3, 20, 0, 39}, sorted[] = {0, 3, 20, 20, 37, 39};
	ptl_handle_eq_t eq[QUEUES];
	ptl_event_t event;
	int which = -1;
	for (unsigned i = 0; i < QUEUES; i++)
		eq[i] = new_eq(4);
	for (unsigned i = 0; i < QUEUES && am_target(); i++)
		open_window(BITS + i, md_over(NULL, 0, LAND | PTL_MD_EVENT_START_DISABLE, eq[i]));
	open_door();
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE));
		for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++)
			put(md, PTL_NO_ACK_REQ, BITS + busy[i]);
		ping(target_id());
	}
	barrier();
	for (size_t i = 0; i < sizeof(sorted) / sizeof(sorted[0]) && am_target(); i++) {
		CHECK_OK(PtlEQPoll(eq, QUEUES, i % 2 ? 0 : PTL_TIME_FOREVER, &event, &which));
		CHECK_EQUAL(which, sorted[i]);
		CHECK_EQUAL(event.match_bits, BITS + sorted[i]);
	}
	CHECK_RC(PtlEQPoll(eq, QUEUES, 0, &event, &which), PTL_EQ_EMPTY);
	barrier();
}

static void c3_11_poll_waits_as_long_as_it_was_told(void)
{
	static const ptl_time_t timeouts[] = {0, 1, 30, 250};
	ptl_handle_eq_t eq[3] = {new_eq(4), new_eq(4), new_eq(4)};
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		ptl_event_t event;
		int which = -7;
		uint64_t start = now_ns();
		CHECK_RC(PtlEQPoll(eq, 3, timeouts[i], &event, &which), PTL_EQ_EMPTY);
		uint64_t passed = now_ns() - start;
		CHECK_LESS(timeouts[i] * 1000000ull, passed + 1);
		CHECK_LESS(passed, (timeouts[i] + PATIENCE) * 1000000ull);
		CHECK_EQUAL(which, -7);
	}
}

static int poll_a_while(ptl_handle_eq_t eq, ptl_event_t *event)
{
	int which;
	return PtlEQPoll(&eq, 1, 3, event, &which);
}

static int poll_at_once(ptl_handle_eq_t eq, ptl_event_t *event)
{
	int which;
	return PtlEQPoll(&eq, 1, 0, event, &which);
}

/* Old programs look at it whatever the call returned. */
static void c3_11_of_the_event_an_empty_queue_writes_the_failure_alone(void)
{
	static int (*const calls[])(ptl_handle_eq_t, ptl_event_t *) = {PtlEQGet, poll_at_once, poll_a_while};
	ptl_handle_eq_t eq = new_eq(4);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		ptl_event_t event, expected;
		memset(&event, 0xa5, sizeof(event));
		memset(&expected, 0xa5, sizeof(expected));
		expected.ni_fail_type = PTL_NI_OK;
		CHECK_RC(calls[i](eq, &event), PTL_EQ_EMPTY);
		/* Padding counts too: memset() filled it.  NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
		CHECK(memcmp(&event, &expected, sizeof(event)) == 0);
	}
}

/* The target says in shared memory how often it has begun to wait. */
static _Atomic unsigned *waits(void)
{
	return shared_memory();
}

/* The pause makes sure that the target has to wait, most probably; nothing depends on it. */
static void *put_once_the_target_waits(void *argument)
{
	static const struct timespec pause = {0, 20000000};
	const unsigned *number = argument;
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE));
	while (atomic_load(waits()) < *number)
		sched_yield();
	nanosleep(&pause, NULL);
	put_word(md, PTL_NO_ACK_REQ, BITS, 0, *number);
	return NULL;
}

/* The way in which the number-th wait is made. */
static int wait_by(unsigned number, ptl_handle_eq_t eq, ptl_event_t *event)
{
	int forever = (int)PTL_TIME_FOREVER, which;
	switch (number) {
	case 1:
		return PtlEQWait(eq, event);
	case 2:
		return PtlEQPoll(&eq, 1, PTL_TIME_FOREVER, event, &which);
	case 3:
		return PtlEQPoll(&eq, 1, (ptl_time_t)forever, event, &which);
	default:
		return PtlEQPoll(&eq, 1, PATIENCE, event, &which);
	}
}

static void c3_11_a_wait_ends_with_an_event_and_not_before(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(NULL, 0, LAND | PTL_MD_EVENT_START_DISABLE, eq));
	for (unsigned number = 1; number <= 4; number++) {
		pthread_t thread = 0;
		barrier();
		if (am_initiator())
			CHECK(pthread_create(&thread, NULL, put_once_the_target_waits, &number) == 0);
		if (am_target()) {
			ptl_event_t event;
			uint64_t start = now_ns();
			atomic_store(waits(), number);
			CHECK_OK(wait_by(number, eq, &event));
			CHECK_EQUAL(event.hdr_data, number);
			CHECK_LESS(now_ns() - start, PATIENCE * 1000000ull);
			CHECK_EMPTY(eq);
		}
		if (am_initiator())
			pthread_join(thread, NULL);
	}
	barrier();
}

#define WAITERS 4
#define EVENTS  FEWER(4000)
#define ENOUGH  UINT64_MAX /* hdr_data that sends a waiter home */

static struct {
	ptl_handle_eq_t eq;
	_Atomic unsigned taken;
	_Atomic unsigned char *seen;
} shared;

static void note_taken(const ptl_event_t *event)
{
	CHECK_EQUAL(event->type, PTL_EVENT_PUT_END);
	CHECK_LESS(event->hdr_data, EVENTS);
	CHECK_EQUAL(atomic_fetch_add(&shared.seen[event->hdr_data], 1), 0);
	atomic_fetch_add(&shared.taken, 1);
}

static void *wait_for_events(void *argument)
{
	(void)argument;
	for (;;) {
		ptl_event_t event;
		CHECK_OK(PtlEQWait(shared.eq, &event));
		if (event.hdr_data == ENOUGH)
			return NULL;
		note_taken(&event);
	}
}

/* A thread that never waits joins those that do, until all events are taken.  If one is lost, the runner ends it. */
static void get_events(void)
{
	while (atomic_load(&shared.taken) < EVENTS) {
		ptl_event_t event;
		int rc = PtlEQGet(shared.eq, &event);
		if (rc == PTL_OK)
			note_taken(&event);
		else
			CHECK_RC(rc, PTL_EQ_EMPTY);
	}
}

static void c3_11_each_event_goes_to_exactly_one_of_several_waiters(void)
{
	pthread_t threads[WAITERS] = {0};
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE));
	shared.eq = new_eq(EVENTS + WAITERS);
	shared.seen = memory(EVENTS);
	open_door();
	for (int i = 0; i < WAITERS && am_target(); i++)
		CHECK(pthread_create(&threads[i], NULL, wait_for_events, NULL) == 0);
	if (am_target())
		open_window(BITS, md_over(NULL, 0, LAND | PTL_MD_EVENT_START_DISABLE, shared.eq));
	barrier();
	for (unsigned i = 0; i < EVENTS && am_initiator(); i++) {
		put_word(md, PTL_NO_ACK_REQ, BITS, 0, i);
		if (i % 64 == 0)
			ping(target_id()); /* lets the waiters run dry now and then */
	}
	if (am_target())
		get_events();
	barrier();
	for (int i = 0; i < WAITERS && am_initiator(); i++)
		put_word(md, PTL_NO_ACK_REQ, BITS, 0, ENOUGH);
	for (int i = 0; i < WAITERS && am_target(); i++)
		pthread_join(threads[i], NULL);
	CHECK_EMPTY(shared.eq);
	barrier();
}

/* ---- Handlers ---- */

static unsigned handled;
static pthread_t handler_thread;
static ptl_event_t handler_event;

static void count_event(ptl_event_t *event)
{
	handled++;
	handler_thread = pthread_self();
	handler_event = *event;
}

static void check_handled(unsigned count, const ptl_event_t *event)
{
	CHECK_EQUAL(handled, count);
	CHECK_EQUAL(handler_event.type, event->type);
	CHECK_EQUAL(handler_event.hdr_data, event->hdr_data);
	CHECK_EQUAL(handler_event.sequence, event->sequence);
	CHECK(pthread_equal(handler_thread, pthread_self()));
}

static void c3_11_a_handler_is_called_once_for_each_event_that_is_taken(void)
{
	ptl_handle_eq_t eq = new_eq_with(count_event, 16);
	char *bytes;
	if (am_target())
		open_numbers(TAKERS, 8, eq, &bytes);
	barrier();
	if (am_initiator())
		put_numbers(0, TAKERS, 8);
	barrier();
	if (am_target()) {
		ptl_event_t event;
		CHECK_EQUAL(handled, 0);
		for (unsigned i = 0; i < TAKERS; i++) {
			CHECK_OK(take_by(i, eq, &event));
			CHECK_EQUAL(event.hdr_data, i);
			check_handled(i + 1, &event);
		}
		CHECK_EMPTY(eq);
		CHECK_EQUAL(handled, TAKERS);
	}
	barrier();
}

static void c3_11_a_handler_is_called_for_the_event_that_tells_of_a_loss(void)
{
	lose_events_by_every_call(new_eq_with(count_event, 2), check_handled);
}

static ptl_md_t next_md; /* what use_everything() sends next */

/* When the first descriptor has sent: ends it, makes and unmakes objects of every kind, and sends from a new one. */
static void use_everything(ptl_event_t *event)
{
	ptl_process_id_t id;
	ptl_handle_eq_t eq;
	ptl_handle_me_t me, before;
	ptl_handle_md_t md;
	ptl_md_t old;
	if (++handled > 1)
		return;
	CHECK_OK(PtlMDUnlink(event->md_handle));
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_OK(PtlMEAttach(ni, INDEX_SIDE, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	CHECK_OK(PtlMEInsert(me, anyone, BITS, 0, PTL_RETAIN, PTL_INS_BEFORE, &before));
	CHECK_OK(PtlMDAttach(before, next_md, PTL_RETAIN, &md));
	CHECK_OK(PtlMDUpdate(md, &old, &next_md, eq));
	CHECK_OK(PtlMEUnlink(before));
	CHECK_OK(PtlMEUnlink(me));
	CHECK_OK(PtlEQFree(eq));
	CHECK_OK(PtlACEntry(ni, 5, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	put_word(bind_md(next_md), PTL_NO_ACK_REQ, BITS, 0, 2);
}

static void handlers_call_back(size_t length)
{
	ptl_handle_eq_t out = new_eq_with(use_everything, 16), in = new_eq(8);
	char *bytes = memory(length);
	struct window window = {0};
	handled = 0;
	if (am_target())
		window = open_window(BITS, md_over(bytes, length, LAND | PTL_MD_EVENT_START_DISABLE, in));
	barrier();
	if (am_initiator()) {
		next_md = md_over(bytes, length, PTL_MD_EVENT_START_DISABLE, out);
		put_word(bind_md(next_md), PTL_NO_ACK_REQ, BITS, 0, 1);
		take(out, PTL_EVENT_SEND_END);
		CHECK_EQUAL(take(out, PTL_EVENT_SEND_END).hdr_data, 2);
		CHECK_EQUAL(handled, 2);
	}
	if (am_target()) {
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, 1);
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, 2);
		close_window(window);
	}
	barrier();
}

static void c3_11_a_handler_may_make_calls_that_do_not_block(void)
{
	handlers_call_back(8);
	handlers_call_back(LONG);
}

static const struct test tests[] = {
	CASE_ALONE(c3_11_a_queue_holds_as_many_events_as_were_asked_for, "3.11/1 3.11/3 2.5/1"),
	CASE_PAIR(c3_11_an_overflow_is_told_once_and_loses_no_data, "3.11/4 3.11/5 3.11/17 2.5/12"),
	CASE_PAIR(c3_11_every_call_that_takes_an_event_tells_of_a_loss, "3.11/5 2.5/12"),
	CASE_PAIR(c3_11_every_call_takes_the_oldest_event, "3.11/1 2.5/9 2.5/10"),
	CASE_PAIR(c3_11_a_full_queue_holds_up_no_operation_of_the_initiator, "3.11/4"),
	CASE_PAIR(c3_11_descriptors_share_a_queue_in_order_of_arrival, "3.11/1 3.11/2"),
	CASE_PAIR(c3_11_poll_takes_from_the_first_queue_that_has_an_event, "3.11/8"),
	CASE_ALONE(c3_11_poll_waits_as_long_as_it_was_told, "3.11/9 3.11/11 2.5/13"),
	CASE_ALONE(c3_11_of_the_event_an_empty_queue_writes_the_failure_alone, "3.11/12"),
	CASE_PAIR(c3_11_a_wait_ends_with_an_event_and_not_before, "3.11/6 3.11/10 3.11/11 2.5/11"),
	CASE_PAIR(c3_11_each_event_goes_to_exactly_one_of_several_waiters, "3.11/7 2.5/9"),
	CASE_PAIR(c3_11_a_handler_is_called_once_for_each_event_that_is_taken, "3.11/14 3.11/15"),
	CASE_PAIR(c3_11_a_handler_is_called_for_the_event_that_tells_of_a_loss, "3.11/14"),
	CASE_PAIR(c3_11_a_handler_may_make_calls_that_do_not_block, "3.11/16"),
	{0},
};

const struct chapter queueing_chapter = {
	.title = "3.11 Event queues: overflow, waiting, handlers", .rows = rows, .tests = tests};
