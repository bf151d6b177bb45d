/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_ATTRIBUTE_H
#define MINIMPI_ATTRIBUTE_H

#include "comm.h"

/* Has the copy functions of a communicator's attributes decide what its duplicate gets. */
int attribute_copy_all(MPI_Comm from, MPI_Comm to);
/* Calls the delete functions, the youngest attribute first. */
int attribute_delete_all(MPI_Comm comm);
void attribute_close(void); /* frees the keys */

#endif
