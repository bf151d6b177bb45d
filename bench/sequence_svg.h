/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequence pictures of what ptlbench sequence has printed. */
#ifndef PTLBENCH_SEQUENCE_SVG_H
#define PTLBENCH_SEQUENCE_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "table.h"

/*
 * One below the other: time goes down, a line for each thread, an arrow for each message.  Of one protocol, or of all: NULL.
 * As an element of a page (its colours are those of the page's classes), or a document of its own.
 */
void sequence_write_svg(const struct table *table, const char *protocol, FILE *out, bool document);

#endif
