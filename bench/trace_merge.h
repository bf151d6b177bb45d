/* SPDX-License-Identifier: BSD-3-Clause */
/* ptlbench trace-merge FILE...: the timelines of several processes (PTL_TRACE) as one, on stdout. */
#ifndef PTLBENCH_TRACE_MERGE_H
#define PTLBENCH_TRACE_MERGE_H

/* The arguments behind the word; returns the exit status. */
int trace_merge(int argc, char **argv);

#endif
