/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of mpi.h: one-sided communication. */
#ifndef MINIMPI_WINDOW_H
#define MINIMPI_WINDOW_H

enum { MPI_LOCK_EXCLUSIVE = 1, MPI_LOCK_SHARED };
enum {
	MPI_MODE_NOCHECK = 1,
	MPI_MODE_NOSTORE = 2,
	MPI_MODE_NOPUT = 4,
	MPI_MODE_NOPRECEDE = 8,
	MPI_MODE_NOSUCCEED = 16
};

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win);
int MPI_Win_free(MPI_Win *win);
int MPI_Win_get_group(MPI_Win win, MPI_Group *group);
int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler);
int MPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *handler);
int MPI_Win_set_name(MPI_Win win, const char *name);
int MPI_Win_get_name(MPI_Win win, char *name, int *length);
int MPI_Win_fence(int assertion, MPI_Win win);
int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win win);
int MPI_Win_unlock(int rank, MPI_Win win);
int MPI_Win_lock_all(int assertion, MPI_Win win);
int MPI_Win_unlock_all(MPI_Win win);
int MPI_Win_flush(int rank, MPI_Win win);
int MPI_Win_flush_local(int rank, MPI_Win win);
int MPI_Win_flush_all(MPI_Win win);
int MPI_Win_flush_local_all(MPI_Win win);
int MPI_Win_sync(MPI_Win win);
int MPI_Win_post(MPI_Group group, int assertion, MPI_Win win);
int MPI_Win_start(MPI_Group group, int assertion, MPI_Win win);
int MPI_Win_complete(MPI_Win win);
int MPI_Win_wait(MPI_Win win);
int MPI_Win_test(MPI_Win win, int *flag);
int MPI_Put(const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
	    MPI_Datatype target_type, MPI_Win win);
int MPI_Get(void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
	    MPI_Datatype target_type, MPI_Win win);
int MPI_Accumulate(const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
		   MPI_Datatype target_type, MPI_Op op, MPI_Win win);
int MPI_Get_accumulate(const void *origin, int count, MPI_Datatype type, void *result, int result_count,
		       MPI_Datatype result_type, int rank, MPI_Aint place, int target_count, MPI_Datatype target_type,
		       MPI_Op op, MPI_Win win);
int MPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint place, MPI_Op op,
		     MPI_Win win);
int MPI_Compare_and_swap(const void *origin, const void *compared, void *result, MPI_Datatype type, int rank,
			 MPI_Aint place, MPI_Win win);

/* Attributes */
enum { MPI_WIN_FLAVOR_CREATE = 1, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC, MPI_WIN_FLAVOR_SHARED };
enum { MPI_WIN_SEPARATE = 1, MPI_WIN_UNIFIED };
typedef int MPI_Win_copy_attr_function(MPI_Win win, int key, void *state, void *value, void *copy, int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win win, int key, void *value, void *state);
MPI_Win_copy_attr_function MPI_WIN_NULL_COPY_FN, MPI_WIN_DUP_FN;
MPI_Win_delete_attr_function MPI_WIN_NULL_DELETE_FN;
int MPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *remove, int *key,
			  void *state);
int MPI_Win_free_keyval(int *key);
int MPI_Win_set_attr(MPI_Win win, int key, void *value);
int MPI_Win_get_attr(MPI_Win win, int key, void *value, int *flag);
int MPI_Win_delete_attr(MPI_Win win, int key);

#endif
