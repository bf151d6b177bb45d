/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs compiled with other structures of portals3_nic.h than the library's get what both know, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* The functions of these names are for programs compiled when they had no size argument. */
#define PtlNicTimingGet current_timing
#define PtlNicCounters  current_counters
#include <portals3_nic.h>
#undef PtlNicTimingGet
#undef PtlNicCounters

int PtlNicTimingGet(ptl_handle_ni_t, void *timing);
int PtlNicCounters(ptl_handle_ni_t, void *counters);

enum { MESSAGES = 3, BEYOND = 8, FILL = 0x5a };

/* As the structures were then. */
struct first_timing {
	struct {
		const char *name;
		ptl_stage_group_t group;
		uint64_t count;
		double total, mean, p50, p99, min, max;
	} stage[22];
	uint64_t messages, entries_walked;
	double clock_cost;
	const char *clock;
};

struct first_counters {
	uint64_t numbers[19];
};

static ptl_handle_ni_t ni;

/* Some messages to ourselves, with the clocks on. */
static int exchange(void **state)
{
	(void)state;
	static char from[8], to[8];
	ptl_process_id_t self, any = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	int interfaces;

	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) || PtlGetId(ni, &self) ||
	    PtlNicTimingSet(ni, 1))
		return -1;
	PtlMEAttach(ni, 4, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
	PtlMDAttach(me,
		    (ptl_md_t){.start = to,
			       .length = 8,
			       .threshold = PTL_MD_THRESH_INF,
			       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
			       .eq_handle = PTL_EQ_NONE},
		    PTL_RETAIN, &md);
	PtlMDBind(ni, (ptl_md_t){.start = from, .length = 8, .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE},
		  PTL_RETAIN, &md);
	for (int i = 0; i < MESSAGES; i++)
		PtlPut(md, PTL_NO_ACK_REQ, self, 4, 0, 1, 0, 0);
	for (ptl_nic_counters_t counters = {0}; counters.requests_received < MESSAGES;)
		if (PtlProgress(ni, 0) || current_counters(ni, &counters))
			return -1;
	return PtlNicTimingSet(ni, 0);
}

static int finish(void **state)
{
	(void)state;
	PtlFini();
	return 0;
}

static void assert_filled(const char *bytes, size_t count, int value)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bytes[i], value);
}

static void a_program_of_the_first_version_reads_stages(void **state)
{
	(void)state;
	struct {
		struct first_timing timing;
		char beyond[BEYOND];
	} old;
	ptl_nic_timing_t timing;

	memset(&old, FILL, sizeof(old));
	assert_int_equal(PtlNicTimingGet(ni, &old.timing), PTL_OK);
	assert_int_equal(current_timing(ni, &timing), PTL_OK);
	for (int i = 0; i < 22; i++) {
		assert_string_equal(old.timing.stage[i].name, timing.stage[i].name);
		assert_int_equal(old.timing.stage[i].group, timing.stage[i].group);
		assert_int_equal(old.timing.stage[i].count, timing.stage[i].count);
		assert_true(old.timing.stage[i].max == timing.stage[i].max);
	}
	assert_string_equal(old.timing.clock, timing.clock);
	assert_true(old.timing.clock_cost == timing.clock_cost);
	assert_int_equal(old.timing.messages, timing.messages);
	assert_int_equal(timing.messages, MESSAGES);
	assert_filled(old.beyond, BEYOND, FILL);
}

static void a_program_of_the_first_version_reads_counters(void **state)
{
	(void)state;
	struct {
		struct first_counters counters;
		char beyond[BEYOND];
	} old;
	ptl_nic_counters_t counters;

	memset(&old, FILL, sizeof(old));
	assert_int_equal(PtlNicCounters(ni, &old.counters), PTL_OK);
	assert_int_equal(current_counters(ni, &counters), PTL_OK);
	assert_int_equal(counters.requests_sent, MESSAGES);
	assert_int_equal(counters.bytes_copied, counters.bytes_sent); /* to ourselves */
	assert_memory_equal(&old.counters, &counters, sizeof(old.counters));
	assert_filled(old.beyond, BEYOND, FILL);
}

