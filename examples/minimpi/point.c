/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that send or receive one message. */
#include "point.h"

#include <stdlib.h>

#include "envelope.h"
#include "errors.h"
#include "type.h"
#include "wait.h"

int point_check(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
		MPI_Comm comm)
{
	int error = errors_check_comm(comm);
	if (error)
		return error;
	const bool receives = kind == REQUEST_RECEIVE;
	if (!(receives && tag == MPI_ANY_TAG) && (tag < 0 || tag > ENVELOPE_TAG_UB))
		return MPI_ERR_TAG;
	if (rank != MPI_PROC_NULL && !(receives && rank == MPI_ANY_SOURCE) &&
	    (error = errors_check_rank(comm, rank, MPI_ERR_RANK)))
		return error;
	return errors_check_data(buffer, count, type);
}

MPI_Request point_start(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
			MPI_Comm comm, int context)
{
	MPI_Request request = request_new(kind, buffer, count, type, rank, tag, comm, context);
	wait_start(request);
	return request;
}

/* ---- blocking ---- */

static int blocking(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
		    MPI_Comm comm, MPI_Status *status, const char *call)
{
	int error = point_check(kind, buffer, count, type, rank, tag, comm);
	if (!error)
		error = wait_for(point_start(kind, buffer, count, type, rank, tag, comm, comm->context), status);
	return errors_check(comm, error, call);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	return blocking(REQUEST_SEND, buffer, count, type, to, tag, comm, MPI_STATUS_IGNORE, __func__);
}

int MPI_Ssend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	return blocking(REQUEST_SYNCHRONOUS, buffer, count, type, to, tag, comm, MPI_STATUS_IGNORE, __func__);
}

/* That the receive is posted already would save nothing here: a put meets it as any other. */
int MPI_Rsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	return blocking(REQUEST_SEND, buffer, count, type, to, tag, comm, MPI_STATUS_IGNORE, __func__);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	return blocking(REQUEST_RECEIVE, buffer, count, type, from, tag, comm, status, __func__);
}

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag, void *received,
		 int received_count, MPI_Datatype received_type, int from, int received_tag, MPI_Comm comm,
		 MPI_Status *status)
{
	int error = point_check(REQUEST_SEND, sent, sent_count, sent_type, to, sent_tag, comm);
	if (!error)
		error = point_check(REQUEST_RECEIVE, received, received_count, received_type, from, received_tag, comm);
	if (error)
		return errors_check(comm, error, __func__);
	MPI_Request receive = point_start(REQUEST_RECEIVE, received, received_count, received_type, from, received_tag,
					  comm, comm->context);
	MPI_Request send = point_start(REQUEST_SEND, sent, sent_count, sent_type, to, sent_tag, comm, comm->context);
	error = wait_for(send, MPI_STATUS_IGNORE);
	const int receive_error = wait_for(receive, status);
	return errors_check(comm, error ? error : receive_error, __func__);
}

/* The message leaves from a copy. */
int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int sent_tag, int from, int received_tag,
			 MPI_Comm comm, MPI_Status *status)
{
	int error = point_check(REQUEST_SEND, buffer, count, type, to, sent_tag, comm);
	if (!error)
		error = point_check(REQUEST_RECEIVE, buffer, count, type, from, received_tag, comm);
	if (error)
		return errors_check(comm, error, __func__);
	MPI_Request send = request_new(REQUEST_SEND, buffer, count, type, to, sent_tag, comm, comm->context);
	request_copy(send);
	wait_start(send);
	error = wait_for(point_start(REQUEST_RECEIVE, buffer, count, type, from, received_tag, comm, comm->context),
			 status);
	const int send_error = wait_for(send, MPI_STATUS_IGNORE);
	return errors_check(comm, error ? error : send_error, __func__);
}

/* ---- nonblocking ---- */

static int nonblocking(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
		       MPI_Comm comm, MPI_Request *request, const char *call)
{
	int error = point_check(kind, buffer, count, type, rank, tag, comm);
	if (!error && !request)
		error = MPI_ERR_REQUEST;
	if (!error)
		*request = point_start(kind, buffer, count, type, rank, tag, comm, comm->context);
	return errors_check(comm, error, call);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	return nonblocking(REQUEST_SEND, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Issend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	return nonblocking(REQUEST_SYNCHRONOUS, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Irsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	return nonblocking(REQUEST_SEND, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	return nonblocking(REQUEST_RECEIVE, buffer, count, type, from, tag, comm, request, __func__);
}

/* ---- before their end ---- */

int MPI_Request_free(MPI_Request *request)
{
	if (!request || !*request)
		return errors_check(NULL, MPI_ERR_REQUEST, __func__);
	if ((*request)->complete)
		request_free(*request);
	else
		(*request)->forgotten = true;
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}
