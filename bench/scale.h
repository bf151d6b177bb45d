/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the program share. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include <stdint.h>

#include "scale_figure.h"

/* Repeats what follows it, so that a disturbed run does not count: the median is taken. */
#define SCALE_RUNS 5

double scale_now(void);                 /* ns of CPU: others may use the machine too */
double scale_median(double *values);    /* of SCALE_RUNS */
double scale_resident(void);            /* bytes of our own memory */
void scale_show(const struct figure *); /* prints, and plots if asked to */

/* Up to `most` peers or entries. */
void scale_peers(uint32_t most, bool compact);
void scale_lists(uint32_t most);
void scale_engine_lists(void);

#endif
