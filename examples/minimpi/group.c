/* SPDX-License-Identifier: BSD-3-Clause */
#include "group.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "job.h"

struct minimpi_group minimpi_empty = {.rank = MPI_UNDEFINED, .users = 1};

MPI_Group group_new(int size)
{
	MPI_Group group = job_memory(sizeof(*group));
	*group = (struct minimpi_group){size, MPI_UNDEFINED, 1, job_memory((size_t)size * sizeof(int))};
	return group;
}

int group_find(MPI_Group group, int world_rank)
{
	for (int i = 0; i < group->size; i++)
		if (group->ranks[i] == world_rank)
			return i;
	return MPI_UNDEFINED;
}

void group_find_self(MPI_Group group)
{
	group->rank = group_find(group, job.rank);
}

void group_release(MPI_Group group)
{
	if (group == MPI_GROUP_EMPTY || --group->users > 0)
		return;
	free(group->ranks);
	free(group);
}

int group_compare(MPI_Group group, MPI_Group other)
{
	if (group->size != other->size)
		return MPI_UNEQUAL;
	if (group->size == 0 || memcmp(group->ranks, other->ranks, (size_t)group->size * sizeof(int)) == 0)
		return MPI_IDENT;
	for (int i = 0; i < group->size; i++)
		if (group_find(other, group->ranks[i]) == MPI_UNDEFINED)
			return MPI_UNEQUAL;
	return MPI_SIMILAR;
}

int MPI_Group_size(MPI_Group group, int *size)
{
	CHECKED(group, MPI_ERR_GROUP);
	CHECKED(size, MPI_ERR_ARG);
	*size = group->size;
	return MPI_SUCCESS;
}

int MPI_Group_rank(MPI_Group group, int *rank)
{
	CHECKED(group, MPI_ERR_GROUP);
	CHECKED(rank, MPI_ERR_ARG);
	*rank = group->rank;
	return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group group, int count, const int *ranks, MPI_Group other, int *other_ranks)
{
	CHECKED(group && other, MPI_ERR_GROUP);
	CHECKED(count >= 0 && (count == 0 || (ranks && other_ranks)), MPI_ERR_ARG);
	for (int i = 0; i < count; i++) {
		if (ranks[i] == MPI_PROC_NULL) {
			other_ranks[i] = MPI_PROC_NULL;
			continue;
		}
		CHECKED(ranks[i] >= 0 && ranks[i] < group->size, MPI_ERR_RANK);
		other_ranks[i] = group_find(other, group->ranks[ranks[i]]);
	}
	return MPI_SUCCESS;
}

int MPI_Group_compare(MPI_Group group, MPI_Group other, int *result)
{
	CHECKED(group && other, MPI_ERR_GROUP);
	CHECKED(result, MPI_ERR_ARG);
	*result = group_compare(group, other);
	return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
	CHECKED(group && *group, MPI_ERR_GROUP);
	group_release(*group);
	*group = MPI_GROUP_NULL;
	return MPI_SUCCESS;
}

/* ---- groups of groups: a list of world ranks becomes one ---- */

static int finish(const int *ranks, int size, MPI_Group *result)
{
	if (size == 0) {
		*result = MPI_GROUP_EMPTY;
		return MPI_SUCCESS;
	}
	*result = group_new(size);
	memcpy((*result)->ranks, ranks, (size_t)size * sizeof(*ranks));
	group_find_self(*result);
	return MPI_SUCCESS;
}

/* Ranks of the group, each at most once; `chosen` marks them. */
static int mark(MPI_Group group, int count, const int *ranks, bool *chosen)
{
	memset(chosen, 0, (size_t)group->size);
	for (int i = 0; i < count; i++) {
		if (ranks[i] < 0 || ranks[i] >= group->size || chosen[ranks[i]])
			return MPI_ERR_RANK;
		chosen[ranks[i]] = true;
	}
	return MPI_SUCCESS;
}

