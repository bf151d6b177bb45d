/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations that move data: every call, every root, lengths 0 to long, MPI_IN_PLACE. */
#include "mpi_test.h"

static void a_barrier_waits_for_all(void)
{
	int token = -1;
	MPI_Request request;
	if (rank == 0)
		for (int i = 1; i < size; i++)
			MPI_Send(&rank, 1, MPI_INT, i, 5, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank > 0) {
		MPI_Irecv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(token == 0);
	}
	MPI_Barrier(MPI_COMM_SELF);
}

/* Whatever waits for its receive, collective operations go on: MPI lets the receives be posted after them. */
static void collectives_pass_synchronous_sends_without_receives(void)
{
	const int many = 20000 / size; /* to each rank more than minimpi lets be unanswered */
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	int *got = ints((size_t)many, -1), *sent = ints((size_t)many, 0), sum = -1;
	MPI_Request *requests = bytes((size_t)many * sizeof(MPI_Request));
	for (int i = 0; i < many; i++) {
		sent[i] = i;
		MPI_Issend(&sent[i], 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[i]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum == size * (size - 1) / 2);
	for (int i = 0; i < many; i++) {
		MPI_Recv(&got[i], 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(got[i] == i);
	}
	MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
	free(got);
	free(sent);
	free(requests);
}

static void bcast_from_every_root(void)
{
	for (int root = 0; root < size; root++) {
		for (int k = 0; k < COUNTS; k++) {
			const int n = counts_tried[k];
			int *data = ints((size_t)n, rank == root ? root + n : -1);
			MPI_Bcast(data, n, MPI_INT, root, MPI_COMM_WORLD);
			for (int i = 0; i < n; i++)
				CHECK(data[i] == root + n);
			free(data);
		}
	}
}

static void gathers_and_scatters(void)
{
	for (int root = 0; root < size; root++) {
		for (int k = 0; k < COUNTS; k++) {
			const int n = counts_tried[k];
			int *own = ints((size_t)n, rank), *all = ints((size_t)(n * size), -1);
			MPI_Gather(own, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD);
			for (int i = 0; rank == root && i < n * size; i++)
				CHECK(all[i] == i / n);
			for (int i = 0; rank == root && i < n * size; i++)
				all[i] += root + 5;
			MPI_Scatter(all, n, MPI_INT, own, n, MPI_INT, root, MPI_COMM_WORLD);
			for (int i = 0; i < n; i++)
				CHECK(own[i] == rank + root + 5);
			for (int i = 0; i < n; i++)
				all[rank * n + i] = rank;
			MPI_Gather(rank == root ? MPI_IN_PLACE : own, n, MPI_INT, all, n, MPI_INT, root,
				   MPI_COMM_WORLD);
			for (int i = 0; rank == root && i < n * size; i++)
				CHECK(all[i] == (i / n == root ? root : i / n + root + 5));
			MPI_Scatter(all, n, MPI_INT, rank == root ? MPI_IN_PLACE : own, n, MPI_INT, root,
				    MPI_COMM_WORLD);
			free(own);
			free(all);
		}
	}
}

/* Rank i has i elements, which lie at the end of place 2i. */
static void gathers_and_scatters_of_different_lengths(void)
{
	int *counts = ints((size_t)size, 0), *places = ints((size_t)size, 0),
	    *all = ints((size_t)(4 * size * size), -1);
	int *own = ints((size_t)size, 100 + rank);
	for (int i = 0; i < size; i++) {
		counts[i] = i;
		places[i] = 2 * size * i;
	}
	for (int root = 0; root < size; root++) {
		MPI_Gatherv(own, rank, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
		for (int i = 0; rank == root && i < size; i++)
			for (int k = 0; k < 2 * size; k++)
				CHECK(all[places[i] + k] == (k < i ? 100 + i : -1));
		MPI_Scatterv(all, counts, places, MPI_INT, own, rank, MPI_INT, root, MPI_COMM_WORLD);
		for (int i = 0; i < rank; i++)
			CHECK(own[i] == 100 + rank);
		for (int i = 0; i < 4 * size * size; i++)
			all[i] = -1;
	}
	MPI_Allgatherv(own, rank, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		for (int k = 0; k < 2 * size; k++)
			CHECK(all[places[i] + k] == (k < i ? 100 + i : -1));
	free(counts);
	free(places);
	free(all);
	free(own);
}

static void allgather_and_alltoall(void)
{
	for (int k = 0; k < COUNTS; k++) {
		const int n = counts_tried[k];
		int *own = ints((size_t)(n * size), rank), *all = ints((size_t)(n * size), -1);
		MPI_Allgather(own, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < n * size; i++)
			CHECK(all[i] == i / n);
		for (int i = 0; i < n * size; i++)
			all[i] = i / n == rank ? 50 + rank : -1;
		MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < n * size; i++)
			CHECK(all[i] == 50 + i / n);
		for (int i = 0; i < n * size; i++)
			own[i] = 1000 * rank + i / n;
		MPI_Alltoall(own, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
		MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, own, n, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < n * size; i++)
			CHECK(all[i] == 1000 * (i / n) + rank && own[i] == all[i]);
		free(own);
		free(all);
	}
}

/* Rank r sends r + i elements to rank i. */
static void alltoall_of_different_lengths(void)
{
	const size_t room = (size_t)(2 * size * size);
	int *sent_counts = ints((size_t)size, 0), *sent_places = ints((size_t)size, 0), *counts = ints((size_t)size, 0);
	int *sent = ints(room, 7 * rank), *received = ints(room, -1);
	for (int i = 0; i < size; i++) {
		sent_counts[i] = counts[i] = rank + i;
		sent_places[i] = 2 * size * i;
	}
	MPI_Alltoallv(sent, sent_counts, sent_places, MPI_INT, received, counts, sent_places, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		for (int k = 0; k < 2 * size; k++)
			CHECK(received[sent_places[i] + k] == (k < rank + i ? 7 * i : -1));
	free(sent_counts);
	free(sent_places);
	free(counts);
	free(sent);
	free(received);
}

/* Parts of one array that do not overlap, by their places or by their types. */
static void gathers_and_scatters_within_an_array(void)
{
	int array[20], counts[1] = {1}, places[1] = {10}, displaced[1] = {4};
	MPI_Datatype fifth;
	for (int i = 0; i < 20; i++)
		array[i] = i;
	MPI_Type_indexed(1, counts, displaced, MPI_INT, &fifth);
	MPI_Type_commit(&fifth);
	MPI_Gatherv(array, 1, MPI_INT, array, counts, places, MPI_INT, 0, MPI_COMM_SELF);
	CHECK(array[10] == 0);
	MPI_Scatterv(array, counts, places, MPI_INT, array + 1, 1, MPI_INT, 0, MPI_COMM_SELF);
	CHECK(array[1] == 0);
	places[0] = 12;
	MPI_Scatterv(array, counts, places, MPI_INT, array, 1, MPI_INT, 0, MPI_COMM_SELF);
	CHECK(array[0] == 12);
	MPI_Gather(array, 1, MPI_INT, array, 1, fifth, 0, MPI_COMM_SELF);
	CHECK(array[4] == 12);
	MPI_Scatter(array, 1, MPI_INT, array, 1, fifth, 0, MPI_COMM_SELF);
	MPI_Type_free(&fifth);
}

const struct test collective_tests[] = {
	TEST(a_barrier_waits_for_all),
	TEST(collectives_pass_synchronous_sends_without_receives),
	TEST(bcast_from_every_root),
	TEST(gathers_and_scatters),
	TEST(gathers_and_scatters_of_different_lengths),
	TEST(gathers_and_scatters_within_an_array),
	TEST(allgather_and_alltoall),
	TEST(alltoall_of_different_lengths),
	{0},
};
