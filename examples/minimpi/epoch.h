/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_EPOCH_H
#define MINIMPI_EPOCH_H

#include "window.h"

/* MPI_SUCCESS if this process may access the memory of a rank (or of MPI_PROC_NULL) now, else MPI_ERR_RMA_SYNC. */
int epoch_check(MPI_Win win, int rank);
/* The rank belongs to the epoch from now on, or not any more: the last one to leave ends it. */
void epoch_enter(MPI_Win win, int rank, enum window_epoch epoch);
void epoch_leave(MPI_Win win, int rank);

#endif