/* Those that are listed in the order of the list, or those that are not in their own. */
static int choose(MPI_Group group, int count, const int *ranks, bool listed, MPI_Group *result)
{
	bool *chosen = job_memory((size_t)group->size);
	int *world = job_memory((size_t)group->size * sizeof(*world)), size = 0;
	const int error = mark(group, count, ranks, chosen);
	if (!error && listed)
		for (; size < count; size++)
			world[size] = group->ranks[ranks[size]];
	else if (!error)
		for (int i = 0; i < group->size; i++)
			if (!chosen[i])
				world[size++] = group->ranks[i];
	if (!error)
		finish(world, size, result);
	free(chosen);
	free(world);
	return error;
}

int MPI_Group_incl(MPI_Group group, int count, const int *ranks, MPI_Group *result)
{
	CHECKED(group, MPI_ERR_GROUP);
	CHECKED(count >= 0 && (count == 0 || ranks) && result, MPI_ERR_ARG);
	return errors_check(MPI_COMM_WORLD, choose(group, count, ranks, true, result), __func__);
}

int MPI_Group_excl(MPI_Group group, int count, const int *ranks, MPI_Group *result)
{
	CHECKED(group, MPI_ERR_GROUP);
	CHECKED(count >= 0 && (count == 0 || ranks) && result, MPI_ERR_ARG);
	return errors_check(MPI_COMM_WORLD, choose(group, count, ranks, false, result), __func__);
}

/* (first, last, stride) each. */
static int choose_ranges(MPI_Group group, int count, int ranges[][3], bool listed, MPI_Group *result)
{
	int *ranks = job_memory((size_t)group->size * sizeof(*ranks)), size = 0, error = MPI_SUCCESS;
	for (int i = 0; i < count && !error; i++) {
		const int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
		if (stride == 0)
			error = MPI_ERR_ARG;
		for (int rank = first; !error && (stride > 0 ? rank <= last : rank >= last); rank += stride) {
			if (rank < 0 || rank >= group->size || size == group->size)
				error = MPI_ERR_RANK;
			else
				ranks[size++] = rank;
		}
	}
	if (!error)
		error = choose(group, size, ranks, listed, result);
	free(ranks);
	return error;
}

int MPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group *result)
{
	CHECKED(group, MPI_ERR_GROUP);
	CHECKED(count >= 0 && (count == 0 || ranges) && result, MPI_ERR_ARG);
	return errors_check(MPI_COMM_WORLD, choose_ranges(group, count, ranges, true, result), __func__);
}

int MPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group *result)
{
	CHECKED(group, MPI_ERR_GROUP);
	CHECKED(count >= 0 && (count == 0 || ranges) && result, MPI_ERR_ARG);
	return errors_check(MPI_COMM_WORLD, choose_ranges(group, count, ranges, false, result), __func__);
}

/* Ranks of the first that are, or are not, in the second, then (union) what is in the second only. */
static int combine(MPI_Group group, MPI_Group other, bool common, bool apart, bool rest, MPI_Group *result)
{
	int *world = job_memory((size_t)(group->size + other->size) * sizeof(*world)), size = 0;
	for (int i = 0; i < group->size; i++)
		if (group_find(other, group->ranks[i]) == MPI_UNDEFINED ? apart : common)
			world[size++] = group->ranks[i];
	for (int i = 0; rest && i < other->size; i++)
		if (group_find(group, other->ranks[i]) == MPI_UNDEFINED)
			world[size++] = other->ranks[i];
	finish(world, size, result);
	free(world);
	return MPI_SUCCESS;
}

int MPI_Group_union(MPI_Group group, MPI_Group other, MPI_Group *result)
{
	CHECKED(group && other, MPI_ERR_GROUP);
	CHECKED(result, MPI_ERR_ARG);
	return combine(group, other, true, true, true, result);
}

int MPI_Group_intersection(MPI_Group group, MPI_Group other, MPI_Group *result)
{
	CHECKED(group && other, MPI_ERR_GROUP);
	CHECKED(result, MPI_ERR_ARG);
	return combine(group, other, true, false, false, result);
}

int MPI_Group_difference(MPI_Group group, MPI_Group other, MPI_Group *result)
{
	CHECKED(group && other, MPI_ERR_GROUP);
	CHECKED(result, MPI_ERR_ARG);
	return combine(group, other, false, true, false, result);
}
