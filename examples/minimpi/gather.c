/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations that move data: from all to one, from one to all, from all to all. */
#include "collective.h"

/* A buffer with a part for each rank: of one size and one behind the other, or as listed. */
struct parts {
	const void *buffer;
	int count;
	const int *counts, *places;
	MPI_Datatype type;
	const MPI_Datatype *types; /* of MPI_Alltoallw: one each, and places in bytes */
};

static int part_count(const struct parts *parts, int rank)
{
	return parts->counts ? parts->counts[rank] : parts->count;
}

static MPI_Datatype part_type(const struct parts *parts, int rank)
{
	return parts->types ? parts->types[rank] : parts->type;
}

static void *part(const struct parts *parts, int rank)
{
	if (parts->types)
		return type_at(parts->buffer, parts->places[rank], MPI_BYTE);
	const MPI_Aint place = parts->counts ? parts->places[rank] : (MPI_Aint)rank * parts->count;
	return type_at(parts->buffer, place, parts->type);
}

static int check_parts(const struct parts *parts, MPI_Comm comm, bool listed)
{
	int error = MPI_SUCCESS;
	if (listed && (!parts->counts || !parts->places))
		return MPI_ERR_ARG;
	for (int rank = 0; !error && rank < (listed ? comm->group->size : 1); rank++)
		error = errors_check_data(parts->buffer, part_count(parts, rank), part_type(parts, rank));
	return error;
}

static int check_root(MPI_Comm comm, int root)
{
	const int error = errors_check_comm(comm);
	return error ? error : errors_check_rank(comm, root, MPI_ERR_ROOT);
}

/* At the root: its own part and its other buffer.  Types may begin at displacements, so only equal ones tell. */
static int check_own_part(const void *other, MPI_Datatype type, const struct parts *parts, int root)
{
	return type == parts->type ? errors_check_apart(other, part(parts, root), part_count(parts, root))
				   : MPI_SUCCESS;
}

/* ---- to one ---- */

static int gather(const void *sent, int count, MPI_Datatype type, const struct parts *parts, int root, MPI_Comm comm)
{
	const int tag = collective_begin(comm), size = comm->group->size;
	if (comm->rank != root)
		return collective_send(sent, count, type, root, tag, comm);
	int started = 0, error = MPI_SUCCESS;
	MPI_Request *requests = job_memory((size_t)size * sizeof(MPI_Request));
	for (int rank = 0; rank < size; rank++)
		if (rank != root)
			requests[started++] = collective_ireceive(part(parts, rank), part_count(parts, rank),
								  parts->type, rank, tag, comm);
	if (sent != MPI_IN_PLACE)
		error = collective_copy(sent, count, type, part(parts, root), part_count(parts, root), parts->type,
					comm, tag);
	const int wait_error = collective_wait(started, requests);
	return error ? error : wait_error;
}

static int check_gather(const void *sent, int count, MPI_Datatype type, const struct parts *parts, bool listed,
			int root, MPI_Comm comm)
{
	int error = check_root(comm, root);
	if (!error && sent == MPI_IN_PLACE && comm->rank != root)
		error = MPI_ERR_BUFFER;
	if (!error && sent != MPI_IN_PLACE)
		error = errors_check_data(sent, count, type);
	if (!error && comm->rank == root)
		error = check_parts(parts, comm, listed);
	if (!error && comm->rank == root)
		error = check_own_part(sent, type, parts, root);
	return error ? error : gather(sent, count, type, parts, root, comm);
}

int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count, MPI_Datatype type,
	       int root, MPI_Comm comm)
{
	const struct parts parts = {received, count, NULL, NULL, type, NULL};
	return errors_check(comm, check_gather(sent, sent_count, sent_type, &parts, false, root, comm), __func__);
}

int MPI_Gatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int *counts,
		const int *places, MPI_Datatype type, int root, MPI_Comm comm)
{
	const struct parts parts = {received, 0, counts, places, type, NULL};
	return errors_check(comm, check_gather(sent, sent_count, sent_type, &parts, true, root, comm), __func__);
}

/* ---- from one ---- */

