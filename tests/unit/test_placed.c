/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads that are sent from where they are: whose they are, until when, and what is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <portals3.h>
#include <portals3_nic.h>
#include <string.h>

#include "offload/nic.h"
#include "portals/process.h"
#include "tests/support/scripted.h"
#include "tests/unit/interfaces.h"

enum { INTERFACES = 2, LENGTH = 4096, GIVING_UP_TICKS = 12, DRIVES = 8 };

#define TICK_NS UINT64_C(250000000)

static ptl_handle_ni_t ni[INTERFACES];
static ptl_process_id_t id[INTERFACES];
static ptl_handle_eq_t eq[INTERFACES];
static ptl_handle_md_t near, far;
static char source[LENGTH], other[LENGTH], window[LENGTH];

static void drive_all(void)
{
	for (unsigned i = 0; i < INTERFACES; i++)
		nic_call(process_ni(ni[i]), drive, NULL);
}

static void settle(void)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (unsigned i = 0; i < INTERFACES; i++) {
			moved |= scripted_deliver(1 - i, i);
			drive_all();
		}
	}
}

static ptl_md_t descriptor_of(char *memory, ptl_handle_eq_t queue)
{
	return (ptl_md_t){.start = memory,
			  .length = LENGTH,
			  .threshold = PTL_MD_THRESH_INF,
			  .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
			  .eq_handle = queue};
}

