/* SPDX-License-Identifier: BSD-3-Clause */
/* What ptlbench makes of results: JSON read, rows chosen, curves placed on axes, samples counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "bench/agreement.h"
#include "bench/chart.h"
#include "bench/histogram.h"
#include "bench/json.h"
#include "bench/table.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void json_is_read_as_it_was_written(void **state)
{
	struct json *json =
		json_parse("{\"a\": [1, -2.5e1, null, true], \"t\": \"x\\n\\\"\\u0041\\u00e9\", \"o\": {}}");
	const struct json *list = json_member(json, "a");

	(void)state;
	assert_non_null(list);
	NEAR(list->first->number, 1);
	NEAR(list->first->next->number, -25);
	assert_int_equal(list->first->next->next->kind, JSON_NULL);
	assert_int_equal(list->first->next->next->next->kind, JSON_BOOLEAN);
	assert_string_equal(json_text(json, "t"), "x\n\"A\xc3\xa9");
	assert_string_equal(json_text(json, "a"), "");
	assert_true(isnan(json_number(json, "nothing")));
	json_free(json);
}

static void what_is_no_json_is_refused(void **state)
{
	static const char *const texts[] = {
		"",        "{",   "[1,]",  "{\"a\"}",     "{\"a\":}", "{\"a\": 1",   "\"x",
		"\"\\q\"", "1 2", "[1 2]", "{\"a\": 1,}", "nul",      "\"\\u00g0\"", "{1: 2}"};
	char deep[200];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(json_parse(texts[i]));
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_null(json_parse(deep));
}

static void rows_are_chosen_by_conditions(void **state)
{
	struct json *json =
		json_parse("[{\"bytes\": 8, \"by\": {\"ns\": 2}, \"who\": \"a b\"}, {\"bytes\": 64, \"by\": "
			   "{\"ns\": null}, \"who\": \"c\"}]");
	struct table table = {0};

	(void)state;
	table_read(&table, json);
	json_free(json);
	assert_int_equal(table.row_count, 2);
	assert_int_equal(table_column(&table, "by.ns"), 1);
	assert_int_equal(table_column(&table, "ns"), -1);
	NEAR(table_cell(&table, 0, 1)->number, 2);
	assert_true(isnan(table_cell(&table, 1, 1)->number));
	assert_true(table_row_meets(&table, 0, ""));
	assert_true(table_row_meets(&table, 0, "bytes=8 who=a_b"));
	assert_false(table_row_meets(&table, 0, "bytes=8 who=a"));
	assert_false(table_row_meets(&table, 1, "bytes=8"));
	assert_true(table_row_meets(&table, 1, "bytes=max"));
	assert_false(table_row_meets(&table, 1, "nothing=8"));
	table_free(&table);
}

static void an_axis_is_logarithmic_where_values_are_many_times_each_other(void **state)
{
	struct chart chart = {0};
	struct chart_curve *curve = chart_curve(&chart, "c");
	double at;

	(void)state;
	chart_point(curve, 0, 3);
	assert_false(chart_shows(&chart));
	chart_point(curve, 1, 5);
	chart_point(curve, 1024, 4);
	chart_point(curve, 2048, NAN);
	assert_int_equal(curve->count, 3);
	assert_true(chart_shows(&chart));
	struct chart_axis x = chart_axis(&chart, true), y = chart_axis(&chart, false);
	assert_true(x.logarithmic);
	assert_false(y.logarithmic);
	assert_false(chart_place(&x, 0, &at));
	assert_true(chart_place(&x, 32, &at));
	NEAR(at, 0.5);
	assert_true(chart_place(&y, 0, &at));
	NEAR(at, 0);
	assert_true(chart_place(&y, 5, &at));
	NEAR(at, 1);
	chart_free(&chart);
}

static void a_bin_holds_what_lies_between_its_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < 65; i++) {
		double ns = pow(1.37, i);
		int bin = histogram_bin(ns);
		assert_true(histogram_bound(bin) <= ns * (1 + 1e-12));
		assert_true(ns < histogram_bound(bin + 1) * (1 + 1e-12));
		assert_true(histogram_bound(bin + 1) / histogram_bound(bin) < 1.016);
	}
	assert_int_equal(histogram_bin(0), 0);
	assert_int_equal(histogram_bin(1e30), histogram_bin(1e29));
}

static struct table read_table(const char *text)
{
	struct json *json = json_parse(text);
	struct table table = {0};

	assert_non_null(json);
	table_read(&table, json);
	json_free(json);
	return table;
}

static void medians_agree_that_differ_by_less_than_the_spread(void **state)
{
	struct table one = read_table("[{\"bytes\": 8, \"latency_us\": 10, \"p10\": 9, \"p90\": 11},"
				      " {\"bytes\": 16, \"latency_us\": 10, \"p10\": 9, \"p90\": 11},"
				      " {\"bytes\": 32, \"latency_us\": null, \"p10\": null, \"p90\": null},"
				      " {\"bytes\": 64, \"latency_us\": 1, \"p10\": 1, \"p90\": 1}]"),
		     other = read_table("[{\"bytes\": 16, \"latency_us\": 14, \"p10\": 13, \"p90\": 16},"
					" {\"bytes\": 8, \"latency_us\": 11.5, \"p10\": 11, \"p90\": 12},"
					" {\"bytes\": 32, \"latency_us\": 3, \"p10\": 1, \"p90\": 5}]"),
		     no_spread = read_table("[{\"bytes\": 8, \"latency_us\": 10}]");
	struct agreement agreement = agreement_of_tables(&one, &other), same = agreement_of_tables(&one, &one);

	(void)state;
	assert_int_equal(agreement.compared, 2);
	assert_int_equal(agreement.agreed, 1);
	assert_int_equal(same.compared, 3);
	assert_int_equal(same.agreed, 3);
	assert_int_equal(agreement_of_tables(&no_spread, &no_spread).compared, 0);
	table_free(&one);
	table_free(&other);
	table_free(&no_spread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read_as_it_was_written),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(rows_are_chosen_by_conditions),
		cmocka_unit_test(an_axis_is_logarithmic_where_values_are_many_times_each_other),
		cmocka_unit_test(medians_agree_that_differ_by_less_than_the_spread),
		cmocka_unit_test(a_bin_holds_what_lies_between_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
