/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call does about an error: it asks the communicator's handler.  Each call of MPI ends with
 *
 *     return errors_check(comm, error, __func__);
 *
 * The checks that calls share are here too.  Each returns an error class, or MPI_SUCCESS.
 */
#ifndef MINIMPI_ERRORS_H
#define MINIMPI_ERRORS_H

#include "job.h"

/* Returns `error`, after the handler of the communicator (NULL: of MPI_COMM_WORLD) has heard of it. */
int errors_raise(MPI_Comm comm, int error, const char *call);
static inline int errors_check(MPI_Comm comm, int error, const char *call)
{
	return __builtin_expect(error == MPI_SUCCESS, 1) ? MPI_SUCCESS : errors_raise(comm, error, call);
}

/* Ends a call of no communicator: objects that are local. */
#define CHECKED(condition, error)                                                                                      \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			return errors_check(MPI_COMM_WORLD, error, __func__);                                          \
	} while (0)

/* The library is open, and the communicator is one. */
static inline int errors_check_comm(MPI_Comm comm)
{
	return job.state != JOB_OPEN || !comm ? MPI_ERR_COMM : MPI_SUCCESS;
}
/* A buffer. */
int errors_check_data(const void *buffer, int count, MPI_Datatype type);
/* Two buffers of a call that must not be one, which is what MPI_IN_PLACE is for.  MPI_BOTTOM says nothing of where data is. */
static inline int errors_check_apart(const void *sent, const void *received, int count)
{
	return sent == received && sent != MPI_BOTTOM && count > 0 ? MPI_ERR_BUFFER : MPI_SUCCESS;
}
/* An existing rank (MPI_ERR_RANK), or root (MPI_ERR_ROOT). */
int errors_check_rank(MPI_Comm comm, int rank, int error);

void errors_hold(MPI_Errhandler handler);
void errors_release(MPI_Errhandler handler);

#endif
