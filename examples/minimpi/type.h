/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A data type is a list of pieces: runs of one basic type at a displacement.  A type made of others has copies of their
 * pieces, so that nothing is followed when data is packed.
 */
#ifndef MINIMPI_TYPE_H
#define MINIMPI_TYPE_H

#include <mpi.h>
#include <stdbool.h>

#include "attribute.h"

struct piece {
	MPI_Aint place; /* from the address that the program passes */
	size_t count;   /* of the basic type, one behind the other */
	MPI_Datatype basic;
};

/* What an operation combines (op.c); TYPE_NONE: what only user functions do. */
enum type_class { TYPE_NONE, TYPE_INTEGER, TYPE_FLOATING, TYPE_COMPLEX, TYPE_LOGICAL, TYPE_BYTE, TYPE_PAIR };

struct minimpi_type {
	char name[MPI_MAX_OBJECT_NAME];
	size_t size; /* bytes of data */
	MPI_Aint lower, extent;
	bool bounded;   /* by MPI_Type_create_resized, or a part of it is: the data does not say where it ends */
	MPI_Aint align; /* the strictest of its basic types */
	MPI_Aint true_lower, true_extent;
	bool dense; /* `count` of them are one run of bytes, which begins where the program says */
	bool committed, predefined;
	enum type_class kind;
	bool is_signed;
	int users;         /* the program's handle, and requests */
	MPI_Datatype only; /* the predefined type that it has nothing else of, if there is one */
	struct attribute *attributes;
	size_t piece_count;
	struct piece *pieces;
};

static inline struct owner type_owner(MPI_Datatype type)
{
	return (struct owner){OWNER_TYPE, {.type = type}, &type->attributes};
}

/* Copies `count` of a type to or from a run of bytes. */
void type_pack(MPI_Datatype type, const void *from, int count, void *bytes);
/* ... as far as the bytes go. */
void type_unpack(MPI_Datatype type, const void *bytes, size_t length, void *to, int count);
void type_release(MPI_Datatype type);
/* Memory for `count` of a type: what to free, and the address to pass for it.  For copies that the library makes. */
void *type_memory(MPI_Datatype type, int count, void **address);
/* From one buffer to another of the same type. */
void type_copy(MPI_Datatype type, const void *from, void *to, int count);
/* The place of element `index` in an array of a type, which may be MPI_BOTTOM: hence numbers and no pointers. */
static inline void *type_at(const void *array, MPI_Aint index, MPI_Datatype type)
{
	return (void *)((uintptr_t)array + (uintptr_t)(index * type->extent));
}

#endif
