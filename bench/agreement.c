/* SPDX-License-Identifier: BSD-3-Clause */
#include "agreement.h"

#include <math.h>
#include <string.h>

/* The columns of a figure with its spread. */
struct spread {
	int median, p10, p90;
};

static struct spread own_spread(const struct table *table)
{
	static const char *const medians[] = {
		"median_us",           "median_ms", "median", "latency_us", "megabytes_per_second",
		"millions_per_second", "message_us"};
	struct spread spread = {-1, table_column(table, "p10"), table_column(table, "p90")};

	for (size_t i = 0; i < sizeof(medians) / sizeof(medians[0]) && spread.median < 0; i++)
		spread.median = table_column(table, medians[i]);
	return spread;
}

static struct spread raw_spread(const struct table *table)
{
	return (struct spread){table_column(table, "raw"), table_column(table, "raw_p10"),
			       table_column(table, "raw_p90")};
}

static bool is_there(const struct spread *spread)
{
	return spread->median >= 0 && spread->p10 >= 0 && spread->p90 >= 0;
}

static bool same_cell(const struct table_cell *a, const struct table_cell *b)
{
	if (a->text || b->text)
		return a->text && b->text && !strcmp(a->text, b->text);
	return a->number == b->number || (isnan(a->number) && isnan(b->number));
}

/* The row of `other` whose first cells, of which there are `labels`, are those of the row; or -1. */
static long find_row(const struct table *table, size_t row, const struct table *other, int labels)
{
	for (size_t at = 0; at < other->row_count; at++) {
		int label = 0;
		while (label < labels && same_cell(table_cell(table, row, label), table_cell(other, at, label)))
			label++;
		if (label == labels)
			return (long)at;
	}
	return -1;
}

static void compare_medians(const struct table *one, size_t row, const struct table *other, size_t at,
			    const struct spread *spread, struct agreement *agreement)
{
	double medians = table_cell(one, row, spread->median)->number - table_cell(other, at, spread->median)->number;
	double spreads = table_cell(one, row, spread->p90)->number - table_cell(one, row, spread->p10)->number +
			 table_cell(other, at, spread->p90)->number - table_cell(other, at, spread->p10)->number;

	if (isnan(medians) || isnan(spreads))
		return;
	agreement->compared++;
	agreement->agreed += fabs(medians) <= fabs(spreads) / 2;
}

struct agreement agreement_of_tables(const struct table *one, const struct table *other)
{
	const struct spread own = own_spread(one), raw = raw_spread(one), theirs = own_spread(other);
	struct agreement agreement = {0};

	if (!is_there(&own) || memcmp(&own, &theirs, sizeof(own)) != 0)
		return agreement;
	const struct spread their_raw = raw_spread(other);
	bool both_raw = is_there(&raw) && memcmp(&raw, &their_raw, sizeof(raw)) == 0;
	for (size_t row = 0; row < one->row_count; row++) {
		long at = find_row(one, row, other, own.median);
		if (at < 0)
			continue;
		compare_medians(one, row, other, (size_t)at, &own, &agreement);
		if (both_raw)
			compare_medians(one, row, other, (size_t)at, &raw, &agreement);
	}
	return agreement;
}
