/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_OP_H
#define MINIMPI_OP_H

#include <mpi.h>

/* MPI_SUCCESS if the operation is defined for the type. */
int op_check(MPI_Op op, MPI_Datatype type);
/* ... and one of the library's, as MPI_Accumulate wants. */
int op_check_predefined(MPI_Op op, MPI_Datatype type);
/* in_out[i] = in[i] op in_out[i] */
void op_apply(MPI_Op op, const void *in, void *in_out, int count, MPI_Datatype type);

#endif
