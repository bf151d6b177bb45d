/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the engine's time and memory grow with peers, peers long gone, and entries of match lists: the real engine and match
 * lists behind a scripted transport, because no machine here has a million processes.
 *
 * usage: scale [--quick] [--plot DIRECTORY]
 */
#include "scale.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"

#define MOST       1000000u
#define MOST_QUICK 10000u

static const char *plots; /* directory, or NULL */
static bool no_gnuplot;

double scale_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int by_size(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

double scale_median(double *values)
{
	qsort(values, SCALE_RUNS, sizeof(*values), by_size);
	return values[SCALE_RUNS / 2];
}

double scale_resident(void)
{
	char line[256];
	double kib = 0;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %lf", &kib) == 1)
			break;
	if (!status || !kib)
		fail("/proc/self/status does not say how much memory is in use");
	fclose(status);
	return 1024 * kib;
}

void scale_show(const struct figure *figure)
{
	figure_print(figure);
	if (plots && !no_gnuplot)
		no_gnuplot = !figure_plot(figure, plots);
}

int main(int argc, char **argv)
{
	uint32_t most = MOST;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			most = MOST_QUICK;
		else if (strcmp(argv[i], "--plot") == 0 && i + 1 < argc)
			plots = argv[++i];
		else
			fail_usage("usage: scale [--quick] [--plot DIRECTORY]");
	}
	scale_peers(most, false);
	scale_peers(most, true);
	scale_lists(most);
	scale_engine_lists();
	if (no_gnuplot)
		fprintf(stderr, "scale: no pictures: gnuplot is not installed, or has failed\n");
	return 0;
}
