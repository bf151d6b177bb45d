/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective.h"

#include <stdlib.h>

#include "envelope.h"
#include "point.h"
#include "wait.h"

int collective_begin(MPI_Comm comm)
{
	return (int)(comm->collectives++ & ENVELOPE_TAG_UB / 2); /* the upper half: comm_group.c */
}

MPI_Request collective_isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	return point_start(REQUEST_SEND, buffer, count, type, to, tag, comm, comm->context + 1);
}

MPI_Request collective_ireceive(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm)
{
	return point_start(REQUEST_RECEIVE, buffer, count, type, from, tag, comm, comm->context + 1);
}

MPI_Request collective_isend_copy(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	MPI_Request request = request_new(REQUEST_SEND, buffer, count, type, to, tag, comm, comm->context + 1);
	request_copy(request);
	wait_start(request);
	return request;
}

int collective_wait_one(MPI_Request request)
{
	return wait_for(request, MPI_STATUS_IGNORE);
}

int collective_send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	return wait_for(collective_isend(buffer, count, type, to, tag, comm), MPI_STATUS_IGNORE);
}

int collective_receive(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm)
{
	return wait_for(collective_ireceive(buffer, count, type, from, tag, comm), MPI_STATUS_IGNORE);
}

int collective_wait(int count, MPI_Request *requests)
{
	int first = MPI_SUCCESS;
	for (int i = 0; i < count; i++) {
		const int error = wait_for(requests[i], MPI_STATUS_IGNORE);
		first = first ? first : error;
	}
	free(requests);
	return first;
}

int collective_copy(const void *from, int from_count, MPI_Datatype from_type, void *to, int count, MPI_Datatype type,
		    MPI_Comm comm, int tag)
{
	MPI_Request receive = collective_ireceive(to, count, type, comm->rank, tag, comm);
	const int error = collective_send(from, from_count, from_type, comm->rank, tag, comm);
	const int receive_error = wait_for(receive, MPI_STATUS_IGNORE);
	return error ? error : receive_error;
}

/* ---- barrier: in round k every rank hears from the one 2^k before ---- */

int collective_barrier(MPI_Comm comm)
{
	const int size = comm->group->size, tag = collective_begin(comm);
	int error = MPI_SUCCESS;
	for (int distance = 1; distance < size && !error; distance *= 2) {
		const int to = (comm->rank + distance) % size, from = (comm->rank - distance + size) % size;
		MPI_Request receive = collective_ireceive(NULL, 0, MPI_BYTE, from, tag, comm);
		error = collective_send(NULL, 0, MPI_BYTE, to, tag, comm);
		const int receive_error = wait_for(receive, MPI_STATUS_IGNORE);
		error = error ? error : receive_error;
	}
	return error;
}

int MPI_Barrier(MPI_Comm comm)
{
	int error = errors_check_comm(comm);
	if (!error)
		error = collective_barrier(comm);
	return errors_check(comm, error, __func__);
}

/* ---- broadcast: down a binomial tree, numbered from the root ---- */

int collective_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	const int size = comm->group->size, tag = collective_begin(comm), number = (comm->rank - root + size) % size;
	int distance = 1, error = MPI_SUCCESS;
	while (distance < size && !(number & distance))
		distance *= 2;
	if (number > 0)
		error = collective_receive(buffer, count, type, (comm->rank - distance + size) % size, tag, comm);
	/* A rank whose own buffer was too short sends on what it has: those behind it wait for a message. */
	for (distance /= 2; distance > 0; distance /= 2) {
		if (number + distance >= size)
			continue;
		const int send_error = collective_send(buffer, count, type, (comm->rank + distance) % size, tag, comm);
		error = error ? error : send_error;
	}
	return error;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	int error = errors_check_comm(comm);
	if (!error)
		error = errors_check_rank(comm, root, MPI_ERR_ROOT);
	if (!error)
		error = errors_check_data(buffer, count, type);
	if (!error)
		error = collective_bcast(buffer, count, type, root, comm);
	return errors_check(comm, error, __func__);
}
