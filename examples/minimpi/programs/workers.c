/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Master and workers: rank 0 gives out intervals, one to each worker that asks, and adds up what comes back from any of
 * them.  The result is pi, and does not depend on which worker did what.
 */
#include <mpi.h>
#include <stdio.h>

#define TASKS  400
#define POINTS 500

enum { ASK, WORK, STOP };

/* The integral of 4 / (1 + x * x) over one of TASKS intervals of [0, 1]. */
static double integrate(int task)
{
	double sum = 0;
	for (int i = 0; i < POINTS; i++) {
		const double x = (task + (i + 0.5) / POINTS) / TASKS;
		sum += 4 / (1 + x * x);
	}
	return sum / POINTS / TASKS;
}

static void work(void)
{
	struct {
		int task;
		double value;
	} result = {-1, 0};
	for (;;) {
		MPI_Status status;
		MPI_Send(&result, sizeof(result), MPI_BYTE, 0, ASK, MPI_COMM_WORLD);
		MPI_Recv(&result.task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == STOP)
			return;
		result.value = integrate(result.task);
	}
}

/* Values are added in the order of the tasks, so that the sum is the same to the last bit whichever worker was faster. */
static double give_out(int workers)
{
	double values[TASKS] = {0}, sum = 0;
	struct {
		int task;
		double value;
	} result;
	int given = 0;
	for (int i = 0; workers == 0 && i < TASKS; i++)
		values[i] = integrate(i);
	for (int left = workers; left > 0;) {
		MPI_Status status;
		MPI_Recv(&result, sizeof(result), MPI_BYTE, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &status);
		if (result.task >= 0)
			values[result.task] = result.value;
		if (given == TASKS)
			left--;
		const int task = given < TASKS ? given++ : -1;
		MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, task < 0 ? STOP : WORK, MPI_COMM_WORLD);
	}
	for (int i = 0; i < TASKS; i++)
		sum += values[i];
	return sum;
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank > 0)
		work();
	else
		printf("pi is %.12f\n", give_out(size - 1));
	MPI_Finalize();
	return 0;
}
