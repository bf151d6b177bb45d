/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request: a send or a receive from its call to its completion.
 *
 *     request_new --> request_start --> (events) --> request_complete --> request_free
 *                          ^                               |
 *                          +------ persistent requests ----+
 */
#ifndef MINIMPI_REQUEST_H
#define MINIMPI_REQUEST_H

#include "comm.h"
#include "job.h"
#include "progress.h"

enum request_kind { REQUEST_RECEIVE, REQUEST_SEND, REQUEST_SYNCHRONOUS, REQUEST_BUFFERED };

struct minimpi_request {
	struct listener listener; /* of the descriptor that stands for it; first, so that the two convert */
	enum request_kind kind;
	bool complete;   /* not active, or done: a wait returns at once */
	bool active;     /* started, and no wait has told the program that it is complete */
	bool persistent; /* waiting for it does not free it */
	bool forgotten;  /* nothing waits for it: completion frees it */
	bool keeping; /* of a long send: its receiver keeps the header; and has used up the entry; and calls for it (send.c) */
	bool kept, called;
	bool buffered; /* of MPI_Bsend: counted in request_buffered until it ends */

	MPI_Comm comm; /* held, as is the type, until the request is freed */
	void *buffer;  /* as the program has passed it */
	int count;
	MPI_Datatype type;
	int rank, tag, context;
	int buffered_to; /* rank to which MPI_Start of MPI_Bsend_init sends: the request itself is of no rank */

	char *bytes;   /* what the network reads or writes: the buffer, or a packed copy */
	size_t length; /* of `bytes` */
	uint64_t bits, ignore;
	struct peer *peer;               /* of a send; of a receive that calls for its message */
	uint64_t where;                  /* of a long send, or of the message that is called for: see slots.h */
	struct posted *posted;           /* the match entry of a receive */
	struct minimpi_message *message; /* what a receive gets that met it in the unexpected list */
	ptl_ni_fail_t failure;           /* of the operation; its UNLINK event, which is the last, does not tell */
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	MPI_Status status;
	MPI_Request next, previous; /* in one list at a time: those that wait, or those that are under way */
};

MPI_Request request_new(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
			MPI_Comm comm, int context);
/* Ends it, successfully or not; unpacks what was received. */
void request_complete(MPI_Request request, int error);
void request_free(MPI_Request request);
/* Gives back the memory of those that are free. */
void request_close(void);
/* Has a send leave from a packed copy, so that the buffer is the program's again. */
void request_copy(MPI_Request request);
/* The packed copy of the data of types that are not dense, else the buffer itself. */
void request_stage(MPI_Request request);

/* Those that are under way and that only a message of their peer can end: what its death has to end instead. */
void request_under_way(MPI_Request request);
void request_not_under_way(MPI_Request request);
extern MPI_Request request_first_under_way;

extern size_t request_buffered; /* bytes of copies of MPI_Bsend */

#endif
