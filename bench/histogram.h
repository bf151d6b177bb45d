/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of each row, counted by their size: --hist FILE. */
#ifndef PTLBENCH_HISTOGRAM_H
#define PTLBENCH_HISTOGRAM_H

#include <stddef.h>

#include "measure.h"

/* Ends the process if the file cannot be written. */
void histogram_open(const char *path);

/* The samples of each series of a row, in ns; nothing if no file is open. */
void histogram_add(const struct series *all_series, size_t count);

/* The same of samples that were not taken by measure_row(): of one thing, which is a row of its own. */
void histogram_add_samples(const struct run *run, const struct samples *samples);
void histogram_close(void);

/* In a forked process, whose samples are another's to add. */
void histogram_leave(void);

/* The number of the bin that holds a time, and where a bin begins; bins are 1.6 % wide. */
int histogram_bin(double nanoseconds);
double histogram_bound(int bin);

#endif
