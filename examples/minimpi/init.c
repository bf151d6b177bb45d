/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning and the end, and what a program asks of its surroundings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attribute.h"
#include "collective.h"
#include "errors.h"
#include "fetch.h"
#include "job.h"
#include "receive.h"
#include "send.h"
#include "wait.h"

/* ---- a process of the job has ended ---- */

/* A receive from it, or from any rank where it could have been the one. */
static bool may_be_from(MPI_Request request, int world_rank)
{
	const MPI_Group group = request->comm->group;
	if (request->kind != REQUEST_RECEIVE)
		return false;
	if (request->rank >= 0)
		return group->ranks[request->rank] == world_rank;
	return group_find(group, world_rank) != MPI_UNDEFINED;
}

/*
 * Nothing will come from it.  What has a message already gets its END.  Within MPI_Finalize others may have finished before this
 * process: that fails nothing, as the barrier waits only for ranks that have not passed it.
 */
static void peer_died(ptl_process_id_t id)
{
	const int rank = job_find(id);
	if (rank < 0 || (job.state != JOB_OPEN && job.state != JOB_CLOSING))
		return;
	send_fail(&job.peers[rank]);
	receive_take_arrived();
	fetch_fail(&job.peers[rank]);
	MPI_Request next;
	for (MPI_Request request = request_first_under_way; request; request = next) {
		next = request->next;
		if (may_be_from(request, rank))
			receive_fail(request);
	}
	receive_fail_waiting(may_be_from, rank);
}

/* ---- beginning and end ---- */

/* NOLINTBEGIN(readability-non-const-parameter): the types are MPI's */
int MPI_Init(int *argc, char ***argv)
{
	int provided;
	return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	(void)argc, (void)argv;
	if (job.state != JOB_BEFORE) {
		fprintf(stderr, "minimpi: MPI_Init was called before\n");
		job_abort(1);
	}
	job_open();
	progress_open(unexpected_events(), peer_died);
	comm_open();
	receive_open();
	send_open();
	job_ready();
	/* One thread at a time may call: Portals would bear more, the lists of this library would not. */
	job.threads = required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED;
	if (provided)
		*provided = job.threads;
	return MPI_SUCCESS;
}
/* NOLINTEND(readability-non-const-parameter) */

/* Everything that was sent is with its receiver, or with its NIC, before any rank closes its interface. */
int MPI_Finalize(void)
{
	int error = errors_check_comm(MPI_COMM_WORLD);
	if (!error)
		error = attribute_delete_all(comm_owner(MPI_COMM_SELF));
	if (error)
		return errors_check(MPI_COMM_WORLD, error, __func__);
	while (!send_idle())
		wait_step();
	job.state = JOB_CLOSING;
	error = collective_barrier(MPI_COMM_WORLD);
	job_close();
	receive_close();
	send_close();
	attribute_close();
	comm_close();
	request_close();
	return error;
}

int MPI_Abort(MPI_Comm comm, int code)
{
	(void)comm;
	fprintf(stderr, "minimpi: rank %d called MPI_Abort with code %d\n", job.rank, code);
	job_abort(code);
}

int MPI_Initialized(int *flag)
{
	*flag = job.state != JOB_BEFORE;
	return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
	*flag = job.state == JOB_CLOSED;
	return MPI_SUCCESS;
}

int MPI_Query_thread(int *provided)
{
	*provided = job.threads;
	return MPI_SUCCESS;
}

/* The thread that initialised the library is the one that may call; nothing here remembers it. */
int MPI_Is_thread_main(int *flag)
{
	*flag = gettid() == getpid();
	return MPI_SUCCESS;
}

/* ---- surroundings ---- */

double MPI_Wtime(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double MPI_Wtick(void)
{
	struct timespec tick;
	clock_getres(CLOCK_MONOTONIC, &tick);
	return (double)tick.tv_sec + (double)tick.tv_nsec * 1e-9;
}

int MPI_Get_processor_name(char *name, int *length)
{
	if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
		snprintf(name, MPI_MAX_PROCESSOR_NAME, "unknown");
	name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
	*length = (int)strlen(name);
	return MPI_SUCCESS;
}

int MPI_Get_version(int *version, int *subversion)
{
	*version = MPI_VERSION;
	*subversion = MPI_SUBVERSION;
	return MPI_SUCCESS;
}

int MPI_Get_library_version(char *text, int *length)
{
	*length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "minimpi on Portals 3.3, portals3 %d.%d.%d",
			   PTL_LIBRARY_VERSION_MAJOR, PTL_LIBRARY_VERSION_MINOR, PTL_LIBRARY_VERSION_PATCH);
	return MPI_SUCCESS;
}

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *pointer)
{
	(void)info;
	if (size < 0 || !pointer)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	void *memory = malloc(size ? (size_t)size : 1);
	if (!memory)
		return errors_check(NULL, MPI_ERR_NO_MEM, __func__);
	*(void **)pointer = memory;
	return MPI_SUCCESS;
}

int MPI_Free_mem(void *memory)
{
	free(memory);
	return MPI_SUCCESS;
}
