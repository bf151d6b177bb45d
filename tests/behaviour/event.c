/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues: order, room, overflow, handlers. */
#include "tests/behaviour/behaviour.h"

#include <pthread.h>
#include <string.h>

#define QUIET (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

/* Puts `count` words to the target, numbered from 0, and waits until the last one is acknowledged. */
static void put_words(unsigned count)
{
	ptl_handle_eq_t eq = new_eq(8);
	uint64_t *words = memory(8 * count);
	ptl_handle_md_t md = bind_md(md_over(words, 8 * count, QUIET, eq));
	for (unsigned i = 0; i < count; i++) {
		words[i] = 1000 + i;
		ptl_ack_req_t ack = i + 1 == count ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
		CHECK_OK(PtlPutRegion(md, 8 * i, 8, ack, target_id(), INDEX, 0, BITS, 8 * i, i));
	}
	take(eq, PTL_EVENT_ACK);
}

static struct window open_words(unsigned count, ptl_handle_eq_t eq, uint64_t **words)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	*words = memory(8 * count);
	return open_window(BITS, md_over(*words, 8 * count, options, eq));
}

static void a_queue_holds_as_many_events_as_were_asked_for(void)
{
	static const unsigned sizes[] = {1, 2, 3, 5, 8, 100, 16384};
	uint64_t *words;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		ptl_handle_eq_t eq = new_eq(sizes[i]);
		struct window window = {0};
		if (am_target())
			window = open_words(sizes[i], eq, &words);
		barrier();
		if (am_initiator())
			put_words(sizes[i]);
		barrier();
		for (unsigned j = 0; j < sizes[i] && am_target(); j++)
			CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, j);
		CHECK_EMPTY(eq);
		if (am_target())
			close_window(window);
		CHECK_OK(PtlEQFree(eq));
		barrier();
	}
}

static void an_overflowing_queue_says_so_once_and_loses_no_data(void)
{
	enum { ROOM = 4, COUNT = 40 };
	ptl_handle_eq_t eq = new_eq(ROOM);
	uint64_t *words = memory(8 * COUNT);
	if (am_target())
		open_words(COUNT, eq, &words);
	for (int round = 0; round < 2; round++) {
		barrier();
		if (am_initiator())
			put_words(COUNT);
		barrier();
		if (!am_target())
			continue;
		ptl_event_t event;
		unsigned got = 1;
		CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_DROPPED);
		CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
		for (ptl_hdr_data_t last = event.hdr_data; PtlEQGet(eq, &event) == PTL_OK; last = event.hdr_data, got++)
			CHECK_EQUAL(event.hdr_data, last + 1);
		CHECK_EMPTY(eq);
		CHECK_LESS(ROOM - 1, got);
		for (unsigned i = 0; i < COUNT; i++)
			CHECK_EQUAL(words[i], 1000 + i);
		memset(words, 0, 8 * COUNT);
		CHECK_EQUAL(drops(), 0);
	}
	barrier();
}

static void poll_and_wait_report_an_overflow_too(void)
{
	ptl_handle_eq_t eq[2] = {new_eq(2), new_eq(2)};
	ptl_event_t event;
	uint64_t *words;
	int which = -1;
	if (am_target())
		open_words(20, eq[1], &words);
	for (int round = 0; round < 2; round++) {
		barrier();
		if (am_initiator())
			put_words(20);
		barrier();
		if (am_target() && round == 0) {
			CHECK_RC(PtlEQPoll(eq, 2, 100, &event, &which), PTL_EQ_DROPPED);
			CHECK_EQUAL(which, 1);
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
		} else if (am_target()) {
			CHECK_RC(PtlEQWait(eq[1], &event), PTL_EQ_DROPPED);
		}
		while (am_target() && PtlEQGet(eq[1], &event) == PTL_OK)
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
	}
	barrier();
}

static void sequence_numbers_of_a_queue_are_consecutive(void)
{
	ptl_handle_eq_t eq = new_eq(32);
	uint64_t *words;
	if (am_target())
		open_words(20, eq, &words);
	barrier();
	if (am_initiator())
		put_words(20);
	barrier();
	if (am_target()) {
		ptl_seq_t last = take(eq, PTL_EVENT_PUT_END).sequence;
		for (int i = 1; i < 20; i++) {
			ptl_seq_t next = take(eq, PTL_EVENT_PUT_END).sequence;
			CHECK_EQUAL(next, last + 1);
			last = next;
		}
	}
	barrier();
}

