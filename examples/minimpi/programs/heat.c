/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat spreads over a plate: each point becomes the mean of its four neighbours, until nothing changes much.  Each rank has
 * a band of rows; the rows at its edges go to the neighbouring ranks in each step, while the inner rows are computed.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH  96
#define HEIGHT 96
#define STEPS  2000
#define ENOUGH 1e-4

typedef double row[WIDTH];

static row *new_plate(int rows, int first)
{
	row *plate = calloc((size_t)rows + 2, sizeof(*plate));
	if (!plate)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < rows + 2; i++) /* the left edge is hot, and the top one */
		for (int k = 0; k < WIDTH; k++)
			plate[i][k] = k == 0 || first + i - 1 == 0 ? 100 : 0;
	return plate;
}

static double relax(row *to, const row *from, int begin, int end, int first)
{
	double change = 0;
	for (int i = begin; i <= end; i++) {
		if (first + i - 1 == 0 || first + i - 1 == HEIGHT - 1)
			continue;
		for (int k = 1; k < WIDTH - 1; k++) {
			to[i][k] = (from[i - 1][k] + from[i + 1][k] + from[i][k - 1] + from[i][k + 1]) / 4;
			change = fmax(change, fabs(to[i][k] - from[i][k]));
		}
	}
	return change;
}

/* A step: the rows of the neighbours arrive while the inner rows are computed. */
static double step(row *to, row *from, int rows, int first, int up, int down)
{
	MPI_Request requests[4];
	MPI_Irecv(from[0], WIDTH, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(from[rows + 1], WIDTH, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(from[1], WIDTH, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(from[rows], WIDTH, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
	double change = relax(to, (const row *)from, 2, rows - 1, first);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	change = fmax(change, relax(to, (const row *)from, 1, 1, first));
	if (rows > 1)
		change = fmax(change, relax(to, (const row *)from, rows, rows, first));
	return change;
}

int main(int argc, char **argv)
{
	int rank, size, steps = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int first = HEIGHT * rank / size, rows = HEIGHT * (rank + 1) / size - first;
	const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	row *now = new_plate(rows, first), *next = new_plate(rows, first);
	double change = 1, sum = 0, total = 0;
	for (; steps < STEPS && change > ENOUGH; steps++) {
		double own = step(next, now, rows, first, up, down);
		MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		row *swap = now;
		now = next;
		next = swap;
	}
	for (int i = 1; i <= rows; i++)
		for (int k = 0; k < WIDTH; k++)
			sum += now[i][k];
	MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d steps, change %.3e, mean %.9f\n", steps, change, total / (WIDTH * HEIGHT));
	free(now);
	free(next);
	MPI_Finalize();
	return 0;
}
