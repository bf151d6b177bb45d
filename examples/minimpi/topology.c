/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian topologies: ranks in row-major order of their coordinates. */
#include "topology.h"

#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "comm.h"

struct dimension {
	int size;
	int periodic;
};

struct topology {
	int count;
	struct dimension dimensions[];
};

static struct topology *new_topology(int count)
{
	struct topology *topology = job_memory(sizeof(*topology) + (size_t)count * sizeof(struct dimension));
	topology->count = count;
	return topology;
}

struct topology *topology_copy(const struct topology *topology)
{
	if (!topology)
		return NULL;
	struct topology *copy = new_topology(topology->count);
	memcpy(copy->dimensions, topology->dimensions, (size_t)topology->count * sizeof(struct dimension));
	return copy;
}

void topology_free(struct topology *topology)
{
	free(topology);
}

static void coordinates_of(const struct topology *topology, int rank, int *coordinates)
{
	for (int i = topology->count; i-- > 0;) {
		coordinates[i] = rank % topology->dimensions[i].size;
		rank /= topology->dimensions[i].size;
	}
}

/* MPI_PROC_NULL if a coordinate is beyond the edge of a dimension that does not wrap round. */
static int rank_at(const struct topology *topology, const int *coordinates)
{
	int rank = 0;
	for (int i = 0; i < topology->count; i++) {
		const int size = topology->dimensions[i].size;
		int at = coordinates[i];
		if (topology->dimensions[i].periodic)
			at = (at % size + size) % size;
		if (at < 0 || at >= size)
			return MPI_PROC_NULL;
		rank = rank * size + at;
	}
	return rank;
}

/* ---- making ---- */

/* Does a cube of so many dimensions with this side have room for all? */
static bool holds(int side, int dimensions, int all)
{
	long room = 1;
	for (int i = 0; i < dimensions && room < all; i++)
		room *= side;
	return room >= all;
}

/*
 * The factors of `all` for so many dimensions, none larger than the one before, nor than `most`; false if there are none.
 * The least that will do is first: so they become as equal as they can be.
 */
static bool factor(int all, int dimensions, int most, int *sides)
{
	if (dimensions == 0)
		return all == 1;
	for (int side = 1; side <= most && side <= all; side++) {
		if (all % side || !holds(side, dimensions, all))
			continue;
		sides[0] = side;
		if (factor(all / side, dimensions - 1, side, sides + 1))
			return true;
	}
	return false;
}

int MPI_Dims_create(int processes, int count, int *dims)
{
	int left = processes, open = 0;
	if (processes <= 0 || count < 0 || (count > 0 && !dims))
		return errors_check(NULL, count < 0 ? MPI_ERR_DIMS : MPI_ERR_ARG, __func__);
	for (int i = 0; i < count; i++) {
		if (dims[i] < 0 || (dims[i] > 0 && left % dims[i]))
			return errors_check(NULL, MPI_ERR_DIMS, __func__);
		if (dims[i] > 0)
			left /= dims[i];
		open += dims[i] == 0;
	}
	if (open == 0 && left != 1)
		return errors_check(NULL, MPI_ERR_DIMS, __func__);
	int *sides = job_memory((size_t)open * sizeof(*sides));
	factor(left, open, left, sides);
	for (int i = 0, next = 0; i < count; i++)
		if (dims[i] == 0)
			dims[i] = sides[next++];
	free(sides);
	return MPI_SUCCESS;
}

static int check_dims(MPI_Comm comm, int count, const int *dims, const int *periods, int *nodes)
{
	int error = errors_check_comm(comm);
	long product = 1;
	if (error)
		return error;
	if (count < 0 || (count > 0 && (!dims || !periods)))
		return count < 0 ? MPI_ERR_DIMS : MPI_ERR_ARG;
	for (int i = 0; i < count; i++) {
		if (dims[i] <= 0)
			return MPI_ERR_DIMS;
		product *= dims[i];
		if (product > comm->group->size)
			return MPI_ERR_DIMS;
	}
	*nodes = (int)product;
	return MPI_SUCCESS;
}

int MPI_Cart_create(MPI_Comm comm, int count, const int *dims, const int *periods, int reorder, MPI_Comm *result)
{
	int nodes = 0, error = check_dims(comm, count, dims, periods, &nodes);
	(void)reorder; /* allowed, not needed: a node's ranks are all as near */
	if (error || !result)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	error = MPI_Comm_split(comm, comm->rank < nodes ? 0 : MPI_UNDEFINED, comm->rank, result);
	if (error || *result == MPI_COMM_NULL)
		return error;
	struct topology *topology = (*result)->topology = new_topology(count);
	for (int i = 0; i < count; i++)
		topology->dimensions[i] = (struct dimension){dims[i], periods[i] != 0};
	return MPI_SUCCESS;
}

