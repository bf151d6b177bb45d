/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent requests and buffered sends. */
#include "errors.h"
#include "point.h"
#include "type.h"
#include "wait.h"

/* ---- buffered: a packed copy that goes by itself ---- */

/*
 * The copies are the library's memory, not the attached buffer's: that counts only as a limit.  So nothing has to find room
 * in a buffer from which messages of any length leave in any order.
 */
static char *attached;
static int attached_size;

int MPI_Buffer_attach(void *buffer, int size)
{
	if (size < 0 || attached)
		return errors_check(NULL, attached ? MPI_ERR_BUFFER : MPI_ERR_ARG, __func__);
	attached = buffer;
	attached_size = size;
	return MPI_SUCCESS;
}

int MPI_Buffer_detach(void *buffer_pointer, int *size)
{
	if (!buffer_pointer || !size)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	while (request_buffered > 0)
		wait_step();
	*(void **)buffer_pointer = attached;
	*size = attached_size;
	attached = NULL;
	attached_size = 0;
	return MPI_SUCCESS;
}

static int send_buffered(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
	if (rank == MPI_PROC_NULL)
		return MPI_SUCCESS;
	const size_t needed = (size_t)count * type->size + MPI_BSEND_OVERHEAD;
	if (request_buffered + needed > (size_t)attached_size)
		wait_poll(); /* some may have gone meanwhile */
	if (request_buffered + needed > (size_t)attached_size)
		return MPI_ERR_BUFFER;
	MPI_Request request = request_new(REQUEST_SEND, buffer, count, type, rank, tag, comm, comm->context);
	request_copy(request);
	request_buffered += needed;
	request->buffered = true;
	request->forgotten = true;
	wait_start(request);
	return MPI_SUCCESS;
}

int MPI_Bsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	int error = point_check(REQUEST_BUFFERED, buffer, count, type, to, tag, comm);
	if (!error)
		error = send_buffered(buffer, count, type, to, tag, comm);
	return errors_check(comm, error, __func__);
}

/* A request that is complete: of no rank, so that starting it does nothing. */
static MPI_Request new_buffered(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
	MPI_Request request =
		request_new(REQUEST_BUFFERED, buffer, count, type, MPI_PROC_NULL, tag, comm, comm->context);
	request->buffered_to = rank;
	return request;
}

int MPI_Ibsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	int error = point_check(REQUEST_BUFFERED, buffer, count, type, to, tag, comm);
	if (!error && !request)
		error = MPI_ERR_REQUEST;
	if (!error)
		error = send_buffered(buffer, count, type, to, tag, comm);
	if (!error) {
		*request = new_buffered(buffer, count, type, to, tag, comm);
		wait_start(*request);
	}
	return errors_check(comm, error, __func__);
}

/* ---- persistent ---- */

static int init(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
		MPI_Comm comm, MPI_Request *request, const char *call)
{
	int error = point_check(kind, buffer, count, type, rank, tag, comm);
	if (!error && !request)
		error = MPI_ERR_REQUEST;
	if (error)
		return errors_check(comm, error, call);
	if (kind == REQUEST_BUFFERED)
		*request = new_buffered(buffer, count, type, rank, tag, comm);
	else
		*request = request_new(kind, buffer, count, type, rank, tag, comm, comm->context);
	(*request)->persistent = true;
	return MPI_SUCCESS;
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		  MPI_Request *request)
{
	return init(REQUEST_SEND, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Ssend_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		   MPI_Request *request)
{
	return init(REQUEST_SYNCHRONOUS, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Rsend_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		   MPI_Request *request)
{
	return init(REQUEST_SEND, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Bsend_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
		   MPI_Request *request)
{
	return init(REQUEST_BUFFERED, buffer, count, type, to, tag, comm, request, __func__);
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	return init(REQUEST_RECEIVE, buffer, count, type, from, tag, comm, request, __func__);
}

int MPI_Start(MPI_Request *request_place)
{
	MPI_Request request = request_place ? *request_place : NULL;
	int error = MPI_SUCCESS;
	if (!request || !request->persistent || request->active)
		return errors_check(NULL, MPI_ERR_REQUEST, __func__);
	if (request->kind == REQUEST_BUFFERED)
		error = send_buffered(request->buffer, request->count, request->type, request->buffered_to,
				      request->tag, request->comm);
	if (!error)
		wait_start(request);
	return errors_check(request->comm, error, __func__);
}

int MPI_Startall(int count, MPI_Request *requests)
{
	int error = MPI_SUCCESS;
	if (count < 0 || (count > 0 && !requests))
		return errors_check(NULL, count < 0 ? MPI_ERR_COUNT : MPI_ERR_REQUEST, __func__);
	for (int i = 0; i < count && !error; i++)
		error = MPI_Start(&requests[i]);
	return error;
}
