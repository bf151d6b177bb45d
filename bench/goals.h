/* SPDX-License-Identifier: BSD-3-Clause */
/* Running other tests of ptlbench for the test goals. */
#ifndef PTLBENCH_GOALS_H
#define PTLBENCH_GOALS_H

#include "options.h"

/*
 * Runs ptlbench with these arguments (words separated by blanks) and --format csv, in a process of its own; its stderr
 * is ours.  Returns what it printed, to be freed.
 */
char *goals_run(const char *command);

/*
 * The number in the column `key` of the first row that begins with `row`; NaN if there is none.
 */
double goals_figure(const char *csv, const char *row, const char *key);

#endif
