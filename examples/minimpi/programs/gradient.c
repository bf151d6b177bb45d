/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conjugate gradients: solves A x = b, where A is the matrix of a one-dimensional Poisson problem (2 and -1) with a little
 * added to the diagonal.  Each rank has some rows; of its neighbours it needs one number each.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS   5000
#define STEPS  500
#define SHIFT  0.01
#define ENOUGH 1e-10

static int up, down, rows;

static double dot(const double *a, const double *b)
{
	double own = 0, all;
	for (int i = 1; i <= rows; i++)
		own += a[i] * b[i];
	MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

/* to = A * from; elements 0 and rows + 1 are the neighbours'. */
static void multiply(double *to, double *from)
{
	MPI_Sendrecv(&from[1], 1, MPI_DOUBLE, up, 0, &from[rows + 1], 1, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Sendrecv(&from[rows], 1, MPI_DOUBLE, down, 1, &from[0], 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (int i = 1; i <= rows; i++)
		to[i] = (2 + SHIFT) * from[i] - from[i - 1] - from[i + 1];
}

static double *vector(double value)
{
	double *made = calloc((size_t)rows + 2, sizeof(*made));
	if (!made)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 1; i <= rows; i++)
		made[i] = value;
	return made;
}

int main(int argc, char **argv)
{
	int rank, size, steps = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	rows = ROWS * (rank + 1) / size - ROWS * rank / size;
	double *x = vector(0), *residual = vector(1), *direction = vector(1), *image = vector(0);
	double square = dot(residual, residual);
	for (; steps < STEPS && square > ENOUGH; steps++) {
		multiply(image, direction);
		const double alpha = square / dot(direction, image);
		for (int i = 1; i <= rows; i++) {
			x[i] += alpha * direction[i];
			residual[i] -= alpha * image[i];
		}
		const double next = dot(residual, residual);
		for (int i = 1; i <= rows; i++)
			direction[i] = residual[i] + next / square * direction[i];
		square = next;
	}
	const double norm = sqrt(dot(x, x));
	if (rank == 0)
		printf("%d steps, %s, norm of x %.6f\n", steps, square <= ENOUGH ? "solved" : "not solved", norm);
	free(x);
	free(residual);
	free(direction);
	free(image);
	MPI_Finalize();
	return square > ENOUGH;
}
