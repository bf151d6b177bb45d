/* SPDX-License-Identifier: BSD-3-Clause */
/* What an interface has measured of itself because a setting asked for it, and where that goes when it ends. */
#ifndef PORTALS_OFFLOAD_RESULTS_H
#define PORTALS_OFFLOAD_RESULTS_H

#include "offload/nic.h"

/* Stage clocks and timeline, as the settings have them.  Its id is known. */
void results_begin(struct nic *);

/* Prints and writes what they ask for; once.  Its threads have stopped; those of the program may still run. */
void results_write(struct nic *);

/*
 * Writes the timeline as it is now, and says to `told` where, or that there is none.  By a thread that has no engine: the owner is asked for
 * a copy only (timeline_file.h), so the file may take its time.
 */
void results_trace(struct nic *, FILE *told);

void results_free(struct nic *);

#endif
