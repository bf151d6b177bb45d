/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an interface opens over a transport, and what it is then made of: tried in processes of their own. */
#ifndef PTLBENCH_OPENING_H
#define PTLBENCH_OPENING_H

#include <stdbool.h>
#include <sys/types.h>

#include "options.h"

struct opening {
	pid_t child;
	int pipe;
	bool open;
	char text[5120]; /* PtlNicInfo and how long it took, or why not; several lines */
};

/* NULL as transport: what the options and the environment say.  Several may be under way at once. */
void opening_start(struct opening *opening, const struct options *options, const char *transport);

/* Waits for the answer.  Never fails: a process that crashes, or that is not done after some seconds, is an answer. */
void opening_end(struct opening *opening);

#endif
