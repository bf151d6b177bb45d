/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of communicators. */
#include "comm.h"
#include "envelope.h"
#include "errors.h"

int MPI_COMM_NULL_COPY_FN(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag)
{
	(void)comm, (void)key, (void)state, (void)value, (void)copy;
	*flag = 0;
	return MPI_SUCCESS;
}

int MPI_COMM_DUP_FN(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag)
{
	(void)comm, (void)key, (void)state;
	*(void **)copy = value;
	*flag = 1;
	return MPI_SUCCESS;
}

int MPI_COMM_NULL_DELETE_FN(MPI_Comm comm, int key, void *value, void *state)
{
	(void)comm, (void)key, (void)value, (void)state;
	return MPI_SUCCESS;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *key,
			   void *state)
{
	const struct key_functions functions = {.copy.comm = copy, .remove.comm = remove};
	const int error = attribute_create_key(OWNER_COMM, &functions, key, state);
	return errors_check(NULL, error, __func__);
}

int MPI_Comm_free_keyval(int *key)
{
	return errors_check(NULL, attribute_free_key(OWNER_COMM, key), __func__);
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
	const int error = errors_check_comm(comm);
	return errors_check(comm, error ? error : attribute_set(comm_owner(comm), key, value), __func__);
}

/* What the library itself says about MPI_COMM_WORLD. */
static void *predefined(int key)
{
	static int tag_ub = ENVELOPE_TAG_UB, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, global_clock = 0;
	switch (key) {
	case MPI_TAG_UB:
		return &tag_ub;
	case MPI_HOST:
		return &host;
	case MPI_IO:
		return &io;
	case MPI_WTIME_IS_GLOBAL:
		return &global_clock;
	default:
		return NULL;
	}
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
	const int error = errors_check_comm(comm);
	void *known = error ? NULL : predefined(key);
	if (known && value && flag) {
		*(void **)value = known;
		*flag = 1;
		return MPI_SUCCESS;
	}
	return errors_check(comm, error ? error : attribute_get(comm_owner(comm), key, value, flag), __func__);
}

int MPI_Comm_delete_attr(MPI_Comm comm, int key)
{
	const int error = errors_check_comm(comm);
	return errors_check(comm, error ? error : attribute_delete(comm_owner(comm), key), __func__);
}

/* By their names in MPI-1 */

int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *remove, int *key, void *state)
{
	return MPI_Comm_create_keyval(copy, remove, key, state);
}

int MPI_Keyval_free(int *key)
{
	return MPI_Comm_free_keyval(key);
}

int MPI_Attr_put(MPI_Comm comm, int key, void *value)
{
	return MPI_Comm_set_attr(comm, key, value);
}

int MPI_Attr_get(MPI_Comm comm, int key, void *value, int *flag)
{
	return MPI_Comm_get_attr(comm, key, value, flag);
}

int MPI_Attr_delete(MPI_Comm comm, int key)
{
	return MPI_Comm_delete_attr(comm, key);
}
