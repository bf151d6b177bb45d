/* SPDX-License-Identifier: BSD-3-Clause */
#include "attribute.h"

#include <stdbool.h>
#include <stdlib.h>

#include "job.h"

struct attribute {
	int key;
	void *value;
	struct attribute *next;
};

struct key {
	bool used, freed; /* a freed one stays while attributes have it */
	int users;
	enum owner_kind kind;
	struct key_functions functions;
	void *state;
};

static struct key *keys;
static int key_count;

/* ---- keys ---- */

static struct key *find_key(enum owner_kind kind, int key)
{
	key -= MINIMPI_KEY_FIRST;
	return key >= 0 && key < key_count && keys[key].used && keys[key].kind == kind ? &keys[key] : NULL;
}

static void leave_key(struct key *key)
{
	if (--key->users == 0)
		key->used = false;
}

int attribute_create_key(enum owner_kind kind, const struct key_functions *functions, int *key, void *state)
{
	int i = 0;
	if (!key)
		return MPI_ERR_ARG;
	while (i < key_count && keys[i].used)
		i++;
	if (i == key_count) {
		keys = realloc(keys, (size_t)++key_count * sizeof(*keys));
		if (!keys)
			job_fail("realloc", "no memory");
	}
	keys[i] = (struct key){true, false, 1, kind, *functions, state};
	*key = i + MINIMPI_KEY_FIRST;
	return MPI_SUCCESS;
}

int attribute_free_key(enum owner_kind kind, int *key)
{
	struct key *found = key ? find_key(kind, *key) : NULL;
	if (!found)
		return MPI_ERR_KEYVAL;
	if (!found->freed) /* another copy of the handle may have been freed before */
		leave_key(found);
	found->freed = true;
	*key = MPI_KEYVAL_INVALID;
	return MPI_SUCCESS;
}

/* ---- the functions of keys; a NULL one does nothing ---- */

static int call_copy(const struct key *key, int number, struct owner from, void *value, void *copy, int *wanted)
{
	switch (from.kind) {
	case OWNER_COMM:
		return key->functions.copy.comm
			       ? key->functions.copy.comm(from.of.comm, number, key->state, value, copy, wanted)
			       : 0;
	case OWNER_TYPE:
		return key->functions.copy.type
			       ? key->functions.copy.type(from.of.type, number, key->state, value, copy, wanted)
			       : 0;
	default:
		return key->functions.copy.win
			       ? key->functions.copy.win(from.of.win, number, key->state, value, copy, wanted)
			       : 0;
	}
}

static int call_delete(const struct key *key, int number, struct owner owner, void *value)
{
	switch (owner.kind) {
	case OWNER_COMM:
		return key->functions.remove.comm ? key->functions.remove.comm(owner.of.comm, number, value, key->state)
						  : 0;
	case OWNER_TYPE:
		return key->functions.remove.type ? key->functions.remove.type(owner.of.type, number, value, key->state)
						  : 0;
	default:
		return key->functions.remove.win ? key->functions.remove.win(owner.of.win, number, value, key->state)
						 : 0;
	}
}

/* ---- attributes ---- */

static struct attribute **find(struct owner owner, int key)
{
	struct attribute **place = owner.list;
	while (*place && (*place)->key != key)
		place = &(*place)->next;
	return place;
}

/* The function may itself delete or set attributes of the owner, and make and free keys: both are found again after it. */
static int remove_one(struct owner owner, struct attribute *attribute)
{
	const int key = attribute->key;
	const int error = call_delete(find_key(owner.kind, key), key, owner, attribute->value);
	if (error)
		return error;
	struct attribute **place = find(owner, key);
	if (*place != attribute) /* it has deleted this one as well */
		return MPI_SUCCESS;
	*place = attribute->next;
	leave_key(find_key(owner.kind, key));
	free(attribute);
	return MPI_SUCCESS;
}

static void add(struct owner owner, int key, void *value)
{
	struct attribute *attribute = job_memory(sizeof(*attribute));
	*attribute = (struct attribute){key, value, *owner.list};
	*owner.list = attribute;
	find_key(owner.kind, key)->users++;
}

int attribute_set(struct owner owner, int key, void *value)
{
	const struct key *found = find_key(owner.kind, key);
	struct attribute *before = *find(owner, key);
	int error = MPI_SUCCESS;
	if (!found || found->freed)
		return MPI_ERR_KEYVAL;
	if (before)
		error = remove_one(owner, before);
	found = find_key(owner.kind, key);
	if (!error && (!found || found->freed))
		error = MPI_ERR_KEYVAL;
	if (!error)
		add(owner, key, value);
	return error;
}

int attribute_get(struct owner owner, int key, void *value, int *flag)
{
	if (!value || !flag)
		return MPI_ERR_ARG;
	if (!find_key(owner.kind, key))
		return MPI_ERR_KEYVAL;
	const struct attribute *attribute = *find(owner, key);
	*flag = attribute != NULL;
	if (attribute)
		*(void **)value = attribute->value;
	return MPI_SUCCESS;
}

int attribute_delete(struct owner owner, int key)
{
	struct attribute *attribute = *find(owner, key);
	return attribute && find_key(owner.kind, key) ? remove_one(owner, attribute) : MPI_ERR_KEYVAL;
}

int attribute_delete_all(struct owner owner)
{
	int error = MPI_SUCCESS;
	while (*owner.list && !error)
		error = remove_one(owner, *owner.list);
	return error;
}

/* The function may delete attributes, free keys and make some: after it nothing is used but the key, which was kept. */
static int copy_one(int key, struct owner from, struct owner to)
{
	const struct attribute *attribute = *find(from, key);
	if (!attribute)
		return MPI_SUCCESS; /* deleted by the function of another one */
	void *value = NULL;
	int wanted = 0;
	find_key(from.kind, key)->users++;
	const int error = call_copy(find_key(from.kind, key), key, from, attribute->value, &value, &wanted);
	if (!error && wanted)
		add(to, key, value);
	leave_key(find_key(from.kind, key));
	return error;
}

/* From the oldest, so that the duplicate's are in the same order. */
int attribute_copy_all(struct owner from, struct owner to)
{
	size_t count = 0;
	for (const struct attribute *attribute = *from.list; attribute; attribute = attribute->next)
		count++;
	int *present = job_memory(count * sizeof(*present)), error = MPI_SUCCESS;
	size_t left = count;
	for (const struct attribute *attribute = *from.list; attribute; attribute = attribute->next)
		present[--left] = attribute->key;
	for (size_t i = 0; i < count && !error; i++)
		error = copy_one(present[i], from, to);
	free(present);
	return error;
}

void attribute_close(void)
{
	free(keys);
	keys = NULL;
	key_count = 0;
}
