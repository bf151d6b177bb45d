/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the machine and what ptlbench runs on, for the head of every report. */
#ifndef PTLBENCH_MACHINE_H
#define PTLBENCH_MACHINE_H

void machine_facts(void);

/* A fact about what else runs here; on stderr a warning if that leaves too few processors for two processes. */
void machine_warn_if_busy(void);

/* How much there is to do here, and what has been done since the machine started, of all its processors together. */
struct machine_load {
	double average;          /* NaN: the kernel does not tell */
	unsigned runnable;       /* other threads that want to run */
	double busy_s, stolen_s; /* CPU time spent, and what a hypervisor has given to others */
	double clock_s;
};

void machine_load(struct machine_load *load);

#endif
