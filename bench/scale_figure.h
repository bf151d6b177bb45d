/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves of how something grows: a table of text, how steep each is, and a picture where gnuplot is installed. */
#ifndef BENCH_SCALE_FIGURE_H
#define BENCH_SCALE_FIGURE_H

#include <stdbool.h>

#define FIGURE_POINTS 8
#define FIGURE_CURVES 8

struct figure {
	const char *name; /* of its files */
	const char *title, *x_title, *unit;
	const char *curves[FIGURE_CURVES + 1]; /* what they are called; the last is followed by NULL */
	unsigned points;
	double x[FIGURE_POINTS], y[FIGURE_POINTS][FIGURE_CURVES];
};

/*
 * Behind the rows the exponent of each curve: 0, it does not grow; 1, in proportion to x.  (The slope of the straight line
 * that fits best where both axes are logarithmic.)
 */
void figure_print(const struct figure *);

/* Writes NAME.dat and NAME.svg into the directory.  False: there is no gnuplot, or it has failed; said on stderr. */
bool figure_plot(const struct figure *, const char *directory);

#endif
