/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the test floor. */
#ifndef PTLBENCH_FLOOR_H
#define PTLBENCH_FLOOR_H

#include "peers.h"
#include "stats.h"

/* A row of the table; frees the samples.  `unit`: how many of what was sampled make one of what is shown. */
void floor_row(const char *what, struct samples *samples, double unit, const char *unit_name);

/* Rows of what is handed from one core to another: lines, messages, wakes.  (floor_duets.c) */
void floor_duets(const struct peers *place);

/* Rows of copies: within a process, out of another one, by both at once.  (floor_copies.c) */
void floor_copies(const struct peers *place);

#endif
