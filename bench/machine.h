/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the machine and what ptlbench runs on, for the head of every report. */
#ifndef PTLBENCH_MACHINE_H
#define PTLBENCH_MACHINE_H

#include "busy.h"

void machine_facts(void);

/* How many CPUs this process may use, before anything pins it. */
void machine_count_cpus(void);

/* A fact about what else runs here; on stderr a warning if that leaves too few processors for two processes. */
void machine_warn_if_busy(void);

/* The same beside an outcome, of what runs now and what the host has taken since that call (or since the last moment), without load average. */
void machine_warn_of_outcome(void);

void machine_load(struct machine_load *load);

#endif
