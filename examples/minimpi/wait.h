/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_WAIT_H
#define MINIMPI_WAIT_H

#include "request.h"

/* Handles one event, waiting for it; or all there are; and what follows from them. */
void wait_step(void);
void wait_poll(void);
/* Starts a request: of a send or of a receive. */
void wait_start(MPI_Request request);
/* Waits for a request that is the library's own or of a blocking call; frees it.  Its error is not raised. */
int wait_for(MPI_Request request, MPI_Status *status);

#endif
