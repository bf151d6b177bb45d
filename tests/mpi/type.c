/* SPDX-License-Identifier: BSD-3-Clause */
/* Data types: sizes and bounds, what moves and what is left alone, packing, counts. */
#include <stddef.h>

#include "mpi_test.h"

static void check_bounds(MPI_Datatype type, int bytes_of_data, MPI_Aint lower, MPI_Aint extent)
{
	int data;
	MPI_Aint low, length;
	MPI_Type_size(type, &data);
	MPI_Type_get_extent(type, &low, &length);
	CHECK(data == bytes_of_data && low == lower && length == extent);
}

/* Sends one of the type over numbers 0 to 99 to the same rank as plain ints; which must be those expected. */
static void check_selects(MPI_Datatype type, int base, const int *expected, int count)
{
	int from[100], got[100], back[100];
	MPI_Request request;
	MPI_Status status;
	int received;
	for (int i = 0; i < 100; i++) {
		from[i] = i;
		back[i] = -1;
	}
	MPI_Type_commit(&type);
	MPI_Isend(&from[base], 1, type, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(got, 100, MPI_INT, rank, 0, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Get_count(&status, MPI_INT, &received);
	CHECK(received == count);
	for (int i = 0; i < count; i++)
		CHECK(got[i] == expected[i]);
	MPI_Isend(got, count, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(&back[base], 1, type, rank, 0, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Get_elements(&status, type, &received);
	CHECK(received == count);
	int touched = 0;
	for (int i = 0; i < 100; i++) {
		CHECK(back[i] == -1 || back[i] == i);
		touched += back[i] == i;
	}
	CHECK(touched == count);
	MPI_Type_free(&type);
	CHECK(type == MPI_DATATYPE_NULL);
}

static void vectors(void)
{
	MPI_Datatype type;
	const int expected[] = {10, 11, 15, 16, 20, 21};
	MPI_Type_vector(3, 2, 5, MPI_INT, &type);
	check_bounds(type, 24, 0, 48);
	check_selects(type, 10, expected, 6);
	MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type);
	check_selects(type, 10, expected, 6);
	const int backwards[] = {30, 28, 26};
	MPI_Type_vector(3, 1, -2, MPI_INT, &type);
	check_bounds(type, 12, -16, 20);
	check_selects(type, 30, backwards, 3);
	MPI_Type_contiguous(4, MPI_INT, &type);
	check_bounds(type, 16, 0, 16);
	const int plain[] = {5, 6, 7, 8};
	check_selects(type, 5, plain, 4);
}

static void lists(void)
{
	MPI_Datatype type;
	const int blocks[] = {2, 0, 1, 3}, places[] = {7, 1, 0, 20}, expected[] = {7, 8, 0, 20, 21, 22};
	const MPI_Aint bytes_at[] = {28, 4, 0, 80};
	MPI_Type_indexed(4, blocks, places, MPI_INT, &type);
	check_bounds(type, 24, 0, 92);
	check_selects(type, 0, expected, 6);
	MPI_Type_create_hindexed(4, blocks, bytes_at, MPI_INT, &type);
	check_selects(type, 0, expected, 6);
	const int twos[] = {7, 8, 1, 2, 0, 1, 20, 21};
	MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &type);
	int from[30], got[30];
	MPI_Request request;
	for (int i = 0; i < 30; i++)
		from[i] = i;
	MPI_Type_commit(&type); /* overlaps itself: may be sent, not received */
	MPI_Isend(from, 1, type, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(got, 30, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(memcmp(got, twos, sizeof(twos)) == 0);
	MPI_Type_free(&type);
}

struct mixed {
	char sign;
	double number;
	int list[3];
};

static void structures(void)
{
	const int blocks[] = {1, 1, 3};
	const MPI_Aint places[] = {offsetof(struct mixed, sign), offsetof(struct mixed, number),
				   offsetof(struct mixed, list)};
	const MPI_Datatype olds[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
	MPI_Datatype type, sized;
	struct mixed from[50], to[50];
	MPI_Request request;
	MPI_Status status;
	int count;
	MPI_Type_create_struct(3, blocks, places, olds, &type);
	MPI_Type_create_resized(type, 0, sizeof(struct mixed), &sized);
	MPI_Type_free(&type);
	MPI_Type_commit(&sized);
	check_bounds(sized, 1 + 8 + 12, 0, sizeof(struct mixed));
	memset(to, 0, sizeof(to));
	for (int i = 0; i < 50; i++)
		from[i] = (struct mixed){(char)i, i / 2.0, {i, i + 1, i + 2}};
	MPI_Isend(from, 50, sized, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(to, 50, sized, rank, 0, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Get_count(&status, sized, &count);
	CHECK(count == 50);
	MPI_Get_elements(&status, sized, &count);
	CHECK(count == 250);
	for (int i = 0; i < 50; i++)
		CHECK(to[i].sign == (char)i && to[i].number == i / 2.0 && to[i].list[2] == i + 2);
	MPI_Type_free(&sized);
}

/* Without MPI_Type_create_resized an array of structures is as C lays it out. */
static void structures_are_padded(void)
{
	struct padded {
		double number;
		char sign;
	} from[20], to[20];
	const int blocks[] = {1, 1};
	const MPI_Aint places[] = {0, offsetof(struct padded, sign)}, before[] = {0, -4};
	const MPI_Datatype olds[] = {MPI_DOUBLE, MPI_CHAR};
	MPI_Datatype type, again, both;
	MPI_Request request;
	MPI_Type_create_struct(2, blocks, places, olds, &type);
	check_bounds(type, 9, 0, sizeof(struct padded));
	MPI_Type_commit(&type);
	memset(to, 0, sizeof(to));
	for (int i = 0; i < 20; i++)
		from[i] = (struct padded){i / 2.0, (char)i};
	MPI_Isend(from, 20, type, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(to, 20, type, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < 20; i++)
		CHECK(to[i].number == i / 2.0 && to[i].sign == (char)i);
	MPI_Type_dup(type, &again);
	const MPI_Datatype parts[] = {again, MPI_INT};
	MPI_Type_create_struct(2, blocks, before, parts, &both); /* 13 bytes from the first to the last */
	check_bounds(both, 13, -4, 16);
	MPI_Type_free(&type);
	MPI_Type_free(&again);
	MPI_Type_free(&both);
}

static void bounds_that_were_set_hold(void)
{
	const int blocks[] = {2, 1};
	const MPI_Aint places[] = {0, 40}, aside[] = {0, 1};
	MPI_Datatype wide, narrow, type;
	MPI_Type_create_resized(MPI_INT, -4, 8, &wide);
	const MPI_Datatype olds[] = {wide, MPI_DOUBLE};
	MPI_Type_create_struct(2, blocks, places, olds, &type);
	check_bounds(type, 16, -4, 16); /* whatever is outside of them */
	MPI_Type_free(&type);
	MPI_Type_create_resized(MPI_DOUBLE, 0, 3, &narrow);
	const MPI_Datatype narrows[] = {narrow, MPI_CHAR};
	MPI_Type_create_struct(2, blocks, aside, narrows, &type);
	check_bounds(type, 17, 0, 6); /* no padding either */
	MPI_Type_free(&type);
	MPI_Type_contiguous(3, narrow, &type);
	check_bounds(type, 24, 0, 9);
	MPI_Type_free(&type);
	MPI_Type_free(&narrow);
	MPI_Type_free(&wide);
}

/* Part of a structure arrives: not a whole number of types, but a number of elements. */
static void counts_of_parts(void)
{
	MPI_Datatype pair;
	int list[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8], count;
	MPI_Request request;
	MPI_Status status;
	MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Isend(list, 3, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(got, 2, pair, rank, 0, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Get_count(&status, pair, &count);
	CHECK(count == MPI_UNDEFINED);
	MPI_Get_elements(&status, pair, &count);
	CHECK(count == 3 && got[0] == 1 && got[2] == 2 && got[3] == 3);
	MPI_Get_count(&status, MPI_DOUBLE, &count);
	CHECK(count == MPI_UNDEFINED);
	MPI_Type_free(&pair);
}

/* Extents smaller than the data: columns of a matrix, one after the other. */
static void resized_types_overlap(void)
{
	enum { N = 6 };
	int matrix[N][N], transposed[N][N];
	MPI_Datatype column, next;
	MPI_Request request;
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			matrix[i][k] = N * i + k;
	MPI_Type_vector(N, 1, N, MPI_INT, &column);
	MPI_Type_create_resized(column, 0, sizeof(int), &next);
	MPI_Type_commit(&next);
	MPI_Isend(matrix, N, next, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(transposed, N * N, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			CHECK(transposed[i][k] == matrix[k][i]);
	MPI_Type_free(&column);
	MPI_Type_free(&next);
}

static void absolute_addresses(void)
{
	static int a = 3, b = 4;
	int got[2];
	MPI_Aint places[2];
	const int blocks[2] = {1, 1};
	const MPI_Datatype olds[2] = {MPI_INT, MPI_INT};
	MPI_Datatype type;
	MPI_Request request;
	MPI_Get_address(&a, &places[0]);
	MPI_Get_address(&b, &places[1]);
	MPI_Type_create_struct(2, blocks, places, olds, &type);
	MPI_Type_commit(&type);
	MPI_Isend(MPI_BOTTOM, 1, type, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(got, 2, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(got[0] == 3 && got[1] == 4);
	MPI_Type_free(&type);
}

/* Every second of many numbers, short and long messages. */
static void strided_messages_of_all_lengths(void)
{
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int n = 1; n <= 100000; n *= 10) {
		MPI_Datatype type;
		int *from = bytes(2 * (size_t)n * sizeof(*from)), *to = bytes(2 * (size_t)n * sizeof(*to));
		for (int i = 0; i < 2 * n; i++) {
			from[i] = rank + i;
			to[i] = -1;
		}
		MPI_Type_vector(n, 1, 2, MPI_INT, &type);
		MPI_Type_commit(&type);
		MPI_Sendrecv(from, 1, type, next, 0, to, 1, type, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < 2 * n; i++)
			CHECK(to[i] == (i % 2 ? -1 : before + i));
		MPI_Bcast(from, 1, type, 0, MPI_COMM_WORLD);
		CHECK(from[0] == 0 && from[2 * n - 1] == rank + 2 * n - 1);
		MPI_Type_free(&type);
		free(from);
		free(to);
	}
}

static void packing(void)
{
	char packed[100];
	int position = 0, number = 0, needed;
	double list[3] = {0, 0, 0};
	const double from[3] = {1.5, 2.5, 3.5};
	const int seven = 7;
	MPI_Pack_size(3, MPI_DOUBLE, MPI_COMM_WORLD, &needed);
	CHECK(needed >= 24);
	MPI_Pack(&seven, 1, MPI_INT, packed, sizeof(packed), &position, MPI_COMM_WORLD);
	MPI_Pack(from, 3, MPI_DOUBLE, packed, sizeof(packed), &position, MPI_COMM_WORLD);
	MPI_Sendrecv_replace(packed, position, MPI_PACKED, rank, 0, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	int out = 0;
	MPI_Unpack(packed, position, &out, &number, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Unpack(packed, position, &out, list, 3, MPI_DOUBLE, MPI_COMM_WORLD);
	CHECK(out == position && number == 7 && list[2] == 3.5);
}

static void empty_types(void)
{
	MPI_Datatype type;
	int count = -1, token = 5;
	MPI_Status status;
	MPI_Request request;
	MPI_Type_contiguous(0, MPI_INT, &type);
	MPI_Type_commit(&type);
	check_bounds(type, 0, 0, 0);
	MPI_Isend(&token, 3, type, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv(&token, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 0 && token == 5);
	MPI_Type_free(&type);
}

const struct test type_tests[] = {
	TEST(vectors),
	TEST(lists),
	TEST(structures),
	TEST(structures_are_padded),
	TEST(bounds_that_were_set_hold),
	TEST(counts_of_parts),
	TEST(resized_types_overlap),
	TEST(absolute_addresses),
	TEST(strided_messages_of_all_lengths),
	TEST(packing),
	TEST(empty_types),
	{0},
};
