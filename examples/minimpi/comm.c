/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm.h"

#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "envelope.h"
#include "topology.h"

struct minimpi_comm minimpi_world, minimpi_self;

/*
 * Which contexts this process does not use.  Those of a new communicator must be free with all its members: the least that is
 * in every member's set.  Communicators without a common member may have the same.
 */
static struct context_set free_contexts;

static void set_context(int context, bool is_free)
{
	const uint64_t bit = UINT64_C(1) << context / 2 % 64;
	if (is_free)
		free_contexts.words[context / 2 / 64] |= bit;
	else
		free_contexts.words[context / 2 / 64] &= ~bit;
}

const struct context_set *comm_free_contexts(void)
{
	return &free_contexts;
}

int comm_least_context(const struct context_set *common)
{
	for (int i = 0; i < COMM_CONTEXTS / 64; i++)
		if (common->words[i])
			return 2 * (64 * i + __builtin_ctzll(common->words[i]));
	return -1;
}

static void fill(MPI_Comm comm, MPI_Group group, int context)
{
	*comm = (struct minimpi_comm){
		.context = context,
		.rank = group->rank,
		.group = group,
		.handler = MPI_ERRORS_ARE_FATAL,
		.users = 1,
	};
	set_context(context, false);
}

void comm_open(void)
{
	_Static_assert(2 * COMM_CONTEXTS <= ENVELOPE_CONTEXTS, "contexts fit into the match bits");
	MPI_Group everybody = group_new(job.size), self = group_new(1);
	for (int i = 0; i < job.size; i++)
		everybody->ranks[i] = i;
	self->ranks[0] = job.rank;
	group_find_self(everybody);
	group_find_self(self);
	memset(&free_contexts, 0xff, sizeof(free_contexts));
	fill(&minimpi_world, everybody, 0);
	fill(&minimpi_self, self, 2);
	memcpy(minimpi_world.name, "MPI_COMM_WORLD", sizeof("MPI_COMM_WORLD"));
	memcpy(minimpi_self.name, "MPI_COMM_SELF", sizeof("MPI_COMM_SELF"));
}

void comm_close(void)
{
	group_release(minimpi_world.group);
	group_release(minimpi_self.group);
}

MPI_Comm comm_make(MPI_Comm parent, MPI_Group group, int context)
{
	MPI_Comm comm = job_memory(sizeof(*comm));
	fill(comm, group, context);
	comm->handler = parent->handler;
	errors_hold(parent->handler);
	return comm;
}

int comm_new(MPI_Comm parent, MPI_Group group, MPI_Comm *result)
{
	struct context_set common;
	int error = collective_allreduce(&free_contexts, &common, COMM_CONTEXTS / 64, MPI_UINT64_T, MPI_BAND, parent);
	const int context = error ? -1 : comm_least_context(&common);
	*result = MPI_COMM_NULL;
	if (!error && context < 0)
		error = MPI_ERR_NO_MEM;
	if (error || group->rank == MPI_UNDEFINED) {
		group_release(group);
		return error;
	}
	*result = comm_make(parent, group, context);
	return MPI_SUCCESS;
}

void comm_release(MPI_Comm comm)
{
	if (--comm->users > 0 || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
		return;
	set_context(comm->context, true);
	group_release(comm->group);
	errors_release(comm->handler);
	topology_free(comm->topology);
	free(comm);
}

/* ---- calls ---- */

#define CHECKED_COMM(comm, condition, error)                                                                           \
	do {                                                                                                           \
		const int wrong_ = errors_check_comm(comm);                                                            \
		if (wrong_ || !(condition))                                                                            \
			return errors_check(comm, wrong_ ? wrong_ : (error), __func__);                                \
	} while (0)

int MPI_Comm_size(MPI_Comm comm, int *size)
{
	CHECKED_COMM(comm, size, MPI_ERR_ARG);
	*size = comm->group->size;
	return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	CHECKED_COMM(comm, rank, MPI_ERR_ARG);
	*rank = comm->rank;
	return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	CHECKED_COMM(comm, group, MPI_ERR_ARG);
	comm->group->users++;
	*group = comm->group;
	return MPI_SUCCESS;
}

int MPI_Comm_compare(MPI_Comm comm, MPI_Comm other, int *result)
{
	CHECKED_COMM(comm, result, MPI_ERR_ARG);
	CHECKED_COMM(other, true, MPI_ERR_COMM);
	*result = group_compare(comm->group, other->group);
	if (*result == MPI_IDENT && comm != other)
		*result = MPI_CONGRUENT;
	return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	CHECKED_COMM(comm, flag, MPI_ERR_ARG);
	*flag = 0;
	return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *result)
{
	CHECKED_COMM(comm, result, MPI_ERR_ARG);
	comm->group->users++;
	int error = comm_new(comm, comm->group, result);
	if (!error && *result) {
		(*result)->topology = topology_copy(comm->topology);
		error = attribute_copy_all(comm_owner(comm), comm_owner(*result));
	}
	return errors_check(comm, error, __func__);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *result)
{
	CHECKED_COMM(comm, group, MPI_ERR_GROUP);
	CHECKED_COMM(comm, result, MPI_ERR_ARG);
	for (int i = 0; i < group->size; i++)
		CHECKED_COMM(comm, group_find(comm->group, group->ranks[i]) != MPI_UNDEFINED, MPI_ERR_GROUP);
	if (group != MPI_GROUP_EMPTY)
		group->users++;
	return errors_check(comm, comm_new(comm, group, result), __func__);
}

/* The ranks of the same colour, in the order of keys; of equal ones in that of ranks. */
struct choice {
	int color, key, rank;
};

static int by_key(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->rank - y->rank;
}

static int split(MPI_Comm comm, const struct choice *own, MPI_Comm *result)
{
	const int size = comm->group->size;
	struct choice *choices = job_memory((size_t)size * sizeof(*choices));
	int error = collective_allgather(own, sizeof(*own), MPI_BYTE, choices, sizeof(*own), MPI_BYTE, comm),
	    members = 0;
	for (int i = 0; i < size && !error; i++)
		if (own->color != MPI_UNDEFINED && choices[i].color == own->color)
			choices[members++] = choices[i];
	qsort(choices, (size_t)members, sizeof(*choices), by_key);
	MPI_Group group = group_new(members);
	for (int i = 0; i < members; i++)
		group->ranks[i] = comm->group->ranks[choices[i].rank];
	group_find_self(group);
	free(choices);
	if (!error)
		return comm_new(comm, group, result);
	group_release(group);
	return error;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *result)
{
	CHECKED_COMM(comm, result && (color >= 0 || color == MPI_UNDEFINED), MPI_ERR_ARG);
	const struct choice own = {color, key, comm->rank};
	return errors_check(comm, split(comm, &own, result), __func__);
}

int MPI_Comm_free(MPI_Comm *comm)
{
	if (!comm || !*comm || *comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF)
		return errors_check(NULL, MPI_ERR_COMM, __func__);
	const int error = attribute_delete_all(comm_owner(*comm));
	if (error)
		return errors_check(*comm, error, __func__);
	comm_release(*comm);
	*comm = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
	CHECKED_COMM(comm, name, MPI_ERR_ARG);
	strncpy(comm->name, name, sizeof(comm->name) - 1);
	return MPI_SUCCESS;
}

int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length)
{
	CHECKED_COMM(comm, name && length, MPI_ERR_ARG);
	*length = (int)strlen(comm->name);
	memcpy(name, comm->name, (size_t)*length + 1);
	return MPI_SUCCESS;
}
