/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of ptlbench limits. */
#ifndef PTLBENCH_MACHINE_LIMITS_H
#define PTLBENCH_MACHINE_LIMITS_H

#include "peers.h"
#include "stats.h"

/* A row of the table; frees the samples.  `unit`: how many of what was sampled make one of what is shown. */
void limits_row(const char *what, struct samples *samples, double unit, const char *unit_name);

/* Rows of what is handed from one core to another: lines, messages, wakes.  (limits_ping_pong.c) */
void limits_ping_pongs(const struct peers *place);

/* Rows of copies: within a process, out of another one, by both at once.  (limits_copies.c) */
void limits_copies(const struct peers *place);

#endif
