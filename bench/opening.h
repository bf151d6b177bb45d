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
	unsigned patience_s;
	bool open;
	char text[5120]; /* PtlNicInfo and how long it took, or why not; several lines */
};

/* NULL as transport: what the options and the environment say.  Several may be under way at once. */
void opening_start(struct opening *opening, const struct options *options, const char *transport);

/* The same for a question to libfabric: which providers there are, a line each, '-' in front if it has no FI_EP_RDM. */
/* What carries the messages of processes of this node, where all that a test forks are: auto is node. */
const char *opening_transport(const struct options *options);
/*
 * Writes the greatest payload of short messages, over that transport, to the tuning file, or ends the process.  The library does it, which
 * knows what it calls the transport and how much of the limit it can do: an interface with that PTL_SHORT_MAX and PTL_TUNING_SAVE is
 * opened and closed.
 */
void opening_save_limit(const struct options *options, uint64_t limit, const char *path);
void opening_start_listing(struct opening *opening);

/* Waits for the answer.  Never fails: a process that crashes, or that is not done after some seconds, is an answer. */
void opening_end(struct opening *opening);

#endif
