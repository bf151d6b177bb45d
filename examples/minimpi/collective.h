/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What collective operations are made of: messages in the communicator's second context, with the number of the operation as
 * tag.  Errors are returned, not raised.
 */
#ifndef MINIMPI_COLLECTIVE_INTERNAL_H
#define MINIMPI_COLLECTIVE_INTERNAL_H

#include "comm.h"
#include "errors.h"
#include "job.h"
#include "op.h"
#include "type.h"

/* The tag of the next operation. */
int collective_begin(MPI_Comm comm);
int collective_send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int collective_receive(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm);
MPI_Request collective_isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
MPI_Request collective_ireceive(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm);
/* ... from a copy, so that the buffer can be received into meanwhile. */
MPI_Request collective_isend_copy(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int collective_wait_one(MPI_Request request);
/* Waits for all, frees the array; the first error. */
int collective_wait(int count, MPI_Request *requests);
/* From one buffer into another, of other type perhaps, as a message to oneself would. */
int collective_copy(const void *from, int from_count, MPI_Datatype from_type, void *to, int count, MPI_Datatype type,
		    MPI_Comm comm, int tag);

/* The operations without the checks of their arguments. */
int collective_barrier(MPI_Comm comm);
int collective_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int collective_reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root,
		      MPI_Comm comm);
int collective_allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int collective_scatterv(const void *sent, const int *counts, const int *places, MPI_Datatype type, void *received,
			int count, int root, MPI_Comm comm);
int collective_allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count,
			 MPI_Datatype type, MPI_Comm comm);

#endif
