/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of mpi.h: groups, communicators, error handlers, attributes, Cartesian topologies. */
#ifndef MINIMPI_COMMUNICATOR_H
#define MINIMPI_COMMUNICATOR_H

/* Groups */
int MPI_Group_size(MPI_Group group, int *size);
int MPI_Group_rank(MPI_Group group, int *rank);
int MPI_Group_translate_ranks(MPI_Group group, int count, const int *ranks, MPI_Group other, int *other_ranks);
int MPI_Group_compare(MPI_Group group, MPI_Group other, int *result);
int MPI_Group_incl(MPI_Group group, int count, const int *ranks, MPI_Group *result);
int MPI_Group_excl(MPI_Group group, int count, const int *ranks, MPI_Group *result);
int MPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group *result);
int MPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group *result);
int MPI_Group_union(MPI_Group group, MPI_Group other, MPI_Group *result);
int MPI_Group_intersection(MPI_Group group, MPI_Group other, MPI_Group *result);
int MPI_Group_difference(MPI_Group group, MPI_Group other, MPI_Group *result);
int MPI_Group_free(MPI_Group *group);

/* Communicators */
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_compare(MPI_Comm comm, MPI_Comm other, int *result);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *result);
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *result);
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *result);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *result);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_set_name(MPI_Comm comm, const char *name);
int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length);

/* Errors */
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *code, ...);
typedef MPI_Comm_errhandler_function MPI_Handler_function;
int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Comm_call_errhandler(MPI_Comm comm, int code);
int MPI_Errhandler_free(MPI_Errhandler *handler);
int MPI_Error_class(int code, int *result);
int MPI_Error_string(int code, char *text, int *length);
/* ... by their names in MPI-1 */
int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *handler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler);

/* Attributes */
enum {
	MPI_KEYVAL_INVALID = -1,
	MPI_TAG_UB = 1,
	MPI_HOST,
	MPI_IO,
	MPI_WTIME_IS_GLOBAL,
	MPI_WIN_BASE,
	MPI_WIN_SIZE,
	MPI_WIN_DISP_UNIT,
	MPI_WIN_CREATE_FLAVOR,
	MPI_WIN_MODEL,
	MINIMPI_KEY_FIRST
};
typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int key, void *value, void *state);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
MPI_Comm_copy_attr_function MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN;
MPI_Comm_delete_attr_function MPI_COMM_NULL_DELETE_FN;
#define MPI_NULL_COPY_FN   MPI_COMM_NULL_COPY_FN
#define MPI_DUP_FN         MPI_COMM_DUP_FN
#define MPI_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *key,
			   void *state);
int MPI_Comm_free_keyval(int *key);
int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag);
int MPI_Comm_delete_attr(MPI_Comm comm, int key);
/* ... by their names in MPI-1 */
int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *remove, int *key, void *state);
int MPI_Keyval_free(int *key);
int MPI_Attr_put(MPI_Comm comm, int key, void *value);
int MPI_Attr_get(MPI_Comm comm, int key, void *value, int *flag);
int MPI_Attr_delete(MPI_Comm comm, int key);

/* Cartesian topologies */
enum { MPI_GRAPH = 1, MPI_CART, MPI_DIST_GRAPH };
int MPI_Dims_create(int processes, int count, int *dims);
int MPI_Cart_create(MPI_Comm comm, int count, const int *dims, const int *periods, int reorder, MPI_Comm *result);
int MPI_Cartdim_get(MPI_Comm comm, int *count);
int MPI_Cart_get(MPI_Comm comm, int most, int *dims, int *periods, int *coordinates);
int MPI_Cart_rank(MPI_Comm comm, const int *coordinates, int *rank);
int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int *coordinates);
int MPI_Cart_shift(MPI_Comm comm, int dimension, int steps, int *from, int *to);
int MPI_Cart_sub(MPI_Comm comm, const int *remains, MPI_Comm *result);
int MPI_Topo_test(MPI_Comm comm, int *status);

#endif