static int scatter(const struct parts *parts, void *received, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	const int tag = collective_begin(comm), size = comm->group->size;
	if (comm->rank != root)
		return collective_receive(received, count, type, root, tag, comm);
	int started = 0, error = MPI_SUCCESS;
	MPI_Request *requests = job_memory((size_t)size * sizeof(MPI_Request));
	for (int rank = 0; rank < size; rank++)
		if (rank != root)
			requests[started++] = collective_isend(part(parts, rank), part_count(parts, rank), parts->type,
							       rank, tag, comm);
	if (received != MPI_IN_PLACE)
		error = collective_copy(part(parts, root), part_count(parts, root), parts->type, received, count, type,
					comm, tag);
	const int wait_error = collective_wait(started, requests);
	return error ? error : wait_error;
}

int collective_scatterv(const void *sent, const int *counts, const int *places, MPI_Datatype type, void *received,
			int count, int root, MPI_Comm comm)
{
	const struct parts parts = {sent, 0, counts, places, type, NULL};
	return scatter(&parts, received, count, type, root, comm);
}

static int check_scatter(const struct parts *parts, bool listed, void *received, int count, MPI_Datatype type, int root,
			 MPI_Comm comm)
{
	int error = check_root(comm, root);
	if (!error && received == MPI_IN_PLACE && comm->rank != root)
		error = MPI_ERR_BUFFER;
	if (!error && received != MPI_IN_PLACE)
		error = errors_check_data(received, count, type);
	if (!error && comm->rank == root)
		error = check_parts(parts, comm, listed);
	if (!error && comm->rank == root)
		error = check_own_part(received, type, parts, root);
	return error ? error : scatter(parts, received, count, type, root, comm);
}

int MPI_Scatter(const void *sent, int count, MPI_Datatype type, void *received, int received_count,
		MPI_Datatype received_type, int root, MPI_Comm comm)
{
	const struct parts parts = {sent, count, NULL, NULL, type, NULL};
	return errors_check(comm, check_scatter(&parts, false, received, received_count, received_type, root, comm),
			    __func__);
}

int MPI_Scatterv(const void *sent, const int *counts, const int *places, MPI_Datatype type, void *received,
		 int received_count, MPI_Datatype received_type, int root, MPI_Comm comm)
{
	const struct parts parts = {sent, 0, counts, places, type, NULL};
	return errors_check(comm, check_scatter(&parts, true, received, received_count, received_type, root, comm),
			    __func__);
}

/* ---- from all to all: everything at once, each pair by a message of its own ---- */

static int exchange(const struct parts *sent, const struct parts *received, MPI_Comm comm)
{
	const int tag = collective_begin(comm), size = comm->group->size;
	int started = 0;
	MPI_Request *requests = job_memory(2 * (size_t)size * sizeof(MPI_Request));
	for (int i = 0; i < size; i++) {
		const int from = (comm->rank - i + size) % size;
		requests[started++] = collective_ireceive(part(received, from), part_count(received, from),
							  part_type(received, from), from, tag, comm);
	}
	for (int i = 0; i < size; i++) {
		const int to = (comm->rank + i) % size;
		requests[started++] =
			collective_isend(part(sent, to), part_count(sent, to), part_type(sent, to), to, tag, comm);
	}
	return collective_wait(started, requests);
}

/* With MPI_IN_PLACE a rank's own part lies where it belongs, and it sends itself nothing. */
static int all_gather(const void *sent, int sent_count, MPI_Datatype sent_type, const struct parts *parts,
		      MPI_Comm comm)
{
	const int tag = collective_begin(comm), size = comm->group->size;
	const bool in_place = sent == MPI_IN_PLACE;
	if (in_place) {
		sent = part(parts, comm->rank);
		sent_count = part_count(parts, comm->rank);
		sent_type = parts->type;
	}
	int started = 0;
	MPI_Request *requests = job_memory(2 * (size_t)size * sizeof(MPI_Request));
	for (int i = in_place; i < size; i++) {
		const int from = (comm->rank - i + size) % size;
		requests[started++] =
			collective_ireceive(part(parts, from), part_count(parts, from), parts->type, from, tag, comm);
	}
	for (int i = in_place; i < size; i++)
		requests[started++] = collective_isend(sent, sent_count, sent_type, (comm->rank + i) % size, tag, comm);
	return collective_wait(started, requests);
}

