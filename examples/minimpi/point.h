/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives as calls make them; collective operations use them with a context of their own. */
#ifndef MINIMPI_POINT_H
#define MINIMPI_POINT_H

#include "request.h"

/* Checks the arguments of a send or a receive of `kind`. */
int point_check(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
		MPI_Comm comm);
/* Nonblocking: started, to be waited for by wait_for. */
MPI_Request point_start(enum request_kind kind, const void *buffer, int count, MPI_Datatype type, int rank, int tag,
			MPI_Comm comm, int context);

#endif
