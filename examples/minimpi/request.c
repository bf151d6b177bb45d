/* SPDX-License-Identifier: BSD-3-Clause */
#include "request.h"

#include <stdlib.h>

#include "comm.h"
#include "envelope.h"
#include "type.h"

MPI_Request request_first_under_way;
size_t request_buffered;
static MPI_Request spare; /* freed ones, which the next call takes */

MPI_Request request_new(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
			MPI_Comm comm, int context)
{
	MPI_Request request = spare;
	if (request)
		spare = request->next;
	else
		request = job_memory(sizeof(*request));
	*request = (struct minimpi_request){
		.kind = kind,
		.complete = true,
		.comm = comm,
		.buffer = (void *)buffer,
		.count = count,
		.type = type,
		.rank = rank,
		.tag = tag,
		.context = context,
		.length = (size_t)count * type->size,
		.me = PTL_INVALID_HANDLE,
		.md = PTL_INVALID_HANDLE,
	};
	comm->users++;
	type->users++;
	if (kind == REQUEST_RECEIVE) {
		request->bits = envelope_bits(context, rank, tag);
		request->ignore = envelope_ignore(rank, tag);
	} else if (rank != MPI_PROC_NULL) {
		request->bits = envelope_bits(context, comm->rank, tag);
		request->peer = &job.peers[comm->group->ranks[rank]];
	}
	return request;
}

void request_free(MPI_Request request)
{
	comm_release(request->comm);
	type_release(request->type);
	request->next = spare;
	spare = request;
}

void request_close(void)
{
	while (spare) {
		MPI_Request request = spare;
		spare = request->next;
		free(request);
	}
}

void request_copy(MPI_Request request)
{
	request->bytes = job_memory(request->length);
	type_pack(request->type, request->buffer, request->count, request->bytes);
}

void request_stage(MPI_Request request)
{
	if (request->type->dense) {
		request->bytes = request->buffer;
		return;
	}
	if (request->kind == REQUEST_RECEIVE)
		request->bytes = job_memory(request->length);
	else
		request_copy(request);
}

void request_complete(MPI_Request request, int error)
{
	if (request->bytes && request->bytes != request->buffer) {
		if (request->kind == REQUEST_RECEIVE)
			type_unpack(request->type, request->bytes, (size_t)request->status.minimpi_bytes,
				    request->buffer, request->count);
		free(request->bytes);
	}
	if (request->buffered)
		request_buffered -= request->length + MPI_BSEND_OVERHEAD;
	request->bytes = NULL;
	request->status.MPI_ERROR = error;
	request->complete = true;
	if (request->forgotten)
		request_free(request);
}

void request_under_way(MPI_Request request)
{
	request->previous = NULL;
	request->next = request_first_under_way;
	if (request->next)
		request->next->previous = request;
	request_first_under_way = request;
}

void request_not_under_way(MPI_Request request)
{
	if (request->previous)
		request->previous->next = request->next;
	else
		request_first_under_way = request->next;
	if (request->next)
		request->next->previous = request->previous;
}