static void a_queue_without_room_is_no_queue(void)
{
	ptl_handle_eq_t eq = 5;
	CHECK_OK(PtlEQAlloc(ni, 0, PTL_EQ_HANDLER_NONE, &eq));
	CHECK_EQUAL(eq, PTL_EQ_NONE);
}

static void two_descriptors_share_a_queue_in_order_of_arrival(void)
{
	enum { COUNT = 50 };
	ptl_handle_eq_t eq = new_eq(128);
	static char area[8];
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (am_target()) {
		open_window(BITS, md_over(area, 8, options, eq));
		open_window_on(INDEX_SIDE, BITS, md_over(area, 8, options, eq));
	}
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(area, 8, 0, PTL_EQ_NONE));
		for (unsigned i = 0; i < COUNT; i++)
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), i % 3 ? INDEX : INDEX_SIDE, 0, BITS, 0, i));
	}
	for (unsigned i = 0; i < COUNT && am_target(); i++)
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, i);
	barrier();
}

/* ---- Handlers ---- */

static int handled;
static pthread_t handler_thread;
static ptl_event_t handler_event;
static ptl_handle_md_t handler_md = PTL_INVALID_HANDLE;

static void count_event(ptl_event_t *event)
{
	handled++;
	handler_thread = pthread_self();
	handler_event = *event;
}

static void put_again(ptl_event_t *event)
{
	(void)event;
	if (++handled == 1)
		put_word(handler_md, PTL_NO_ACK_REQ, BITS, 0, 2);
}

static void a_handler_is_called_for_each_event_as_it_is_taken(void)
{
	ptl_handle_eq_t eq;
	uint64_t *words;
	CHECK_OK(PtlEQAlloc(ni, 16, count_event, &eq));
	if (am_target())
		open_words(3, eq, &words);
	barrier();
	if (am_initiator())
		put_words(3);
	barrier();
	if (am_target()) {
		ptl_event_t event;
		int which;
		CHECK_EQUAL(handled, 0);
		CHECK_OK(PtlEQGet(eq, &event));
		CHECK_EQUAL(handled, 1);
		CHECK_EQUAL(handler_event.hdr_data, 0);
		CHECK_OK(PtlEQWait(eq, &event));
		CHECK_EQUAL(handled, 2);
		CHECK_OK(PtlEQPoll(&eq, 1, 0, &event, &which));
		CHECK_EQUAL(handled, 3);
		CHECK_EQUAL(handler_event.hdr_data, 2);
		CHECK(pthread_equal(handler_thread, pthread_self()));
		CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
		CHECK_EQUAL(handled, 3);
	}
	barrier();
}

static void a_handler_may_start_operations(void)
{
	ptl_handle_eq_t out, in = new_eq(8);
	static char bytes[8];
	uint64_t *words;
	CHECK_OK(PtlEQAlloc(ni, 16, put_again, &out));
	if (am_target())
		open_words(1, in, &words);
	barrier();
	if (am_initiator()) {
		handler_md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, out));
		put_word(handler_md, PTL_NO_ACK_REQ, BITS, 0, 1);
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_SEND_END);
		CHECK_EQUAL(handled, 2);
	}
	if (am_target()) {
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, 1);
		CHECK_EQUAL(take(in, PTL_EVENT_PUT_END).hdr_data, 2);
	}
	barrier();
}

const struct test event_tests[] = {
	PAIR(a_queue_holds_as_many_events_as_were_asked_for),
	PAIR(an_overflowing_queue_says_so_once_and_loses_no_data),
	PAIR(poll_and_wait_report_an_overflow_too),
	PAIR(sequence_numbers_of_a_queue_are_consecutive),
	ALONE(a_queue_without_room_is_no_queue),
	PAIR(two_descriptors_share_a_queue_in_order_of_arrival),
	PAIR(a_handler_is_called_for_each_event_as_it_is_taken),
	PAIR(a_handler_may_start_operations),
	{0},
};
