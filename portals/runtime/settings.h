/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PORTALS_RUNTIME_SETTINGS_H
#define PORTALS_RUNTIME_SETTINGS_H

#include <stdio.h>

#include "base/settings.h"

/*
 * Reads the environment.  -EINVAL with a report if a variable's value makes no sense.  Warns, once per process, of
 * PTL_* variables that the table does not know, with the nearest name that it does.
 */
int settings_read(struct settings *);
void settings_print(FILE *);

#endif
