/* SPDX-License-Identifier: BSD-3-Clause */
/* What opens here and what it is made of: tried in processes of their own, which may crash. */
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

/* The same for a question to libfabric: which providers there are, a line each, '-' in front if it has no FI_EP_RDM. */
/* Opens and closes the interface, which writes PTL_TUNING_SAVE; not `open` if it could not. */
void opening_start_saving(struct opening *opening, const struct options *options);
void opening_start_listing(struct opening *opening);

/* Waits for the answer.  Never fails: a process that crashes, or that is not done after some seconds, is an answer. */
void opening_end(struct opening *opening);

#endif
