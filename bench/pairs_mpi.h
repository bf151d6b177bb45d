/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of MPI processes that play at the same time, unpinned, for the test pairs. */
#ifndef PTLBENCH_PAIRS_MPI_H
#define PTLBENCH_PAIRS_MPI_H

#define PAIRS_MPI_MAX 2

/* Before any other process is forked.  Where there is no MPI, it is missing. */
void pairs_mpi_start(void);

/* NULL, or what to print: why there is no MPI. */
const char *pairs_mpi_missing(void);

/* What they say of themselves. */
const char *pairs_mpi_text(void);

/* Time for each message that any of so many pairs sends, us; NaN if it is missing. */
double pairs_mpi_time(unsigned pairs);

void pairs_mpi_end(void);

#endif
