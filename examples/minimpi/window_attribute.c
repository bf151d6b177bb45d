/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of windows. */
#include "window.h"

int MPI_WIN_NULL_COPY_FN(MPI_Win win, int key, void *state, void *value, void *copy, int *flag)
{
	(void)win, (void)key, (void)state, (void)value, (void)copy;
	*flag = 0;
	return MPI_SUCCESS;
}

int MPI_WIN_DUP_FN(MPI_Win win, int key, void *state, void *value, void *copy, int *flag)
{
	(void)win, (void)key, (void)state;
	*(void **)copy = value;
	*flag = 1;
	return MPI_SUCCESS;
}

int MPI_WIN_NULL_DELETE_FN(MPI_Win win, int key, void *value, void *state)
{
	(void)win, (void)key, (void)value, (void)state;
	return MPI_SUCCESS;
}

int MPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *remove, int *key, void *state)
{
	const struct key_functions functions = {.copy.win = copy, .remove.win = remove};
	const int error = attribute_create_key(OWNER_WINDOW, &functions, key, state);
	return errors_check(NULL, error, __func__);
}

int MPI_Win_free_keyval(int *key)
{
	return errors_check(NULL, attribute_free_key(OWNER_WINDOW, key), __func__);
}

int MPI_Win_set_attr(MPI_Win win, int key, void *value)
{
	const int error = window_check(win);
	return window_raise(win, error ? error : attribute_set(window_owner(win), key, value), __func__);
}

/* What the library itself says of a window; its base may be NULL. */
static void *predefined(MPI_Win win, int key)
{
	static int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE}, model = MPI_WIN_UNIFIED;
	switch (key) {
	case MPI_WIN_BASE:
		return win->base;
	case MPI_WIN_SIZE:
		return &win->shapes[win->comm->rank].size;
	case MPI_WIN_DISP_UNIT:
		return &win->shapes[win->comm->rank].unit;
	case MPI_WIN_CREATE_FLAVOR:
		return &flavors[win->allocated != NULL];
	case MPI_WIN_MODEL:
		return &model;
	default:
		return NULL;
	}
}

int MPI_Win_get_attr(MPI_Win win, int key, void *value, int *flag)
{
	const int error = window_check(win);
	void *known = error ? NULL : predefined(win, key);
	if (!error && value && flag && (known || key == MPI_WIN_BASE)) {
		*(void **)value = known;
		*flag = 1;
		return MPI_SUCCESS;
	}
	return window_raise(win, error ? error : attribute_get(window_owner(win), key, value, flag), __func__);
}

int MPI_Win_delete_attr(MPI_Win win, int key)
{
	const int error = window_check(win);
	return window_raise(win, error ? error : attribute_delete(window_owner(win), key), __func__);
}
