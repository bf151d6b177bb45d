/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator that only its members make.  They have no communicator yet, so the first member asks all others which contexts
 * are free with them, and tells them which one it is, by messages of the parent's collective context.
 */
#include "collective.h"
#include "envelope.h"

/* Collective operations have tags from below; these are the same numbers with the highest bit. */
static int tag_of(int tag)
{
	return tag | (ENVELOPE_TAG_UB + 1) / 2;
}

static int member(MPI_Comm parent, MPI_Group group, int i)
{
	return group_find(parent->group, group->ranks[i]);
}

static int ask_members(MPI_Comm parent, MPI_Group group, int tag, int *context)
{
	struct context_set common = *comm_free_contexts(), theirs;
	int error = MPI_SUCCESS;
	for (int i = 1; i < group->size; i++) {
		const int other = member(parent, group, i);
		const int receive_error = collective_receive(&theirs, sizeof(theirs), MPI_BYTE, other, tag, parent);
		for (int k = 0; k < COMM_CONTEXTS / 64 && !receive_error; k++)
			common.words[k] &= theirs.words[k];
		error = error ? error : receive_error;
	}
	/* Without one of them there is no communicator, and the others wait to be told. */
	*context = error ? -1 : comm_least_context(&common);
	for (int i = 1; i < group->size; i++) {
		const int send_error = collective_send(context, 1, MPI_INT, member(parent, group, i), tag, parent);
		error = error ? error : send_error;
	}
	return error;
}

static int answer_first(MPI_Comm parent, MPI_Group group, int tag, int *context)
{
	const int first = member(parent, group, 0);
	const int error =
		collective_send(comm_free_contexts(), sizeof(struct context_set), MPI_BYTE, first, tag, parent);
	return error ? error : collective_receive(context, 1, MPI_INT, first, tag, parent);
}

static int check(MPI_Comm comm, MPI_Group group, int tag, const MPI_Comm *result)
{
	const int error = errors_check_comm(comm);
	if (error)
		return error;
	if (!group)
		return MPI_ERR_GROUP;
	if (tag < 0 || tag > ENVELOPE_TAG_UB)
		return MPI_ERR_TAG;
	for (int i = 0; i < group->size; i++)
		if (member(comm, group, i) == MPI_UNDEFINED)
			return MPI_ERR_GROUP;
	return result ? MPI_SUCCESS : MPI_ERR_ARG;
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *result)
{
	int context = -1, error = check(comm, group, tag, result);
	if (error)
		return errors_check(comm, error, __func__);
	*result = MPI_COMM_NULL;
	if (group->rank == MPI_UNDEFINED)
		return MPI_SUCCESS;
	error = group->rank == 0 ? ask_members(comm, group, tag_of(tag), &context)
				 : answer_first(comm, group, tag_of(tag), &context);
	if (!error && context < 0)
		error = MPI_ERR_NO_MEM;
	if (error)
		return errors_check(comm, error, __func__);
	group->users++;
	*result = comm_make(comm, group, context);
	return MPI_SUCCESS;
}
