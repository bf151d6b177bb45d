/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequence pictures of what ptlbench sequence has printed. */
#ifndef PTLBENCH_SEQUENCE_SVG_H
#define PTLBENCH_SEQUENCE_SVG_H

#include <stdio.h>

#include "table.h"

/* One below the other: time goes down, a line for each thread, an arrow for each message. */
void sequence_write_svg(const struct table *table, FILE *out);

#endif
