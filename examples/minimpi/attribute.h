/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes: what a program keeps with a communicator, a data type or a window, under keys it makes.  What is here is the same
 * for the three; comm_attribute.c, type_attribute.c and window_attribute.c have the calls.  Errors are returned, not raised.
 */
#ifndef MINIMPI_ATTRIBUTE_H
#define MINIMPI_ATTRIBUTE_H

#include <mpi.h>

struct attribute;

enum owner_kind { OWNER_COMM, OWNER_TYPE, OWNER_WINDOW };

/* What has attributes, and where its list of them is. */
struct owner {
	enum owner_kind kind;
	union {
		MPI_Comm comm;
		MPI_Datatype type;
		MPI_Win win;
	} of;
	struct attribute **list;
};

/* The functions of a key, of the kind of its owners. */
union copy_function {
	MPI_Comm_copy_attr_function *comm;
	MPI_Type_copy_attr_function *type;
	MPI_Win_copy_attr_function *win;
};
union delete_function {
	MPI_Comm_delete_attr_function *comm;
	MPI_Type_delete_attr_function *type;
	MPI_Win_delete_attr_function *win;
};

struct key_functions {
	union copy_function copy;
	union delete_function remove;
};

int attribute_create_key(enum owner_kind kind, const struct key_functions *functions, int *key, void *state);
int attribute_free_key(enum owner_kind kind, int *key);
int attribute_set(struct owner owner, int key, void *value);
int attribute_get(struct owner owner, int key, void *value, int *flag);
int attribute_delete(struct owner owner, int key);

/* Has the copy functions of an owner's attributes decide what its duplicate gets. */
int attribute_copy_all(struct owner from, struct owner to);
/* Calls the delete functions, the youngest attribute first. */
int attribute_delete_all(struct owner owner);
void attribute_close(void); /* frees the keys */

#endif
