/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples, their quantiles, and how many to take.  Medians of short batches: the machines we measure on are shared. */
#ifndef PTLBENCH_STATS_H
#define PTLBENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	double *value;
	size_t count, room;
};

struct summary {
	size_t count;
	double median, p10, p90, p99;
};

/* Grows as needed; ends the program if memory is out. */
void samples_add(struct samples *samples, double value);
void samples_free(struct samples *samples);

/* Sorts the samples.  All figures are NaN if there are none. */
struct summary samples_summary(struct samples *samples);

/* Of `count` sorted values, with linear interpolation between neighbours; 0 <= quantile <= 1. */
double quantile(const double *sorted, size_t count, double quantile);

/*
 * Sorts the samples.  Where they fall into two classes, what parts them; infinite if they are all of one.  Two classes are
 * there if their centres differ by more than a factor of CLASSES_APART: what differs by less is one place at two speeds.
 */
#define CLASSES_APART 3.0
double samples_threshold(struct samples *samples);

/* How an amount of work is cut: `batches` samples of `batch` iterations each. */
struct plan {
	uint32_t batch, batches;
};

struct batch_limits {
	uint32_t least, most;
};

/*
 * Batches within the limits that fill `budget` if one iteration takes `iteration` (same unit of time), or that make up
 * `iterations` if that is not 0.  At least one batch; a shorter one only if fewer iterations were asked for.
 */
struct plan plan_batches(double iteration, double budget, uint32_t iterations, struct batch_limits limits);

#define SIZES_MAX 64 /* enough for all powers of two */

/* min, then powers of `factor` times it (from 1 if it is 0), then max; returns how many were stored. */
size_t size_list(uint64_t min, uint64_t max, unsigned factor, uint64_t *sizes, size_t room);

#endif
