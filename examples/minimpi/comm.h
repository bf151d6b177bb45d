/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_COMM_H
#define MINIMPI_COMM_H

#include <mpi.h>
#include <stdbool.h>

#include "attribute.h"
#include "group.h"

struct topology;

struct minimpi_comm {
	int context; /* of its messages; the next one is that of its collective operations */
	int rank;    /* = group->rank */
	MPI_Group group;
	MPI_Errhandler handler;
	int users;            /* the program's handle, and requests */
	unsigned collectives; /* how many were begun: their tag, so that messages of two are not mixed up */
	struct attribute *attributes;
	struct topology *topology;
	char name[MPI_MAX_OBJECT_NAME];
};

static inline struct owner comm_owner(MPI_Comm comm)
{
	return (struct owner){OWNER_COMM, {.comm = comm}, &comm->attributes};
}

/* Which of the contexts a process does not use: those of messages, each with the next one, of collective operations. */
enum { COMM_CONTEXTS = 4096 };
struct context_set {
	uint64_t words[COMM_CONTEXTS / 64];
};
const struct context_set *comm_free_contexts(void);
int comm_least_context(const struct context_set *common); /* of those that are free with all; -1: there is none */

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF. */
void comm_open(void);
void comm_close(void);
/* A communicator of a group, which it takes over, or MPI_COMM_NULL if this process is not in it.  All of `parent` call it. */
int comm_new(MPI_Comm parent, MPI_Group group, MPI_Comm *result);
/* ... with a context that the members have agreed on. */
MPI_Comm comm_make(MPI_Comm parent, MPI_Group group, int context);
void comm_release(MPI_Comm comm);

#endif
