/* SPDX-License-Identifier: BSD-3-Clause */
/* What the clock of each test includes, for its --help. */
#ifndef PTLBENCH_CLOCKED_H
#define PTLBENCH_CLOCKED_H

#include <stdio.h>

/* Nothing of a test that has no clock. */
void clocked_print(FILE *out, const char *test);

#endif
