/* SPDX-License-Identifier: BSD-3-Clause */
/* A token goes around all ranks; each adds its number. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, size, token = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int round = 0; round < 3; round++) {
		if (rank == 0) {
			MPI_Request request;
			MPI_Isend(&token, 1, MPI_INT, next, round, MPI_COMM_WORLD, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			MPI_Recv(&token, 1, MPI_INT, before, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&token, 1, MPI_INT, before, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			token += rank;
			MPI_Send(&token, 1, MPI_INT, next, round, MPI_COMM_WORLD);
		}
	}
	if (rank == 0)
		printf("%d ranks, token %d\n", size, token);
	MPI_Finalize();
	return rank == 0 && token != 3 * (size * (size - 1) / 2);
}
