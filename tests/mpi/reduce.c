/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations that combine: predefined operations on every type, the program's own, scans. */
#include <stdint.h>

#include "mpi_test.h"

static void reduce_to_every_root(void)
{
	for (int root = 0; root < size; root++) {
		for (int k = 0; k < COUNTS; k++) {
			const int n = counts_tried[k], sum = size * (size + 1) / 2;
			int *own = ints((size_t)n, rank + 1), *result = ints((size_t)n, -1);
			MPI_Reduce(own, rank == root ? result : NULL, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
			for (int i = 0; i < n && rank == root; i++)
				CHECK(result[i] == sum && own[i] == rank + 1);
			MPI_Reduce(rank == root ? MPI_IN_PLACE : own, rank == root ? own : NULL, n, MPI_INT, MPI_MAX,
				   root, MPI_COMM_WORLD);
			for (int i = 0; i < n && rank == root; i++)
				CHECK(own[i] == size);
			free(own);
			free(result);
		}
	}
}

static void allreduce_and_in_place(void)
{
	for (int k = 0; k < COUNTS; k++) {
		const int n = counts_tried[k];
		int *own = ints((size_t)n, rank), *result = ints((size_t)n, -1);
		MPI_Allreduce(own, result, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Allreduce(MPI_IN_PLACE, own, n, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			CHECK(result[i] == size * (size - 1) / 2 && own[i] == 0);
		free(own);
		free(result);
	}
}

/* Each operation on each type: of the values 1 and 3 that two ranks bring (others 1). */
#define OPERATIONS(c_type, mpi_type)                                                                                   \
	do {                                                                                                           \
		const c_type own = rank == 0 ? 3 : 1;                                                                  \
		c_type max, min, sum, prod;                                                                            \
		MPI_Allreduce(&own, &max, 1, mpi_type, MPI_MAX, MPI_COMM_WORLD);                                       \
		MPI_Allreduce(&own, &min, 1, mpi_type, MPI_MIN, MPI_COMM_WORLD);                                       \
		MPI_Allreduce(&own, &sum, 1, mpi_type, MPI_SUM, MPI_COMM_WORLD);                                       \
		MPI_Allreduce(&own, &prod, 1, mpi_type, MPI_PROD, MPI_COMM_WORLD);                                     \
		CHECK(max == 3 && min == (size > 1 ? 1 : 3) && sum == (c_type)(size + 2) && prod == 3);                \
	} while (0)
#define BITS(c_type, mpi_type)                                                                                         \
	do {                                                                                                           \
		const c_type own = rank == 0 ? 6 : 3;                                                                  \
		c_type and, or, xor, land, lor, lxor;                                                                  \
		MPI_Allreduce(&own, &and, 1, mpi_type, MPI_BAND, MPI_COMM_WORLD);                                      \
		MPI_Allreduce(&own, & or, 1, mpi_type, MPI_BOR, MPI_COMM_WORLD);                                       \
		MPI_Allreduce(&own, &xor, 1, mpi_type, MPI_BXOR, MPI_COMM_WORLD);                                      \
		MPI_Allreduce(&own, &land, 1, mpi_type, MPI_LAND, MPI_COMM_WORLD);                                     \
		MPI_Allreduce(&own, &lor, 1, mpi_type, MPI_LOR, MPI_COMM_WORLD);                                       \
		MPI_Allreduce(&own, &lxor, 1, mpi_type, MPI_LXOR, MPI_COMM_WORLD);                                     \
		CHECK(and == (size > 1 ? 2 : 6) && or == (size > 1 ? 7 : 6));                                          \
		CHECK(xor == (c_type)(size % 2 ? 6 : 6 ^ 3) &&                                                         \
		      (size == 1 || (land == 1 && lor == 1 && lxor == (c_type)(size % 2))));                           \
	} while (0)

static void operations_on_every_type(void)
{
	OPERATIONS(signed char, MPI_SIGNED_CHAR);
	OPERATIONS(unsigned char, MPI_UNSIGNED_CHAR);
	OPERATIONS(short, MPI_SHORT);
	OPERATIONS(unsigned short, MPI_UNSIGNED_SHORT);
	OPERATIONS(int, MPI_INT);
	OPERATIONS(unsigned, MPI_UNSIGNED);
	OPERATIONS(long, MPI_LONG);
	OPERATIONS(unsigned long, MPI_UNSIGNED_LONG);
	OPERATIONS(long long, MPI_LONG_LONG);
	OPERATIONS(uint8_t, MPI_UINT8_T);
	OPERATIONS(int64_t, MPI_INT64_T);
	OPERATIONS(float, MPI_FLOAT);
	OPERATIONS(double, MPI_DOUBLE);
	OPERATIONS(long double, MPI_LONG_DOUBLE);
	BITS(signed char, MPI_SIGNED_CHAR);
	BITS(unsigned short, MPI_UNSIGNED_SHORT);
	BITS(int, MPI_INT);
	BITS(uint64_t, MPI_UINT64_T);
	const int negative = -1 - rank;
	int greatest;
	MPI_Allreduce(&negative, &greatest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	CHECK(greatest == -1);
}

static void the_greatest_and_its_place(void)
{
	const struct {
		double value;
		int index;
	} own = {rank == size / 2 ? 9.5 : 1.5, rank};
	struct {
		double value;
		int index;
	} most, least;
	MPI_Allreduce(&own, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	CHECK(most.value == 9.5 && most.index == size / 2);
	MPI_Allreduce(&own, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
	CHECK(least.index == (size == 1 ? 0 : size / 2 == 0 ? 1 : 0)); /* of equal ones the least index */
	int pair[2] = {rank % 2, 10 - rank}, result[2];
	MPI_Allreduce(pair, result, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
	CHECK(result[0] == 0 && result[1] == 10 - (size - 1) / 2 * 2);
}

/* 2 by 2 matrices: their product depends on the order, not on the grouping. */
/* NOLINTNEXTLINE(readability-non-const-parameter): MPI_User_function */
static void multiply(void *in, void *in_out, int *count, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *count; i++) {
		const long *a = (const long *)in + 4 * i;
		long *b = (long *)in_out + 4 * i, c[4];
		for (int k = 0; k < 4; k++)
			c[k] = (a[k / 2 * 2] * b[k % 2] + a[k / 2 * 2 + 1] * b[2 + k % 2]) % 1009;
		memcpy(b, c, sizeof(c));
	}
}

static void operations_need_not_commute(void)
{
	MPI_Op op;
	MPI_Datatype matrix;
	int commutes = 1;
	long own[4] = {rank + 1, 2, 3, rank}, expected[4] = {1, 0, 0, 1}, upto[4], before[4], result[4];
	MPI_Op_create(multiply, 0, &op);
	MPI_Op_commutative(op, &commutes);
	CHECK(!commutes);
	MPI_Type_contiguous(4, MPI_LONG, &matrix);
	MPI_Type_commit(&matrix);
	for (int i = 0, one = 1; i < size; i++) {
		long next[4] = {i + 1, 2, 3, i};
		if (i == rank)
			memcpy(before, expected, sizeof(before));
		multiply(expected, next, &one, &matrix);
		memcpy(expected, next, sizeof(expected));
		if (i == rank)
			memcpy(upto, expected, sizeof(upto));
	}
	for (int root = 0; root < size; root++) {
		MPI_Reduce(own, result, 1, matrix, op, root, MPI_COMM_WORLD);
		CHECK(rank != root || memcmp(result, expected, sizeof(result)) == 0);
	}
	MPI_Allreduce(own, result, 1, matrix, op, MPI_COMM_WORLD);
	CHECK(memcmp(result, expected, sizeof(result)) == 0);
	MPI_Scan(own, result, 1, matrix, op, MPI_COMM_WORLD);
	CHECK(memcmp(result, upto, sizeof(result)) == 0);
	MPI_Exscan(own, result, 1, matrix, op, MPI_COMM_WORLD);
	CHECK(rank == 0 || memcmp(result, before, sizeof(result)) == 0);
	MPI_Type_free(&matrix);
	MPI_Op_free(&op);
	CHECK(op == MPI_OP_NULL);
}

static void scans(void)
{
	int own = rank + 1, all = -1, before = -1;
	MPI_Scan(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(all == (rank + 1) * (rank + 2) / 2);
	MPI_Exscan(&own, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(rank == 0 || before == rank * (rank + 1) / 2);
	before = own; /* rank 0 has no result, so its buffer may be any */
	MPI_Exscan(&own, rank == 0 ? &own : &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(own == rank + 1 && (rank == 0 || before == rank * (rank + 1) / 2));
	MPI_Scan(MPI_IN_PLACE, &own, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(own == all);
}

static void reduce_scatter(void)
{
	int total = 0, before = 0, *counts = ints((size_t)size, 0);
	for (int i = 0; i < size; i++) {
		counts[i] = i % 3;
		before += i < rank ? counts[i] : 0;
		total += counts[i];
	}
	int *own = ints((size_t)total, 0), part[3] = {-1, -1, -1};
	for (int i = 0; i < total; i++)
		own[i] = i + rank;
	MPI_Reduce_scatter(own, part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < 3; i++)
		CHECK(part[i] == (i < counts[rank] ? size * (before + i) + size * (size - 1) / 2 : -1));
	int *blocks = ints((size_t)size, rank), one = -1;
	MPI_Reduce_scatter_block(blocks, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(one == size * (size - 1) / 2);
	free(counts);
	free(own);
	free(blocks);
}

static void local_reduction(void)
{
	const int in[3] = {1, 2, 3};
	int out[3] = {10, 20, 30};
	MPI_Reduce_local(in, out, 3, MPI_INT, MPI_SUM);
	CHECK(out[0] == 11 && out[2] == 33);
}

const struct test reduce_tests[] = {
	TEST(reduce_to_every_root),
	TEST(allreduce_and_in_place),
	TEST(operations_on_every_type),
	TEST(the_greatest_and_its_place),
	TEST(operations_need_not_commute),
	TEST(scans),
	TEST(reduce_scatter),
	TEST(local_reduction),
	{0},
};
