/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PTLBENCH_INJECTION_WIRE_H
#define PTLBENCH_INJECTION_WIRE_H

#include "options.h"

/* The table of injection --wire; returns the exit status. */
int injection_wire(const struct options *options);

#endif
