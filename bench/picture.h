/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a table is drawn. */
#ifndef PTLBENCH_PICTURE_H
#define PTLBENCH_PICTURE_H

#include "bars.h"
#include "chart.h"
#include "table.h"

struct picture {
	const char *x,
		*x_title;  /* key of a column, and what it is called; NULL: bars, whose names are the columns of `by` */
	const char *y;     /* keys, separated by blanks; "key:name" with '_' for a blank in a name */
	const char *unit;  /* of all of them */
	const char *where; /* table_row_meets(); "": all rows */
	const char *by;    /* a curve for each combination of values of these columns; "": one */
};

/* Adds curves to the chart, whose names begin with `prefix`; what has no values is left out. */
void picture_draw(const struct picture *picture, const struct table *table, const char *prefix, struct chart *chart);

/* The same for bars; their title is the caller's. */
void picture_draw_bars(const struct picture *picture, const struct table *table, struct bars *bars);

/* What --plot draws of a test, or NULL. */
const struct picture *picture_of(const char *test);

/* Ends the process with the reason if this file cannot be drawn: its name says in which form. */
void picture_check(const char *path);

/* Of the table that `test`, which has a picture, has printed. */
void picture_save(const char *test, const struct table *table, const char *path);

#endif
