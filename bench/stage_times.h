/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage times of one side of a run (--nic-timing): as numbers for columns, and as the table that people read. */
#ifndef PTLBENCH_STAGE_TIMES_H
#define PTLBENCH_STAGE_TIMES_H

#include <portals3_nic.h>

#include "output.h"

/* Of each stage; nanoseconds but for the count. */
enum {
	STAGE_COUNTED,
	STAGE_MEAN,
	STAGE_TRIMMED_MEAN,
	STAGE_P50,
	STAGE_P99,
	STAGE_TOTAL_NS,
	STAGE_CLOCK_NS, /* what of the mean is the clock's own */
	STAGE_FIGURES
};

/* Columns of a side: its messages, and the figures of each stage. */
#define STAGE_COLUMNS (1 + PTL_STAGE_COUNT * STAGE_FIGURES)

/* Travels between processes, so that nothing in it points anywhere. */
struct stage_times {
	double messages; /* NaN: there is no such side */
	double figures[PTL_STAGE_COUNT][STAGE_FIGURES];
	char text[8192];
};

/* What the interface has measured since its clocks were switched on; switches them off. */
void stage_times_take(ptl_handle_ni_t ni, struct stage_times *times);
void stage_times_none(struct stage_times *times);

/* "initiator.match.mean_ns" and so on.  The keys live until the program ends. */
void stage_columns(const char *side, struct column columns[STAGE_COLUMNS]);
void stage_cells(const struct stage_times *times, union cell cells[STAGE_COLUMNS]);

#endif
