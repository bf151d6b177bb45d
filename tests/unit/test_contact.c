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

#include "offload/nic.h"
#include "offload/peer.h"
#include "portals/process.h"
#include "tests/scripted.h"

enum { INTERFACES = 2, ROUNDS = 40, ROUND_MS = 300, DRIVES = 8 };

static ptl_handle_ni_t ni[INTERFACES];
static ptl_process_id_t id[INTERFACES];
static char memory[8];
static char source[4096], destination[sizeof(source)]; /* longer than a short message */

static void open_on(const struct scripted_terms *terms, const struct scripted_observer *observer)
{
	int most;

	setenv("PTL_TRANSPORT", "ofi", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	scripted_open(terms, observer);
	assert_int_equal(PtlInit(&most), PTL_OK);
	for (unsigned i = 0; i < INTERFACES; i++) {
		assert_int_equal(PtlNIInit(i, SCRIPTED_PID + i, NULL, NULL, &ni[i]), PTL_OK);
		assert_int_equal(PtlNicReady(ni[i]), PTL_OK);
		assert_int_equal(PtlGetId(ni[i], &id[i]), PTL_OK);
	}
}

static int open_interfaces(void **state)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1};

	(void)state;
	open_on(&terms, &scripted_blind);
	return 0;
}

static int close_interfaces(void **state)
{
	(void)state;
	PtlFini();
	scripted_close();
	return 0;
}

