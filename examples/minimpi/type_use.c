/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program asks of data types: sizes, bounds, names, packing. */
#include <limits.h>
#include <string.h>

#include "errors.h"
#include "type.h"

int MPI_Type_size(MPI_Datatype type, int *size)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(size, MPI_ERR_ARG);
	*size = type->size > INT_MAX ? MPI_UNDEFINED : (int)type->size;
	return MPI_SUCCESS;
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(lower && extent, MPI_ERR_ARG);
	*lower = type->lower;
	*extent = type->extent;
	return MPI_SUCCESS;
}

int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(lower && extent, MPI_ERR_ARG);
	*lower = type->true_lower;
	*extent = type->true_extent;
	return MPI_SUCCESS;
}

int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(extent, MPI_ERR_ARG);
	*extent = type->extent;
	return MPI_SUCCESS;
}

int MPI_Type_lb(MPI_Datatype type, MPI_Aint *lower)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(lower, MPI_ERR_ARG);
	*lower = type->lower;
	return MPI_SUCCESS;
}

int MPI_Type_ub(MPI_Datatype type, MPI_Aint *upper)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(upper, MPI_ERR_ARG);
	*upper = type->lower + type->extent;
	return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
	CHECKED(type && *type, MPI_ERR_TYPE);
	(*type)->committed = true;
	return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
	CHECKED(type && *type && !(*type)->predefined, MPI_ERR_TYPE);
	const int error = attribute_delete_all(type_owner(*type));
	CHECKED(!error, error);
	type_release(*type);
	*type = MPI_DATATYPE_NULL;
	return MPI_SUCCESS;
}

int MPI_Get_address(const void *place, MPI_Aint *address)
{
	CHECKED(address, MPI_ERR_ARG);
	*address = (MPI_Aint)place;
	return MPI_SUCCESS;
}

int MPI_Address(void *place, MPI_Aint *address)
{
	return MPI_Get_address(place, address);
}

MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement)
{
	return base + displacement;
}

MPI_Aint MPI_Aint_diff(MPI_Aint address, MPI_Aint base)
{
	return address - base;
}

int MPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(size, MPI_ERR_ARG);
	*size = (MPI_Count)type->size;
	return MPI_SUCCESS;
}

int MPI_Type_get_extent_x(MPI_Datatype type, MPI_Count *lower, MPI_Count *extent)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(lower && extent, MPI_ERR_ARG);
	*lower = type->lower;
	*extent = type->extent;
	return MPI_SUCCESS;
}

int MPI_Type_get_true_extent_x(MPI_Datatype type, MPI_Count *lower, MPI_Count *extent)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(lower && extent, MPI_ERR_ARG);
	*lower = type->true_lower;
	*extent = type->true_extent;
	return MPI_SUCCESS;
}

int MPI_Type_set_name(MPI_Datatype type, const char *name)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(name, MPI_ERR_ARG);
	strncpy(type->name, name, sizeof(type->name) - 1);
	return MPI_SUCCESS;
}

int MPI_Type_get_name(MPI_Datatype type, char *name, int *length)
{
	CHECKED(type, MPI_ERR_TYPE);
	CHECKED(name && length, MPI_ERR_ARG);
	*length = (int)strlen(type->name);
	memcpy(name, type->name, (size_t)*length + 1);
	return MPI_SUCCESS;
}

/* The packed form is the data alone, as all processes of a job have the same representation of it. */
int MPI_Pack(const void *in, int count, MPI_Datatype type, void *out, int size, int *position, MPI_Comm comm)
{
	int error = errors_check_data(in, count, type);
	if (!comm)
		error = MPI_ERR_COMM;
	else if (!error && (!position || *position < 0 || size < 0))
		error = MPI_ERR_ARG;
	else if (!error && (size_t)count * type->size > (size_t)(size - *position))
		error = MPI_ERR_TRUNCATE;
	if (error)
		return errors_check(comm, error, __func__);
	type_pack(type, in, count, (char *)out + *position);
	*position += (int)((size_t)count * type->size);
	return MPI_SUCCESS;
}

int MPI_Unpack(const void *in, int size, int *position, void *out, int count, MPI_Datatype type, MPI_Comm comm)
{
	int error = errors_check_data(out, count, type);
	if (!comm)
		error = MPI_ERR_COMM;
	else if (!error && (!position || *position < 0 || size < 0))
		error = MPI_ERR_ARG;
	else if (!error && (size_t)count * type->size > (size_t)(size - *position))
		error = MPI_ERR_TRUNCATE;
	if (error)
		return errors_check(comm, error, __func__);
	type_unpack(type, (const char *)in + *position, (size_t)count * type->size, out, count);
	*position += (int)((size_t)count * type->size);
	return MPI_SUCCESS;
}

int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int *size)
{
	CHECKED(comm, MPI_ERR_COMM);
	CHECKED(count >= 0, MPI_ERR_COUNT);
	CHECKED(type && type->committed, MPI_ERR_TYPE);
	CHECKED(size, MPI_ERR_ARG);
	const size_t bytes = (size_t)count * type->size;
	*size = bytes > INT_MAX ? MPI_UNDEFINED : (int)bytes;
	return MPI_SUCCESS;
}
