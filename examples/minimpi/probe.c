/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for messages before receiving them, and giving up receives. */
#include "envelope.h"
#include "errors.h"
#include "point.h"
#include "receive.h"
#include "wait.h"

struct minimpi_message minimpi_no_process;

/* A message of a process that does not exist: there always is one. */
static const MPI_Status no_process = {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0, 0};

static void set_status(MPI_Status *status, const struct minimpi_message *message)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	status->MPI_SOURCE = envelope_source(message->bits);
	status->MPI_TAG = envelope_tag(message->bits);
	status->minimpi_cancelled = 0;
	status->minimpi_bytes = (MPI_Count)message->length;
}

/*
 * The message, waiting for it if `waits`; NULL: there is none, or, if `waits`, its sender has died.  Whatever a posted receive
 * wants is not in the list.
 */
static MPI_Message look(int from, int tag, MPI_Comm comm, bool waits, MPI_Status *status)
{
	const uint64_t bits = envelope_bits(comm->context, from, tag), ignore = envelope_ignore(from, tag);
	const struct minimpi_message *seen = NULL;
	MPI_Message message;
	if (from == MPI_PROC_NULL) {
		if (status)
			*status = no_process;
		return MPI_MESSAGE_NO_PROC;
	}
	wait_poll();
	while (!(message = unexpected_find(bits, ignore, &seen)) && waits) {
		if (!receive_is_orphan(comm, from))
			wait_step();
		else if (progress_take_unexpected())
			receive_serve_waiting();
		else
			break;
	}
	if (message)
		set_status(status, message);
	return message;
}

static int check(int from, int tag, MPI_Comm comm, const void *result)
{
	const int error = point_check(REQUEST_RECEIVE, NULL, 0, MPI_BYTE, from, tag, comm);
	return !error && !result ? MPI_ERR_ARG : error;
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	int error = check(from, tag, comm, &tag);
	if (!error && !look(from, tag, comm, true, status))
		error = MPI_ERR_OTHER;
	return errors_check(comm, error, __func__);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	const int error = check(from, tag, comm, flag);
	if (!error)
		*flag = look(from, tag, comm, false, status) != NULL;
	return errors_check(comm, error, __func__);
}

/* ---- matched: the message is this caller's from then on, and holds its communicator until it is received ---- */

static MPI_Message take(MPI_Message message, MPI_Comm comm)
{
	if (message && message != MPI_MESSAGE_NO_PROC) {
		unexpected_remove(message);
		message->comm = comm;
		comm->users++;
	}
	return message;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	int error = check(from, tag, comm, message);
	if (!error) {
		*message = take(look(from, tag, comm, true, status), comm);
		if (!*message)
			error = MPI_ERR_OTHER;
	}
	return errors_check(comm, error, __func__);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
	const int error = check(from, tag, comm, message);
	if (error || !flag)
		return errors_check(comm, error ? error : MPI_ERR_ARG, __func__);
	*message = take(look(from, tag, comm, false, status), comm);
	*flag = *message != NULL;
	return MPI_SUCCESS;
}

int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
	const int error = errors_check_data(buffer, count, type);
	if (error || !message || !*message || !request)
		return errors_check(NULL, error ? error : MPI_ERR_REQUEST, __func__);
	if (*message == MPI_MESSAGE_NO_PROC) {
		*request = point_start(REQUEST_RECEIVE, buffer, count, type, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD,
				       MPI_COMM_WORLD->context);
	} else {
		MPI_Comm comm = (*message)->comm;
		receive_make_room();
		*request = request_new(REQUEST_RECEIVE, buffer, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
				       comm->context);
		comm_release(comm); /* the request holds it */
		(*request)->active = true;
		(*request)->complete = false;
		request_stage(*request);
		receive_message(*request, *message);
	}
	*message = MPI_MESSAGE_NULL;
	return MPI_SUCCESS;
}

int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
	MPI_Request request;
	const int error = MPI_Imrecv(buffer, count, type, message, &request);
	return error ? error : MPI_Wait(&request, status);
}

/* ---- cancelled ---- */

/* Receives only: a send may be in the middle of arriving, and MPI allows that it succeeds. */
int MPI_Cancel(MPI_Request *request_place)
{
	MPI_Request request = request_place ? *request_place : NULL;
	if (!request || !request->active)
		return errors_check(NULL, MPI_ERR_REQUEST, __func__);
	if (!request->complete && request->kind == REQUEST_RECEIVE && receive_cancel(request)) {
		request->status.minimpi_cancelled = 1;
		request_complete(request, MPI_SUCCESS);
	}
	return MPI_SUCCESS;
}

int MPI_Test_cancelled(const MPI_Status *status, int *flag)
{
	if (!status || !flag)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	*flag = status->minimpi_cancelled;
	return MPI_SUCCESS;
}
