/* SPDX-License-Identifier: BSD-3-Clause */
/* How much there is to do on this machine besides us, as the kernel tells, and whether that spoils figures. */
#ifndef PTLBENCH_BUSY_H
#define PTLBENCH_BUSY_H

#include <stdbool.h>
#include <stdio.h>

#define BUSY_NEEDED_CPUS    2 /* of a pair */
#define BUSY_STOLEN_PERCENT 1 /* of the processors' time: the tightest goals are no wider */
#define BUSY_STOLEN_S       1 /* the kernel counts in ticks: over less than this, one of them is percents */

/* How much there is to do here, and what has been done since the machine started, of all its processors together. */
struct machine_load {
	double average;    /* NaN: the kernel does not tell, or it is not asked for */
	unsigned runnable; /* other threads that want to run */
	double busy_s,
		stolen_s; /* CPU time spent, and what a hypervisor has given to others; NaN: the kernel does not tell */
	double clock_s;
};

/* /proc/loadavg and /proc/stat, of either NULL if there is none; the clock is the caller's. */
void busy_read(struct machine_load *load, FILE *loadavg, FILE *stat);

/* Of all processors' time from one look to the other; `online`: how many the kernel counts.  NaN: it does not tell, or too short a time. */
double busy_stolen_percent(const struct machine_load *begin, const struct machine_load *end, long online);

/*
 * Whether too few of the processors are left for a pair: threads want to run at the second look, the load average says
 * so, or a hypervisor has given processors to others in between.  `online`: of the machine; `allowed`: those this process may run on.
 */
bool busy_spoils(const struct machine_load *begin, const struct machine_load *end, long online, long allowed);

#endif
