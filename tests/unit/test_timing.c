/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage clocks: what they record, how well percentiles are kept, and that the laps of a message add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/timing.h"

enum { VALUES = 10000 };

static struct timing timing;
static ptl_nic_timing_t result;

static int switch_on(void **state)
{
	(void)state;
	memset(&timing, 0, sizeof(timing));
	return timing_set(&timing, true);
}

static int give_back(void **state)
{
	(void)state;
	timing_free(&timing);
	return 0;
}

/* Half of a bucket that is 1.6 % wide; that of a time below 64 ticks has one value. */
#define HALF_A_BUCKET 0.0079

/* One stage as it is now, times in ticks. */
static ptl_stage_times_t in_ticks(ptl_stage_t stage)
{
	double ns = timing_ns_per_tick();

	timing_read(&timing, &result);
	ptl_stage_times_t times = result.stage[stage];

	times.total /= ns;
	times.mean /= ns;
	times.p50 /= ns;
	times.p99 /= ns;
	times.min /= ns;
	times.max /= ns;
	times.trimmed_mean /= ns;
	return times;
}

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance * expected + 1e-9))
		fail_msg("%g is not within %g %% of %g", value, 100 * tolerance, expected);
}

static void a_stage_knows_count_total_mean_least_and_greatest(void **state)
{
	static const uint64_t values[] = {100, 7, 4000, 93};

	(void)state;
	for (int i = 0; i < 4; i++)
		timing_record(&timing, PTL_STAGE_MATCH, values[i]);
	ptl_stage_times_t match = in_ticks(PTL_STAGE_MATCH);

	assert_int_equal(match.count, 4);
	assert_near(match.total, 4200, 1e-9);
	assert_near(match.mean, 1050, 1e-9);
	assert_near(match.min, 7, 1e-9);
	assert_near(match.max, 4000, 1e-9);
	assert_int_equal(result.stage[PTL_STAGE_COPY].count, 0);
	assert_string_equal(match.name, "match");
	assert_int_equal(match.group, PTL_STAGE_NIC);
	assert_int_equal(result.stage[PTL_STAGE_COPY].min, 0);
}

static void a_trimmed_mean_leaves_out_both_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		timing_record(&timing, PTL_STAGE_MATCH, 50);
	timing_record(&timing, PTL_STAGE_MATCH, 1);
	timing_record(&timing, PTL_STAGE_MATCH, 1000000000);
	assert_near(in_ticks(PTL_STAGE_MATCH).trimmed_mean, 50, 1e-9);
	timing_record(&timing, PTL_STAGE_COPY, 40);
	assert_near(in_ticks(PTL_STAGE_COPY).trimmed_mean, 40, 1e-9);
}

