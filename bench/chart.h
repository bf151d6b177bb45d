/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves over one quantity, and pictures of them. */
#ifndef PTLBENCH_CHART_H
#define PTLBENCH_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CHART_CURVES 8 /* more cannot be told apart by their colours */

struct chart_point {
	double x, y;
};

struct chart_curve {
	char name[64];
	size_t count, room;
	struct chart_point *points;
};

struct chart {
	char title[96], x_title[48], y_title[48];
	size_t count;
	struct chart_curve curves[CHART_CURVES];
};

/* Points without a value are left out.  `curve` is one that chart_curve() returned. */
struct chart_curve *chart_curve(struct chart *chart, const char *name); /* NULL: there are as many as can be */
void chart_point(struct chart_curve *curve, double x, double y);
void chart_sort(struct chart *chart); /* by x */
void chart_free(struct chart *chart);

/* Whether there is anything to be seen: a curve with two points. */
bool chart_shows(const struct chart *chart);

/*
 * An axis, logarithmic if its values are many times each other; then what is not positive is not on it (returns false).
 * `at` is from 0 to 1.
 */
struct chart_axis {
	double least, most;
	bool logarithmic;
};

struct chart_axis chart_axis(const struct chart *chart, bool of_x);
bool chart_place(const struct chart_axis *axis, double value, double *at);

/* As an element of a page (its colours are those of the page's classes), or a document of its own. */
void chart_write_svg(const struct chart *chart, FILE *out, bool document);

/* By gnuplot, which must be there. */
void chart_write_png(const struct chart *chart, const char *path);

#endif
