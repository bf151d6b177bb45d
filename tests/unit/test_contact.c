/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact when connections break in the middle of it, message by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "offload/dispatch.h"
#include "offload/drive.h"
#include "offload/nic.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"
#include "portals/process.h"
#include "tests/support/scripted.h"
#include "tests/unit/interfaces.h"

enum { INTERFACES = 2, ROUNDS = 40, ROUND_MS = 300, DRIVES = 8 };

static ptl_handle_ni_t ni[INTERFACES];
static ptl_process_id_t id[INTERFACES];
static char memory[8];
static char source[4096], destination[sizeof(source)]; /* longer than a short message */

static int open_interfaces(void **state)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1};

	(void)state;
	open_scripted(&terms, &scripted_blind, INTERFACES, ni, id);
	return 0;
}

static void deliver(unsigned from, unsigned to)
{
	assert_true(scripted_deliver(from, to));
	nic_call(process_ni(ni[to]), drive, NULL);
}

/* Time goes on, and everything that is said arrives. */
static void go_on(void)
{
	scripted_pass_time(ROUND_MS * UINT64_C(1000000));
	for (unsigned i = 0; i < DRIVES * INTERFACES; i++) {
		while (scripted_waiting((i + 1) % INTERFACES, i % INTERFACES))
			deliver((i + 1) % INTERFACES, i % INTERFACES);
		nic_call(process_ni(ni[i % INTERFACES]), drive, NULL);
	}
}

static void tick_often(uint64_t ns, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		scripted_pass_time(ns / times);
		for (unsigned j = 0; j < DRIVES; j++)
			nic_call(process_ni(ni[1]), drive, NULL);
	}
}

static ptl_handle_md_t bind_memory(unsigned which, ptl_handle_eq_t eq)
{
	const ptl_md_t md = {
		.start = memory, .length = sizeof(memory), .threshold = PTL_MD_THRESH_INF, .eq_handle = eq};
	ptl_handle_md_t handle;

	assert_int_equal(PtlMDBind(ni[which], md, PTL_RETAIN, &handle), PTL_OK);
	return handle;
}

static ptl_handle_md_t bind_source(unsigned which, ptl_handle_eq_t eq)
{
	const ptl_md_t md = {
		.start = source, .length = sizeof(source), .threshold = PTL_MD_THRESH_INF, .eq_handle = eq};
	ptl_handle_md_t handle;

	assert_int_equal(PtlMDBind(ni[which], md, PTL_RETAIN, &handle), PTL_OK);
	return handle;
}

