/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of what has no order, as bars with names, and pictures of them. */
#ifndef PTLBENCH_BARS_H
#define PTLBENCH_BARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct bar {
	char name[64];
	double value;
};

struct bars {
	char title[96], unit[48];
	size_t count, room;
	struct bar *bar;
};

/* What has no value is left out. */
void bars_add(struct bars *bars, const char *name, double value);
void bars_free(struct bars *bars);

/* `alone`: a document of its own; otherwise part of a page, whose style sheet has the colours. */
void bars_write_svg(const struct bars *bars, FILE *out, bool alone);

/* By gnuplot, which must be there. */
void bars_write_png(const struct bars *bars, const char *path);

#endif