/* No event is left of the introduction. */
static void meet(void)
{
	ptl_event_t event;

	assert_int_equal(PtlPutRegion(near, 0, 8, PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	settle();
	for (unsigned i = 0; i < INTERFACES; i++) {
		while (PtlEQGet(eq[i], &event) == PTL_OK)
			continue;
	}
}

static int open_interfaces(void **state)
{
	const struct scripted_terms terms = {
		.short_max = LENGTH + 256, .rma_chunk = LENGTH, .rma_depth = 1, .placed_min = LENGTH / 2};
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;

	(void)state;
	open_scripted(&terms, &scripted_blind, INTERFACES, ni, id);
	for (unsigned i = 0; i < INTERFACES; i++)
		assert_int_equal(PtlEQAlloc(ni[i], 16, PTL_EQ_HANDLER_NONE, &eq[i]), PTL_OK);
	assert_int_equal(PtlMEAttach(ni[1], 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	assert_int_equal(PtlMDAttach(me, descriptor_of(window, eq[1]), PTL_RETAIN, &far), PTL_OK);
	assert_int_equal(PtlMDBind(ni[0], descriptor_of(source, eq[0]), PTL_RETAIN, &near), PTL_OK);
	memset(source, 1, LENGTH);
	memset(window, 0, LENGTH);
	meet();
	return 0;
}

/* Nothing is driven: what has been told already. */
static void expect(unsigned which, ptl_event_kind_t kind, ptl_ni_fail_t failure)
{
	ptl_event_t event = {.type = PTL_EVENT_UNLINK};

	assert_int_equal(PtlEQGet(eq[which], &event), PTL_OK);
	assert_int_equal(event.type, kind);
	assert_int_equal(event.ni_fail_type, failure);
}

static void expect_nothing(unsigned which)
{
	ptl_event_t event;

	assert_int_equal(PtlEQGet(eq[which], &event), PTL_EQ_EMPTY);
}

static void expect_no_operation(unsigned which)
{
	assert_int_equal(process_ni(ni[which])->objects.operations.live, 0);
}

static void put(ptl_ack_req_t ack)
{
	assert_int_equal(PtlPut(near, ack, id[1], 0, 0, 0, 0, 0), PTL_OK);
}

static void let_go(unsigned endpoint)
{
	assert_true(scripted_let_placed_go(endpoint));
	drive_all();
}

/* Its process has gone, and what it was sent is on its way for ever. */
static void give_up(unsigned which, unsigned peer)
{
	scripted_close_port(peer);
	for (int i = 0; i < GIVING_UP_TICKS; i++) {
		scripted_pass_time(TICK_NS);
		for (int j = 0; j < DRIVES; j++)
			nic_call(process_ni(ni[which]), drive, NULL);
	}
}

static void what_leaves_at_once_is_free_when_the_call_returns(void **state)
{
	(void)state;
	put(PTL_NO_ACK_REQ);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	expect_no_operation(0);
	settle();
	expect(1, PTL_EVENT_PUT_END, PTL_NI_OK);
	assert_memory_equal(window, source, LENGTH);
}

static void what_is_shorter_is_copied(void **state)
{
	(void)state;
	scripted_keep_placed(0, true);
	assert_int_equal(PtlPutRegion(near, 0, LENGTH / 2 - 1, PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	assert_false(scripted_pass_placed(0));
}

static void memory_is_in_use_until_it_has_left(void **state)
{
	(void)state;
	scripted_keep_placed(0, true);
	put(PTL_NO_ACK_REQ);
	expect_nothing(0);
	assert_int_equal(PtlMDUnlink(near), PTL_MD_IN_USE);
	assert_true(scripted_pass_placed(0));
	settle();
	expect(1, PTL_EVENT_PUT_END, PTL_NI_OK);
	expect_nothing(0);
	assert_int_equal(PtlMDUnlink(near), PTL_MD_IN_USE);
	let_go(0);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	expect_no_operation(0);
	assert_int_equal(PtlMDUnlink(near), PTL_OK);
}

static void a_used_up_descriptor_goes_when_its_memory_has_left(void **state)
{
	ptl_md_t once = descriptor_of(source, eq[0]);

	(void)state;
	once.threshold = 1;
	assert_int_equal(PtlMDBind(ni[0], once, PTL_UNLINK, &near), PTL_OK);
	scripted_keep_placed(0, true);
	put(PTL_NO_ACK_REQ);
	expect_nothing(0);
	let_go(0);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	expect(0, PTL_EVENT_UNLINK, PTL_NI_OK);
}

static void what_replaces_a_descriptor_leaves_the_memory_under_way_alone(void **state)
{
	ptl_md_t update = descriptor_of(other, eq[0]);

	(void)state;
	scripted_keep_placed(0, true);
	put(PTL_NO_ACK_REQ);
	assert_int_equal(PtlMDUpdate(near, NULL, &update, PTL_EQ_NONE), PTL_OK);
	assert_int_equal(PtlMDUnlink(near), PTL_MD_IN_USE);
	assert_true(scripted_pass_placed(0));
	settle();
	assert_memory_equal(window, source, LENGTH);
	let_go(0);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	assert_int_equal(PtlMDUnlink(near), PTL_OK);
}

static void an_acknowledgement_follows_what_has_left(void **state)
{
	(void)state;
	scripted_keep_placed(0, true);
	put(PTL_ACK_REQ);
	assert_true(scripted_pass_placed(0));
	let_go(0);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	expect_nothing(0);
	settle();
	expect(0, PTL_EVENT_ACK, PTL_NI_OK);
	expect_no_operation(0);
}

/* It proves that all has been sent, whatever the transport says later. */
static void an_acknowledgement_may_come_first(void **state)
{
	(void)state;
	scripted_keep_placed(0, true);
	put(PTL_ACK_REQ);
	assert_true(scripted_pass_placed(0));
	settle();
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	expect(0, PTL_EVENT_ACK, PTL_NI_OK);
	let_go(0);
	expect_nothing(0);
	expect_no_operation(0);
}

static void a_refusal_may_come_first(void **state)
{
	(void)state;
	assert_int_equal(PtlMDUnlink(far), PTL_OK);
	scripted_keep_placed(0, true);
	put(PTL_ACK_REQ);
	assert_true(scripted_pass_placed(0));
	settle();
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	expect_nothing(0);
	let_go(0);
	expect_no_operation(0);
}

static void a_peer_that_is_given_up_frees_no_memory(ptl_ack_req_t ack)
{
	scripted_keep_placed(0, true);
	put(ack);
	give_up(0, 1);
	assert_true(scripted_severed_at_once() > 0);
	expect_nothing(0);
	assert_int_equal(PtlMDUnlink(near), PTL_MD_IN_USE);
	let_go(0);
	expect(0, PTL_EVENT_SEND_END, PTL_NI_PEER_DIED);
	expect_nothing(0);
	expect_no_operation(0);
	assert_int_equal(PtlMDUnlink(near), PTL_OK);
}

static void memory_is_in_use_though_its_peer_is_given_up(void **state)
{
	(void)state;
	a_peer_that_is_given_up_frees_no_memory(PTL_NO_ACK_REQ);
}

static void memory_is_in_use_though_no_answer_comes(void **state)
{
	(void)state;
	a_peer_that_is_given_up_frees_no_memory(PTL_ACK_REQ);
}

/* What waits for it is severed again and again until it is free, however long that takes. */
static void what_keeps_memory_in_use_is_severed_until_it_is_free(void **state)
{
	(void)state;
	scripted_keep_placed(0, true);
	put(PTL_NO_ACK_REQ);
	give_up(0, 1);
	unsigned before = scripted_severings();

	give_up(0, 1);
	assert_true(scripted_severings() > before);
	assert_int_equal(scripted_severed_last(), 1);
	let_go(0);
	give_up(0, 1);
	before = scripted_severings();
	give_up(0, 1);
	assert_int_equal(scripted_severings(), before);
}

static void get(void)
{
	scripted_keep_placed(1, true);
	assert_int_equal(PtlGet(near, id[1], 0, 0, 0, 0), PTL_OK);
	assert_true(scripted_deliver(0, 1));
	drive_all();
	expect_nothing(1);
	assert_int_equal(PtlMDUnlink(far), PTL_MD_IN_USE);
}

static void an_answer_is_in_use_until_it_has_left(void **state)
{
	(void)state;
	get();
	assert_true(scripted_pass_placed(1));
	let_go(1);
	expect(1, PTL_EVENT_GET_END, PTL_NI_OK);
	settle();
	expect(0, PTL_EVENT_REPLY_END, PTL_NI_OK);
	expect_no_operation(1);
}

static void an_answer_is_in_use_though_its_peer_is_given_up(void **state)
{
	(void)state;
	get();
	give_up(1, 0);
	expect_nothing(1);
	let_go(1);
	expect(1, PTL_EVENT_GET_END, PTL_NI_PEER_DIED);
	expect_no_operation(1);
	assert_int_equal(PtlMDUnlink(far), PTL_OK);
}

/* Of a host that has been told nothing yet and looks at its transports when it is woken. */
static bool wakes_a_sleeper(void)
{
	struct nic *nic = process_ni(ni[0]);
	const uint64_t before = atomic_load(&nic->sleep.wakes);

	nic->drive.host_sleeps_until = 0; /* a timer is no reason */
	atomic_store(&nic->sleep.sleeper, SLEEPER_HOST);
	put(PTL_NO_ACK_REQ);
	atomic_store(&nic->sleep.sleeper, SLEEPER_NONE);
	return atomic_load(&nic->sleep.wakes) != before;
}

static void what_arrives_while_a_put_leaves_wakes_the_sleeper(void **state)
{
	(void)state;
	assert_false(wakes_a_sleeper());
	scripted_arrive_while_placing(0, true);
	assert_true(wakes_a_sleeper());
}

/* What an operation would be made of is used up: then no payload can stay, but it can be copied. */
static void without_an_operation_a_put_is_copied(void **state)
{
	struct nic *nic = process_ni(ni[0]);
	const uint32_t requests = nic->requests;

	(void)state;
	scripted_keep_placed(0, true);
	nic->requests = NIC_MAX_REQUESTS;
	put(PTL_NO_ACK_REQ);
	nic->requests = requests;
	expect(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	settle();
	expect(1, PTL_EVENT_PUT_END, PTL_NI_OK);
	assert_memory_equal(window, source, LENGTH);
}

static void without_an_operation_an_answer_is_copied(void **state)
{
	struct pool *pool = &process_ni(ni[1])->objects.operations;
	const struct pool full = *pool;

	(void)state;
	memset(window, 2, LENGTH);
	scripted_keep_placed(1, true);
	assert_int_equal(PtlGet(near, id[1], 0, 0, 0, 0), PTL_OK);
	assert_true(scripted_deliver(0, 1));
	pool->capacity = pool->free_count = 0;
	drive_all();
	*pool = full; /* unused meanwhile */
	expect(1, PTL_EVENT_GET_END, PTL_NI_OK);
	settle();
	expect(0, PTL_EVENT_REPLY_END, PTL_NI_OK);
	assert_memory_equal(window, source, LENGTH);
}

/* The transport forgets what it has. */
static void an_interface_may_close_meanwhile(void **state)
{
	(void)state;
	scripted_keep_placed(0, true);
	put(PTL_NO_ACK_REQ);
	assert_int_equal(PtlNIFini(ni[0]), PTL_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_interfaces, close_interfaces)
		TEST(what_leaves_at_once_is_free_when_the_call_returns),
		TEST(what_is_shorter_is_copied),
		TEST(memory_is_in_use_until_it_has_left),
		TEST(a_used_up_descriptor_goes_when_its_memory_has_left),
		TEST(what_replaces_a_descriptor_leaves_the_memory_under_way_alone),
		TEST(an_acknowledgement_follows_what_has_left),
		TEST(an_acknowledgement_may_come_first),
		TEST(a_refusal_may_come_first),
		TEST(memory_is_in_use_though_its_peer_is_given_up),
		TEST(memory_is_in_use_though_no_answer_comes),
		TEST(what_keeps_memory_in_use_is_severed_until_it_is_free),
		TEST(an_answer_is_in_use_until_it_has_left),
		TEST(an_answer_is_in_use_though_its_peer_is_given_up),
		TEST(what_arrives_while_a_put_leaves_wakes_the_sleeper),
		TEST(without_an_operation_a_put_is_copied),
		TEST(without_an_operation_an_answer_is_copied),
		TEST(an_interface_may_close_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