/* A window that takes whatever is asked of it. */
static void open_memory_with(unsigned which, ptl_handle_eq_t eq)
{
	const ptl_md_t md = {.start = destination,
			     .length = sizeof(destination),
			     .threshold = PTL_MD_THRESH_INF,
			     .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE,
			     .eq_handle = eq};
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	assert_int_equal(PtlMEAttach(ni[which], 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	assert_int_equal(PtlMDAttach(me, md, PTL_RETAIN, &handle), PTL_OK);
}

static void open_memory(unsigned which)
{
	open_memory_with(which, PTL_EQ_NONE);
}

static ptl_event_t wait_for(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event = {.type = PTL_EVENT_UNLINK};

	for (int round = 0; round < ROUNDS; round++)
		if (PtlEQGet(eq, &event) != PTL_OK)
			go_on();
		else if (event.type == kind)
			return event;
	fail_msg("no %s comes", PtlEventKindStr(kind));
	return event;
}

/*
 * 1 greets 0; the answer is lost with the connection, but not the put that 0 sends behind it; 1, which knows nothing of
 * 0 yet, has no room to say that it dropped it.  The conversation that begins when 1 greets again must not be that one.
 */
static void a_request_behind_a_lost_welcome_does_not_vanish(void **state)
{
	ptl_handle_eq_t eq;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlGet(bind_memory(1, PTL_EQ_NONE), id[0], 0, 0, 0, 0), PTL_OK);
	deliver(1, 0);
	assert_int_equal(scripted_waiting(0, 1), 1);
	scripted_lose(0, 1);
	assert_int_equal(PtlPut(bind_memory(0, eq), PTL_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	scripted_refuse_sends(1, 1);
	deliver(0, 1);
	assert_int_equal(scripted_waiting(1, 0), 0);
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_PEER_DIED);
}

static ptl_handle_eq_t put_to_an_unverified_peer(void)
{
	ptl_handle_eq_t eq;

	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlPut(bind_memory(0, eq), PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	return eq;
}

/* A transport that has no memory for an address now has it later: that is no reason to call the peer unreachable. */
static void an_address_for_which_there_is_no_memory_is_asked_for_again(void **state)
{
	(void)state;
	scripted_starve_resolves(0, 5);
	ptl_handle_eq_t eq = put_to_an_unverified_peer();

	assert_int_equal(scripted_waiting(0, 1), 0);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

static void an_address_for_which_memory_never_comes_is_given_up_at_the_deadline(void **state)
{
	const uint64_t timeout = process_ni(ni[0])->settings->connect_timeout;
	ptl_event_t event;

	(void)state;
	scripted_starve_resolves(0, UINT32_MAX);
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	assert_int_equal(PtlEQGet(eq, &event), PTL_OK);
	assert_int_equal(event.type, PTL_EVENT_SEND_START);
	const uint64_t began = scripted_time();

	while (PtlEQGet(eq, &event) == PTL_EQ_EMPTY) {
		assert_true(scripted_time() - began < 2 * timeout);
		scripted_pass_time(timeout / 64);
		nic_call(process_ni(ni[0]), drive, NULL);
	}
	assert_int_equal(event.ni_fail_type, PTL_NI_UNREACHABLE);
	assert_true(scripted_time() - began >= timeout);
}

/* For longer than any deadline; then 0 reads the clock once, and nothing of what has come. */
static void stand_still_and_look(void)
{
	scripted_pass_time(UINT64_C(3600000000000));
	for (unsigned i = 0; i < DRIVES; i++)
		nic_call(process_ni(ni[0]), drive, NULL);
}

/* A process that stood still beyond the deadline, and looks at the clock before it looks at what has come, has not been let down. */
static void an_answer_that_waits_is_read_before_the_deadline_is_judged(void **state)
{
	ptl_handle_eq_t eq = put_to_an_unverified_peer();

	(void)state;
	deliver(0, 1);
	assert_int_equal(scripted_waiting(1, 0), 1);
	stand_still_and_look();
	deliver(1, 0);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

/* A process that looks once an hour is given as many looks as others, which need a tenth of a second for them. */
static void whoever_never_answers_fails_after_some_looks_beyond_the_deadline(void **state)
{
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	ptl_event_t event;
	int looks = 0;

	(void)state;
	assert_int_equal(PtlEQGet(eq, &event), PTL_OK);
	assert_int_equal(event.type, PTL_EVENT_SEND_START);
	for (; PtlEQGet(eq, &event) == PTL_EQ_EMPTY; looks++)
		stand_still_and_look();
	assert_int_equal(event.ni_fail_type, PTL_NI_UNREACHABLE);
	assert_in_range(looks, 8, 16);
}

static int look_at_the_clock(struct nic *nic, void *unused)
{
	(void)unused;
	nic_timer_at(nic, 0);
	return 0;
}

static uint64_t sleeps_until;

static int go_to_sleep(struct nic *nic, void *unused)
{
	(void)unused;
	return nic_arm(nic, &sleeps_until);
}

/* Another timer of the interface is due between two of the looks. */
static void a_look_that_comes_too_early_does_not_put_off_the_next(void **state)
{
	struct nic *nic = process_ni(ni[0]);

	(void)state;
	put_to_an_unverified_peer();
	stand_still_and_look();
	scripted_pass_time(3000000);
	nic_call(nic, look_at_the_clock, NULL);
	while (nic_call(nic, go_to_sleep, NULL))
		;
	assert_in_range(sleeps_until - monotonic_ns(), 1, 7000000);
}

/* --- unverified peers --- */

static void inject_from(unsigned from, unsigned to, struct wire_message message)
{
	uint8_t bytes[WIRE_MAX_HEADER];

	scripted_inject(from, to, bytes, wire_encode(&message, bytes));
	deliver(from, to);
}

static void inject(unsigned to, struct wire_message message)
{
	inject_from(1, to, message);
}

static void greet_as(uint32_t pid)
{
	inject(0, (struct wire_message){.operation = WIRE_HELLO,
					.source_nid = id[1].nid,
					.source_pid = pid,
					.source_tag = 1,
					.wanted_nid = id[0].nid,
					.wanted_pid = id[0].pid});
}

static int count_peers(struct nic *nic, void *unused)
{
	(void)unused;
	return (int)nic->peers.count;
}

static int peers_of(unsigned which)
{
	return nic_call(process_ni(ni[which]), count_peers, NULL);
}

static void talk(void)
{
	ptl_handle_eq_t eq;

	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlGet(bind_memory(1, eq), id[0], 0, 0, 0, 0), PTL_OK);
	go_on();
}

/* However many names are invented, and however slowly: so many are remembered, and a peer that is there is not forgotten. */
static void invented_processes_are_forgotten_for_the_next(void **state)
{
	const int most = NIC_UNVERIFIED;

	(void)state;
	talk();
	assert_int_equal(peers_of(0), 1);
	for (uint32_t pid = 1; pid <= 3 * NIC_UNVERIFIED; pid++) {
		scripted_pass_time(NIC_UNVERIFIED_NS);
		greet_as(1000 + pid);
		assert_true(peers_of(0) <= most + 1);
	}
	assert_int_equal(peers_of(0), most + 1);
	talk();
	assert_int_equal(peers_of(0), most + 1);
}

/* However slow it is: the answer has left, and no other is where the flood says to be. */
static void who_was_answered_is_not_forgotten_for_who_is_not_there(void **state)
{
	ptl_handle_eq_t eq;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	open_memory(0);
	assert_int_equal(PtlPut(bind_memory(1, eq), PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	deliver(1, 0);
	assert_int_equal(scripted_waiting(0, 1), 1);
	scripted_refuse_sends(0, UINT32_MAX);
	for (uint32_t pid = 1; pid <= 2 * NIC_UNVERIFIED; pid++) {
		scripted_pass_time(NIC_UNVERIFIED_NS);
		greet_as(1000 + pid);
	}
	scripted_refuse_sends(0, 0);
	assert_non_null(peer_find(process_ni(ni[0]), id[1]));
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
}

/* They cost time to answer: so many at once, then so many a second. */
static void no_more_unverified_peers_are_answered_than_can_be_afforded(void **state)
{
	const int burst = NIC_UNVERIFIED_BURST;

	(void)state;
	scripted_pass_time(burst * (uint64_t)NIC_UNVERIFIED_NS); /* quiet until now */
	for (uint32_t pid = 1; pid <= 3 * NIC_UNVERIFIED_BURST; pid++)
		greet_as(1000 + pid);
	assert_int_equal(peers_of(0), burst);
	scripted_pass_time(10 * (uint64_t)NIC_UNVERIFIED_NS);
	for (uint32_t pid = 1; pid <= 100; pid++)
		greet_as(5000 + pid);
	assert_int_equal(peers_of(0), burst + 10);
}

/* --- what a connection takes with it --- */

enum { SHORT_PUT, SHORT_GET, LONG_PUT, LONG_GET, KINDS };

static ptl_handle_eq_t open_queue(unsigned which)
{
	ptl_handle_eq_t eq;

	assert_int_equal(PtlEQAlloc(ni[which], 16, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	return eq;
}

static void ask(int kind, ptl_handle_eq_t eq)
{
	ptl_handle_md_t md = kind < LONG_PUT ? bind_memory(1, eq) : bind_source(1, eq);

	assert_int_equal(kind % 2 ? PtlGet(md, id[0], 0, 0, 0, 0) : PtlPut(md, PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0),
			 PTL_OK);
}

/* The next message between the two, or the end of a read, whichever there is; or nothing, which is false. */
static bool step(void)
{
	for (unsigned to = 0; to < INTERFACES; to++) {
		bool something = scripted_deliver(1 - to, to) || scripted_complete(to, 0, 0);

		nic_call(process_ni(ni[to]), drive, NULL);
		if (something)
			return true;
	}
	return false;
}

/* As wait_for(), but what is read is read well, and a failure will do. */
static ptl_event_t wait_beyond_reads(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event = {.type = PTL_EVENT_UNLINK};

	for (int round = 0; round < ROUNDS && event.type != kind && event.ni_fail_type == PTL_NI_OK;)
		if (PtlEQGet(eq, &event) != PTL_OK && !step()) {
			scripted_pass_time(ROUND_MS * UINT64_C(1000000));
			round++;
		}
	assert_true(event.type == kind || event.ni_fail_type != PTL_NI_OK);
	return event;
}

/*
 * 1 asks 0, and what is on its way after so many steps is lost.  Returns whether anything was.  Both ends are told the
 * end of what they have been told the beginning of, and can talk again.
 */
static bool survives_a_loss_after(int kind, unsigned steps)
{
	ptl_handle_eq_t asked, asks;
	ptl_event_t event;
	int begun = 0;

	open_interfaces(NULL);
	talk();
	asks = open_queue(1);
	asked = open_queue(0);
	open_memory_with(0, asked);
	ask(kind, asks);
	while (steps-- > 0)
		step();
	bool lost = scripted_waiting(0, 1) || scripted_waiting(1, 0);

	scripted_lose(0, 1);
	event = wait_beyond_reads(asks, kind % 2 ? PTL_EVENT_REPLY_END : PTL_EVENT_ACK);
	for (int round = 0; round < ROUNDS; round++) {
		while (step())
			;
		scripted_pass_time(ROUND_MS * UINT64_C(1000000));
	}
	if (!lost)
		assert_int_equal(event.ni_fail_type, PTL_NI_OK);
	while (PtlEQGet(asked, &event) == PTL_OK)
		begun += event.type == PTL_EVENT_PUT_START || event.type == PTL_EVENT_GET_START ? 1 : -1;
	assert_int_equal(begun, 0);
	asks = open_queue(1);
	ask(SHORT_PUT, asks);
	assert_int_equal(wait_beyond_reads(asks, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
	close_interfaces(NULL);
	return lost;
}

/* Both live, and their PINGs are answered. */
static void whatever_a_connection_takes_with_it_both_ends_are_told(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		unsigned losses = 0;

		for (unsigned steps = 0; steps < 16; steps++)
			losses += survives_a_loss_after(kind, steps);
		assert_in_range(losses, 2, 16);
	}
}

/* A peer that talks is not asked whether it lives. */
static void what_is_lost_is_missed_though_the_peer_talks(void **state)
{
	ptl_handle_eq_t eq = open_queue(1);
	ptl_handle_md_t md = bind_memory(0, PTL_EQ_NONE);
	ptl_event_t event = {.type = PTL_EVENT_UNLINK};

	(void)state;
	talk();
	open_memory(0);
	ask(SHORT_PUT, eq);
	scripted_lose(0, 1);
	for (int round = 0; round < ROUNDS && event.type != PTL_EVENT_ACK; round++) {
		assert_int_equal(PtlPut(md, PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
		go_on();
		while (PtlEQGet(eq, &event) == PTL_OK && event.type != PTL_EVENT_ACK)
			;
	}
	assert_int_equal(event.type, PTL_EVENT_ACK);
	assert_int_equal(event.ni_fail_type, PTL_NI_PEER_DIED);
}

/* Whose way is full at every look, and free in between: it asks behind what waits. */
static void what_is_lost_is_missed_though_answers_wait(void **state)
{
	ptl_handle_eq_t eq = open_queue(1), other = open_queue(0);
	ptl_handle_md_t md = bind_memory(0, other);
	ptl_event_t event = {.type = PTL_EVENT_UNLINK};

	(void)state;
	talk();
	open_memory(0);
	open_memory(1);
	ask(SHORT_PUT, eq);
	deliver(1, 0);
	scripted_lose(0, 1);
	for (int round = 0; round < ROUNDS && event.type != PTL_EVENT_ACK; round++) {
		scripted_fill_sends(1, UINT32_MAX);
		assert_int_equal(PtlPut(md, PTL_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
		deliver(0, 1);
		tick_often(ROUND_MS * UINT64_C(1000000), 1);
		scripted_fill_sends(1, 0);
		tick_often(0, 1);
		while (scripted_waiting(1, 0))
			deliver(1, 0);
		while (scripted_waiting(0, 1))
			deliver(0, 1);
		while (PtlEQGet(eq, &event) == PTL_OK && event.type != PTL_EVENT_ACK)
			;
	}
	assert_int_equal(event.type, PTL_EVENT_ACK);
	assert_int_equal(event.ni_fail_type, PTL_NI_PEER_DIED);
}

/* They are repeated. */
static void questions_that_are_lost_harm_nobody(void **state)
{
	ptl_handle_eq_t eq = open_queue(1);

	(void)state;
	open_memory(0);
	talk();
	ask(LONG_PUT, eq);
	deliver(1, 0);
	for (int round = 0; round < ROUNDS; round++) {
		scripted_pass_time(ROUND_MS * UINT64_C(1000000));
		for (unsigned i = 0; i < INTERFACES; i++)
			nic_call(process_ni(ni[i]), drive, NULL);
		if (round % 3 && scripted_waiting(1, 0))
			deliver(1, 0);
		scripted_lose(0, 1);
	}
	assert_int_equal(wait_beyond_reads(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
}

static unsigned pings;

static void count_ping(struct scripted_message *message, bool taken)
{
	struct wire_message sent;

	if (taken && message->from == 1 && wire_decode(message->bytes, message->length, &sent) == 0 &&
	    sent.operation == WIRE_PING)
		pings++;
}

/* PINGs in so many seconds in which a long put is not read, by a peer that is alive. */
static unsigned pings_within(unsigned seconds, uint64_t pause)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1, .ping_pause = pause};
	struct scripted_observer observer = scripted_blind;
	ptl_handle_eq_t eq;

	observer.sending = count_ping;
	pings = 0;
	open_scripted(&terms, &observer, INTERFACES, ni, id);
	talk();
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	open_memory(0);
	assert_int_equal(PtlPut(bind_source(1, eq), PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	for (unsigned round = 0; round < seconds * 1000 / ROUND_MS; round++)
		go_on();
	close_interfaces(NULL);
	return pings;
}

/* A transport that would be disturbed by them gets fewer. */
static void pings_keep_the_pause_that_the_transport_wants(void **state)
{
	(void)state;
	assert_in_range(pings_within(30, 0), 15, 30);
	assert_in_range(pings_within(30, 5000000000u), 5, 6);
}

/* What has been asked for just now is not missing: of a peer that talks, only what it owes for a PING's interval is asked for. */
static void who_talks_and_answers_is_asked_nothing(void **state)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1};
	struct scripted_observer observer = scripted_blind;
	ptl_handle_md_t md;

	(void)state;
	observer.sending = count_ping;
	open_scripted(&terms, &observer, INTERFACES, ni, id);
	talk();
	open_memory(0);
	md = bind_memory(0, PTL_EQ_NONE);
	pings = 0;
	for (int round = 0; round < ROUNDS; round++) {
		ask(SHORT_PUT, open_queue(1));
		assert_int_equal(PtlPut(md, PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
		deliver(0, 1);
		tick_often(ROUND_MS * UINT64_C(1000000), 1);
		go_on();
	}
	assert_int_equal(pings, 0);
	close_interfaces(NULL);
}

/* When what a silent peer owes fails, ns; `requests`: how much that is. */
static uint64_t failed_after(const char *timeout, uint64_t pause, unsigned requests)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1, .ping_pause = pause};
	ptl_handle_eq_t eq;
	ptl_event_t event = {.type = PTL_EVENT_SEND_END};

	setenv("PTL_PEER_TIMEOUT", timeout, 1);
	open_scripted(&terms, &scripted_blind, INTERFACES, ni, id);
	unsetenv("PTL_PEER_TIMEOUT");
	talk();
	peer_find(process_ni(ni[1]), id[0])->abilities = WIRE_HAS_NIC_THREAD;
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	ptl_handle_md_t md = bind_memory(1, eq);

	for (unsigned i = 0; i < requests; i++)
		assert_int_equal(PtlPut(md, PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	uint64_t begun = scripted_time();

	while (event.type != PTL_EVENT_ACK && scripted_time() - begun < UINT64_C(100000000000)) {
		tick_often(UINT64_C(100000000), 10);
		scripted_lose(1, 0);
		PtlEQGet(eq, &event);
	}
	assert_int_equal(event.ni_fail_type, PTL_NI_PEER_DIED);
	close_interfaces(NULL);
	return scripted_time() - begun;
}

/* Though fewer PINGs fit into it where the transport wants pauses. */
static void silence_is_death_when_the_timeout_says_so(void **state)
{
	static const uint64_t pauses[] = {0, 5000000000u};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_in_range(failed_after("2s", pauses[i], 1), 2000000000u, 2800000000u);
		assert_in_range(failed_after("12s", pauses[i], 1), 12000000000u, 12800000000u);
		assert_in_range(failed_after("60s", pauses[i], 1), 60000000000u, 60800000000u);
	}
}

/* A reader of our memory counts on that (NIC_DOUBT_NS), also while requests that wait make the timers run often. */
static void no_silence_is_death_within_a_second(void **state)
{
	(void)state;
	assert_in_range(failed_after("200ms", 0, 1), 1000000000u, 1800000000u);
	assert_in_range(failed_after("200ms", 0, PEER_WINDOW + 1), 1000000000u, 1800000000u);
}

static int count_operations(struct nic *nic, void *unused)
{
	(void)unused;
	return (int)nic->objects.operations.live;
}

/* As it comes from 1, in the conversation with 0. */
static struct wire_message said_by_1(enum wire_operation what)
{
	const struct peer *peer = peer_find(process_ni(ni[0]), id[1]); /* nothing else runs: host mode */

	assert_non_null(peer);
	return (struct wire_message){.operation = (uint8_t)what,
				     .source_nid = id[1].nid,
				     .source_pid = id[1].pid,
				     .source_tag = peer->remote_tag,
				     .target_tag = peer->local_tag};
}

/* A peer that asks and asks, and takes no answers, holds no more than its share; half of it is for what is said only once. */
static void what_one_peer_can_hold_is_bounded(void **state)
{
	struct wire_message put;

	(void)state;
	talk();
	put = said_by_1(WIRE_PUT);
	put.flags = WIRE_WANTS_ACK;
	scripted_refuse_sends(0, UINT32_MAX);
	for (int i = 0; i < 2 * PEER_OWED_MAX; i++)
		inject(0, said_by_1(WIRE_PING));
	assert_int_equal(nic_call(process_ni(ni[0]), count_operations, NULL), PEER_NOTICE_MAX);
	for (int i = 0; i < 2 * PEER_OWED_MAX; i++)
		inject(0, put);
	assert_int_equal(nic_call(process_ni(ni[0]), count_operations, NULL), PEER_OWED_MAX);
}

/* The peer that it is meant for asks, and so hears of it; people can see it in the count of drops. */
static void an_answer_that_finds_no_place_is_missed(void **state)
{
	ptl_handle_eq_t eq = open_queue(1);
	ptl_nic_counters_t before, after;
	struct peer *peer;

	(void)state;
	talk();
	open_memory(0);
	peer = peer_find(process_ni(ni[0]), id[1]);
	assert_int_equal(PtlNicCounters(ni[0], &before), PTL_OK);
	peer->owed += PEER_OWED_MAX;
	scripted_refuse_sends(0, 1);
	ask(SHORT_PUT, eq);
	deliver(1, 0);
	peer->owed -= PEER_OWED_MAX;
	assert_int_equal(PtlNicCounters(ni[0], &after), PTL_OK);
	assert_int_equal(after.drops - before.drops, 1);
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_PEER_DIED);
}

/* As good as lost on it. */
static void an_answer_that_finds_no_way_is_missed(void **state)
{
	ptl_handle_eq_t eq = open_queue(1);

	(void)state;
	talk();
	open_memory(0);
	scripted_fail_sends(0, 2); /* at once, and from the queue */
	ask(SHORT_PUT, eq);
	deliver(1, 0);
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_PEER_DIED);
}

/* --- how many operations each may hold --- */

static unsigned ask_until_refused(ptl_process_id_t whom)
{
	ptl_handle_md_t md = bind_memory(0, PTL_EQ_NONE);
	unsigned count = 0;
	int code;

	while ((code = PtlGet(md, whom, 0, 0, 0, 0)) == PTL_OK)
		count++;
	assert_int_equal(code, PTL_NO_SPACE);
	return count;
}

/* A process that is there and never answers, because nothing drives it. */
static ptl_process_id_t open_mute(void)
{
	ptl_handle_ni_t mute;
	ptl_process_id_t mute_id;

	assert_int_equal(PtlNIInit(INTERFACES, SCRIPTED_PID + INTERFACES, NULL, NULL, &mute), PTL_OK);
	assert_int_equal(PtlNicReady(mute), PTL_OK);
	assert_int_equal(PtlGetId(mute, &mute_id), PTL_OK);
	return mute_id;
}

/* A peer that is waited for gets half of what is left, so that there is always something left. */
static void requests_that_wait_leave_room_for_others(void **state)
{
	(void)state;
	assert_int_equal(ask_until_refused(open_mute()), NIC_MAX_REQUESTS / 2);
	assert_int_equal(ask_until_refused(id[1]), NIC_MAX_REQUESTS / 4);
	assert_int_equal(ask_until_refused(id[0]), NIC_MAX_REQUESTS / 8);
}

static void check_swap_answered_late(ptl_handle_eq_t eq)
{
	ptl_handle_md_t old = bind_memory(1, eq), new = bind_source(1, PTL_EQ_NONE);

	memset(memory, 'm', sizeof(memory));
	memset(source, 's', sizeof(source));
	memset(destination, 'd', sizeof(destination));
	scripted_refuse_sends(0, 3);
	assert_int_equal(PtlGetPutRegion(old, 0, new, 0, sizeof(memory), id[0], 0, 0, 0, 0, 0), PTL_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_OK);
	assert_memory_equal(memory, "dddddddd", sizeof(memory));
	assert_memory_equal(destination, "ssssssssd", sizeof(memory) + 1);
}

static void an_answer_has_a_place_though_requests_have_taken_all_of_theirs(void **state)
{
	ptl_handle_eq_t eq;

	(void)state;
	talk();
	open_memory(0);
	ask_until_refused(open_mute());
	assert_int_equal(PtlEQAlloc(ni[1], 16, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	scripted_refuse_sends(0, 3);
	assert_int_equal(PtlPut(bind_memory(1, eq), PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
	scripted_refuse_sends(0, 3);
	assert_int_equal(PtlPut(bind_source(1, eq), PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	for (unsigned read = 0; read < sizeof(source) / 1024; read++) {
		while (!scripted_complete(0, 0, 0))
			go_on();
		nic_call(process_ni(ni[0]), drive, NULL);
	}
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
	scripted_refuse_sends(0, 3);
	assert_int_equal(PtlGet(bind_memory(1, eq), id[0], 0, 0, 0, 0), PTL_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_OK);
	check_swap_answered_late(eq);
}

static int take_all_operations(struct nic *nic, void *unused)
{
	(void)unused;
	nic->objects.operations.capacity = nic->objects.operations.used;
	while (pool_take(&nic->objects.operations))
		;
	return 0;
}

/* It is asked again. */
static void a_question_for_which_there_is_no_operation_breaks_nothing(void **state)
{
	ptl_handle_eq_t eq = open_queue(1);

	(void)state;
	talk();
	open_memory(0);
	ask(SHORT_PUT, eq);
	nic_call(process_ni(ni[1]), take_all_operations, NULL);
	for (int round = 0; round < 8; round++) {
		scripted_refuse_sends(1, 1);
		tick_often(ROUND_MS * UINT64_C(1000000), 1);
	}
	scripted_refuse_sends(1, 0);
	assert_int_equal(wait_for(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
}

/* All peers together may hold more than there is: none has broken a rule, so nothing may vanish. */
static void what_cannot_be_served_at_all_fails_at_its_sender(void **state)
{
	ptl_handle_eq_t eq;

	(void)state;
	talk();
	open_memory(0);
	nic_call(process_ni(ni[0]), take_all_operations, NULL);
	assert_int_equal(PtlEQAlloc(ni[1], 16, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlPut(bind_source(1, eq), PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_PEER_DIED);
}

/* --- peers that are gone are forgotten --- */

static void drive_often(unsigned which)
{
	for (unsigned i = 0; i < 4 * DRIVES; i++)
		nic_call(process_ni(ni[which]), drive, NULL);
}

/* 1 does, owing 0 something. */
static void die_before_answering(void)
{
	assert_int_equal(PtlGet(bind_memory(0, PTL_EQ_NONE), id[1], 0, 0, 0, 0), PTL_OK);
	scripted_lose(0, 1);
	scripted_gone(0, 1);
	nic_call(process_ni(ni[0]), drive, NULL);
	scripted_pass_time(ROUND_MS * UINT64_C(1000000)); /* what was cut has settled */
	drive_often(0);
}

static void who_is_gone_is_forgotten_with_its_address(void **state)
{
	(void)state;
	talk();
	assert_int_equal(peers_of(0), 1);
	assert_int_equal(scripted_users(0, 1), 1);
	die_before_answering();
	assert_int_equal(peers_of(0), 0);
	assert_int_equal(scripted_users(0, 1), 0);
	talk(); /* the other side goes on, is told, */
	talk(); /* and begins anew */
	assert_int_equal(peers_of(0), 1);
	assert_int_equal(scripted_users(0, 1), 1);
	assert_int_equal(scripted_users(1, 0), 1);
}

static void who_never_answers_is_forgotten_with_its_address(void **state)
{
	(void)state;
	open_mute();
	assert_int_equal(PtlGet(bind_memory(0, PTL_EQ_NONE), (ptl_process_id_t){id[0].nid, SCRIPTED_PID + INTERFACES},
				0, 0, 0, 0),
			 PTL_OK);
	assert_int_equal(peers_of(0), 1);
	for (int i = 0; i < 16; i++) {
		scripted_pass_time(UINT64_C(60000000000));
		drive_often(0);
	}
	assert_int_equal(peers_of(0), 0);
	assert_int_equal(scripted_users(0, INTERFACES), 0);
}

/* A call that fails for want of room leaves nothing behind: neither do a million, of other processes each. */
static void who_was_named_in_vain_is_forgotten(void **state)
{
	ptl_handle_md_t md = bind_memory(0, PTL_EQ_NONE);

	(void)state;
	nic_call(process_ni(ni[0]), take_all_operations, NULL);
	for (uint32_t pid = 1000; pid < 1100; pid++)
		assert_int_equal(PtlGet(md, (ptl_process_id_t){id[0].nid, pid}, 0, 0, 0, 0), PTL_NO_SPACE);
	scripted_pass_time(ROUND_MS * UINT64_C(1000000));
	drive_often(0);
	assert_int_equal(peers_of(0), 0);
}

/* What was said in the conversation before is told so, and has no effect in the next one. */
static void what_a_forgotten_process_had_said_is_stale(void **state)
{
	struct wire_message put = {.operation = WIRE_PUT, .source_nid = id[1].nid, .source_pid = id[1].pid};
	const struct peer *peer;
	ptl_nic_counters_t before, after;

	(void)state;
	open_memory(0);
	talk();
	peer = peer_find(process_ni(ni[0]), id[1]);
	put.source_tag = peer->remote_tag;
	put.target_tag = peer->local_tag;
	die_before_answering();
	assert_int_equal(PtlNicCounters(ni[0], &before), PTL_OK);
	inject(0, put);
	talk();
	go_on();
	inject(0, put);
	assert_int_equal(PtlNicCounters(ni[0], &after), PTL_OK);
	assert_true(after.stale - before.stale >= 2);
	assert_int_equal(after.bytes_received, before.bytes_received);
}

/* Both have begun anew since; each conversation has a tag of its own at one side at least. */
static void who_does_not_know_an_earlier_conversation_ends_no_later_one(void **state)
{
	struct wire_message stale = {.operation = WIRE_STALE, .source_nid = id[0].nid, .source_pid = id[0].pid};
	const struct peer *peer;

	(void)state;
	talk();
	peer = peer_find(process_ni(ni[1]), id[0]); /* nothing else runs: host mode */
	stale.target_tag = peer->local_tag;
	stale.source_tag = (uint16_t)(peer->remote_tag + 1);
	inject_from(0, 1, stale);
	assert_int_equal(peer->state, PEER_READY);
	stale.source_tag = peer->remote_tag;
	inject_from(0, 1, stale);
	assert_int_equal(peer->state, PEER_UNKNOWN);
}

/* No message said that the first one has ended; a new conversation of the same process is no death. */
static void who_greets_under_the_id_of_another_tells_of_its_death(void **state)
{
	struct wire_message hello = {.operation = WIRE_HELLO,
				     .source_nid = id[1].nid,
				     .source_pid = id[1].pid,
				     .wanted_nid = id[0].nid,
				     .wanted_pid = id[0].pid,
				     .incarnation_high = process_ni(ni[1])->self.incarnation[0],
				     .incarnation_low = process_ni(ni[1])->self.incarnation[1]};
	ptl_handle_eq_t deaths;
	ptl_nic_peer_state_t known;
	ptl_event_t event;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &deaths), PTL_OK);
	assert_int_equal(PtlNicPeerEvents(ni[0], deaths), PTL_OK);
	talk();
	hello.source_tag = (uint16_t)(peer_find(process_ni(ni[0]), id[1])->remote_tag + 1);
	inject(0, hello);
	assert_int_equal(PtlEQGet(deaths, &event), PTL_EQ_EMPTY);
	hello.incarnation_high++;
	inject(0, hello);
	inject(0, hello);
	assert_int_equal(PtlEQGet(deaths, &event), PTL_OK);
	assert_int_equal(event.type, PTL_NIC_EVENT_PEER_DIED);
	assert_int_equal(event.initiator.pid, id[1].pid);
	assert_int_equal(PtlNicPeerState(ni[0], id[1], &known, NULL), PTL_OK);
	assert_int_equal(known, PTL_NIC_PEER_CONNECTED);
	assert_int_equal(PtlEQGet(deaths, &event), PTL_EQ_EMPTY);
}

static void pass_the_hand_over_everybody(void)
{
	for (uint32_t i = 0; i < 64; i++) { /* so that it has, twice */
		scripted_pass_time(NIC_UNVERIFIED_NS);
		greet_as(10000 + i);
	}
}

/* Nothing is under way with it, and no message says that it has ended. */
static void newcomers_find_the_gone(void **state)
{
	(void)state;
	talk();
	scripted_close_port(1);
	scripted_lose(0, 1);
	pass_the_hand_over_everybody();
	assert_non_null(peer_find(process_ni(ni[0]), id[1]));
	for (int i = 0; i < 20; i++) {
		scripted_pass_time(UINT64_C(250000000));
		drive_often(0);
	}
	assert_null(peer_find(process_ni(ni[0]), id[1]));
	assert_int_equal(scripted_users(0, 1), 0);
}

/* The living are asked, answer, and keep their conversation. */
static void newcomers_leave_the_living_alone(void **state)
{
	(void)state;
	talk();
	uint16_t tag = peer_find(process_ni(ni[0]), id[1])->local_tag;

	for (int round = 0; round < 5; round++) {
		pass_the_hand_over_everybody();
		for (int i = 0; i < 40; i++)
			go_on();
	}
	const struct peer *peer = peer_find(process_ni(ni[0]), id[1]);

	assert_non_null(peer);
	assert_int_equal(peer->local_tag, tag);
	assert_false(peer->busy);
}

/* --- a way that is full --- */

/* Requests that wait at 1, so that it has looked at its way `looks` times in as many drives, at the same instant. */
static uint64_t looks_in(unsigned drives)
{
	ptl_nic_counters_t before, after;

	assert_int_equal(PtlPut(bind_memory(1, PTL_EQ_NONE), PTL_NO_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	assert_int_equal(PtlNicCounters(ni[1], &before), PTL_OK);
	for (unsigned i = 0; i < drives; i++)
		nic_call(process_ni(ni[1]), drive, NULL);
	assert_int_equal(PtlNicCounters(ni[1], &after), PTL_OK);
	return after.retries - before.retries;
}

static void room_is_noticed_at_the_next_drive(void **state)
{
	(void)state;
	talk();
	scripted_fill_sends(1, 5000);
	assert_true(looks_in(4000) >= 4000);
	nic_call(process_ni(ni[1]), drive, NULL);
	scripted_fill_sends(1, 0);
	assert_int_equal(scripted_waiting(1, 0), 0);
	nic_call(process_ni(ni[1]), drive, NULL);
	assert_int_equal(scripted_waiting(1, 0), 1);
}

/* Each look may cost an attempt to connect. */
static void a_way_that_is_not_open_is_tried_less_and_less_often(void **state)
{
	(void)state;
	talk();
	scripted_refuse_sends(1, 5000);
	assert_in_range(looks_in(4000), 1, 1000);
}

/* No message says when there is room: a sleeper looks again after a part of the time that it has been full. */
static void who_sleeps_looks_for_room_in_time(void **state)
{
	const uint64_t least = 1000000, most = 60000000;

	(void)state;
	talk();
	scripted_fill_sends(1, UINT32_MAX);
	looks_in(1);
	for (uint64_t full = 1000000; full < UINT64_C(20000000000); full *= 2) {
		scripted_pass_time(full);
		drive_often(1);
		while (nic_call(process_ni(ni[1]), go_to_sleep, NULL))
			;
		uint64_t pause = sleeps_until - monotonic_ns();

		assert_true(pause <= (full / 2 < least ? least : full / 2));
		assert_true(pause <= most);
	}
}

/* --- a process met on one path, and greeting over another --- */

static int forget(struct nic *nic, void *id_of_peer)
{
	peer_fail(nic, peer_find(nic, *(ptl_process_id_t *)id_of_peer), PTL_NI_PEER_DIED, "as the test wants it");
	return 0;
}

static int break_with(struct nic *nic, void *id_of_peer)
{
	peer_break(nic, peer_find(nic, *(ptl_process_id_t *)id_of_peer));
	return 0;
}

/* --- greetings that a transport carries while it connects --- */

/* What the two are told, which tests change. */
static struct transport_greeting greetings[INTERFACES];

static int ask_greeting(struct nic *nic, void *greeting)
{
	unsigned other = nic == process_ni(ni[0]);

	dispatch_sink.greet(nic, id[other].nid, id[other].pid, greeting);
	return 0;
}

/* `starved`, if not NULL: the transport has no memory for the address when the engine asks for it. */
static int report_connected(struct nic *nic, void *starved)
{
	unsigned self = nic != process_ni(ni[0]), other = 1 - self;
	const struct transport_connection connection = {
		.nid = id[other].nid, .pid = id[other].pid, .ours = greetings[self], .theirs = greetings[other]};
	struct transport *transport = nic->transports[PATH_NETWORK];
	transport_address address;

	nic->drive.polling = PATH_NETWORK;
	int rc = transport->ops->resolve(transport, connection.nid, connection.pid, 0, &address);

	if (starved)
		scripted_starve_resolves(self, 1);
	if (!rc)
		dispatch_sink.connected(nic, address, &connection);
	return rc;
}

static void exchange_greetings(void)
{
	for (unsigned i = 0; i < INTERFACES; i++)
		nic_call(process_ni(ni[i]), ask_greeting, &greetings[i]);
}

static void connect_both(void)
{
	for (unsigned i = 0; i < INTERFACES; i++)
		assert_int_equal(nic_call(process_ni(ni[1 - i]), report_connected, NULL), 0);
}

static void a_peer_connected_with_its_greeting_needs_no_hello(void **state)
{
	ptl_handle_eq_t eq = put_to_an_unverified_peer();

	(void)state;
	scripted_lose(0, 1); /* the HELLO that made the transport connect */
	open_memory(1);
	memcpy(memory, "request", sizeof(memory));
	exchange_greetings();
	assert_int_equal(peers_of(1), 0); /* of a process that only connects nothing is kept */
	connect_both();
	assert_int_equal(scripted_waiting(0, 1), 1);
	assert_int_equal(scripted_waiting(1, 0), 0);
	deliver(0, 1);
	assert_memory_equal(destination, "request", sizeof(memory));
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
	assert_int_equal(process_ni(ni[1])->counters.notices_sent, 0);
}

/* Both want to send; what either has begun meanwhile goes on under the tag that it was told. */
static void a_contact_begun_meanwhile_keeps_the_tag_that_was_told(void **state)
{
	(void)state;
	exchange_greetings();
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	scripted_lose(0, 1);
	connect_both();
	assert_int_equal(peer_find(process_ni(ni[0]), id[1])->local_tag, greetings[0].tag);
	go_on();
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
	assert_int_equal(process_ni(ni[0])->counters.stale + process_ni(ni[1])->counters.stale, 0);
}

static void a_greeting_of_another_version_is_left_to_hello(void **state)
{
	ptl_handle_eq_t eq = put_to_an_unverified_peer();

	(void)state;
	exchange_greetings();
	greetings[1].version++;
	assert_int_equal(nic_call(process_ni(ni[0]), report_connected, NULL), 0);
	assert_int_equal(peer_find(process_ni(ni[0]), id[1])->state, PEER_CONTACTING);
	go_on();
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

/* It has forgotten us, and the transport has met it again. */
static void a_peer_connected_anew_has_a_new_conversation(void **state)
{
	struct peer *peer;

	(void)state;
	exchange_greetings();
	connect_both();
	peer = peer_find(process_ni(ni[0]), id[1]);
	assert_int_equal(peer->state, PEER_READY);
	greetings[1].tag++;
	assert_int_equal(nic_call(process_ni(ni[0]), report_connected, NULL), 0);
	assert_int_equal(peer->remote_tag, greetings[1].tag);
	greetings[0].tag++;
	assert_int_equal(nic_call(process_ni(ni[0]), report_connected, NULL), 0);
	assert_int_equal(peer->local_tag, greetings[0].tag);
	assert_int_equal(peer->state, PEER_READY);
}

/* Both ends have given up the conversation that was, and the transport connects them anew before this one has said so. */
static void what_waits_for_the_end_of_a_broken_conversation_belongs_to_the_next(void **state)
{
	(void)state;
	open_memory(1);
	exchange_greetings();
	connect_both();
	const uint16_t former = greetings[0].tag;

	nic_call(process_ni(ni[0]), break_with, &id[1]);
	memcpy(memory, "request", sizeof(memory));
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	nic_call(process_ni(ni[1]), forget, &id[0]);
	exchange_greetings();
	assert_int_not_equal(greetings[0].tag, former);
	connect_both();
	go_on();
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
	assert_memory_equal(destination, "request", sizeof(memory));
}

/* The transport has told our tag by then, so that is the next conversation's: no HELLO may say another. */
static void a_conversation_that_breaks_while_the_transport_connects_ends_without_hello(void **state)
{
	(void)state;
	open_memory(1);
	exchange_greetings();
	connect_both();
	nic_call(process_ni(ni[1]), forget, &id[0]);
	exchange_greetings();
	nic_call(process_ni(ni[0]), break_with, &id[1]);
	memcpy(memory, "another", sizeof(memory));
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	connect_both();
	assert_int_equal(scripted_waiting(0, 1), 1);
	deliver(0, 1);
	assert_memory_equal(destination, "another", sizeof(memory));
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

static int say_gone(struct nic *nic, void *id_of_peer)
{
	nic->drive.polling = PATH_NETWORK;
	dispatch_sink.peer_gone(nic, peer_find(nic, *(ptl_process_id_t *)id_of_peer)->address);
	return 0;
}

static void a_peer_that_ends_before_a_broken_conversation_does_is_given_up(void **state)
{
	(void)state;
	exchange_greetings();
	connect_both();
	nic_call(process_ni(ni[0]), break_with, &id[1]);
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	nic_call(process_ni(ni[0]), say_gone, &id[1]);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_PEER_DIED);
}

/* A conversation has ended, and the next one cannot begin now: what waits greets by message. */
static void a_connection_that_cannot_be_remembered_leaves_no_request_behind(void **state)
{
	(void)state;
	exchange_greetings();
	connect_both();
	scripted_refuse_sends(0, UINT32_MAX);
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	greetings[0].tag++;
	assert_int_equal(nic_call(process_ni(ni[0]), report_connected, ""), 0);
	scripted_refuse_sends(0, 0);
	assert_int_equal(peer_find(process_ni(ni[0]), id[1])->state, PEER_CONTACTING);
	go_on();
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

static void a_peer_told_of_a_hold_with_the_connection_is_released(void **state)
{
	ptl_handle_eq_t eq = put_to_an_unverified_peer();

	(void)state;
	scripted_lose(0, 1);
	exchange_greetings();
	assert_true(greetings[1].abilities & WIRE_HOLDS);
	assert_int_equal(PtlNicReadyToReceive(ni[1]), PTL_OK); /* too late for the greeting */
	connect_both();
	assert_int_equal(scripted_waiting(0, 1), 0);
	assert_int_equal(scripted_waiting(1, 0), 1);
	deliver(1, 0);
	assert_int_equal(scripted_waiting(0, 1), 1); /* the put */
	go_on();
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

/* The first of two transports that name peers by their address, whatever comes of it. */
struct greeting {
	enum nic_path path;
	uint16_t tag, answers; /* answers: the tag of a HELLO of ours; 0: it is a HELLO itself */
};

static int take_greeting(struct nic *nic, void *arguments)
{
	const struct greeting *greeting = arguments;
	const struct wire_message notice = {.operation = greeting->answers ? WIRE_WELCOME : WIRE_HELLO,
					    .source_nid = id[1].nid,
					    .source_pid = id[1].pid,
					    .source_tag = greeting->tag,
					    .target_tag = greeting->answers,
					    .wanted_nid = id[0].nid,
					    .wanted_pid = id[0].pid};

	nic->drive.polling = greeting->path;
	contact_notice(nic, &notice, TRANSPORT_ADDRESS_UNKNOWN);
	return 0;
}

static bool is_met(const struct nic *nic, enum nic_path path)
{
	for (uint32_t i = 0; i < nic->peers.met[path].room; i++)
		if (nic->peers.met[path].peers[i])
			return true;
	return false;
}

/*
 * What is known of the sources on one path says nothing of another; but a peer that is met where they are known is not taken
 * for gone because a message says so where they are not.
 */
static void who_was_told_apart_on_one_path_is_met_on_another(void **state)
{
	struct nic *nic = process_ni(ni[0]);
	struct greeting first = {.path = PATH_NODE, .tag = 1}, second = {.path = PATH_NETWORK, .tag = 2};
	const struct peer *peer;

	(void)state;
	nic->transports[PATH_NODE] = nic->transports[PATH_NETWORK];
	nic_call(nic, take_greeting, &first);
	peer = peer_find(nic, id[1]);
	peer_find(nic, id[1])->source_shown[PATH_NODE] = true; /* as by a message of its */
	nic_call(nic, take_greeting, &second);
	assert_int_equal(peer->path, PATH_NODE);
	assert_int_equal(peer->remote_tag, first.tag);
	nic_call(nic, forget, &id[1]);
	nic_call(nic, take_greeting, &second);
	assert_int_equal(peer->path, PATH_NETWORK);
	assert_int_equal(peer->state, PEER_READY);
	nic->transports[PATH_NODE] = NULL;
}

/* It answers a HELLO that was late, before its transport has told it that it is connected over the better path. */
static void an_answer_over_a_worse_path_ends_no_conversation(void **state)
{
	struct nic *nic = process_ni(ni[0]);
	struct greeting first = {.path = PATH_NODE, .tag = 1}, late = {.path = PATH_NETWORK, .tag = 2};
	const struct peer *peer;

	(void)state;
	nic->transports[PATH_NODE] = nic->transports[PATH_NETWORK];
	nic_call(nic, take_greeting, &first);
	peer = peer_find(nic, id[1]);
	late.answers = peer->local_tag;
	nic_call(nic, take_greeting, &late);
	assert_int_equal(peer->path, PATH_NODE);
	assert_int_equal(peer->remote_tag, first.tag);
	assert_int_equal(peer->local_tag, late.answers);
	nic->transports[PATH_NODE] = NULL;
}

/* A table that is full on one path says nothing of the others. */
static void an_address_without_memory_does_not_hide_the_next_path(void **state)
{
	struct nic *nic = process_ni(ni[0]);

	(void)state;
	nic->transports[PATH_NODE] = nic->claimed[PATH_NODE] = nic->transports[PATH_NETWORK];
	scripted_starve_resolves(0, 1);
	ptl_handle_eq_t eq = put_to_an_unverified_peer();
	nic->transports[PATH_NODE] = nic->claimed[PATH_NODE] = NULL;
	assert_int_equal(scripted_waiting(0, 1), 1);
	assert_int_equal(peer_find(nic, id[1])->path, PATH_NETWORK);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

/* A peer that is forgotten later is found nowhere: what is left behind would be a peer that was freed. */
static void who_greets_over_another_path_leaves_nothing_behind(void **state)
{
	struct nic *nic = process_ni(ni[0]);
	struct greeting first = {.path = PATH_NODE, .tag = 1}, second = {.path = PATH_NETWORK, .tag = 2};

	(void)state;
	nic->transports[PATH_NETWORK]->limits.compact = true;
	nic->transports[PATH_NODE] = nic->transports[PATH_NETWORK];
	nic_call(nic, take_greeting, &first);
	assert_true(is_met(nic, PATH_NODE));
	nic_call(nic, take_greeting, &second);
	assert_true(is_met(nic, PATH_NETWORK));
	assert_false(is_met(nic, PATH_NODE));
	nic->transports[PATH_NODE] = NULL;
}

/* --- an interface that wants no requests yet --- */

static int open_held(void **state)
{
	setenv("PTL_HOLD", "1", 1);
	open_interfaces(state);
	unsetenv("PTL_HOLD");
	return 0;
}

/* 0 has met 1, which holds, and has a put for it that does not go. */
static ptl_handle_eq_t put_to_a_holder(void)
{
	ptl_handle_eq_t eq = put_to_an_unverified_peer();

	deliver(0, 1);
	deliver(1, 0);
	assert_int_equal(scripted_waiting(0, 1), 0);
	return eq;
}

static void a_release_that_is_lost_is_asked_for(void **state)
{
	ptl_handle_eq_t eq = put_to_a_holder();

	(void)state;
	assert_int_equal(PtlNicReadyToReceive(ni[1]), PTL_OK);
	assert_int_equal(scripted_waiting(1, 0), 1);
	scripted_lose(0, 1);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

/* 0 learns of the hold by a HELLO whose sender does not know it yet, and so cannot tell it when the hold ends. */
static void who_answers_when_the_hold_is_over_is_released(void **state)
{
	(void)state;
	assert_int_equal(PtlGet(bind_memory(1, PTL_EQ_NONE), id[0], 0, 0, 0, 0), PTL_OK);
	assert_int_equal(scripted_waiting(1, 0), 1);
	assert_int_equal(PtlNicReadyToReceive(ni[1]), PTL_OK);
	assert_int_equal(scripted_waiting(1, 0), 1);
	deliver(1, 0);
	put_to_an_unverified_peer();
	assert_int_equal(scripted_waiting(0, 1), 1); /* the answer, and no put */
	deliver(0, 1);
	deliver(1, 0);
	assert_int_equal(scripted_waiting(0, 1), 1); /* the put */
}

/* Its interface may have been waiting for longer than its peers are willing to. */
static void who_holds_beyond_the_deadline_of_its_peers_is_not_given_up(void **state)
{
	ptl_event_t event;
	ptl_handle_eq_t eq = put_to_a_holder();

	(void)state;
	process_ni(ni[1])->hold.until = UINT64_MAX;
	for (unsigned round = 0; round < 3 * ROUNDS; round++) /* 36 s */
		go_on();
	assert_int_equal(PtlEQGet(eq, &event), PTL_OK);
	assert_int_equal(event.type, PTL_EVENT_SEND_START);
	assert_int_equal(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	assert_int_equal(PtlNicReadyToReceive(ni[1]), PTL_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

/*
 * A process that has only said HELLO is an unverified peer, of which only so many are remembered; one that is held back has said no
 * more.
 */
static void who_is_forgotten_while_held_back_is_released_all_the_same(void **state)
{
	ptl_handle_eq_t eq;

	(void)state;
	memcpy(memory, "request", sizeof(memory));
	memset(destination, 0, sizeof(memory));
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlPut(bind_memory(1, eq), PTL_NO_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	deliver(1, 0);
	deliver(0, 1);
	assert_non_null(peer_find(process_ni(ni[0]), id[1]));
	for (uint32_t pid = 1; pid <= 2 * NIC_UNVERIFIED; pid++) {
		struct peer *held_back = peer_find(process_ni(ni[0]), id[1]);

		if (held_back)
			held_back->reached = false; /* as the others, which would go first */
		scripted_pass_time(NIC_UNVERIFIED_NS);
		greet_as(1000 + pid);
	}
	assert_null(peer_find(process_ni(ni[0]), id[1]));
	open_memory(0);
	assert_int_equal(PtlNicReadyToReceive(ni[0]), PTL_OK);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
	go_on();
	assert_memory_equal(destination, "request", sizeof(memory));
}

/* While it holds its peers find it dead as any that owes an answer. */
static void who_dies_while_it_holds_is_given_up(void **state)
{
	ptl_handle_eq_t eq = put_to_a_holder();
	ptl_event_t event = {.type = PTL_EVENT_SEND_START};

	(void)state;
	scripted_close_port(1);
	for (int round = 0; round < ROUNDS && event.type == PTL_EVENT_SEND_START; round++) {
		scripted_pass_time(ROUND_MS * UINT64_C(1000000));
		scripted_lose(0, 1);
		for (unsigned i = 0; i < DRIVES; i++)
			PtlEQGet(eq, &event);
	}
	assert_int_equal(event.type, PTL_EVENT_SEND_END);
	assert_int_equal(event.ni_fail_type, PTL_NI_PEER_DIED);
}

/* --- a transfer during which its reader stood still --- */

/* 0 puts, 1 has asked for all bytes and stands still.  Returns the queue of 1. */
static ptl_handle_eq_t put_and_stand_still(ptl_handle_eq_t sender)
{
	const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_md_t to = {.start = destination,
		       .length = sizeof(destination),
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE};
	ptl_md_t from = {
		.start = source, .length = sizeof(source), .threshold = PTL_MD_THRESH_INF, .eq_handle = sender};
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	talk();
	process_ni(ni[1])->mode = NIC_MODE_SHARED; /* as if it had a thread: others are never given up */
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &to.eq_handle), PTL_OK);
	assert_int_equal(PtlMEAttach(ni[1], 0, anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	assert_int_equal(PtlMDAttach(me, to, PTL_RETAIN, &md), PTL_OK);
	assert_int_equal(PtlMDBind(ni[0], from, PTL_RETAIN, &md), PTL_OK);
	assert_int_equal(PtlPut(md, PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	deliver(0, 1);
	scripted_pass_time(NIC_DOUBT_NS);
	return to.eq_handle;
}

static void complete_reads(ptl_handle_eq_t receiver)
{
	ptl_event_t event;

	assert_true(scripted_reads(1) > 0);
	while (scripted_complete(1, 0, 0))
		nic_call(process_ni(ni[1]), drive, NULL);
	assert_int_equal(PtlEQGet(receiver, &event), PTL_EQ_EMPTY);
}

static void a_slow_transfer_ends_well_when_its_source_still_knows_of_it(void **state)
{
	ptl_handle_eq_t sender, receiver;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	receiver = put_and_stand_still(sender);
	complete_reads(receiver);
	assert_int_equal(wait_for(receiver, PTL_EVENT_PUT_END).ni_fail_type, PTL_NI_OK);
	assert_int_equal(wait_for(sender, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

static void a_lost_confirmation_is_asked_for_again(void **state)
{
	ptl_handle_eq_t sender, receiver;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	receiver = put_and_stand_still(sender);
	complete_reads(receiver);
	assert_true(scripted_waiting(1, 0) > 0);
	scripted_lose(0, 1);
	assert_int_equal(wait_for(receiver, PTL_EVENT_PUT_END).ni_fail_type, PTL_NI_OK);
}

static bool take_event(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event;

	return PtlEQGet(eq, &event) == PTL_OK && event.type == kind;
}

/* Whatever else the source says meanwhile: it is no answer. */
static void a_lost_confirmation_is_asked_for_again_though_the_source_talks(void **state)
{
	ptl_handle_eq_t sender, receiver;
	bool ended = false;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	receiver = put_and_stand_still(sender);
	complete_reads(receiver);
	scripted_lose(0, 1);
	for (int round = 0; round < ROUNDS && !ended; round++) {
		assert_int_equal(PtlPut(bind_memory(0, PTL_EQ_NONE), PTL_NO_ACK_REQ, id[1], 1, 0, 0, 0, 0), PTL_OK);
		go_on();
		ended = take_event(receiver, PTL_EVENT_PUT_END);
	}
	assert_true(ended);
}

/* What it has read may be anything by now. */
static void a_transfer_whose_source_has_given_up_fails_though_its_reads_do_not(void **state)
{
	ptl_handle_eq_t sender, receiver;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	receiver = put_and_stand_still(sender);
	complete_reads(receiver);
	nic_call(process_ni(ni[0]), forget, &id[1]);
	assert_int_equal(wait_for(sender, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_PEER_DIED);
	assert_int_equal(wait_for(receiver, PTL_EVENT_PUT_END).ni_fail_type, PTL_NI_PEER_DIED);
}

/* --- reads that a dead peer leaves behind --- */

/* PINGs in so many seconds in which a confirmation is waited for and nothing comes. */
static unsigned questions_within(unsigned seconds, uint64_t pause)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1, .ping_pause = pause};
	struct scripted_observer observer = scripted_blind;
	ptl_handle_eq_t sender;

	observer.sending = count_ping;
	open_scripted(&terms, &observer, INTERFACES, ni, id);
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	complete_reads(put_and_stand_still(sender));
	pings = 0;
	for (unsigned i = 0; i < 10 * seconds; i++) {
		tick_often(UINT64_C(100000000), 1);
		scripted_lose(0, 1);
	}
	close_interfaces(NULL);
	return pings;
}

/* Each time the transfer's own and the one for signs of life, and no more often than the transport wants. */
static void questions_keep_the_pause_too(void **state)
{
	(void)state;
	assert_in_range(questions_within(30, 0), 30, 60);
	assert_in_range(questions_within(30, 5000000000u), 6, 12);
}

/*
 * A peer is given up once.  What the reads wait for is sought as long as they hang, a few times a second however busy
 * the timers are, and where they were asked for: though a request greets a successor, and though it has been met.
 */
static void what_hanging_reads_wait_for_is_sought_at_leisure(void **state)
{
	ptl_handle_eq_t sender, receiver, eq;
	ptl_event_t event;
	unsigned before;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	receiver = put_and_stand_still(sender);
	scripted_close_port(0);
	tick_often(UINT64_C(3000000000), 12);
	assert_true(scripted_severings() > 0);
	assert_int_equal(scripted_severed_last(), 0);
	assert_int_equal(PtlGet(bind_memory(1, eq), id[0], 0, 0, 0, 0), PTL_OK); /* greets, with timers of its own */
	before = scripted_severings();
	tick_often(UINT64_C(1000000000), 200);
	assert_in_range(scripted_severings() - before, 3, 4);
	go_on(); /* the successor answers */
	before = scripted_severings();
	tick_often(UINT64_C(1000000000), 200);
	assert_in_range(scripted_severings() - before, 3, 4);
	assert_int_equal(PtlEQGet(receiver, &event), PTL_EQ_EMPTY);
	while (scripted_complete(1, 0, -ECANCELED))
		nic_call(process_ni(ni[1]), drive, NULL);
	assert_int_equal(wait_for(receiver, PTL_EVENT_PUT_END).ni_fail_type, PTL_NI_PEER_DIED);
	before = scripted_severings();
	tick_often(UINT64_C(1000000000), 4);
	assert_int_equal(scripted_severings(), before);
}

/* 1 has reads of the memory of 0 under way, and gives it up. */
static void give_up_while_reading(ptl_handle_eq_t sender)
{
	put_and_stand_still(sender);
	scripted_close_port(0);
	tick_often(UINT64_C(3000000000), 12);
	assert_int_equal(peer_find(process_ni(ni[1]), id[0])->state, PEER_UNKNOWN);
	scripted_open_port(0);
	scripted_lose(0, 1);
}

static struct peer *meet_again(void)
{
	struct peer *peer = peer_find(process_ni(ni[1]), id[0]);

	assert_int_equal(PtlGet(bind_memory(1, PTL_EQ_NONE), id[0], 0, 0, 0, 0), PTL_OK);
	for (int i = 0; i < 4; i++)
		go_on();
	assert_int_equal(peer->state, PEER_READY);
	peer->abilities = WIRE_HAS_NIC_THREAD;
	return peer;
}

/* It answers whatever it is asked, and no reads of its memory are under way. */
static void a_successor_is_not_judged_by_reads_of_the_memory_of_the_former(void **state)
{
	ptl_handle_eq_t sender;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	give_up_while_reading(sender);
	assert_int_equal(peer_find(process_ni(ni[1]), id[0])->reads_stuck_since, 0); /* nor by how long they hung */
	const struct peer *peer = meet_again();
	uint16_t tag = peer->local_tag;

	for (int i = 0; i < 10 * ROUNDS; i++) /* 120 s */
		go_on();
	assert_int_equal(peer->local_tag, tag);
	assert_int_equal(scripted_reads(1), 1);
	while (scripted_complete(1, 0, -ECANCELED))
		nic_call(process_ni(ni[1]), drive, NULL);
	assert_int_equal(peer->reads, 0);
}

/* It is where the job says that it is now, and its reads hang as those of the former do. */
static void what_hangs_at_two_addresses_is_sought_at_both(void **state)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1, .anonymous = true};

	(void)state;
	open_scripted(&terms, &scripted_blind, INTERFACES, ni, id);
	give_up_while_reading(PTL_EQ_NONE);
	scripted_move(0);
	meet_again();
	assert_int_equal(PtlPut(bind_source(0, PTL_EQ_NONE), PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	go_on();
	assert_int_equal(scripted_reads(1), 2);
	scripted_close_port(0);
	tick_often(UINT64_C(3000000000), 12);
	assert_int_equal(scripted_severed_count(), 2);
	while (scripted_complete(1, 0, -ECANCELED))
		nic_call(process_ni(ni[1]), drive, NULL);
	tick_often(UINT64_C(1000000000), 8);
	assert_int_equal(scripted_users(1, 0), 0);
	close_interfaces(NULL);
}

static struct wire_message greeting_of_a_new_conversation(void)
{
	const struct peer *peer = peer_find(process_ni(ni[1]), id[0]);

	return (struct wire_message){.operation = WIRE_HELLO,
				     .source_nid = id[0].nid,
				     .source_pid = id[0].pid,
				     .source_tag = (uint16_t)(peer->remote_tag + 1),
				     .wanted_nid = id[1].nid,
				     .wanted_pid = id[1].pid,
				     .incarnation_high = peer->incarnation[0],
				     .incarnation_low = peer->incarnation[1]};
}

/* What was severed, and what is sought further: until the reads have ended. */
static void check_that_hanging_reads_are_cut(void)
{
	unsigned severed = scripted_severed_at_once(), before = scripted_severings();

	assert_true(severed > 0);
	tick_often(UINT64_C(60000000000), 200);
	assert_true(scripted_severings() > before);
	assert_int_equal(scripted_severed_last(), 0);
	while (scripted_complete(1, 0, -ECANCELED))
		nic_call(process_ni(ni[1]), drive, NULL);
	before = scripted_severings();
	tick_often(UINT64_C(1000000000), 4);
	assert_int_equal(scripted_severings(), before);
}

/* It lives, and whether it answers them is not known: no watchdog is there for what no conversation waits for. */
static void reads_that_a_new_conversation_leaves_behind_are_cut(void **state)
{
	(void)state;
	put_and_stand_still(PTL_EQ_NONE);
	inject_from(0, 1, greeting_of_a_new_conversation());
	check_that_hanging_reads_are_cut();
}

static void reads_of_a_conversation_that_the_peer_has_forgotten_are_cut(void **state)
{
	struct wire_message stale = {.operation = WIRE_STALE, .source_nid = id[0].nid, .source_pid = id[0].pid};

	(void)state;
	put_and_stand_still(PTL_EQ_NONE);
	stale.target_tag = peer_find(process_ni(ni[1]), id[0])->local_tag;
	stale.source_tag = peer_find(process_ni(ni[1]), id[0])->remote_tag;
	inject_from(0, 1, stale);
	check_that_hanging_reads_are_cut();
}

static void reads_of_a_conversation_that_we_end_are_cut(void **state)
{
	(void)state;
	put_and_stand_still(PTL_EQ_NONE);
	nic_call(process_ni(ni[1]), break_with, &id[0]);
	tick_often(UINT64_C(1000000000), 4);
	check_that_hanging_reads_are_cut();
}

/* --- the next conversation is over another transport --- */

/* Both put what fitted until now; one wants an ACK. */
static void put_what_must_wait(ptl_handle_eq_t eq)
{
	const ptl_md_t md = {.start = source, .length = 2048, .threshold = PTL_MD_THRESH_INF, .eq_handle = eq};

	for (unsigned i = 0; i < 2; i++) {
		ptl_handle_md_t handle;

		assert_int_equal(PtlMDBind(ni[1], md, PTL_RETAIN, &handle), PTL_OK);
		assert_int_equal(PtlPut(handle, i ? PTL_ACK_REQ : PTL_NO_ACK_REQ, id[0], 0, 0, 0, i * md.length, 0),
				 PTL_OK);
	}
}

static void shorten_messages(unsigned which)
{
	process_ni(ni[which])->transports[PATH_NETWORK]->limits.short_max = 1024;
}

/* What was queued as short because its way was full, and is too long where the process that comes next is met. */
static void puts_that_waited_arrive_where_messages_are_shorter(void **state)
{
	const struct scripted_terms terms = {.short_max = 4096, .rma_chunk = 4096, .rma_depth = 1};
	ptl_handle_eq_t asks, asked;
	ptl_event_t event;
	unsigned sent = 0, acked = 0, arrived = 0;

	(void)state;
	open_scripted(&terms, &scripted_blind, INTERFACES, ni, id);
	talk();
	asks = open_queue(1);
	asked = open_queue(0);
	open_memory_with(0, asked);
	memset(source, 's', sizeof(source));
	memset(destination, 'd', sizeof(destination));
	scripted_fill_sends(1, UINT32_MAX);
	put_what_must_wait(asks);
	assert_int_equal(scripted_waiting(1, 0), 0);
	nic_call(process_ni(ni[1]), break_with, &id[0]);
	scripted_fill_sends(1, 0);
	shorten_messages(1);
	for (int round = 0; round < ROUNDS && (sent < 2 || acked < 1 || arrived < 2); round++) {
		while (step())
			;
		while (PtlEQGet(asks, &event) == PTL_OK) {
			assert_int_equal(event.ni_fail_type, PTL_NI_OK);
			sent += event.type == PTL_EVENT_SEND_END;
			acked += event.type == PTL_EVENT_ACK;
		}
		while (PtlEQGet(asked, &event) == PTL_OK) {
			assert_int_equal(event.ni_fail_type, PTL_NI_OK);
			arrived += event.type == PTL_EVENT_PUT_END;
		}
		scripted_pass_time(ROUND_MS * UINT64_C(1000000));
	}
	assert_int_equal(sent, 2);
	assert_int_equal(acked, 1);
	assert_int_equal(arrived, 2);
	assert_memory_equal(destination, source, sizeof(source));
	close_interfaces(NULL);
}

/* An answer has no other form: the event says that it failed, and the report why. */
static void an_answer_that_has_become_too_long_is_reported(void **state)
{
	const struct scripted_terms terms = {.short_max = 4096, .rma_chunk = 4096, .rma_depth = 1};
	const ptl_md_t md = {.start = source, .length = 2000, .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE};
	ptl_handle_eq_t asked;
	ptl_handle_md_t handle;
	ptl_event_t event = {.ni_fail_type = PTL_NI_OK};

	(void)state;
	open_scripted(&terms, &scripted_blind, INTERFACES, ni, id);
	talk();
	asked = open_queue(0);
	open_memory_with(0, asked);
	scripted_fill_sends(0, UINT32_MAX);
	assert_int_equal(PtlMDBind(ni[1], md, PTL_RETAIN, &handle), PTL_OK);
	assert_int_equal(PtlGet(handle, id[0], 0, 0, 0, 0), PTL_OK);
	deliver(1, 0);
	scripted_fill_sends(0, 0);
	shorten_messages(0);
	report_nothing(0);
	nic_call(process_ni(ni[0]), drive, NULL);
	while (event.ni_fail_type == PTL_NI_OK)
		assert_int_equal(PtlEQGet(asked, &event), PTL_OK);
	assert_int_equal(event.ni_fail_type, PTL_NI_FAIL);
	assert_non_null(strstr(report_last_error(), "cannot be sent"));
	close_interfaces(NULL);
}

/* What goes into a connection that has just been cut is lost: a greeting that came over it is not answered, the next one is. */
static void who_greets_over_a_connection_that_is_cut_is_met_when_it_greets_again(void **state)
{
	struct wire_message hello;
	const struct peer *peer;

	(void)state;
	put_and_stand_still(PTL_EQ_NONE);
	scripted_lose(1, 0);
	hello = greeting_of_a_new_conversation();
	peer = peer_find(process_ni(ni[1]), id[0]);
	inject_from(0, 1, hello);
	inject_from(0, 1, hello); /* had been behind the first one all the time */
	assert_int_equal(peer->state, PEER_UNKNOWN);
	assert_int_equal(scripted_waiting(1, 0), 0);
	scripted_pass_time(200000000);
	inject_from(0, 1, hello);
	assert_int_equal(peer->state, PEER_READY);
	assert_true(scripted_waiting(1, 0) > 0);
}

/* 1 has exposed memory to 0, which has forgotten the conversation; and another request waits if `waits`. */
static void part_from_a_reader(bool waits)
{
	struct wire_message stale = {.operation = WIRE_STALE, .source_nid = id[0].nid, .source_pid = id[0].pid};

	talk();
	stale.target_tag = peer_find(process_ni(ni[1]), id[0])->local_tag;
	stale.source_tag = peer_find(process_ni(ni[1]), id[0])->remote_tag;
	ask(LONG_PUT, PTL_EQ_NONE);
	scripted_fill_sends(1, waits);
	if (waits)
		ask(SHORT_PUT, PTL_EQ_NONE);
	scripted_lose(1, 0);
	inject_from(0, 1, stale);
	scripted_lose(1, 0);
	assert_int_equal(scripted_severed_at_once(), 1);
	scripted_pass_time(1000000);
	drive_often(1);
	scripted_lose(1, 0);
}

/* No reads hang on that connection: it is cut all the same. */
static void nobody_is_met_over_a_connection_that_was_cut_just_now(void **state)
{
	for (int waits = 0; waits < 2; waits++) {
		struct wire_message hello;
		const struct peer *peer;

		open_interfaces(state);
		part_from_a_reader(waits);
		peer = peer_find(process_ni(ni[1]), id[0]);
		assert_non_null(peer);
		hello = greeting_of_a_new_conversation();
		inject_from(0, 1, hello);
		assert_false(peer_met_us(peer));
		assert_int_equal(scripted_waiting(1, 0), 0);
		scripted_pass_time(200000000);
		inject_from(0, 1, hello);
		assert_int_equal(peer_find(process_ni(ni[1]), id[0])->state, PEER_READY);
		assert_true(scripted_waiting(1, 0) > 0);
		close_interfaces(state);
	}
}

static int give_up(struct nic *nic, void *id_of_peer)
{
	contact_give_up(nic, peer_find(nic, *(ptl_process_id_t *)id_of_peer), "as the test wants it");
	return 0;
}

/* Another process has had its port since: the connection is between that one and us. */
static void who_has_its_port_from_the_dead_keeps_its_connection(void **state)
{
	struct wire_message hello = {.operation = WIRE_HELLO, .source_tag = 7};
	ptl_process_id_t successor = open_mute();

	(void)state;
	talk();
	scripted_take_over(INTERFACES, 0);
	hello.source_nid = successor.nid;
	hello.source_pid = successor.pid;
	hello.wanted_nid = id[1].nid;
	hello.wanted_pid = id[1].pid;
	inject_from(0, 1, hello);
	nic_call(process_ni(ni[1]), give_up, &id[0]);
	assert_int_equal(scripted_severed_at_once(), 0);
	assert_int_equal(peer_find(process_ni(ni[1]), successor)->state, PEER_READY);
	nic_call(process_ni(ni[1]), give_up, &successor);
	assert_int_equal(scripted_severed_at_once(), 1);
}

/* It stood still; what has arrived meanwhile may be behind much else. */
static void reads_are_looked_at_twice_and_not_at_once_before_they_count_as_stuck(void **state)
{
	ptl_handle_eq_t sender;

	(void)state;
	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &sender), PTL_OK);
	put_and_stand_still(sender);
	struct peer *peer = peer_find(process_ni(ni[1]), id[0]);

	peer->abilities = WIRE_HAS_NIC_THREAD;
	tick_often(UINT64_C(1000000000), 4);
	scripted_pass_time(UINT64_C(70000000000));
	assert_int_equal(PtlPut(bind_memory(1, PTL_EQ_NONE), PTL_NO_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	for (int i = 0; i < 20; i++) {
		scripted_pass_time(10000000);
		nic_call(process_ni(ni[1]), look_at_the_clock, NULL);
		drive_often(1);
	}
	assert_int_equal(peer->state, PEER_READY);
	tick_often(UINT64_C(300000000), 4);
	assert_int_equal(peer->state, PEER_UNKNOWN);
}

#define BETWEEN_INTERFACES(test) cmocka_unit_test_setup_teardown(test, open_interfaces, close_interfaces)
#define HELD(test)               cmocka_unit_test_setup_teardown(test, open_held, close_interfaces)

static const struct CMUnitTest tests[] = {
	BETWEEN_INTERFACES(a_successor_is_not_judged_by_reads_of_the_memory_of_the_former),
	BETWEEN_INTERFACES(reads_are_looked_at_twice_and_not_at_once_before_they_count_as_stuck),
	cmocka_unit_test(what_hangs_at_two_addresses_is_sought_at_both),
	BETWEEN_INTERFACES(reads_that_a_new_conversation_leaves_behind_are_cut),
	BETWEEN_INTERFACES(reads_of_a_conversation_that_the_peer_has_forgotten_are_cut),
	BETWEEN_INTERFACES(reads_of_a_conversation_that_we_end_are_cut),
	BETWEEN_INTERFACES(who_greets_over_a_connection_that_is_cut_is_met_when_it_greets_again),
	BETWEEN_INTERFACES(a_look_that_comes_too_early_does_not_put_off_the_next),
	BETWEEN_INTERFACES(who_does_not_know_an_earlier_conversation_ends_no_later_one),
	BETWEEN_INTERFACES(what_hanging_reads_wait_for_is_sought_at_leisure),
	BETWEEN_INTERFACES(who_greets_over_another_path_leaves_nothing_behind),
	BETWEEN_INTERFACES(an_answer_over_a_worse_path_ends_no_conversation),
	BETWEEN_INTERFACES(an_address_without_memory_does_not_hide_the_next_path),
	BETWEEN_INTERFACES(a_peer_connected_with_its_greeting_needs_no_hello),
	BETWEEN_INTERFACES(a_contact_begun_meanwhile_keeps_the_tag_that_was_told),
	BETWEEN_INTERFACES(a_greeting_of_another_version_is_left_to_hello),
	BETWEEN_INTERFACES(a_peer_connected_anew_has_a_new_conversation),
	BETWEEN_INTERFACES(what_waits_for_the_end_of_a_broken_conversation_belongs_to_the_next),
	BETWEEN_INTERFACES(a_conversation_that_breaks_while_the_transport_connects_ends_without_hello),
	BETWEEN_INTERFACES(a_peer_that_ends_before_a_broken_conversation_does_is_given_up),
	BETWEEN_INTERFACES(a_connection_that_cannot_be_remembered_leaves_no_request_behind),
	HELD(a_peer_told_of_a_hold_with_the_connection_is_released),
	BETWEEN_INTERFACES(a_slow_transfer_ends_well_when_its_source_still_knows_of_it),
	BETWEEN_INTERFACES(a_lost_confirmation_is_asked_for_again),
	BETWEEN_INTERFACES(a_lost_confirmation_is_asked_for_again_though_the_source_talks),
	BETWEEN_INTERFACES(a_transfer_whose_source_has_given_up_fails_though_its_reads_do_not),
	BETWEEN_INTERFACES(a_request_behind_a_lost_welcome_does_not_vanish),
	BETWEEN_INTERFACES(an_address_for_which_there_is_no_memory_is_asked_for_again),
	BETWEEN_INTERFACES(an_address_for_which_memory_never_comes_is_given_up_at_the_deadline),
	BETWEEN_INTERFACES(an_answer_that_waits_is_read_before_the_deadline_is_judged),
	BETWEEN_INTERFACES(whoever_never_answers_fails_after_some_looks_beyond_the_deadline),
	BETWEEN_INTERFACES(invented_processes_are_forgotten_for_the_next),
	BETWEEN_INTERFACES(who_was_answered_is_not_forgotten_for_who_is_not_there),
	BETWEEN_INTERFACES(no_more_unverified_peers_are_answered_than_can_be_afforded),
	HELD(a_release_that_is_lost_is_asked_for),
	HELD(who_answers_when_the_hold_is_over_is_released),
	HELD(who_holds_beyond_the_deadline_of_its_peers_is_not_given_up),
	HELD(who_is_forgotten_while_held_back_is_released_all_the_same),
	HELD(who_dies_while_it_holds_is_given_up),
	cmocka_unit_test(whatever_a_connection_takes_with_it_both_ends_are_told),
	BETWEEN_INTERFACES(what_is_lost_is_missed_though_the_peer_talks),
	BETWEEN_INTERFACES(questions_that_are_lost_harm_nobody),
	cmocka_unit_test(questions_keep_the_pause_too),
	cmocka_unit_test(no_silence_is_death_within_a_second),
	cmocka_unit_test(silence_is_death_when_the_timeout_says_so),
	cmocka_unit_test(pings_keep_the_pause_that_the_transport_wants),
	BETWEEN_INTERFACES(what_one_peer_can_hold_is_bounded),
	BETWEEN_INTERFACES(an_answer_that_finds_no_place_is_missed),
	BETWEEN_INTERFACES(an_answer_that_finds_no_way_is_missed),
	BETWEEN_INTERFACES(a_question_for_which_there_is_no_operation_breaks_nothing),
	BETWEEN_INTERFACES(what_is_lost_is_missed_though_answers_wait),
	cmocka_unit_test(who_talks_and_answers_is_asked_nothing),
	BETWEEN_INTERFACES(who_was_told_apart_on_one_path_is_met_on_another),
	cmocka_unit_test(nobody_is_met_over_a_connection_that_was_cut_just_now),
	BETWEEN_INTERFACES(who_has_its_port_from_the_dead_keeps_its_connection),
	BETWEEN_INTERFACES(who_is_gone_is_forgotten_with_its_address),
	BETWEEN_INTERFACES(who_never_answers_is_forgotten_with_its_address),
	BETWEEN_INTERFACES(who_was_named_in_vain_is_forgotten),
	BETWEEN_INTERFACES(what_a_forgotten_process_had_said_is_stale),
	BETWEEN_INTERFACES(who_greets_under_the_id_of_another_tells_of_its_death),
	BETWEEN_INTERFACES(newcomers_find_the_gone),
	BETWEEN_INTERFACES(newcomers_leave_the_living_alone),
	BETWEEN_INTERFACES(room_is_noticed_at_the_next_drive),
	BETWEEN_INTERFACES(a_way_that_is_not_open_is_tried_less_and_less_often),
	BETWEEN_INTERFACES(who_sleeps_looks_for_room_in_time),
	BETWEEN_INTERFACES(requests_that_wait_leave_room_for_others),
	BETWEEN_INTERFACES(an_answer_has_a_place_though_requests_have_taken_all_of_theirs),
	BETWEEN_INTERFACES(what_cannot_be_served_at_all_fails_at_its_sender),
	cmocka_unit_test(puts_that_waited_arrive_where_messages_are_shorter),
	cmocka_unit_test(an_answer_that_has_become_too_long_is_reported),
};

int main(void)
{
	return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