/* ---- asking ---- */

#define CHECKED_TOPOLOGY(comm, condition, error)                                                                       \
	do {                                                                                                           \
		const int wrong_ = errors_check_comm(comm);                                                            \
		if (wrong_ || !(comm)->topology || !(condition))                                                       \
			return errors_check(comm,                                                                      \
					    wrong_              ? wrong_                                               \
					    : !(comm)->topology ? MPI_ERR_TOPOLOGY                                     \
								: (error),                                             \
					    __func__);                                                                 \
	} while (0)

int MPI_Topo_test(MPI_Comm comm, int *status)
{
	const int error = errors_check_comm(comm);
	if (error || !status)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	*status = comm->topology ? MPI_CART : MPI_UNDEFINED;
	return MPI_SUCCESS;
}

int MPI_Cartdim_get(MPI_Comm comm, int *count)
{
	CHECKED_TOPOLOGY(comm, count, MPI_ERR_ARG);
	*count = comm->topology->count;
	return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm comm, int most, int *dims, int *periods, int *coordinates)
{
	CHECKED_TOPOLOGY(comm, most >= comm->topology->count && (most == 0 || (dims && periods && coordinates)),
			 MPI_ERR_ARG);
	for (int i = 0; i < comm->topology->count; i++) {
		dims[i] = comm->topology->dimensions[i].size;
		periods[i] = comm->topology->dimensions[i].periodic;
	}
	coordinates_of(comm->topology, comm->rank, coordinates);
	return MPI_SUCCESS;
}

int MPI_Cart_rank(MPI_Comm comm, const int *coordinates, int *rank)
{
	CHECKED_TOPOLOGY(comm, rank && (coordinates || comm->topology->count == 0), MPI_ERR_ARG);
	const int found = rank_at(comm->topology, coordinates);
	if (found == MPI_PROC_NULL)
		return errors_check(comm, MPI_ERR_ARG, __func__);
	*rank = found;
	return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int *coordinates)
{
	CHECKED_TOPOLOGY(comm, most >= comm->topology->count && (most == 0 || coordinates), MPI_ERR_ARG);
	CHECKED_TOPOLOGY(comm, rank >= 0 && rank < comm->group->size, MPI_ERR_RANK);
	coordinates_of(comm->topology, rank, coordinates);
	return MPI_SUCCESS;
}

static int neighbour(const struct topology *topology, int rank, int dimension, int steps)
{
	int *coordinates = job_memory((size_t)topology->count * sizeof(*coordinates));
	coordinates_of(topology, rank, coordinates);
	coordinates[dimension] += steps;
	const int found = rank_at(topology, coordinates);
	free(coordinates);
	return found;
}

int MPI_Cart_shift(MPI_Comm comm, int dimension, int steps, int *from, int *to)
{
	CHECKED_TOPOLOGY(comm, from && to, MPI_ERR_ARG);
	CHECKED_TOPOLOGY(comm, dimension >= 0 && dimension < comm->topology->count, MPI_ERR_DIMS);
	*from = neighbour(comm->topology, comm->rank, dimension, -steps);
	*to = neighbour(comm->topology, comm->rank, dimension, steps);
	return MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm comm, const int *remains, MPI_Comm *result)
{
	CHECKED_TOPOLOGY(comm, result && (remains || comm->topology->count == 0), MPI_ERR_ARG);
	const struct topology *whole = comm->topology;
	struct topology *part = new_topology(whole->count);
	int *coordinates = job_memory((size_t)whole->count * sizeof(*coordinates)), color = 0, key = 0, count = 0;
	coordinates_of(whole, comm->rank, coordinates);
	for (int i = 0; i < whole->count; i++) {
		if (remains[i]) {
			part->dimensions[count++] = whole->dimensions[i];
			key = key * whole->dimensions[i].size + coordinates[i];
		} else {
			color = color * whole->dimensions[i].size + coordinates[i];
		}
	}
	part->count = count;
	free(coordinates);
	const int error = MPI_Comm_split(comm, color, key, result);
	if (error)
		topology_free(part);
	else
		(*result)->topology = part;
	return error;
}
