/* SPDX-License-Identifier: BSD-3-Clause */
/* How far apart the cores of a pair are, before and after each row: what runs a virtual machine may move them meanwhile. */
#ifndef PTLBENCH_DISTANCE_H
#define PTLBENCH_DISTANCE_H

#include <stdbool.h>

struct session;

struct distance {
	double before, after; /* of the last row: a cache line, one way, ns; NaN: not known */
	unsigned tries;       /* to measure the last row */
	unsigned repeated;    /* rows that were measured again */
	unsigned moved;       /* rows that were at different distances to the last */
	double least, most;   /* of all rows; 0: none was known */
};

/* NaN unless both processes were forked here and have a core each. */
double distance_measure(struct session *session);

/* Whether the row has to be measured again, as the cores have moved; not more than a few times. */
bool distance_has_changed(struct distance *distance);

/* A note about all rows, if there is anything to tell. */
void distance_note(const struct distance *distance);

#endif
