/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of data types. */
#include "errors.h"
#include "type.h"

int MPI_TYPE_NULL_COPY_FN(MPI_Datatype type, int key, void *state, void *value, void *copy, int *flag)
{
	(void)type, (void)key, (void)state, (void)value, (void)copy;
	*flag = 0;
	return MPI_SUCCESS;
}

int MPI_TYPE_DUP_FN(MPI_Datatype type, int key, void *state, void *value, void *copy, int *flag)
{
	(void)type, (void)key, (void)state;
	*(void **)copy = value;
	*flag = 1;
	return MPI_SUCCESS;
}

int MPI_TYPE_NULL_DELETE_FN(MPI_Datatype type, int key, void *value, void *state)
{
	(void)type, (void)key, (void)value, (void)state;
	return MPI_SUCCESS;
}

int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *remove, int *key,
			   void *state)
{
	const struct key_functions functions = {.copy.type = copy, .remove.type = remove};
	const int error = attribute_create_key(OWNER_TYPE, &functions, key, state);
	return errors_check(NULL, error, __func__);
}

int MPI_Type_free_keyval(int *key)
{
	return errors_check(NULL, attribute_free_key(OWNER_TYPE, key), __func__);
}

int MPI_Type_set_attr(MPI_Datatype type, int key, void *value)
{
	const int error = type ? MPI_SUCCESS : MPI_ERR_TYPE;
	return errors_check(NULL, error ? error : attribute_set(type_owner(type), key, value), __func__);
}

int MPI_Type_get_attr(MPI_Datatype type, int key, void *value, int *flag)
{
	const int error = type ? MPI_SUCCESS : MPI_ERR_TYPE;
	return errors_check(NULL, error ? error : attribute_get(type_owner(type), key, value, flag), __func__);
}

int MPI_Type_delete_attr(MPI_Datatype type, int key)
{
	const int error = type ? MPI_SUCCESS : MPI_ERR_TYPE;
	return errors_check(NULL, error ? error : attribute_delete(type_owner(type), key), __func__);
}