static void smaller_counters_are_cut(void **state)
{
	(void)state;
	uint64_t received[2] = {0, 0x5a5a};

	assert_int_equal(PtlNicCountersRead(ni, (void *)received, sizeof(received[0])), PTL_OK);
	assert_int_equal(received[0], MESSAGES);
	assert_int_equal(received[1], 0x5a5a);
	assert_int_equal(PtlNicCountersRead(ni, (void *)received, 0), PTL_OK);
}

static void larger_counters_end_with_zeros(void **state)
{
	(void)state;
	struct {
		ptl_nic_counters_t counters;
		char added[64];
	} larger;

	memset(&larger, FILL, sizeof(larger));
	assert_int_equal(PtlNicCountersRead(ni, (void *)&larger, sizeof(larger)), PTL_OK);
	assert_int_equal(larger.counters.requests_received, MESSAGES);
	assert_filled(larger.added, sizeof(larger.added), 0);
}

static void smaller_stages_are_cut(void **state)
{
	(void)state;
	struct {
		struct {
			const char *name;
		} stage[3];
		uint64_t messages;
		char beyond[BEYOND];
	} smaller;

	memset(&smaller, FILL, sizeof(smaller));
	assert_int_equal(
		PtlNicTimingRead(ni, (void *)&smaller, offsetof(typeof(smaller), beyond), sizeof(smaller.stage[0]), 3),
		PTL_OK);
	assert_string_equal(smaller.stage[0].name, "post receive");
	assert_string_equal(smaller.stage[2].name, "wait for send");
	assert_int_equal(smaller.messages, MESSAGES);
	assert_filled(smaller.beyond, BEYOND, FILL);
}

static void larger_and_more_stages_are_zero(void **state)
{
	(void)state;
	struct {
		struct {
			ptl_stage_times_t times;
			char added[24];
		} stage[PTL_STAGE_COUNT + 2];
		uint64_t messages, entries_walked;
		double clock_cost;
		const char *clock;
		char added[40];
	} larger;

	memset(&larger, FILL, sizeof(larger));
	assert_int_equal(
		PtlNicTimingRead(ni, (void *)&larger, sizeof(larger), sizeof(larger.stage[0]), PTL_STAGE_COUNT + 2),
		PTL_OK);
	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		assert_non_null(larger.stage[i].times.name);
		assert_filled(larger.stage[i].added, sizeof(larger.stage[i].added), 0);
	}
	assert_filled((const char *)&larger.stage[PTL_STAGE_COUNT], 2 * sizeof(larger.stage[0]), 0);
	assert_non_null(larger.clock);
	assert_filled(larger.added, sizeof(larger.added), 0);
}

static void stages_that_are_not_in_the_structure_are_refused(void **state)
{
	(void)state;
	char small[64];

	memset(small, FILL, sizeof(small));
	assert_int_equal(PtlNicTimingRead(ni, (void *)small, sizeof(small), 32, 3), PTL_NO_SPACE);
	assert_int_equal(PtlNicTimingRead(ni, (void *)small, sizeof(small), SIZE_MAX, 2), PTL_NO_SPACE);
	assert_int_equal(PtlNicTimingRead(ni, (void *)small, sizeof(small), 32, UINT32_MAX), PTL_NO_SPACE);
	assert_filled(small, sizeof(small), FILL);
}

static void results_and_interfaces_are_checked(void **state)
{
	(void)state;
	uint64_t counters[19];

	assert_int_equal(PtlNicCountersRead(ni, NULL, 8), PTL_SEGV);
	assert_int_equal(PtlNicCountersRead(PTL_INVALID_HANDLE, (void *)counters, 8), PTL_NI_INVALID);
	assert_int_equal(PtlNicTimingRead(ni, NULL, 8, 8, 1), PTL_SEGV);
	assert_int_equal(PtlNicTimingRead(PTL_INVALID_HANDLE, (void *)counters, 8, 8, 1), PTL_NI_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_of_the_first_version_reads_stages),
		cmocka_unit_test(a_program_of_the_first_version_reads_counters),
		cmocka_unit_test(smaller_counters_are_cut),
		cmocka_unit_test(larger_counters_end_with_zeros),
		cmocka_unit_test(smaller_stages_are_cut),
		cmocka_unit_test(larger_and_more_stages_are_zero),
		cmocka_unit_test(stages_that_are_not_in_the_structure_are_refused),
		cmocka_unit_test(results_and_interfaces_are_checked),
	};

	setenv("PTL_TRANSPORT", "self", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	return cmocka_run_group_tests(tests, exchange, finish);
}
