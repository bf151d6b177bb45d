/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: what a program keeps with a communicator, under keys it makes. */
#include "attribute.h"

#include <stdlib.h>

#include "envelope.h"
#include "errors.h"
#include "job.h"

struct attribute {
	int key;
	void *value;
	struct attribute *next;
};

struct key {
	bool used, freed; /* a freed one stays while attributes have it */
	int users;
	MPI_Comm_copy_attr_function *copy;
	MPI_Comm_delete_attr_function *remove;
	void *state;
};

static struct key *keys;
static int key_count;

/* ---- keys ---- */

static struct key *find_key(int key)
{
	key -= MINIMPI_KEY_FIRST;
	return key >= 0 && key < key_count && keys[key].used ? &keys[key] : NULL;
}

static void leave_key(struct key *key)
{
	if (--key->users == 0)
		key->used = false;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *key,
			   void *state)
{
	int i = 0;
	if (!key)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	while (i < key_count && keys[i].used)
		i++;
	if (i == key_count) {
		keys = realloc(keys, (size_t)++key_count * sizeof(*keys));
		if (!keys)
			job_fail("realloc", "no memory");
	}
	keys[i] = (struct key){true, false, 1, copy, remove, state};
	*key = i + MINIMPI_KEY_FIRST;
	return MPI_SUCCESS;
}

int MPI_Comm_free_keyval(int *key)
{
	struct key *found = key ? find_key(*key) : NULL;
	if (!found)
		return errors_check(NULL, MPI_ERR_KEYVAL, __func__);
	if (!found->freed) /* another copy of the handle may have been freed before */
		leave_key(found);
	found->freed = true;
	*key = MPI_KEYVAL_INVALID;
	return MPI_SUCCESS;
}

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

/* ---- attributes ---- */

static struct attribute **find(MPI_Comm comm, int key)
{
	struct attribute **place = &comm->attributes;
	while (*place && (*place)->key != key)
		place = &(*place)->next;
	return place;
}

static int remove_one(MPI_Comm comm, struct attribute **place)
{
	struct attribute *attribute = *place;
	struct key *key = find_key(attribute->key);
	const int error = key->remove ? key->remove(comm, attribute->key, attribute->value, key->state) : MPI_SUCCESS;
	if (error)
		return error;
	*place = attribute->next;
	leave_key(key);
	free(attribute);
	return MPI_SUCCESS;
}

static void add(MPI_Comm comm, int key, void *value)
{
	struct attribute *attribute = job_memory(sizeof(*attribute));
	*attribute = (struct attribute){key, value, comm->attributes};
	comm->attributes = attribute;
	find_key(key)->users++;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
	int error = errors_check_comm(comm);
	if (!error && (!find_key(key) || find_key(key)->freed))
		error = MPI_ERR_KEYVAL;
	if (!error && *find(comm, key))
		error = remove_one(comm, find(comm, key));
	if (!error)
		add(comm, key, value);
	return errors_check(comm, error, __func__);
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
	if (error || !value || !flag)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	void *known = predefined(key);
	if (!known && !find_key(key))
		return errors_check(comm, MPI_ERR_KEYVAL, __func__);
	const struct attribute *attribute = *find(comm, key);
	*flag = known || attribute;
	if (known)
		*(void **)value = known;
	else if (attribute)
		*(void **)value = attribute->value;
	return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int key)
{
	int error = errors_check_comm(comm);
	if (!error && (!find_key(key) || !*find(comm, key)))
		error = MPI_ERR_KEYVAL;
	if (!error)
		error = remove_one(comm, find(comm, key));
	return errors_check(comm, error, __func__);
}

int attribute_delete_all(MPI_Comm comm)
{
	int error = MPI_SUCCESS;
	while (comm->attributes && !error)
		error = remove_one(comm, &comm->attributes);
	return error;
}

/* From the oldest, so that the duplicate's are in the same order. */
static int copy_from(struct attribute *attribute, MPI_Comm from, MPI_Comm to)
{
	if (!attribute)
		return MPI_SUCCESS;
	const struct key *key = find_key(attribute->key);
	void *value = NULL;
	int wanted = 0, error = copy_from(attribute->next, from, to);
	if (!error && key->copy)
		error = key->copy(from, attribute->key, key->state, attribute->value, &value, &wanted);
	if (!error && wanted)
		add(to, attribute->key, value);
	return error;
}

int attribute_copy_all(MPI_Comm from, MPI_Comm to)
{
	return copy_from(from->attributes, from, to);
}

void attribute_close(void)
{
	free(keys);
	keys = NULL;
	key_count = 0;
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
