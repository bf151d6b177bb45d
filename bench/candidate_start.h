/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The candidates of ptlbench compare as processes: built if need be, started, asked, and watched while they should
 * sleep.
 */
#ifndef PTLBENCH_CANDIDATE_START_H
#define PTLBENCH_CANDIDATE_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "candidates/protocol.h"
#include "stats.h"

/* How an MPI program is started; the settings are words for env. */
#define CANDIDATE_MPIRUN(settings)                                                                                     \
	"env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none "       \
	"OMPI_MCA_rmaps_base_oversubscribe=1 " settings "mpirun -n 2"
#define CANDIDATE_MPI_WANTS "mpicc and mpirun (openmpi-bin, libopenmpi-dev)"

/* What one is.  Words of commands are separated by blanks. */
struct candidate_kind_of {
	const char *name;
	const char *program; /* its source among the embedded files; NULL: ptlbench itself */
	const char *build;   /* compiler and, after the source, libraries: "mpicc", "cc -lucp" */
	const char *start;   /* what comes before the program, "" for itself; or ptlbench's arguments */
	const char *wants;   /* what to install where it cannot be built */
	unsigned ranks;      /* processes that connect */
	bool stop;           /* it would not sleep by itself */
};

struct candidate_process {
	const struct candidate_kind_of *kind;
	char missing[200]; /* why there is none; "" if there is */
	char text[240];    /* what it says of itself */
	pid_t child;       /* that we started: a launcher perhaps */
	pid_t pid[2];      /* by rank; 0: none */
	int socket[2];     /* by rank; -1: none */
	double cpu_ns;     /* of both when it last went to sleep */
	double told_ns;    /* likewise when it last got an order */
	uint64_t asleep_at;
	double asleep_ns, stolen_ns; /* so long it should have slept, and so much CPU time it took then */
};

/* `other` is another ptlbench to start instead of this one, or NULL.  What cannot be started says why in `missing`. */
void candidate_start(struct candidate_process *candidate, const struct candidate_kind_of *kind, const char *other);

/* The folder that candidate_start() uses; made before the first and removed after the last. */
void candidate_folder_make(void);
void candidate_folder_remove(void);

/*
 * Has the order done and adds the samples, ns.  Returns what both processes spent of CPU time, ns, or NaN if the
 * candidate declines or has died, and then says in `missing` why.
 */
double candidate_ask(struct candidate_process *candidate, const struct candidate_order *order, struct samples *samples);

/* The same in two steps, between which others may be told. */
void candidate_tell(struct candidate_process *candidate, const struct candidate_order *order);
double candidate_hear(struct candidate_process *candidate, struct samples *samples);

/* CPU time in percent of the time that it should have slept. */
double candidate_restlessness(struct candidate_process *candidate);

void candidate_end(struct candidate_process *candidate);

#endif