int collective_allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count,
			 MPI_Datatype type, MPI_Comm comm)
{
	const struct parts parts = {received, count, NULL, NULL, type, NULL};
	return all_gather(sent, sent_count, sent_type, &parts, comm);
}

static int check_all_gather(const void *sent, int sent_count, MPI_Datatype sent_type, const struct parts *parts,
			    bool listed, MPI_Comm comm)
{
	int error = errors_check_comm(comm);
	if (!error && sent != MPI_IN_PLACE)
		error = errors_check_data(sent, sent_count, sent_type);
	if (!error)
		error = check_parts(parts, comm, listed);
	return error ? error : all_gather(sent, sent_count, sent_type, parts, comm);
}

int MPI_Allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count,
		  MPI_Datatype type, MPI_Comm comm)
{
	const struct parts parts = {received, count, NULL, NULL, type, NULL};
	return errors_check(comm, check_all_gather(sent, sent_count, sent_type, &parts, false, comm), __func__);
}

int MPI_Allgatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int *counts,
		   const int *places, MPI_Datatype type, MPI_Comm comm)
{
	const struct parts parts = {received, 0, counts, places, type, NULL};
	return errors_check(comm, check_all_gather(sent, sent_count, sent_type, &parts, true, comm), __func__);
}

/* With MPI_IN_PLACE every part is both: pairs exchange them through copies. */
static int exchange_in_place(const struct parts *parts, MPI_Comm comm)
{
	const int tag = collective_begin(comm), size = comm->group->size;
	int error = MPI_SUCCESS;
	for (int low = 0; low < size && !error; low++) {
		for (int high = low + 1; high < size && !error; high++) {
			if (comm->rank != low && comm->rank != high)
				continue;
			const int other = comm->rank == low ? high : low;
			MPI_Request send = collective_isend_copy(part(parts, other), part_count(parts, other),
								 part_type(parts, other), other, tag, comm);
			error = collective_receive(part(parts, other), part_count(parts, other),
						   part_type(parts, other), other, tag, comm);
			const int send_error = collective_wait_one(send);
			error = error ? error : send_error;
		}
	}
	return error;
}

static int check_exchange(const struct parts *sent, const struct parts *received, bool listed, MPI_Comm comm)
{
	const bool in_place = sent->buffer == MPI_IN_PLACE;
	int error = errors_check_comm(comm);
	if (!error && !in_place)
		error = check_parts(sent, comm, listed);
	if (!error)
		error = check_parts(received, comm, listed);
	if (error)
		return error;
	return in_place ? exchange_in_place(received, comm) : exchange(sent, received, comm);
}

int MPI_Alltoall(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count, MPI_Datatype type,
		 MPI_Comm comm)
{
	const struct parts from = {sent, sent_count, NULL, NULL, sent_type, NULL},
			   to = {received, count, NULL, NULL, type, NULL};
	return errors_check(comm, check_exchange(&from, &to, false, comm), __func__);
}

int MPI_Alltoallv(const void *sent, const int *sent_counts, const int *sent_places, MPI_Datatype sent_type,
		  void *received, const int *counts, const int *places, MPI_Datatype type, MPI_Comm comm)
{
	const struct parts from = {sent, 0, sent_counts, sent_places, sent_type, NULL},
			   to = {received, 0, counts, places, type, NULL};
	return errors_check(comm, check_exchange(&from, &to, true, comm), __func__);
}

int MPI_Alltoallw(const void *sent, const int *sent_counts, const int *sent_places, const MPI_Datatype *sent_types,
		  void *received, const int *counts, const int *places, const MPI_Datatype *types, MPI_Comm comm)
{
	const struct parts from = {sent, 0, sent_counts, sent_places, NULL, sent_types},
			   to = {received, 0, counts, places, NULL, types};
	if (!types || (sent != MPI_IN_PLACE && !sent_types))
		return errors_check(comm, MPI_ERR_ARG, __func__);
	return errors_check(comm, check_exchange(&from, &to, true, comm), __func__);
}
