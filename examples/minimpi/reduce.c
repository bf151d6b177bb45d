/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations that combine. */
#include <stdlib.h>

#include "collective.h"
#include "request.h"
#include "wait.h"

/* The data that this process brings: in the buffer of the result with MPI_IN_PLACE. */
static const void *own_data(const void *sent, const void *received)
{
	return sent == MPI_IN_PLACE ? received : sent;
}

static int check(const void *sent, const void *received, bool gets, int count, MPI_Datatype type, MPI_Op op,
		 MPI_Comm comm)
{
	int error = errors_check_comm(comm);
	if (!error)
		error = errors_check_data(own_data(sent, received), count, type);
	if (!error && gets)
		error = errors_check_data(received, count, type);
	if (!error && gets)
		error = errors_check_apart(sent, received, count);
	return error ? error : op_check(op, type);
}

/*
 * Up a binomial tree to rank 0.  A rank has combined what it and those behind it brought when it sends; what it receives is
 * of the ranks behind those.  So the order of the ranks is kept, and operations need not commute.  A rank that received too
 * much sends on what it has, as in collective_bcast.
 */
int collective_reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root,
		      MPI_Comm comm)
{
	const int size = comm->group->size, tag = collective_begin(comm);
	void *low, *high, *low_memory = type_memory(type, count, &low), *high_memory = type_memory(type, count, &high);
	int distance = 1, error = MPI_SUCCESS;
	type_copy(type, own_data(sent, received), low, count);
	for (; distance < size && !(comm->rank & distance); distance *= 2) {
		if (comm->rank + distance >= size)
			continue;
		const int receive_error = collective_receive(high, count, type, comm->rank + distance, tag, comm);
		error = error ? error : receive_error;
		if (receive_error)
			continue;
		op_apply(op, low, high, count, type);
		void *swap = low;
		low = high;
		high = swap;
	}
	int send_error = MPI_SUCCESS, root_error = MPI_SUCCESS;
	if (comm->rank > 0)
		send_error = collective_send(low, count, type, comm->rank - distance, tag, comm);
	if (comm->rank == 0 && root == 0)
		type_copy(type, low, received, count);
	else if (comm->rank == 0)
		root_error = collective_send(low, count, type, root, tag, comm);
	else if (comm->rank == root)
		root_error = collective_receive(received, count, type, 0, tag, comm);
	free(low_memory);
	free(high_memory);
	return error ? error : send_error ? send_error : root_error;
}

int collective_allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	const int error = collective_reduce(sent, received, count, type, op, 0, comm);
	const int bcast_error = collective_bcast(received, count, type, 0, comm);
	return error ? error : bcast_error;
}

int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
	int error = errors_check_comm(comm);
	if (!error)
		error = errors_check_rank(comm, root, MPI_ERR_ROOT);
	if (!error && sent == MPI_IN_PLACE && comm->rank != root)
		error = MPI_ERR_BUFFER;
	if (!error)
		error = check(sent, comm->rank == root ? received : NULL, comm->rank == root, count, type, op, comm);
	if (!error)
		error = collective_reduce(sent, received, count, type, op, root, comm);
	return errors_check(comm, error, __func__);
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int error = check(sent, received, true, count, type, op, comm);
	if (!error)
		error = collective_allreduce(sent, received, count, type, op, comm);
	return errors_check(comm, error, __func__);
}

/* ---- each gets a part of the result ---- */

static int reduce_scatter(const void *sent, void *received, const int *counts, MPI_Datatype type, MPI_Op op,
			  MPI_Comm comm)
{
	const int size = comm->group->size;
	int total = 0;
	int *places = job_memory((size_t)size * sizeof(*places));
	for (int i = 0; i < size; i++) {
		places[i] = total;
		total += counts[i];
	}
	void *all, *memory = type_memory(type, total, &all);
	const int error = collective_reduce(own_data(sent, received), all, total, type, op, 0, comm);
	const int scatter_error = collective_scatterv(all, counts, places, type, received, counts[comm->rank], 0, comm);
	free(memory);
	free(places);
	return error ? error : scatter_error;
}

int MPI_Reduce_scatter(const void *sent, void *received, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int total = 0, error = errors_check_comm(comm);
	if (!error && !counts)
		error = MPI_ERR_ARG;
	for (int i = 0; !error && i < comm->group->size; i++) {
		total += counts[i];
		if (counts[i] < 0)
			error = MPI_ERR_COUNT;
	}
	if (!error)
		error = check(sent, received, counts[comm->rank] > 0, total, type, op, comm);
	if (!error)
		error = reduce_scatter(sent, received, counts, type, op, comm);
	return errors_check(comm, error, __func__);
}

int MPI_Reduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int error = check(sent, received, true, count, type, op, comm);
	if (error)
		return errors_check(comm, error, __func__);
	int *counts = job_memory((size_t)comm->group->size * sizeof(*counts));
	for (int i = 0; i < comm->group->size; i++)
		counts[i] = count;
	error = reduce_scatter(sent, received, counts, type, op, comm);
	free(counts);
	return errors_check(comm, error, __func__);
}

/* ---- each gets what the ranks up to its own, or before it, brought: from rank to rank ---- */

static int scan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, bool exclusive,
		MPI_Comm comm)
{
	const int tag = collective_begin(comm), rank = comm->rank;
	void *all, *memory = type_memory(type, count, &all); /* of the ranks up to this one */
	void *before, *before_memory = type_memory(type, count, &before);
	int error = MPI_SUCCESS, send_error = MPI_SUCCESS;
	type_copy(type, own_data(sent, received), all, count);
	if (rank > 0)
		error = collective_receive(before, count, type, rank - 1, tag, comm);
	if (rank > 0 && !error)
		op_apply(op, before, all, count, type);
	if (rank + 1 < comm->group->size) /* after an error too, as in collective_reduce */
		send_error = collective_send(all, count, type, rank + 1, tag, comm);
	if (!exclusive)
		type_copy(type, all, received, count);
	else if (rank > 0 && !error)
		type_copy(type, before, received, count); /* of rank 0 the result is undefined */
	free(memory);
	free(before_memory);
	return error ? error : send_error;
}

int MPI_Scan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int error = check(sent, received, true, count, type, op, comm);
	if (!error)
		error = scan(sent, received, count, type, op, false, comm);
	return errors_check(comm, error, __func__);
}

int MPI_Exscan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int error = check(sent, received, comm && comm->rank > 0, count, type, op, comm);
	if (!error)
		error = scan(sent, received, count, type, op, true, comm);
	return errors_check(comm, error, __func__);
}
