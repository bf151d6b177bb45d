/* SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

#define BINS_PER_DOUBLING 44 /* 2^(1/44): 1.6 % */
#define BINS              (44 * 48)

static FILE *file;
static const char *name;
static unsigned rows;

int histogram_bin(double nanoseconds)
{
	double bin = nanoseconds > 1 ? log2(nanoseconds) * BINS_PER_DOUBLING : 0;

	return bin < BINS ? (int)bin : BINS - 1;
}

double histogram_bound(int bin)
{
	return exp2((double)bin / BINS_PER_DOUBLING);
}

void histogram_open(const char *path)
{
	name = path;
	file = fopen(path, "we");
	if (!file)
		fail("--hist %s: %s", path, strerror(errno));
	fprintf(file, "# time of an iteration (of --window operations, where there are windows), mean of each batch\n"
		      "row,series,bytes,window,depth,variant,from_ns,to_ns,count\n");
	fflush(file); /* or a process that we fork would write it again */
}

static void add_series(unsigned number, const struct series *series)
{
	static unsigned counts[BINS];
	const struct run *run = &series->run;

	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < series->samples.count; i++)
		counts[histogram_bin(series->samples.value[i])]++;
	for (int bin = 0; bin < BINS; bin++)
		if (counts[bin])
			fprintf(file, "%u,%u,%llu,%u,%u,%u,%.2f,%.2f,%u\n", rows, number, (unsigned long long)run->size,
				run->window, run->depth, run->variant, histogram_bound(bin), histogram_bound(bin + 1),
				counts[bin]);
}

void histogram_add(const struct series *all_series, size_t count)
{
	if (!file)
		return;
	for (size_t i = 0; i < count; i++)
		add_series((unsigned)i, &all_series[i]);
	rows++;
	fflush(file);
}

void histogram_leave(void)
{
	file = NULL;
}

void histogram_add_samples(const struct run *run, const struct samples *samples)
{
	histogram_add(&(struct series){.run = *run, .samples = *samples}, 1);
}

void histogram_close(void)
{
	if (file && fclose(file))
		fail("--hist %s: %s", name, strerror(errno));
	file = NULL;
}