static void the_clock_is_stated_for_each_stage_and_for_all_of_a_message(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		timing_record(&timing, PTL_STAGE_INSPECT, 50);
	timing_record(&timing, PTL_STAGE_EVENT, 50);
	timing_record(&timing, PTL_STAGE_MESSAGE, 100);
	timing_record(&timing, PTL_STAGE_MESSAGE, 100);
	timing_read(&timing, &result);
	double first = result.stage[PTL_STAGE_INSPECT].clock, later = result.stage[PTL_STAGE_EVENT].clock;

	assert_near(first, result.clock_cost, 1e-9);
	assert_true(later > 0);
	assert_near(result.stage[PTL_STAGE_MESSAGE].clock, (3 * first + later) / 2, 1e-9);
	assert_near(result.stage[PTL_STAGE_COPY].clock, 0, 1e-9);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void assert_percentiles(uint64_t *values, int count)
{
	timing_set(&timing, true);
	for (int i = 0; i < count; i++)
		timing_record(&timing, PTL_STAGE_COPY, values[i]);
	qsort(values, (size_t)count, sizeof(*values), compare);
	ptl_stage_times_t copy = in_ticks(PTL_STAGE_COPY);

	int middle = count / 2, last_hundredth = count / 100 * 99;

	assert_near(copy.p50, (double)values[middle], HALF_A_BUCKET);
	assert_near(copy.p99, (double)values[last_hundredth], HALF_A_BUCKET);
}

static void percentiles_are_right_within_a_bucket(void **state)
{
	static uint64_t values[VALUES];

	(void)state;
	srand(1);
	for (int power = 1; power < 42; power++) {
		for (int i = 0; i < VALUES; i++)
			values[i] = ((uint64_t)rand() << 31 | (uint64_t)rand()) & ((UINT64_C(1) << power) - 1);
		assert_percentiles(values, VALUES);
		/* From one tick to the greatest, as many of each magnitude. */
		for (int i = 0; i < VALUES; i++)
			values[i] = (UINT64_C(1) << i % power) + (uint64_t)rand() % (UINT64_C(1) << i % power);
		assert_percentiles(values, VALUES);
	}
}

static void every_single_value_is_kept_within_a_bucket(void **state)
{
	(void)state;
	for (uint64_t low = 1; low < UINT64_C(1) << 42; low *= 2) {
		const uint64_t values[] = {low - 1, low, low + low / 16, low + low / 8, low + low / 2, 2 * low - 1};

		for (int i = 0; i < 6; i++) {
			timing_set(&timing, true);
			timing_record(&timing, PTL_STAGE_COPY, values[i]);
			assert_near(in_ticks(PTL_STAGE_COPY).p50, (double)values[i], HALF_A_BUCKET);
			assert_near(in_ticks(PTL_STAGE_COPY).p99, (double)values[i], HALF_A_BUCKET);
		}
	}
}

static void times_beyond_the_histogram_stay_in_their_stage(void **state)
{
	static _Atomic uint64_t next[TIMING_BUCKETS];
	struct timing_histograms *histograms = timing.histograms;

	(void)state;
	timing_record(&timing, PTL_STAGE_COPY, UINT64_MAX);
	timing_record(&timing, PTL_STAGE_COPY, UINT64_C(1) << 42);
	timing_record(&timing, PTL_STAGE_COPY, UINT64_C(1) << 63);
	assert_memory_equal(next, histograms->buckets[PTL_STAGE_COPY + 1], sizeof(next));
	assert_int_equal(histograms->buckets[PTL_STAGE_COPY][TIMING_BUCKETS - 1], 3);
	assert_near(in_ticks(PTL_STAGE_COPY).p50, (double)(UINT64_C(1) << 42), 2 * HALF_A_BUCKET);
}

/* Minutes are enough for 32 bits where polls are counted. */
static void a_count_does_not_wrap(void **state)
{
	struct timing_histograms *histograms = timing.histograms;

	(void)state;
	histograms->buckets[PTL_STAGE_COPY][50] = UINT32_MAX;
	timing.stages[PTL_STAGE_COPY].count = UINT32_MAX;
	timing_record(&timing, PTL_STAGE_COPY, 50);
	timing_record(&timing, PTL_STAGE_COPY, 100);
	assert_near(in_ticks(PTL_STAGE_COPY).p50, 50, 1e-9);
	assert_near(in_ticks(PTL_STAGE_COPY).p99, 50, 1e-9);
}

/* Ticks of all NIC stages. */
static uint64_t ticks_of_laps(void)
{
	uint64_t ticks = 0;

	timing_read(&timing, &result);
	for (int stage = 0; stage < PTL_STAGE_COUNT; stage++)
		if (result.stage[stage].group == PTL_STAGE_NIC)
			ticks += timing.stages[stage].ticks;
	return ticks;
}

static void spend_some_time(int turns)
{
	for (volatile int i = 0; i < turns; i++)
		;
}

static void the_laps_of_messages_add_up_to_their_total(void **state)
{
	static const ptl_stage_t way[] = {PTL_STAGE_INSPECT, PTL_STAGE_ACCESS, PTL_STAGE_MATCH,  PTL_STAGE_HOUSEKEEPING,
					  PTL_STAGE_COPY,    PTL_STAGE_EVENT,  PTL_STAGE_UNLINK, PTL_STAGE_ACK};

	(void)state;
	if (!PORTALS_TIMING)
		skip();
	for (int message = 0; message < 1000; message++) {
		timing_begin(&timing);
		for (int lap = 0; lap < 1 + message % 8; lap++) {
			spend_some_time(lap * 10);
			timing_lap(&timing, way[lap]);
		}
		if (message % 3 == 0) { /* ownership was taken and released for this one */
			timing_record(&timing, PTL_STAGE_OWN, 50);
			timing_record(&timing, PTL_STAGE_RELEASE, 30);
			timing.outside += 80;
		}
		timing_end(&timing);
	}
	assert_int_equal(ticks_of_laps(), timing.stages[PTL_STAGE_MESSAGE].ticks);
	assert_int_equal(timing.stages[PTL_STAGE_MESSAGE].count, 1000);
	assert_int_equal(timing.stages[PTL_STAGE_INSPECT].count, 1000);
	assert_int_equal(timing.stages[PTL_STAGE_ACK].count, 1000 / 8);
	assert_int_equal(result.messages, 1000);
	assert_true(timing.stages[PTL_STAGE_MESSAGE].ticks > 80 * 334);
}

static void clocks_that_are_off_record_nothing(void **state)
{
	(void)state;
	timing_set(&timing, false);
	timing_begin(&timing);
	timing_lap(&timing, PTL_STAGE_MATCH);
	timing_end(&timing);
	assert_int_equal(timing_start(&timing), 0);
	timing_stop(&timing, PTL_STAGE_RDMA, timing_start(&timing));
	timing_read(&timing, &result);
	for (int stage = 0; stage < PTL_STAGE_COUNT; stage++)
		assert_int_equal(result.stage[stage].count, 0);
	assert_int_equal(result.messages, 0);
}

static void a_stage_that_stands_alone_is_timed_from_start_to_stop(void **state)
{
	uint64_t before = cycle_clock(), start = timing_start(&timing), least = cycle_clock(), most;

	(void)state;
	if (!PORTALS_TIMING)
		skip();
	spend_some_time(1000);
	least = cycle_clock() - least;
	timing_stop(&timing, PTL_STAGE_RDMA, start);
	most = cycle_clock() - before;
	assert_int_equal(timing.stages[PTL_STAGE_RDMA].count, 1);
	assert_in_range(timing.stages[PTL_STAGE_RDMA].ticks, least, most);
}

static void switching_on_begins_anew_and_switching_off_keeps_the_result(void **state)
{
	(void)state;
	timing_record(&timing, PTL_STAGE_COPY, 1000);
	timing_begin(&timing);
	timing_end(&timing);
	timing.walked = 5;
	timing_set(&timing, false);
	assert_int_equal(in_ticks(PTL_STAGE_COPY).count, 1);
	assert_int_equal(result.entries_walked, 5);
	timing_set(&timing, true);
	timing_record(&timing, PTL_STAGE_COPY, 10);
	ptl_stage_times_t copy = in_ticks(PTL_STAGE_COPY);

	assert_int_equal(copy.count, 1);
	assert_near(copy.max, 10, 1e-9);
	assert_near(copy.total, 10, 1e-9);
	assert_near(copy.p99, 10, HALF_A_BUCKET);
	assert_true(result.messages == 0 && result.entries_walked == 0);
}

static void the_clock_is_calibrated_and_has_a_name_and_a_price(void **state)
{
	/* Each reading of the system's clock lies between two of the cycle clock, however long we are kept from running. */
	uint64_t before = cycle_clock(), begin = monotonic_ns(), begun = cycle_clock(), end, ending, ended;

	(void)state;
	do {
		ending = cycle_clock();
		end = monotonic_ns();
		ended = cycle_clock();
	} while (end - begin < 5000000);
	assert_true((double)(ending - begun) * timing_ns_per_tick() < 1.01 * (double)(end - begin));
	assert_true((double)(ended - before) * timing_ns_per_tick() > 0.99 * (double)(end - begin));
	timing_read(&timing, &result);
	assert_string_equal(result.clock, timing_clock_name());
	assert_true(result.clock_cost > 0 && result.clock_cost < 10000);
}

static void the_table_shows_each_stage_that_happened_and_its_share(void **state)
{
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(out);
	timing_record(&timing, PTL_STAGE_MATCH, 250);
	timing_record(&timing, PTL_STAGE_MESSAGE, 1000);
	timing_record(&timing, PTL_STAGE_RDMA, 500);
	timing.messages = 2;
	timing.walked = 3;
	timing_read(&timing, &result);
	timing_print(&result, out);
	fclose(out);
	assert_non_null(strstr(text, "  NIC       match "));
	assert_non_null(strstr(text, "   25.0 %\n"));
	assert_non_null(strstr(text, "  100.0 %\n"));
	assert_non_null(strstr(text, "  transport RDMA "));
	assert_null(strstr(text, "copy"));
	assert_non_null(strstr(text, timing_clock_name()));
	assert_non_null(strstr(text, "walked: 1.50 a message"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, switch_on, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stage_knows_count_total_mean_least_and_greatest),
		TEST(a_trimmed_mean_leaves_out_both_ends),
		TEST(the_clock_is_stated_for_each_stage_and_for_all_of_a_message),
		TEST(percentiles_are_right_within_a_bucket),
		TEST(every_single_value_is_kept_within_a_bucket),
		TEST(times_beyond_the_histogram_stay_in_their_stage),
		TEST(a_count_does_not_wrap),
		TEST(clocks_that_are_off_record_nothing),
		TEST(switching_on_begins_anew_and_switching_off_keeps_the_result),
		TEST(the_clock_is_calibrated_and_has_a_name_and_a_price),
		TEST(the_table_shows_each_stage_that_happened_and_its_share),
		TEST(the_laps_of_messages_add_up_to_their_total),
		TEST(a_stage_that_stands_alone_is_timed_from_start_to_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
