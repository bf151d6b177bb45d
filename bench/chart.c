/* SPDX-License-Identifier: BSD-3-Clause */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define LOGARITHMIC_FROM 30 /* the greatest value to the least */

struct chart_curve *chart_curve(struct chart *chart, const char *name)
{
	if (chart->count == CHART_CURVES)
		return NULL;
	struct chart_curve *curve = &chart->curves[chart->count++];
	*curve = (struct chart_curve){0};
	snprintf(curve->name, sizeof(curve->name), "%s", name);
	return curve;
}

void chart_point(struct chart_curve *curve, double x, double y)
{
	if (isnan(x) || isnan(y))
		return;
	if (curve->count == curve->room) {
		curve->room = curve->room ? 2 * curve->room : 16;
		curve->points = realloc(curve->points, curve->room * sizeof(*curve->points));
		if (!curve->points)
			fail("no memory for %zu points", curve->room);
	}
	curve->points[curve->count++] = (struct chart_point){x, y};
}

static int compare_points(const void *a, const void *b)
{
	const struct chart_point *one = a, *other = b;

	return (one->x > other->x) - (one->x < other->x);
}

void chart_sort(struct chart *chart)
{
	for (size_t i = 0; i < chart->count; i++)
		if (chart->curves[i].count)
			qsort(chart->curves[i].points, chart->curves[i].count, sizeof(*chart->curves[i].points),
			      compare_points);
}

void chart_free(struct chart *chart)
{
	for (size_t i = 0; i < chart->count; i++)
		free(chart->curves[i].points);
	*chart = (struct chart){0};
}

bool chart_shows(const struct chart *chart)
{
	for (size_t i = 0; i < chart->count; i++)
		if (chart->curves[i].count > 1)
			return true;
	return false;
}

struct chart_axis chart_axis(const struct chart *chart, bool of_x)
{
	struct chart_axis axis = {NAN, NAN, false};
	double least_positive = NAN;

	for (size_t i = 0; i < chart->count; i++)
		for (size_t at = 0; at < chart->curves[i].count; at++) {
			const struct chart_point *point = &chart->curves[i].points[at];
			double value = of_x ? point->x : point->y;
			axis.least = fmin(axis.least, value);
			axis.most = fmax(axis.most, value);
			if (value > 0)
				least_positive = fmin(least_positive, value);
		}
	axis.logarithmic = axis.least >= 0 && axis.most > LOGARITHMIC_FROM * least_positive;
	if (axis.logarithmic)
		axis.least = least_positive;
	else if (!of_x && axis.least > 0)
		axis.least = 0; /* heights are compared */
	if (axis.most <= axis.least)
		axis.most = axis.least + 1;
	return axis;
}

bool chart_place(const struct chart_axis *axis, double value, double *at)
{
	if (axis->logarithmic && value <= 0)
		return false;
	*at = axis->logarithmic ? log(value / axis->least) / log(axis->most / axis->least)
				: (value - axis->least) / (axis->most - axis->least);
	return true;
}
