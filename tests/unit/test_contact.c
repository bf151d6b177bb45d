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
#include "portals/process.h"
#include "tests/scripted.h"

enum { INTERFACES = 2, ROUNDS = 40, ROUND_MS = 300, DRIVES = 8 };

static ptl_handle_ni_t ni[INTERFACES];
static ptl_process_id_t id[INTERFACES];
static char memory[8];

static int open_interfaces(void **state)
{
	const struct scripted_terms terms = {.short_max = 1024, .rma_chunk = 1024, .rma_depth = 1};
	int most;

	(void)state;
	setenv("PTL_TRANSPORT", "ofi", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	scripted_open(&terms, &scripted_blind);
	assert_int_equal(PtlInit(&most), PTL_OK);
	for (unsigned i = 0; i < INTERFACES; i++) {
		assert_int_equal(PtlNIInit(i, SCRIPTED_PID + i, NULL, NULL, &ni[i]), PTL_OK);
		assert_int_equal(PtlNicReady(ni[i]), PTL_OK);
		assert_int_equal(PtlGetId(ni[i], &id[i]), PTL_OK);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_behind_a_lost_welcome_does_not_vanish, open_interfaces,
						close_interfaces),
	};

	return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
