/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accumulates: Portals exchanges but does not add, so elements are fetched, combined and put back, under a lock of the
 * target's.  All calls here take it, so each is atomic for every type.
 */
#include <stdlib.h>
#include <string.h>

#include "epoch.h"
#include "op.h"
#include "rma.h"

/* Where what was there before goes; of MPI_Accumulate nowhere. */
struct fetched {
	void *buffer;
	int count;
	MPI_Datatype type;
};

/* `there` becomes own op there.  As runs of bytes, which the operation wants as elements. */
static void combine(MPI_Op op, MPI_Datatype basic, size_t length, const void *own, void *there)
{
	const int count = (int)(length / basic->size);
	void *a, *a_memory = type_memory(basic, count, &a), *b, *b_memory = type_memory(basic, count, &b);
	type_unpack(basic, own, length, a, count);
	type_unpack(basic, there, length, b, count);
	op_apply(op, a, b, count, basic);
	type_pack(basic, b, count, there);
	free(a_memory);
	free(b_memory);
}

/* Fetches bytes, and puts back what they have become, if they have. */
static int change(const struct access *access, MPI_Op op, const void *own, void *there, const struct fetched *fetched)
{
	rma_move(access, WINDOW_GET, there);
	int error = window_flush(access->win);
	if (!error && fetched)
		type_unpack(fetched->type, there, rma_bytes(access), fetched->buffer, fetched->count);
	if (error || op == MPI_NO_OP)
		return error;
	combine(op, access->target_type->only, rma_bytes(access), own, there);
	rma_move(access, WINDOW_PUT, there);
	return window_flush(access->win);
}

static int accumulate(const struct access *access, MPI_Op op, const struct fetched *fetched)
{
	const size_t length = rma_bytes(access);
	void *own = job_memory(length), *there = job_memory(length);
	if (op != MPI_NO_OP)
		type_pack(access->type, access->origin, access->count, own);
	int error = window_acquire(access->win, access->rank, WINDOW_WORD(accumulate));
	if (!error) {
		error = change(access, op, own, there, fetched);
		const int release_error = window_release(access->win, access->rank, WINDOW_WORD(accumulate));
		error = error ? error : release_error;
	}
	free(own);
	free(there);
	return error;
}

static int check_fetched(const struct access *access, const struct fetched *fetched)
{
	const int error = errors_check_data(fetched->buffer, fetched->count, fetched->type);
	if (error)
		return error;
	if (fetched->type->only != access->target_type->only)
		return MPI_ERR_TYPE;
	return (size_t)fetched->count * fetched->type->size == rma_bytes(access) ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int check_and_accumulate(const struct access *access, MPI_Op op, const struct fetched *fetched)
{
	int error = rma_check(access);
	if (!error && op == MPI_NO_OP && !fetched)
		error = MPI_ERR_OP;
	if (error || access->rank == MPI_PROC_NULL || rma_bytes(access) == 0)
		return error;
	error = rma_check_place(access);
	if (!error && fetched)
		error = check_fetched(access, fetched);
	if (!error && access->type->only != access->target_type->only)
		error = MPI_ERR_TYPE;
	if (!error)
		error = access->target_type->only ? op_check_predefined(op, access->target_type->only) : MPI_ERR_TYPE;
	return error ? error : accumulate(access, op, fetched);
}

int MPI_Accumulate(const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
		   MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
	const struct access access = {win, (void *)origin, count, type, rank, place, target_count, target_type};
	return window_raise(win, check_and_accumulate(&access, op, NULL), __func__);
}

/* With MPI_NO_OP nothing is brought: the origin's arguments mean nothing. */
int MPI_Get_accumulate(const void *origin, int count, MPI_Datatype type, void *result, int result_count,
		       MPI_Datatype result_type, int rank, MPI_Aint place, int target_count, MPI_Datatype target_type,
		       MPI_Op op, MPI_Win win)
{
	const struct fetched fetched = {result, result_count, result_type};
	struct access access = {win, (void *)origin, count, type, rank, place, target_count, target_type};
	if (op == MPI_NO_OP) {
		access.origin = result;
		access.count = result_count;
		access.type = result_type;
	}
	return window_raise(win, check_and_accumulate(&access, op, &fetched), __func__);
}

static int check_one(MPI_Datatype type)
{
	return type && type->predefined ? MPI_SUCCESS : MPI_ERR_TYPE;
}

int MPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint place, MPI_Op op,
		     MPI_Win win)
{
	int error = window_check(win);
	if (!error)
		error = check_one(type);
	if (error)
		return window_raise(win, error, __func__);
	const struct fetched fetched = {result, 1, type};
	const struct access access = {win, op == MPI_NO_OP ? result : (void *)origin, 1, type, rank, place, 1, type};
	return window_raise(win, check_and_accumulate(&access, op, &fetched), __func__);
}

/* ---- compare and swap ---- */

static int swap_if_equal(const struct access *access, const void *compared, void *result)
{
	int error = window_acquire(access->win, access->rank, WINDOW_WORD(accumulate));
	if (error)
		return error;
	rma_move(access, WINDOW_GET, result);
	error = window_flush(access->win);
	if (!error && memcmp(result, compared, rma_bytes(access)) == 0) {
		rma_move(access, WINDOW_PUT, access->origin);
		error = window_flush(access->win);
	}
	const int release_error = window_release(access->win, access->rank, WINDOW_WORD(accumulate));
	return error ? error : release_error;
}

/* Of integers, logical values and bytes, whose equality is that of their bytes. */
int MPI_Compare_and_swap(const void *origin, const void *compared, void *result, MPI_Datatype type, int rank,
			 MPI_Aint place, MPI_Win win)
{
	const struct access access = {win, (void *)origin, 1, type, rank, place, 1, type};
	int error = rma_check(&access);
	if (!error &&
	    (check_one(type) || (type->kind != TYPE_INTEGER && type->kind != TYPE_LOGICAL && type->kind != TYPE_BYTE)))
		error = MPI_ERR_TYPE;
	if (!error && (!compared || !result))
		error = MPI_ERR_BUFFER;
	if (!error && rank != MPI_PROC_NULL)
		error = rma_check_place(&access);
	if (!error && rank != MPI_PROC_NULL)
		error = swap_if_equal(&access, compared, result);
	return window_raise(win, error, __func__);
}
