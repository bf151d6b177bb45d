/* SPDX-License-Identifier: BSD-3-Clause */
/* What ptlbench computes and what it reads: statistics, plans, sizes, the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/options.h"
#include "bench/stats.h"

static const struct batch_limits short_batches = {10, 50};

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void quantiles_interpolate_between_neighbours(void **state)
{
	static const double sorted[] = {1, 2, 3, 4, 5};

	(void)state;
	NEAR(quantile(sorted, 5, 0), 1);
	NEAR(quantile(sorted, 5, 0.5), 3);
	NEAR(quantile(sorted, 5, 0.9), 4.6);
	NEAR(quantile(sorted, 5, 1), 5);
	NEAR(quantile(sorted, 4, 0.5), 2.5);
	NEAR(quantile(sorted, 1, 0.99), 1);
	assert_true(isnan(quantile(sorted, 0, 0.5)));
}

static void summary_of_samples_in_any_order(void **state)
{
	struct samples samples = {0};

	(void)state;
	for (int i = 0; i < 1001; i++)
		samples_add(&samples, (i * 337) % 1001); /* 337 and 1001 are coprime: a permutation of 0..1000 */
	struct summary summary = samples_summary(&samples);
	assert_int_equal(summary.count, 1001);
	NEAR(summary.median, 500);
	NEAR(summary.p10, 100);
	NEAR(summary.p90, 900);
	NEAR(summary.p99, 990);
	samples_free(&samples);
	assert_true(isnan(samples_summary(&samples).median));
}

static void one_outlier_does_not_move_the_median(void **state)
{
	struct samples samples = {0};

	(void)state;
	for (int i = 0; i < 99; i++)
		samples_add(&samples, 7);
	samples_add(&samples, 1e9);
	NEAR(samples_summary(&samples).median, 7);
	samples_free(&samples);
}

static void plans_fill_the_budget_with_short_batches(void **state)
{
	static const double times[] = {0.1, 1, 10, 1e3, 1e5, 1e7};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct plan plan = plan_batches(times[i], 1e6, 0, short_batches);
		double total = (double)plan.batch * plan.batches;
		assert_in_range(plan.batch, short_batches.least, short_batches.most);
		assert_true(plan.batches >= 1);
		assert_true(total <= fmax(1e6 / times[i], short_batches.least));
		assert_true(total >= 0.8 * fmax(1e6 / times[i], short_batches.least));
	}
}

static void plans_honour_a_given_number_of_iterations(void **state)
{
	(void)state;
	struct plan few = plan_batches(1e9, 1, 3, short_batches);
	assert_int_equal(few.batch * few.batches, 3);
	struct plan many = plan_batches(1, 1, 10000, short_batches);
	assert_int_equal(many.batch, short_batches.most);
	assert_int_equal(many.batches, 200);
	struct plan single = plan_batches(1, 1, 70, (struct batch_limits){1, 1});
	assert_int_equal(single.batch, 1);
	assert_int_equal(single.batches, 70);
}

static void sizes_run_in_powers_and_end_with_the_greatest(void **state)
{
	uint64_t sizes[32];

	(void)state;
	assert_int_equal(size_list(0, 4 << 20, 2, sizes, 32), 24);
	assert_int_equal(sizes[0], 0);
	assert_int_equal(sizes[1], 1);
	assert_int_equal(sizes[23], 4 << 20);
	assert_int_equal(size_list(0, 4 << 20, 4, sizes, 32), 13);
	assert_int_equal(sizes[12], 4 << 20);
	assert_int_equal(size_list(8, 8, 2, sizes, 32), 1);
	assert_int_equal(sizes[0], 8);
	assert_int_equal(size_list(0, 0, 2, sizes, 32), 1);
	assert_int_equal(sizes[0], 0);
	assert_int_equal(size_list(3, 10, 2, sizes, 32), 3);
	assert_int_equal(sizes[2], 10);
	assert_int_equal(size_list(1, SIZE_LIMIT, 2, sizes, 4), 4);
	assert_int_equal(sizes[3], SIZE_LIMIT);
}

static void sizes_are_read_with_suffixes_and_nothing_else(void **state)
{
	static const char *const malformed[] = {"",   "x", "-1",  " 1", "1KB",
						"1k", "K", "4 K", "2G", "99999999999999999999"};
	uint64_t bytes;

	(void)state;
	assert_true(parse_size("0", &bytes) && bytes == 0);
	assert_true(parse_size("17", &bytes) && bytes == 17);
	assert_true(parse_size("4K", &bytes) && bytes == 4096);
	assert_true(parse_size("4M", &bytes) && bytes == 4 << 20);
	assert_true(parse_size("1G", &bytes) && bytes == SIZE_LIMIT);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_false(parse_size(malformed[i], &bytes));
}

/* Splits at blanks, parses, gives back the return code. */
static int parse_line(const char *line, struct options *options, char error[160])
{
	static char words[256];
	char *argv[16] = {"ptlbench"};
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	for (char *rest = words, *word; argc < 16 && (word = strtok_r(rest, " ", &rest)) != NULL;)
		argv[argc++] = word;
	error[0] = '\0';
	return options_parse(argc, argv, options, error, 160);
}

