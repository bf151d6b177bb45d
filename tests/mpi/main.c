/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: mpi-test [NAME]: all tests, or those whose name contains NAME. */
#include "mpi_test.h"

int rank, size;

int main(int argc, char **argv)
{
	const struct test *const groups[] = {point_tests,  match_tests,  completion_tests, collective_tests,
					     reduce_tests, comm_tests,   type_tests,       window_tests,
					     epoch_tests,  object_tests, error_tests,      NULL};
	int count = 0, flag;
	MPI_Initialized(&flag);
	if (flag)
		return 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Initialized(&flag);
	CHECK(flag);
	for (int i = 0; groups[i]; i++) {
		for (const struct test *test = groups[i]; test->name; test++) {
			if (argc > 1 && !strstr(test->name, argv[1]))
				continue;
			test->run();
			MPI_Barrier(MPI_COMM_WORLD);
			if (rank == 0)
				printf("ok %s\n", test->name);
			count++;
		}
	}
	MPI_Finalized(&flag);
	CHECK(!flag && count > 0);
	MPI_Finalize();
	MPI_Finalized(&flag);
	if (rank == 0)
		printf("%d passed, 0 failed, 0 skipped\n", count);
	return !flag;
}
