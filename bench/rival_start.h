/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contestants of ptlbench compare as processes: built if need be, started, asked, and watched while they should sleep.
 */
#ifndef PTLBENCH_RIVAL_START_H
#define PTLBENCH_RIVAL_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "rivals/protocol.h"
#include "stats.h"

/* What one is.  Words of commands are separated by blanks. */
struct rival_kind_of {
	const char *name;
	const char *program; /* its source among the embedded files; NULL: ptlbench itself */
	const char *build;   /* compiler and, after the source, libraries: "mpicc", "cc -lucp" */
	const char *start;   /* what comes before the program, "" for itself; or ptlbench's arguments */
	const char *wants;   /* what to install where it cannot be built */
	unsigned ranks;      /* processes that connect */
	bool stop;           /* it would not sleep by itself */
};

struct rival_process {
	const struct rival_kind_of *kind;
	char missing[200]; /* why there is none; "" if there is */
	char text[240];    /* what it says of itself */
	pid_t child;       /* whom we started: a launcher perhaps */
	pid_t pid[2];      /* by rank; 0: nobody */
	int socket[2];     /* by rank; -1: nobody */
	double cpu_ns;     /* of both when it last went to sleep */
	uint64_t asleep_at;
	double asleep_ns, stolen_ns; /* so long it should have slept, and so much CPU time it took then */
};

/* `other` is another ptlbench to start instead of this one, or NULL.  What cannot be started says why in `missing`. */
void rival_start(struct rival_process *rival, const struct rival_kind_of *kind, const char *other);

/* The folder that rival_start() uses; made before the first and removed after the last. */
void rival_folder_make(void);
void rival_folder_remove(void);

/*
 * Has the order done and adds the samples, ns.  Returns what both processes spent of CPU time, ns, or NaN if the rival
 * declines or has died, and then says in `missing` why.
 */
double rival_ask(struct rival_process *rival, const struct rival_order *order, struct samples *samples);

/* CPU time in percent of the time that it should have slept. */
double rival_restlessness(struct rival_process *rival);

void rival_end(struct rival_process *rival);

#endif
