/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tables and figures of the documents a test measures, for its help: what the report shows of it. */
#ifndef PTLBENCH_REPRODUCES_H
#define PTLBENCH_REPRODUCES_H

#include <stdio.h>

/* Nothing if there are none. */
void reproduces_print(FILE *out, const char *test);

#endif
