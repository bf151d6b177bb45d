/* SPDX-License-Identifier: BSD-3-Clause */
/* PTL_HOLD: what others send waits at its senders until the program is ready for it. */
#include "tests/behaviour/behaviour.h"

#include <stdlib.h>

enum { COUNT = 600 }; /* puts, more than may be under way towards a peer at a time */

/* Not PtlEQGet, which says that this process is ready. */
static void work(void)
{
	CHECK_OK(PtlProgress(ni, 0));
}

/* Opens the interface; no process has said anything to another, and this process does not look at event queues by itself. */
static void begin_held(unsigned series)
{
	announce_ids(series);
	open_interface(id_of[my_rank].pid);
	if (in_mode("host"))
		harness_while_waiting(work);
	CHECK_OK(PtlNicReady(ni));
	barrier();
}

static uint64_t notices_received(void)
{
	ptl_nic_counters_t counters;
	CHECK_OK(PtlNicCounters(ni, &counters));
	return counters.notices_received;
}

/* Until a peer's answer to the first contact is there: it has been found, and holds back what we have for it. */
static void await_answer(void)
{
	uint64_t start = now_ns();
	while (notices_received() == 0) {
		work();
		CHECK_LESS(now_ns() - start, PATIENCE * UINT64_C(1000000));
	}
}

static ptl_handle_eq_t send_words(ptl_process_id_t to, int count, unsigned options)
{
	static uint64_t word;
	ptl_handle_eq_t eq = new_eq(2 * COUNT);
	ptl_handle_md_t md = bind_md(md_over(&word, sizeof(word), options, eq));
	for (int i = 0; i < count; i++)
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, to, INDEX, 0, BITS, 0, (ptl_hdr_data_t)i));
	return eq;
}

static ptl_handle_eq_t open_late(void)
{
	static uint64_t word;
	ptl_handle_eq_t eq = new_eq(COUNT);
	open_window(BITS, md_over(&word, sizeof(word),
				  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	return eq;
}

static void take_words(ptl_handle_eq_t eq, int count)
{
	for (int i = 0; i < count; i++)
		CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, i);
	CHECK_EQUAL(drops(), 0);
}

static void take_acks(ptl_handle_eq_t eq, int count)
{
	for (int i = 0; i < count; i++)
		take(eq, PTL_EVENT_ACK);
}

static void puts_held_until_the_first_match_entry_is_there_arrive(void)
{
	ptl_handle_eq_t eq = PTL_EQ_NONE;
	begin_held(0);
	if (am_initiator()) {
		eq = send_words(id_of[1], COUNT, QUIET);
		await_answer();
	}
	barrier();
	if (am_initiator()) {
		take_acks(eq, COUNT);
	} else {
		CHECK_EQUAL(drops(), 0);
		take_words(open_late(), COUNT);
	}
}

/* Each is greeted by the others and greets them, before any of them is ready. */
static void hold_from_each_other(unsigned series)
{
	ptl_handle_eq_t out[MAX_PROCESSES] = {0}, in;
	begin_held(series);
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			out[rank] = send_words(id_of[rank], 20, QUIET);
	if (series % 2) /* otherwise some get ready before others have greeted them */
		await_answer();
	in = open_late();
	for (int i = 0; i < 20 * (process_count - 1); i++)
		take(in, PTL_EVENT_PUT_END);
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			take_acks(out[rank], 20);
	CHECK_EQUAL(drops(), 0);
	barrier();
	harness_while_waiting(NULL);
	PtlFini();
	barrier();
}

static void held_processes_that_put_to_each_other_lose_nothing(void)
{
	for (unsigned series = 0; series < FEWER(4); series++)
		hold_from_each_other(series);
}

/* It looks whether something has come, and waits for no event. */
static void a_held_program_without_event_queues_says_that_it_is_ready(void)
{
	static uint64_t word;
	ptl_nic_counters_t counters = {0};
	begin_held(0);
	if (am_target()) {
		open_window(BITS,
			    md_over(&word, sizeof(word), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET, PTL_EQ_NONE));
		CHECK_RC(PtlNicReadyToReceive(PTL_INVALID_HANDLE), PTL_NI_INVALID);
		CHECK_OK(PtlNicReadyToReceive(ni));
		CHECK_OK(PtlNicReadyToReceive(ni));
		for (uint64_t start = now_ns(); counters.bytes_received == 0; work()) {
			CHECK_LESS(now_ns() - start, PATIENCE * UINT64_C(1000000));
			CHECK_OK(PtlNicCounters(ni, &counters));
		}
		CHECK_EQUAL(word, 1);
	} else {
		uint64_t one = 1;
		ptl_handle_eq_t eq = new_eq(8);
		ptl_handle_md_t md = bind_md(md_over(&one, sizeof(one), QUIET, eq));
		put(md, PTL_ACK_REQ, BITS);
		take(eq, PTL_EVENT_ACK);
	}
}

static void what_is_held_beyond_the_connect_timeout_is_dropped_and_counted(void)
{
	if (my_rank == 1)
		setenv("PTL_CONNECT_TIMEOUT", "1s", 1);
	uint64_t start = now_ns();
	begin_held(0);
	if (am_initiator()) {
		send_words(id_of[1], 3, QUIET);
		return;
	}
	for (; drops() < 3; work())
		CHECK_LESS(now_ns() - start, PATIENCE * UINT64_C(1000000));
	CHECK_LESS(1000000000, now_ns() - start);
}

/* It has been found, so that PTL_CONNECT_TIMEOUT is over; nothing is said to its sender until it is ready. */
static void who_is_held_back_for_long_is_not_told_unreachable(void)
{
	ptl_handle_eq_t eq = PTL_EQ_NONE;
	ptl_event_t event;
	if (my_rank == 0)
		setenv("PTL_CONNECT_TIMEOUT", "3s", 1);
	begin_held(0);
	if (am_initiator()) {
		uint64_t start = now_ns();
		eq = send_words(id_of[1], 1, PTL_MD_EVENT_START_DISABLE);
		await_answer();
		while (now_ns() - start < UINT64_C(3300000000)) {
			CHECK_RC(PtlEQPeek(eq, &event), PTL_EQ_EMPTY);
			work();
		}
	}
	barrier();
	if (am_initiator()) {
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_ACK);
	} else {
		take_words(open_late(), 1);
	}
}

