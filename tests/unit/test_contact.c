/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact when connections break in the middle of it, message by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_behind_a_lost_welcome_does_not_vanish, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(invented_processes_are_forgotten_for_the_next, open_interfaces,
						close_interfaces),
		cmocka_unit_test_setup_teardown(no_more_strangers_are_answered_than_can_be_afforded, open_interfaces,
						close_interfaces),
		cmocka_unit_test(pings_keep_the_pause_that_the_transport_wants),
		cmocka_unit_test_setup_teardown(what_one_peer_can_hold_is_bounded, open_interfaces, close_interfaces),
	};

	return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
