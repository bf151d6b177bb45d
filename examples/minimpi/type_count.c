/* SPDX-License-Identifier: BSD-3-Clause */
/* How much a status says was received: in whole data types, in basic elements; and statuses that a program fills. */
#include <limits.h>

#include "errors.h"
#include "type.h"

#define CHECK_STATUS(status, type, count)                                                                              \
	do {                                                                                                           \
		CHECKED((type) && (type)->committed, MPI_ERR_TYPE);                                                    \
		CHECKED((status) && (count), MPI_ERR_ARG);                                                             \
	} while (0)

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
	CHECK_STATUS(status, type, count);
	const MPI_Count bytes = status->minimpi_bytes, size = (MPI_Count)type->size;
	if (bytes == 0)
		*count = 0;
	else if (size == 0 || bytes % size || bytes / size > INT_MAX)
		*count = MPI_UNDEFINED;
	else
		*count = (int)(bytes / size);
	return MPI_SUCCESS;
}

/* ---- elements ---- */

static MPI_Count elements_of_one(MPI_Datatype type)
{
	MPI_Count all = 0;
	for (size_t i = 0; i < type->piece_count; i++)
		all += (MPI_Count)type->pieces[i].count;
	return all;
}

/* How many basic elements the bytes are, in the order in which the type's pieces are filled. */
static MPI_Count elements(MPI_Datatype type, MPI_Count bytes)
{
	MPI_Count count = 0;
	if (type->size > 0) {
		count = bytes / (MPI_Count)type->size * elements_of_one(type);
		bytes %= (MPI_Count)type->size;
	}
	for (size_t i = 0; i < type->piece_count && bytes > 0; i++) {
		const MPI_Count size = (MPI_Count)type->pieces[i].basic->size;
		const MPI_Count run = (MPI_Count)type->pieces[i].count * size;
		const MPI_Count taken = bytes < run ? bytes : run;
		if (taken % size)
			return MPI_UNDEFINED;
		count += taken / size;
		bytes -= taken;
	}
	return bytes > 0 ? MPI_UNDEFINED : count;
}

int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count)
{
	CHECK_STATUS(status, type, count);
	const MPI_Count all = elements(type, status->minimpi_bytes);
	*count = all > INT_MAX ? MPI_UNDEFINED : (int)all;
	return MPI_SUCCESS;
}

int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
	CHECK_STATUS(status, type, count);
	*count = elements(type, status->minimpi_bytes);
	return MPI_SUCCESS;
}

/* ---- filled by the program ---- */

/* The bytes of so many basic elements. */
int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype type, MPI_Count count)
{
	CHECK_STATUS(status, type, status);
	CHECKED(count >= 0, MPI_ERR_COUNT);
	const MPI_Count of_one = elements_of_one(type);
	MPI_Count bytes = of_one > 0 ? count / of_one * (MPI_Count)type->size : 0;
	MPI_Count left = of_one > 0 ? count % of_one : 0;
	for (size_t i = 0; left > 0; i++) {
		const MPI_Count here = (MPI_Count)type->pieces[i].count, taken = left < here ? left : here;
		bytes += taken * (MPI_Count)type->pieces[i].basic->size;
		left -= taken;
	}
	status->minimpi_bytes = bytes;
	return MPI_SUCCESS;
}

int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count)
{
	return MPI_Status_set_elements_x(status, type, count);
}

int MPI_Status_set_cancelled(MPI_Status *status, int flag)
{
	CHECKED(status, MPI_ERR_ARG);
	status->minimpi_cancelled = flag != 0;
	return MPI_SUCCESS;
}
