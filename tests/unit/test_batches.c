/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages timed in batches: what is told of messages whose times are known, and that the clock is not in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "offload/batches.h"
#include "offload/timing.h"

enum { MESSAGES = 4000, READING = 27 };

struct lap {
	ptl_stage_t stage;
	uint64_t ticks;
};

static struct batches *batches;
static struct batch_sums sums;
static struct timing timing;

static int begin(void **state)
{
	(void)state;
	batches = calloc(1, sizeof(*batches));
	if (batches)
		batches_forget(batches);
	memset(&timing, 0, sizeof(timing));
	return batches ? timing_set(&timing, PTL_NIC_TIMING_BATCHES) : -1;
}

static int end(void **state)
{
	(void)state;
	free(batches);
	timing_free(&timing);
	return 0;
}

/* A message as if its laps had taken these times, and the readings theirs. */
static void message(const struct lap *laps, uint32_t count, uint64_t delay)
{
	uint64_t ticks = READING + delay;

	batches_begin(batches);
	for (uint32_t i = 0; i < count; i++) {
		batches_lap(batches, laps[i].stage);
		if (i < batches->wanted)
			ticks += laps[i].ticks;
	}
	batches->ticks = ticks;
	batches_keep(batches);
}

static void assert_stage(ptl_stage_t stage, uint64_t count, double ticks)
{
	assert_int_equal(sums.count[stage], count);
	if (fabs(sums.ticks[stage] - ticks) > 1e-6 * ticks)
		fail_msg("stage %d has %g ticks, not %g", stage, sums.ticks[stage], ticks);
}

static const struct lap put[] = {{PTL_STAGE_INSPECT, 20}, {PTL_STAGE_MATCH, 40}, {PTL_STAGE_EVENT, 10},
				 {PTL_STAGE_COPY, 0},     {PTL_STAGE_EVENT, 16}, {PTL_STAGE_UNLINK, 300}};
static const struct lap ack[] = {{PTL_STAGE_INSPECT, 50}, {PTL_STAGE_EVENT, 7}};

static void stages_are_told_without_the_readings(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGES; i++)
		message(put, 6, 0);
	batches_read(batches, &sums);
	assert_int_equal(sums.messages, MESSAGES);
	assert_stage(PTL_STAGE_INSPECT, MESSAGES, 20.0 * MESSAGES);
	assert_stage(PTL_STAGE_MATCH, MESSAGES, 40.0 * MESSAGES);
	assert_stage(PTL_STAGE_COPY, MESSAGES, 0);
	assert_stage(PTL_STAGE_EVENT, 2 * MESSAGES, 26.0 * MESSAGES);
	assert_stage(PTL_STAGE_UNLINK, MESSAGES, 300.0 * MESSAGES);
	assert_stage(PTL_STAGE_ACK, 0, 0);
}

/* Messages that take turns are not mixed up, and each has all its batches. */
static void messages_of_several_ways_are_told_apart(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGES; i++) {
		message(put, 6, 0);
		message(ack, 2, 0);
		message(put, 5, 0);
	}
	batches_read(batches, &sums);
	assert_int_equal(sums.messages, 3 * MESSAGES);
	assert_stage(PTL_STAGE_INSPECT, 3 * MESSAGES, 90.0 * MESSAGES);
	assert_stage(PTL_STAGE_EVENT, 5 * MESSAGES, 59.0 * MESSAGES);
	assert_stage(PTL_STAGE_UNLINK, MESSAGES, 300.0 * MESSAGES);
}

static void a_preemption_is_not_in_a_stage(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGES; i++)
		message(put, 6, i % 50 ? 0 : 1000000);
	batches_read(batches, &sums);
	assert_stage(PTL_STAGE_INSPECT, MESSAGES, 20.0 * MESSAGES);
	assert_stage(PTL_STAGE_MATCH, MESSAGES, 40.0 * MESSAGES);
}