static int drive(struct nic *nic, void *unused)
{
	(void)unused;
	return nic_drive(nic) < 0;
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

static ptl_handle_eq_t put_to_a_stranger(void)
{
	ptl_handle_eq_t eq;

	assert_int_equal(PtlEQAlloc(ni[0], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlPut(bind_memory(0, eq), PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	return eq;
}

/* For longer than any deadline; then 0 reads the clock once, and nothing of what has come. */
static void stand_still_and_look(void)
{
	scripted_pass_time(UINT64_C(3600000000000));
	for (unsigned i = 0; i < DRIVES; i++)
		nic_call(process_ni(ni[0]), drive, NULL);
}

/* Whoever stood still beyond the deadline, and looks at the clock before it looks at what has come, has not been let down. */
static void an_answer_that_waits_is_read_before_the_deadline_is_judged(void **state)
{
	ptl_handle_eq_t eq = put_to_a_stranger();

	(void)state;
	deliver(0, 1);
	assert_int_equal(scripted_waiting(1, 0), 1);
	stand_still_and_look();
	deliver(1, 0);
	assert_int_equal(wait_for(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_OK);
}

static void whoever_never_answers_fails_the_second_time(void **state)
{
	ptl_handle_eq_t eq = put_to_a_stranger();

	(void)state;
	stand_still_and_look();
	stand_still_and_look();
	ptl_event_t event;
	assert_int_equal(PtlEQGet(eq, &event), PTL_OK);
	assert_int_equal(event.type, PTL_EVENT_SEND_START);
	assert_int_equal(PtlEQGet(eq, &event), PTL_OK);
	assert_int_equal(event.ni_fail_type, PTL_NI_UNREACHABLE);
}

/* --- strangers --- */

static void inject(unsigned to, struct wire_message message)
{
	uint8_t bytes[WIRE_MAX_HEADER];

	scripted_inject(1, to, bytes, wire_encode(&message, bytes));
	deliver(1, to);
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
	const int most = NIC_STRANGERS;

	(void)state;
	talk();
	assert_int_equal(peers_of(0), 1);
	for (uint32_t pid = 1; pid <= 3 * NIC_STRANGERS; pid++) {
		scripted_pass_time(NIC_STRANGER_NS);
		greet_as(1000 + pid);
		assert_true(peers_of(0) <= most + 1);
	}
	assert_int_equal(peers_of(0), most + 1);
	talk();
	assert_int_equal(peers_of(0), most + 1);
}

/* They cost time to answer: so many at once, then so many a second. */
static void no_more_strangers_are_answered_than_can_be_afforded(void **state)
{
	const int burst = NIC_STRANGER_BURST;

	(void)state;
	scripted_pass_time(burst * (uint64_t)NIC_STRANGER_NS); /* quiet until now */
	for (uint32_t pid = 1; pid <= 3 * NIC_STRANGER_BURST; pid++)
		greet_as(1000 + pid);
	assert_int_equal(peers_of(0), burst);
	scripted_pass_time(10 * (uint64_t)NIC_STRANGER_NS);
	for (uint32_t pid = 1; pid <= 100; pid++)
		greet_as(5000 + pid);
	assert_int_equal(peers_of(0), burst + 10);
}

static unsigned pings;

static void count_ping(struct scripted_message *message, bool taken)
{
	struct wire_message sent;

	if (taken && wire_decode(message->bytes, message->length, &sent) == 0 && sent.operation == WIRE_PING)
		pings++;
}

/* PINGs in so many seconds in which an acknowledgement is owed that never comes, from a peer that is alive. */
static unsigned pings_within(unsigned seconds, uint64_t pause)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1, .ping_pause = pause};
	struct scripted_observer observer = scripted_blind;
	ptl_handle_eq_t eq;

	observer.sending = count_ping;
	pings = 0;
	open_on(&terms, &observer);
	talk();
	assert_int_equal(PtlEQAlloc(ni[1], 8, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	assert_int_equal(PtlPut(bind_memory(1, eq), PTL_ACK_REQ, id[0], 0, 0, 0, 0, 0), PTL_OK);
	scripted_lose(1, 0);
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

/* When what a silent peer owes fails, ns; `requests`: how much that is. */
static uint64_t verdict_after(const char *timeout, uint64_t pause, unsigned requests)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1, .ping_pause = pause};
	ptl_handle_eq_t eq;
	ptl_event_t event = {.type = PTL_EVENT_SEND_END};

	setenv("PTL_PEER_TIMEOUT", timeout, 1);
	open_on(&terms, &scripted_blind);
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
		assert_in_range(verdict_after("2s", pauses[i], 1), 2000000000u, 2800000000u);
		assert_in_range(verdict_after("12s", pauses[i], 1), 12000000000u, 12800000000u);
		assert_in_range(verdict_after("60s", pauses[i], 1), 60000000000u, 60800000000u);
	}
}

/* Whoever reads our memory counts on that (NIC_DOUBT_NS), also while requests that wait make the timers run often. */
static void no_silence_is_death_within_a_second(void **state)
{
	(void)state;
	assert_in_range(verdict_after("200ms", 0, 1), 1000000000u, 1800000000u);
	assert_in_range(verdict_after("200ms", 0, PEER_WINDOW + 1), 1000000000u, 1800000000u);
}

static int count_operations(struct nic *nic, void *unused)
{
	(void)unused;
	return (int)nic->operations.live;
}

/* A peer that asks and asks, and takes no answers, holds no more than its share. */
static void what_one_peer_can_hold_is_bounded(void **state)
{
	struct wire_message ping = {.operation = WIRE_PING, .source_nid = id[1].nid, .source_pid = id[1].pid};
	const struct peer *peer;

	(void)state;
	talk();
	peer = peer_find(process_ni(ni[0]), id[1]); /* nothing else runs: host mode */
	assert_non_null(peer);
	ping.source_tag = peer->remote_tag;
	ping.target_tag = peer->local_tag;
	scripted_refuse_sends(0, UINT32_MAX);
	for (int i = 0; i < 2 * PEER_OWED_MAX; i++)
		inject(0, ping);
	assert_int_equal(nic_call(process_ni(ni[0]), count_operations, NULL), PEER_OWED_MAX);
}

/* --- a process met on one path, and greeting over another --- */

/* The first of two transports that name peers by their address, whatever comes of it. */
struct greeting {
	enum nic_path path;
	uint16_t tag;
};

static int take_greeting(struct nic *nic, void *arguments)
{
	const struct greeting *greeting = arguments;
	const struct wire_message hello = {.operation = WIRE_HELLO,
					   .source_nid = id[1].nid,
					   .source_pid = id[1].pid,
					   .source_tag = greeting->tag,
					   .wanted_nid = id[0].nid,
					   .wanted_pid = id[0].pid};

	nic->polling = greeting->path;
	contact_notice(nic, &hello, TRANSPORT_ADDRESS_UNKNOWN);
	return 0;
}

static bool is_met(const struct nic *nic, enum nic_path path)
{
	for (uint32_t i = 0; i < nic->met[path].room; i++)
		if (nic->met[path].peers[i])
			return true;
	return false;
}

/* Who is forgotten later is found nowhere: what is left behind would be a peer that was freed. */
static void who_greets_over_another_path_leaves_nothing_behind(void **state)
{
	struct nic *nic = process_ni(ni[0]);
	struct greeting first = {.path = PATH_NODE, .tag = 1}, second = {.path = PATH_NETWORK, .tag = 2};

	(void)state;
	nic->transports[PATH_NETWORK]->limits.brief = true;
	nic->transports[PATH_NODE] = nic->transports[PATH_NETWORK];
	nic_call(nic, take_greeting, &first);
	assert_true(is_met(nic, PATH_NODE));
	nic_call(nic, take_greeting, &second);
	assert_true(is_met(nic, PATH_NETWORK));
	assert_false(is_met(nic, PATH_NODE));
	nic->transports[PATH_NODE] = NULL;
}

/* --- a transfer during which its reader stood still --- */

static int forget(struct nic *nic, void *id_of_peer)
{
	peer_fail(nic, peer_find(nic, *(ptl_process_id_t *)id_of_peer), PTL_NI_PEER_DIED, "as the test wants it");
	return 0;
}

/* 0 puts, 1 has asked for all bytes and stands still.  Returns the queue of 1. */
static ptl_handle_eq_t put_and_stand_still(ptl_handle_eq_t sender)
{
	const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_md_t to = {.start = destination,
		       .length = sizeof(destination),
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE};
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
	open_on(&terms, &observer);
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
 * The verdict comes once.  What the reads wait for is sought as long as they hang, a few times a second however busy the
 * timers are, and where they were asked for: though a request greets a successor, and though it has been met.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_hanging_reads_wait_for_is_sought_at_leisure, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(who_greets_over_another_path_leaves_nothing_behind, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(a_slow_transfer_ends_well_when_its_source_still_knows_of_it,
						open_interfaces, close_interfaces),
		cmocka_unit_test_setup_teardown(a_lost_confirmation_is_asked_for_again, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(a_lost_confirmation_is_asked_for_again_though_the_source_talks,
						open_interfaces, close_interfaces),
		cmocka_unit_test_setup_teardown(a_transfer_whose_source_has_given_up_fails_though_its_reads_do_not,
						open_interfaces, close_interfaces),
		cmocka_unit_test_setup_teardown(a_request_behind_a_lost_welcome_does_not_vanish, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(an_answer_that_waits_is_read_before_the_deadline_is_judged,
						open_interfaces, close_interfaces),
		cmocka_unit_test_setup_teardown(whoever_never_answers_fails_the_second_time, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(invented_processes_are_forgotten_for_the_next, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(no_more_strangers_are_answered_than_can_be_afforded, open_interfaces,
						close_interfaces),
		cmocka_unit_test(questions_keep_the_pause_too),
		cmocka_unit_test(no_silence_is_death_within_a_second),
		cmocka_unit_test(silence_is_death_when_the_timeout_says_so),
		cmocka_unit_test(pings_keep_the_pause_that_the_transport_wants),
		cmocka_unit_test_setup_teardown(what_one_peer_can_hold_is_bounded, open_interfaces, close_interfaces),
	};

	return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
