/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PORTALS_TRANSPORTS_TUNING_CPU_H
#define PORTALS_TRANSPORTS_TUNING_CPU_H

#include <stddef.h>

/* What the kernel calls this machine's processor, without what a string in JSON would have to escape. */
void tuning_cpu(char *model, size_t size);

#endif
