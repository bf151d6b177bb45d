/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of an array of several dimensions as a data type: rows, then layers of them, the fastest dimension first. */
#include "errors.h"
#include "type.h"

static int check(int count, const int *sizes, const int *parts, const int *starts, int order, MPI_Datatype old,
		 const MPI_Datatype *type)
{
	if (!old)
		return MPI_ERR_TYPE;
	if (count < 1 || !sizes || !parts || !starts || !type || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
		return MPI_ERR_ARG;
	for (int i = 0; i < count; i++)
		if (sizes[i] < 1 || parts[i] < 1 || parts[i] > sizes[i] || starts[i] < 0 ||
		    starts[i] > sizes[i] - parts[i])
			return MPI_ERR_ARG;
	return MPI_SUCCESS;
}

/* Replaces a type by one made of it. */
static void into(MPI_Datatype *type, MPI_Datatype made)
{
	type_release(*type);
	*type = made;
}

int MPI_Type_create_subarray(int count, const int *sizes, const int *parts, const int *starts, int order,
			     MPI_Datatype old, MPI_Datatype *type)
{
	const int error = check(count, sizes, parts, starts, order, old, type), one = 1;
	if (error)
		return errors_check(MPI_COMM_WORLD, error, __func__);
	MPI_Aint stride = old->extent, first = 0; /* in bytes: of the dimension, and of the part's first element */
	MPI_Datatype part, next;
	MPI_Type_contiguous(1, old, &part);
	for (int i = 0; i < count; i++) {
		const int dimension = order == MPI_ORDER_C ? count - 1 - i : i;
		MPI_Type_create_hvector(parts[dimension], 1, stride, part, &next);
		into(&part, next);
		first += starts[dimension] * stride;
		stride *= sizes[dimension];
	}
	MPI_Type_create_hindexed(1, &one, &first, part, &next);
	into(&part, next);
	MPI_Type_create_resized(part, 0, stride, type); /* elements of a buffer are whole arrays */
	type_release(part);
	return MPI_SUCCESS;
}