/* Its answers, and the answers to it, are not what it holds back. */
static void a_process_whose_peers_are_held_back_may_put(void)
{
	ptl_handle_eq_t out = PTL_EQ_NONE;
	ptl_event_t event;
	begin_held(0);
	if (am_target()) {
		ptl_handle_eq_t in = open_late();
		CHECK_OK(PtlNicReadyToReceive(ni));
		barrier();
		take_words(in, 20);
		out = send_words(id_of[0], 20, QUIET);
		barrier();
		take_acks(out, 20);
		return;
	}
	barrier();
	out = send_words(id_of[1], 20, QUIET);
	for (uint64_t start = now_ns(); PtlEQPeek(out, &event) != PTL_OK; work())
		CHECK_LESS(now_ns() - start, PATIENCE * UINT64_C(1000000));
	barrier();
	CHECK_EQUAL(drops(), 0);
	take_words(open_late(), 20);
}

static void what_a_process_sends_itself_is_not_held(void)
{
	ptl_event_t event;
	begin_held(0);
	ptl_handle_eq_t in = open_late();
	send_words(id_of[my_rank], 1, QUIET);
	for (uint64_t start = now_ns(); PtlEQPeek(in, &event) != PTL_OK; work())
		CHECK_LESS(now_ns() - start, PATIENCE * UINT64_C(1000000));
	CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
}

/* The usual 30 s are long enough for what is ready at some time. */
#define HELD(test, count, traits_)                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = count, .traits = TRAIT_BARE | (traits_),                      \
		.environment = "PTL_HOLD=1"                                                                            \
	}

const struct test hold_tests[] = {
	HELD(puts_held_until_the_first_match_entry_is_there_arrive, 2, TRAIT_SEVERAL),
	HELD(held_processes_that_put_to_each_other_lose_nothing, 4, TRAIT_SEVERAL),
	HELD(a_held_program_without_event_queues_says_that_it_is_ready, 2, TRAIT_SEVERAL),
	HELD(what_is_held_beyond_the_connect_timeout_is_dropped_and_counted, 2, TRAIT_SEVERAL),
	HELD(who_is_held_back_for_long_is_not_told_unreachable, 2, TRAIT_SEVERAL),
	HELD(a_process_whose_peers_are_held_back_may_put, 2, TRAIT_SEVERAL),
	HELD(what_a_process_sends_itself_is_not_held, 1, 0),
	{0},
};
