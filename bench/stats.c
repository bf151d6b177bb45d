/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fail.h"

#define FEW    0.02 /* of all distances; and less than FEWEST of them */
#define FEWEST 20
#define ROUNDS 20 /* of sorting into two classes: it has settled long before */

void samples_add(struct samples *samples, double value)
{
	if (samples->count == samples->room) {
		samples->room = samples->room ? 2 * samples->room : 256;
		samples->value = realloc(samples->value, samples->room * sizeof(*samples->value));
		if (!samples->value)
			fail("no memory for %zu samples", samples->room);
	}
	samples->value[samples->count++] = value;
}

void samples_free(struct samples *samples)
{
	free(samples->value);
	*samples = (struct samples){0};
}

double quantile(const double *sorted, size_t count, double q)
{
	if (!count)
		return NAN;
	double position = q * (double)(count - 1);
	size_t below = (size_t)position;
	if (below + 1 >= count)
		return sorted[count - 1];
	double fraction = position - (double)below;
	return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct summary samples_summary(struct samples *samples)
{
	size_t count = samples->count;

	if (count)
		qsort(samples->value, count, sizeof(*samples->value), compare_doubles);
	return (struct summary){
		.count = count,
		.median = quantile(samples->value, count, 0.5),
		.p10 = quantile(samples->value, count, 0.1),
		.p90 = quantile(samples->value, count, 0.9),
		.p99 = quantile(samples->value, count, 0.99),
	};
}

/* Two means of the logarithms of sorted samples; returns how many are in the lower class. */
static size_t sort_into_two(const double *sorted, size_t count, double centre[2])
{
	size_t lower = 0;

	centre[0] = log(sorted[0]);
	centre[1] = log(sorted[count - 1]);
	for (int round = 0; round < ROUNDS; round++) {
		double sum[2] = {0}, middle = (centre[0] + centre[1]) / 2;
		lower = 0;
		for (size_t i = 0; i < count; i++) {
			bool upper = log(sorted[i]) > middle;
			sum[upper] += log(sorted[i]);
			lower += !upper;
		}
		centre[0] = sum[0] / (double)lower;
		centre[1] = lower < count ? sum[1] / (double)(count - lower) : centre[0];
	}
	return lower;
}

/* A few that are far off were interrupted: they are no class, and must not hide the classes that there are. */
double samples_threshold(struct samples *samples)
{
	size_t count = samples_summary(samples).count;
	double centre[2];

	while (count > 1) {
		size_t lower = sort_into_two(samples->value, count, centre);
		if (lower == count || centre[1] - centre[0] < log(CLASSES_APART))
			break;
		if (count - lower >= FEWEST && (double)(count - lower) >= FEW * (double)samples->count)
			return exp((centre[0] + centre[1]) / 2);
		count = lower;
	}
	return INFINITY;
}

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

struct plan plan_batches(double iteration, double budget, uint32_t iterations, struct batch_limits limits)
{
	static const double batches_wanted = 50, iterations_max = 1e7;
	double total = iterations ? iterations : clamp(budget / iteration, limits.least, iterations_max);
	double batch = clamp(total / batches_wanted, limits.least, limits.most);
	struct plan plan = {.batch = (uint32_t)(batch < total ? batch : total)};

	plan.batches = (uint32_t)(total / plan.batch);
	return plan;
}

size_t size_list(uint64_t min, uint64_t max, unsigned factor, uint64_t *sizes, size_t room)
{
	size_t count = 0;

	for (uint64_t size = min; size < max && count + 1 < room; size = size ? size * factor : 1)
		sizes[count++] = size;
	if (count < room)
		sizes[count++] = max;
	return count;
}
