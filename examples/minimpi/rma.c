/* SPDX-License-Identifier: BSD-3-Clause */
/* Put, get and accumulate. */
#include <limits.h>
#include <stdlib.h>

#include "errors.h"
#include "op.h"
#include "type.h"
#include "wait.h"
#include "window.h"

/* The arguments that the three calls share. */
struct access {
	MPI_Win win;
	void *origin;
	int count;
	MPI_Datatype type;
	int rank;
	MPI_Aint place;
	int target_count;
	MPI_Datatype target_type;
};

static int check(const struct access *access)
{
	const MPI_Win win = access->win;
	int error = win ? errors_check_comm(win->comm) : MPI_ERR_WIN;
	if (!error && access->rank != MPI_PROC_NULL)
		error = errors_check_rank(win->comm, access->rank, MPI_ERR_RANK);
	if (!error)
		error = errors_check_data(access->origin, access->count, access->type);
	if (!error && access->target_count < 0)
		error = MPI_ERR_COUNT;
	if (!error && (!access->target_type || !access->target_type->committed))
		error = MPI_ERR_TYPE;
	return error;
}

static size_t bytes_of(const struct access *access)
{
	return (size_t)access->target_count * access->target_type->size;
}

/* What is beyond the target's memory would be dropped there, and its initiator would wait for an answer for ever. */
static int check_place(const struct access *access)
{
	const struct shape *shape = &access->win->shapes[access->rank];
	const MPI_Datatype type = access->target_type;
	const MPI_Aint between = (access->target_count - 1) * type->extent;
	const MPI_Aint first = access->place * shape->unit + type->true_lower + (between < 0 ? between : 0);
	const MPI_Aint bytes = type->true_extent + (between < 0 ? -between : between);
	if (bytes_of(access) != (size_t)access->count * access->type->size)
		return MPI_ERR_TYPE;
	return access->place < 0 || first < 0 || first + bytes > shape->size ? MPI_ERR_RMA_RANGE : MPI_SUCCESS;
}

/* Between a run of bytes here and the pieces of the type there; ends when all have. */
static void move(const struct access *access, enum window_move kind, void *bytes)
{
	const MPI_Datatype type = access->target_type;
	const uint64_t base = (uint64_t)access->place * (unsigned)access->win->shapes[access->rank].unit;
	const uint64_t bits = WINDOW_MEMORY_BITS(access->win);
	const int elements = type->dense ? 1 : access->target_count;
	const size_t pieces = type->dense ? 1 : type->piece_count;
	struct window_transfer *transfer =
		window_begin(access->win, kind, bytes, bytes_of(access), elements * (int)pieces);
	size_t from = 0;
	if (type->dense) {
		window_move(transfer, access->rank, bits, 0, bytes_of(access), base);
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
		move(access, WINDOW_PUT, access->origin);
		return MPI_SUCCESS;
	}
	void *bytes = job_memory(bytes_of(access));
	type_pack(access->type, access->origin, access->count, bytes);
	move(access, WINDOW_PUT, bytes);
	const int error = window_flush(access->win);
	free(bytes);
	return error;
}

static int get(const struct access *access)
{
	if (access->type->dense) {
		move(access, WINDOW_GET, access->origin);
		return MPI_SUCCESS;
	}
	void *bytes = job_memory(bytes_of(access));
	move(access, WINDOW_GET, bytes);
	const int error = window_flush(access->win);
	if (!error)
		type_unpack(access->type, bytes, bytes_of(access), access->origin, access->count);
	free(bytes);
	return error;
}

static int access_target(const struct access *access, enum window_move kind, const char *call)
{
	int error = check(access);
	if (!error && access->rank != MPI_PROC_NULL && bytes_of(access) > 0)
		error = check_place(access);
	if (!error && access->rank != MPI_PROC_NULL && bytes_of(access) > 0)
		error = kind == WINDOW_PUT ? put(access) : get(access);
	return errors_check(access->win ? access->win->comm : NULL, error, call);
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

/* ---- accumulate: Portals exchanges but does not add, so elements are fetched, combined and put back under a lock ---- */

/* The basic type of all pieces, which is what operations are defined for; NULL if there are several. */
static MPI_Datatype basic_of(MPI_Datatype type)
{
	if (type->predefined)
		return type;
	for (size_t i = 1; i < type->piece_count; i++)
		if (type->pieces[i].basic != type->pieces[0].basic)
			return NULL;
	return type->piece_count > 0 ? type->pieces[0].basic : NULL;
}

static int accumulate(const struct access *access, MPI_Op op, MPI_Datatype basic)
{
	const size_t length = bytes_of(access);
	void *own, *own_memory = type_memory(basic, (int)(length / basic->size), &own);
	void *there, *there_memory = type_memory(basic, (int)(length / basic->size), &there);
	void *bytes = job_memory(length);
	type_pack(access->type, access->origin, access->count, bytes);
	type_unpack(basic, bytes, length, own, (int)(length / basic->size));
	int error = window_acquire(access->win, access->rank, WINDOW_WORD(accumulate));
	if (!error) {
		move(access, WINDOW_GET, bytes);
		error = window_flush(access->win);
		type_unpack(basic, bytes, length, there, (int)(length / basic->size));
		op_apply(op, own, there, (int)(length / basic->size), basic);
		type_pack(basic, there, (int)(length / basic->size), bytes);
		move(access, WINDOW_PUT, bytes);
		const int put_error = window_flush(access->win);
		const int release_error = window_release(access->win, access->rank, WINDOW_WORD(accumulate));
		error = error ? error : put_error ? put_error : release_error;
	}
	free(own_memory);
	free(there_memory);
	free(bytes);
	return error;
}

int MPI_Accumulate(const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
		   MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
	const struct access access = {win, (void *)origin, count, type, rank, place, target_count, target_type};
	int error = check(&access);
	const bool moves = !error && rank != MPI_PROC_NULL && bytes_of(&access) > 0;
	const MPI_Datatype basic = moves ? basic_of(target_type) : NULL;
	if (moves)
		error = check_place(&access);
	if (moves && !error)
		error = basic ? op_check_predefined(op, basic) : MPI_ERR_TYPE;
	if (moves && !error)
		error = accumulate(&access, op, basic);
	return errors_check(win ? win->comm : NULL, error, __func__);
}
