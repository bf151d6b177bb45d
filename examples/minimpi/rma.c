/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get. */
#include "rma.h"

#include <stdlib.h>

#include "epoch.h"
#include "type.h"

int rma_check(const struct access *access)
{
	const MPI_Win win = access->win;
	int error = window_check(win);
	if (!error && access->rank != MPI_PROC_NULL)
		error = errors_check_rank(win->comm, access->rank, MPI_ERR_RANK);
	if (!error)
		error = errors_check_data(access->origin, access->count, access->type);
	if (!error && access->target_count < 0)
		error = MPI_ERR_COUNT;
	if (!error && (!access->target_type || !access->target_type->committed))
		error = MPI_ERR_TYPE;
	return error ? error : epoch_check(win, access->rank);
}

int rma_check_place(const struct access *access)
{
	const struct shape *shape = &access->win->shapes[access->rank];
	const MPI_Datatype type = access->target_type;
	const MPI_Aint between = (access->target_count - 1) * type->extent;
	const MPI_Aint first = access->place * shape->unit + type->true_lower + (between < 0 ? between : 0);
	const MPI_Aint bytes = type->true_extent + (between < 0 ? -between : between);
	if (rma_bytes(access) != (size_t)access->count * access->type->size)
		return MPI_ERR_TYPE;
	return access->place < 0 || first < 0 || first + bytes > shape->size ? MPI_ERR_RMA_RANGE : MPI_SUCCESS;
}

void rma_move(const struct access *access, enum window_move kind, void *bytes)
{
	const MPI_Datatype type = access->target_type;
	const uint64_t base = (uint64_t)access->place * (unsigned)access->win->shapes[access->rank].unit;
	const uint64_t bits = WINDOW_MEMORY_BITS(access->win);
	const int elements = type->dense ? 1 : access->target_count;
	const size_t pieces = type->dense ? 1 : type->piece_count;
	struct window_transfer *transfer =
		window_begin(access->win, kind, bytes, rma_bytes(access), elements * (int)pieces);
	size_t from = 0;
	if (type->dense) {
		window_move(transfer, access->rank, bits, 0, rma_bytes(access), base);
		return;
	}
	for (int i = 0; i < elements; i++) {
		for (size_t k = 0; k < pieces; k++) {
			const struct piece *piece = &type->pieces[k];
			const size_t length = piece->count * piece->basic->size;
			window_move(transfer, access->rank, bits, from, length,
				    base + (uint64_t)(i * type->extent + piece->place));
			from += length;
		}
	}
}

/* Data that is not in one run is packed, and then the call waits: nothing else keeps the copy. */
static int put(const struct access *access)
{
	if (access->type->dense) {
		rma_move(access, WINDOW_PUT, access->origin);
		return MPI_SUCCESS;
	}
	void *bytes = job_memory(rma_bytes(access));
	type_pack(access->type, access->origin, access->count, bytes);
	rma_move(access, WINDOW_PUT, bytes);
	const int error = window_flush(access->win);
	free(bytes);
	return error;
}

static int get(const struct access *access)
{
	if (access->type->dense) {
		rma_move(access, WINDOW_GET, access->origin);
		return MPI_SUCCESS;
	}
	void *bytes = job_memory(rma_bytes(access));
	rma_move(access, WINDOW_GET, bytes);
	const int error = window_flush(access->win);
	if (!error)
		type_unpack(access->type, bytes, rma_bytes(access), access->origin, access->count);
	free(bytes);
	return error;
}

static int access_target(const struct access *access, enum window_move kind, const char *call)
{
	int error = rma_check(access);
	if (!error && access->rank != MPI_PROC_NULL && rma_bytes(access) > 0)
		error = rma_check_place(access);
	if (!error && access->rank != MPI_PROC_NULL && rma_bytes(access) > 0)
		error = kind == WINDOW_PUT ? put(access) : get(access);
	return window_raise(access->win, error, call);
}

int MPI_Put(const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
	    MPI_Datatype target_type, MPI_Win win)
{
	const struct access access = {win, (void *)origin, count, type, rank, place, target_count, target_type};
	return access_target(&access, WINDOW_PUT, __func__);
}

int MPI_Get(void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
	    MPI_Datatype target_type, MPI_Win win)
{
	const struct access access = {win, origin, count, type, rank, place, target_count, target_type};
	return access_target(&access, WINDOW_GET, __func__);
}
