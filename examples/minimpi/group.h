/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_GROUP_H
#define MINIMPI_GROUP_H

#include <mpi.h>

struct minimpi_group {
	int size;
	int rank;   /* of this process, or MPI_UNDEFINED */
	int users;  /* the program's handle, and communicators */
	int *ranks; /* in MPI_COMM_WORLD */
};

/* A new group without ranks yet: the caller writes them and then calls group_find_self. */
MPI_Group group_new(int size);
void group_find_self(MPI_Group group);
int group_find(MPI_Group group, int world_rank); /* or MPI_UNDEFINED */
int group_compare(MPI_Group group, MPI_Group other);
void group_release(MPI_Group group);

#endif
