/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects: lists of keys and values, in the order of their first setting.  No call of this library takes a hint. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "errors.h"
#include "job.h"

struct entry {
	char key[MPI_MAX_INFO_KEY + 1];
	char *value;
};

struct minimpi_info {
	int count;
	struct entry *entries;
};

static bool is_text(const char *text, size_t most)
{
	return text && text[0] && strnlen(text, most + 1) <= most;
}
#define CHECK_KEY(key) CHECKED(is_text(key, MPI_MAX_INFO_KEY), MPI_ERR_INFO_KEY)

static struct entry *find(MPI_Info info, const char *key)
{
	for (int i = 0; i < info->count; i++)
		if (strcmp(info->entries[i].key, key) == 0)
			return &info->entries[i];
	return NULL;
}

static char *copy_of(const char *text)
{
	const size_t size = strlen(text) + 1;
	return memcpy(job_memory(size), text, size);
}

static MPI_Info new_info(void)
{
	MPI_Info info = job_memory(sizeof(*info));
	*info = (struct minimpi_info){0, NULL};
	return info;
}

static void set(MPI_Info info, const char *key, const char *value)
{
	struct entry *entry = find(info, key);
	if (!entry) {
		info->entries = realloc(info->entries, (size_t)(info->count + 1) * sizeof(*entry));
		if (!info->entries)
			job_fail("realloc", "no memory");
		entry = &info->entries[info->count++];
		memcpy(entry->key, key, strlen(key) + 1);
		entry->value = NULL;
	}
	free(entry->value);
	entry->value = copy_of(value);
}

int MPI_Info_create(MPI_Info *info)
{
	CHECKED(info, MPI_ERR_ARG);
	*info = new_info();
	return MPI_SUCCESS;
}

int MPI_Info_dup(MPI_Info info, MPI_Info *copy)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECKED(copy, MPI_ERR_ARG);
	*copy = new_info();
	for (int i = 0; i < info->count; i++)
		set(*copy, info->entries[i].key, info->entries[i].value);
	return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info *info)
{
	CHECKED(info && *info, MPI_ERR_INFO);
	for (int i = 0; i < (*info)->count; i++)
		free((*info)->entries[i].value);
	free((*info)->entries);
	free(*info);
	*info = MPI_INFO_NULL;
	return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char *key, const char *value)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECK_KEY(key);
	CHECKED(value && strnlen(value, MPI_MAX_INFO_VAL + 1) <= MPI_MAX_INFO_VAL, MPI_ERR_INFO_VALUE);
	set(info, key, value);
	return MPI_SUCCESS;
}

int MPI_Info_delete(MPI_Info info, const char *key)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECK_KEY(key);
	struct entry *entry = find(info, key), *end = info->entries + info->count;
	CHECKED(entry, MPI_ERR_INFO_NOKEY);
	free(entry->value);
	memmove(entry, entry + 1, (size_t)(end - entry - 1) * sizeof(*entry));
	info->count--;
	return MPI_SUCCESS;
}

/* At most `length` bytes of the value, and behind them a zero. */
int MPI_Info_get(MPI_Info info, const char *key, int length, char *value, int *flag)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECK_KEY(key);
	CHECKED(length >= 0 && value, MPI_ERR_INFO_VALUE);
	CHECKED(flag, MPI_ERR_ARG);
	const struct entry *entry = find(info, key);
	*flag = entry != NULL;
	if (!entry)
		return MPI_SUCCESS;
	const size_t taken = strnlen(entry->value, (size_t)length);
	memcpy(value, entry->value, taken);
	value[taken] = '\0';
	return MPI_SUCCESS;
}

int MPI_Info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECK_KEY(key);
	CHECKED(length && flag, MPI_ERR_ARG);
	const struct entry *entry = find(info, key);
	*flag = entry != NULL;
	if (entry)
		*length = (int)strlen(entry->value);
	return MPI_SUCCESS;
}

int MPI_Info_get_nkeys(MPI_Info info, int *count)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECKED(count, MPI_ERR_ARG);
	*count = info->count;
	return MPI_SUCCESS;
}

int MPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
	CHECKED(info, MPI_ERR_INFO);
	CHECKED(key && n >= 0 && n < info->count, MPI_ERR_ARG);
	memcpy(key, info->entries[n].key, strlen(info->entries[n].key) + 1);
	return MPI_SUCCESS;
}

/* ---- of communicators: hints may be ignored, and an object need only tell those that are in use ---- */

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
	(void)info;
	return errors_check(comm, errors_check_comm(comm), __func__);
}

int MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
	const int error = errors_check_comm(comm);
	if (error || !info)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	*info = new_info();
	return MPI_SUCCESS;
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *result)
{
	(void)info;
	return MPI_Comm_dup(comm, result);
}
