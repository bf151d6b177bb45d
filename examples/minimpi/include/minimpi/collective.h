/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of mpi.h: collective operations and what they combine with. */
#ifndef MINIMPI_COLLECTIVE_H
#define MINIMPI_COLLECTIVE_H

extern struct minimpi_op minimpi_max, minimpi_min, minimpi_sum, minimpi_prod, minimpi_land, minimpi_band, minimpi_lor,
	minimpi_bor, minimpi_lxor, minimpi_bxor, minimpi_maxloc, minimpi_minloc, minimpi_replace, minimpi_no_op;
#define MPI_MAX     (&minimpi_max)
#define MPI_MIN     (&minimpi_min)
#define MPI_SUM     (&minimpi_sum)
#define MPI_PROD    (&minimpi_prod)
#define MPI_LAND    (&minimpi_land)
#define MPI_BAND    (&minimpi_band)
#define MPI_LOR     (&minimpi_lor)
#define MPI_BOR     (&minimpi_bor)
#define MPI_LXOR    (&minimpi_lxor)
#define MPI_BXOR    (&minimpi_bxor)
#define MPI_MAXLOC  (&minimpi_maxloc)
#define MPI_MINLOC  (&minimpi_minloc)
#define MPI_REPLACE (&minimpi_replace)
#define MPI_NO_OP   (&minimpi_no_op)

typedef void MPI_User_function(void *in, void *in_out, int *count, MPI_Datatype *type);
int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op);
int MPI_Op_free(MPI_Op *op);
int MPI_Op_commutative(MPI_Op op, int *commutes);
int MPI_Reduce_local(const void *in, void *in_out, int count, MPI_Datatype type, MPI_Op op);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Reduce_scatter(const void *sent, void *received, const int *counts, MPI_Datatype type, MPI_Op op,
		       MPI_Comm comm);
int MPI_Reduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Scan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Exscan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count, MPI_Datatype type,
	       int root, MPI_Comm comm);
int MPI_Gatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int *counts,
		const int *places, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Scatter(const void *sent, int count, MPI_Datatype type, void *received, int received_count,
		MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Scatterv(const void *sent, const int *counts, const int *places, MPI_Datatype type, void *received,
		 int received_count, MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count,
		  MPI_Datatype type, MPI_Comm comm);
int MPI_Allgatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int *counts,
		   const int *places, MPI_Datatype type, MPI_Comm comm);
int MPI_Alltoall(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count, MPI_Datatype type,
		 MPI_Comm comm);
int MPI_Alltoallv(const void *sent, const int *sent_counts, const int *sent_places, MPI_Datatype sent_type,
		  void *received, const int *counts, const int *places, MPI_Datatype type, MPI_Comm comm);
int MPI_Alltoallw(const void *sent, const int *sent_counts, const int *sent_places, const MPI_Datatype *sent_types,
		  void *received, const int *counts, const int *places, const MPI_Datatype *types, MPI_Comm comm);

#endif
