/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a peer's memory may be in flight, and in which pieces it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <portals3.h>
#include <portals3_nic.h>
#include <stdlib.h>

#include "offload/drive.h"
#include "offload/nic.h"
#include "portals/process.h"
#include "tests/support/scripted.h"
#include "tests/unit/interfaces.h"

enum { INTERFACES = 2, SHORT = 8, CHUNK = 4096, STREAM_CHUNK = 2 * CHUNK, WINDOW = 16 * CHUNK, LONG = 4 * CHUNK };

static ptl_handle_ni_t ni[INTERFACES];
static ptl_handle_md_t source;
static ptl_process_id_t id[INTERFACES];
static char memory[INTERFACES][LONG];
static size_t window, greatest; /* of the last read, and the longest since it was cleared */

static void see_read(struct scripted_read *read, bool taken)
{
	(void)taken;
	window = read->window;
	greatest = read->length > greatest ? read->length : greatest;
}

static void drive_all(void)
{
	for (unsigned i = 0; i < INTERFACES; i++)
		nic_call(process_ni(ni[i]), drive, NULL);
}

static bool deliver(unsigned from, unsigned to)
{
	bool there = scripted_deliver(from, to);

	drive_all();
	return there;
}

static void settle(void)
{
	while (deliver(0, 1) || deliver(1, 0) || scripted_complete(1, 0, 0))
		drive_all();
}

static int open_interfaces(void **state)
{
	static struct scripted_observer observer;
	const struct scripted_terms terms = {.short_max = 1024,
					     .rma_chunk = CHUNK,
					     .rma_depth = 2,
					     .stream_window = WINDOW,
					     .stream_chunk = STREAM_CHUNK};
	const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_md_t md = {.threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
		       .length = LONG,
		       .eq_handle = PTL_EQ_NONE};
	ptl_handle_me_t me;
	ptl_handle_md_t target;

	(void)state;
	observer = scripted_blind;
	observer.reading = see_read;
	open_scripted(&terms, &observer, INTERFACES, ni, id);
	md.start = memory[1];
	assert_int_equal(PtlMEAttach(ni[1], 0, anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	assert_int_equal(PtlMDAttach(me, md, PTL_RETAIN, &target), PTL_OK);
	md.start = memory[0];
	assert_int_equal(PtlMDBind(ni[0], md, PTL_RETAIN, &source), PTL_OK);
	return 0;
}

static void put(ptl_size_t length)
{
	assert_int_equal(PtlPutRegion(source, 0, length, PTL_NO_ACK_REQ, id[1], 0, 0, 0, 0, 0), PTL_OK);
}

/* So many long puts, all announced before the first is read. */
static void stream(unsigned count)
{
	greatest = 0;
	for (unsigned i = 0; i < count; i++)
		put(LONG);
	settle();
}

static void the_window_of_a_stream_grows_up_to_the_transports_limit(void **state)
{
	(void)state;
	stream(1);
	assert_int_equal(window, (LONG - CHUNK) / 2);
	stream(2);
	assert_int_equal(window, (3 * LONG - CHUNK) / 2);
	stream(16);
	assert_int_equal(window, WINDOW);
}

static void a_short_message_ends_a_stream(void **state)
{
	(void)state;
	stream(16);
	put(SHORT);
	settle();
	stream(1);
	assert_int_equal(window, (LONG - CHUNK) / 2);
}

static void an_announcement_of_less_than_a_piece_ends_a_stream(void **state)
{
	(void)state;
	stream(16);
	put(CHUNK - 1);
	settle();
	assert_int_equal(window, 0);
}

static void pieces_are_greater_behind_others_in_a_wide_window_only(void **state)
{
	(void)state;
	stream(2);
	assert_int_equal(greatest, CHUNK);
	stream(16);
	stream(1);
	assert_int_equal(greatest, CHUNK);
	stream(4);
	assert_int_equal(greatest, STREAM_CHUNK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_interfaces, close_interfaces)
		TEST(the_window_of_a_stream_grows_up_to_the_transports_limit),
		TEST(a_short_message_ends_a_stream),
		TEST(an_announcement_of_less_than_a_piece_ends_a_stream),
		TEST(pieces_are_greater_behind_others_in_a_wide_window_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
