/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as the Trace Event Format of Chrome and Perfetto has it.  One event a line, so that `ptlbench trace-merge` needs no
 * parser; times in microseconds of CLOCK_MONOTONIC, which the processes of a node share.
 *
 * OWNERSHIP.  Any thread makes a copy, writes it and frees it, and has it alone meanwhile.  Only filling it is for the owner of the
 * engine, or for the thread that closes the interface: it takes from the interface and its ring all that a file needs, in milliseconds, makes no
 * system call and waits for nothing, for the engine handles nothing meanwhile.  Sorting and writing come after the release, and look
 * neither at the ring, where others record again, nor at the interface, which may have been closed by then.
 */
#ifndef PORTALS_OFFLOAD_TIMELINE_FILE_H
#define PORTALS_OFFLOAD_TIMELINE_FILE_H

#include <stdio.h>

#include "offload/nic.h"
#include "offload/timeline.h"

struct timeline_copy;

/* NULL: no memory.  Its pages are there already, so that filling it meets no fault. */
struct timeline_copy *timeline_copy_new(void);
void timeline_copy_free(struct timeline_copy *);

/* The timeline of an interface that has one, as it is now.  By the owner. */
void timeline_copy_fill(struct timeline_copy *, const struct nic *);

void timeline_copy_write(const struct timeline_copy *, FILE *);

#endif
