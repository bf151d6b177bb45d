/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as the Trace Event Format of Chrome and Perfetto has it.  One event a line, so that `ptlbench trace-merge` needs no
 * parser; times in microseconds of CLOCK_MONOTONIC, which the processes of a node share.
 */
#ifndef PORTALS_OFFLOAD_TIMELINE_FILE_H
#define PORTALS_OFFLOAD_TIMELINE_FILE_H

#include <stdio.h>

#include "offload/nic.h"
#include "offload/timeline.h"

void timeline_write(const struct nic *, FILE *);

#endif