static void a_full_command_line_is_understood(void **state)
{
	struct options options;
	char error[160];

	(void)state;
	assert_int_equal(
		parse_line("put-latency --transport ofi:tcp --mode=dedicated --sizes 8:1M --raw msg --format json "
			   "--depths 0,5,500 --check --quick",
			   &options, error),
		0);
	assert_string_equal(options.test, "put-latency");
	assert_string_equal(options.transport, "ofi:tcp");
	assert_string_equal(options.mode, "dedicated");
	assert_int_equal(options.load.size_min, 8);
	assert_int_equal(options.load.size_max, 1 << 20);
	assert_int_equal(options.load.raw, RAW_MSG);
	assert_int_equal(options.format, FORMAT_JSON);
	assert_int_equal(options.load.depth_count, 3);
	assert_int_equal(options.load.depths[2], 500);
	assert_true(options.load.check && options.load.quick && !options.load.persistent);
	assert_int_equal(options.load.repeat, 5);
}

static void a_peer_elsewhere_is_named_by_nid_and_pid(void **state)
{
	struct options options;
	char error[160];

	(void)state;
	assert_int_equal(parse_line("put-latency --connect 127.0.0.1:5000", &options, error), 0);
	assert_true(options.connect);
	assert_int_equal(options.connect_nid, 0x7f000001);
	assert_int_equal(options.connect_pid, 5000);
	assert_int_equal(parse_line("put-latency --connect 2130706433:5000", &options, error), 0);
	assert_int_equal(options.connect_nid, 0x7f000001);
	assert_int_equal(parse_line("put-latency --listen", &options, error), 0);
	assert_true(options.listen && options.listen_pid == 0);
	assert_int_equal(parse_line("put-latency --listen=5000", &options, error), 0);
	assert_int_equal(options.listen_pid, 5000);
}

static void bad_arguments_are_refused_with_their_name(void **state)
{
	static const char *const lines[][2] = {
		{"put-latency --sizes 8:x", "--sizes 8:x"},
		{"put-latency --sizes 4K:1K", "--sizes 4K:1K"},
		{"put-latency --sizes 1:2:3", "--sizes 1:2:3"},
		{"put-latency --mode fast", "--mode fast"},
		{"put-latency --raw rmda", "--raw rmda"},
		{"put-latency --format xml", "--format xml"},
		{"put-latency --window 0", "--window 0"},
		{"put-latency --depths 1,,2", "--depths 1,,2"},
		{"put-latency --connect host", "--connect host"},
		{"put-latency --timeout", "--timeout needs"},
		{"put-latency --quick=1", "--quick takes no"},
		{"put-latency --listen --connect 127.0.0.1:1", "--listen and"},
		{"put-latency --fast", "unknown option --fast"},
		{"put-latency get-latency", "get-latency"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options options;
		char error[160];
		assert_int_equal(parse_line(lines[i][0], &options, error), -EINVAL);
		assert_non_null(strstr(error, lines[i][1]));
		assert_null(strchr(error, '\n'));
	}
}

static void only_ofi_transports_name_a_provider(void **state)
{
	(void)state;
	assert_string_equal(transport_provider("ofi:tcp"), "tcp");
	assert_null(transport_provider("ofi:"));
	assert_null(transport_provider("ofi"));
	assert_null(transport_provider("auto"));
	assert_null(transport_provider(NULL));
}

/* As of a bare line between cores, ns, with some noise. */
static void add_distances(struct samples *samples, double about, int count)
{
	for (int i = 0; i < count; i++)
		samples_add(samples, about * (1 + 0.01 * (i % 10)));
}

static void near_and_distant_samples_are_told_apart(void **state)
{
	struct samples samples = {0};

	(void)state;
	add_distances(&samples, 370, 50);
	add_distances(&samples, 70, 100);
	double threshold = samples_threshold(&samples);
	assert_true(threshold > 77 && threshold < 370);
	samples_free(&samples);
}

static void one_place_at_two_speeds_is_one_class(void **state)
{
	struct samples samples = {0};

	(void)state;
	assert_true(isinf(samples_threshold(&samples)));
	add_distances(&samples, 30, 100);
	add_distances(&samples, 60, 100);
	assert_true(isinf(samples_threshold(&samples)));
	samples_free(&samples);
}

static void a_few_interrupted_samples_are_no_class_and_hide_none(void **state)
{
	struct samples samples = {0};

	(void)state;
	add_distances(&samples, 60, 200);
	add_distances(&samples, 30000, 10);
	assert_true(isinf(samples_threshold(&samples)));
	add_distances(&samples, 370, 100);
	double threshold = samples_threshold(&samples);
	assert_true(threshold > 66 && threshold < 370);
	samples_free(&samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_interpolate_between_neighbours),
		cmocka_unit_test(summary_of_samples_in_any_order),
		cmocka_unit_test(one_outlier_does_not_move_the_median),
		cmocka_unit_test(near_and_distant_samples_are_told_apart),
		cmocka_unit_test(one_place_at_two_speeds_is_one_class),
		cmocka_unit_test(a_few_interrupted_samples_are_no_class_and_hide_none),
		cmocka_unit_test(plans_fill_the_budget_with_short_batches),
		cmocka_unit_test(plans_honour_a_given_number_of_iterations),
		cmocka_unit_test(sizes_run_in_powers_and_end_with_the_greatest),
		cmocka_unit_test(sizes_are_read_with_suffixes_and_nothing_else),
		cmocka_unit_test(a_full_command_line_is_understood),
		cmocka_unit_test(a_peer_elsewhere_is_named_by_nid_and_pid),
		cmocka_unit_test(bad_arguments_are_refused_with_their_name),
		cmocka_unit_test(only_ofi_transports_name_a_provider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