static void what_there_is_no_room_for_is_not_counted(void **state)
{
	struct lap laps[BATCH_LAPS + 1];

	(void)state;
	for (uint32_t i = 0; i <= BATCH_LAPS; i++)
		laps[i] = (struct lap){PTL_STAGE_EVENT, 10};
	for (int i = 0; i < MESSAGES; i++)
		message(laps, BATCH_LAPS + 1, 0);
	batches_read(batches, &sums);
	assert_int_equal(sums.messages, 0);
	for (uint32_t way = 1; way <= BATCH_WAYS; way++)
		for (int i = 0; i < MESSAGES; i++)
			message(laps, way % BATCH_LAPS + 1, 0);
	message(ack, 2, 0);
	batches_read(batches, &sums);
	assert_int_equal(sums.messages, BATCH_WAYS * MESSAGES);
	assert_stage(PTL_STAGE_INSPECT, 0, 0);
	batches_forget(batches);
	batches_read(batches, &sums);
	assert_int_equal(sums.messages, 0);
}

static void spend_some_time(int turns)
{
	for (volatile int i = 0; i < turns; i++)
		;
}

static void handle_messages(int count)
{
	for (int i = 0; i < count; i++) {
		timing_begin(&timing);
		timing_lap(&timing, PTL_STAGE_INSPECT);
		timing_lap(&timing, PTL_STAGE_ACCESS);
		spend_some_time(100);
		timing_lap(&timing, PTL_STAGE_MATCH);
		if (i % 2) {
			timing_record(&timing, PTL_STAGE_OWN, 1000);
			timing_record(&timing, PTL_STAGE_RELEASE, 500);
			timing_add_outside(&timing, 1500);
		}
		timing_end(&timing);
	}
}

static void stages_in_batches_add_up_to_the_messages(void **state)
{
	ptl_nic_timing_t result;
	double total = 0, whole;

	(void)state;
	if (!PORTALS_TIMING)
		skip();
	handle_messages(MESSAGES);
	timing_read(&timing, &result);
	for (int i = 0; i < PTL_STAGE_COUNT; i++)
		if (result.stage[i].group == PTL_STAGE_NIC)
			total += result.stage[i].total;
	whole = result.stage[PTL_STAGE_MESSAGE].total;
	assert_true(whole > 0 && fabs(total - whole) <= 0.05 * whole);
	assert_int_equal(result.messages_in_batches, MESSAGES);
	assert_int_equal(result.messages, MESSAGES);
	assert_int_equal(result.stage[PTL_STAGE_MATCH].count, MESSAGES);
	assert_int_equal(result.stage[PTL_STAGE_OWN].count, MESSAGES / 2);
	assert_true(result.stage[PTL_STAGE_MATCH].p99 == 0 && result.stage[PTL_STAGE_MATCH].max == 0);
}

/* The same empty lap, with a reading at its end and in batches. */
static void the_clock_is_in_no_stage(void **state)
{
	ptl_nic_timing_t with, without;

	(void)state;
	if (!PORTALS_TIMING)
		skip();
	handle_messages(10 * MESSAGES);
	timing_read(&timing, &without);
	timing_set(&timing, PTL_NIC_TIMING_ON);
	handle_messages(10 * MESSAGES);
	timing_read(&timing, &with);
	assert_true(with.messages_in_batches == 0 && with.stage[PTL_STAGE_ACCESS].p99 > 0);
	assert_true(without.stage[PTL_STAGE_ACCESS].mean < with.stage[PTL_STAGE_ACCESS].trimmed_mean);
}

/* It has an entry for each lap. */
static void a_timeline_has_no_batches(void **state)
{
	ptl_nic_timing_t result;

	(void)state;
	timing_set(&timing, PTL_NIC_TIMING_OFF);
	timing.timeline = (struct timeline *)&timing; /* any; nothing is recorded */
	assert_int_equal(timing_set(&timing, PTL_NIC_TIMING_BATCHES), 0);
	timing.timeline = NULL;
	handle_messages(10);
	timing_read(&timing, &result);
	assert_int_equal(result.messages_in_batches, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stages_are_told_without_the_readings),
		TEST(messages_of_several_ways_are_told_apart),
		TEST(a_preemption_is_not_in_a_stage),
		TEST(what_there_is_no_room_for_is_not_counted),
		TEST(stages_in_batches_add_up_to_the_messages),
		TEST(the_clock_is_in_no_stage),
		TEST(a_timeline_has_no_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
