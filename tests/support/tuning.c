/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transports/tuning.h"

#define PATIENT 1000000 /* ns that the source may take, so that this way is taken although the machine is busy */

static char path[64];
static pid_t owner;

static void forget(void)
{
	if (getpid() == owner) /* not a child that exits */
		unlink(path);
}

/* There is no test yet that could fail. */
static void write_tuning(const char *way)
{
	static struct tuning tuning;

	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		struct node_figures *figures = &tuning.node[class];

		*figures = (struct node_figures){.ns = {[NODE_ALONE] = PATIENT}};
		while (figures->way < NODE_WAYS && strcmp(tuning_way_names[figures->way], way) != 0)
			figures->way++;
		if (figures->way == NODE_WAYS)
			abort();
	}
	if (tuning_write(&tuning, path))
		abort();
}

void tuning_choose(const char *way)
{
	if (!*path) {
		owner = getpid();
		snprintf(path, sizeof(path), "/tmp/portals3-tuning-%d", (int)owner);
		atexit(forget);
	}
	if (way) {
		write_tuning(way);
		setenv("PTL_TUNING_FILE", path, 1);
	} else {
		unsetenv("PTL_TUNING_FILE");
	}
}
