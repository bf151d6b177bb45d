/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication: puts and gets between fences, locks, accumulates of all into one, types, errors. */
#include "mpi_test.h"

static void puts_and_gets_between_fences(void)
{
	enum { N = 20000 };
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	int *window = ints(N, -1), *from = ints(N, rank), *got = ints(N, -2);
	MPI_Win win;
	MPI_Group group;
	int members;
	MPI_Win_create(window, N * sizeof(*window), sizeof(*window), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_get_group(win, &group);
	MPI_Group_size(group, &members);
	CHECK(members == size);
	MPI_Group_free(&group);
	for (int n = 1; n <= N; n *= 10) {
		MPI_Win_fence(0, win);
		MPI_Put(from, n, MPI_INT, next, 0, n, MPI_INT, win);
		MPI_Put(from, 0, MPI_INT, next, 0, 0, MPI_INT, win);
		MPI_Put(from, n, MPI_INT, MPI_PROC_NULL, 0, n, MPI_INT, win);
		MPI_Win_fence(0, win);
		for (int i = 0; i < n; i++)
			CHECK(window[i] == before);
		MPI_Win_fence(0, win);
		MPI_Get(got, n, MPI_INT, before, 0, n, MPI_INT, win);
		MPI_Win_fence(0, win);
		for (int i = 0; i < n; i++)
			CHECK(got[i] == (before + size - 1) % size);
	}
	MPI_Win_free(&win);
	CHECK(win == MPI_WIN_NULL);
	free(window);
	free(from);
	free(got);
}

/* All add to all words of rank 0 at once. */
static void accumulates_add_up(void)
{
	long counters[8] = {0}, own[8];
	MPI_Win win;
	MPI_Win_create(counters, sizeof(counters), sizeof(*counters), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < 8; i++)
		own[i] = i + rank;
	MPI_Win_fence(0, win);
	for (int i = 0; i < 5; i++)
		MPI_Accumulate(own, 8, MPI_LONG, 0, 0, 8, MPI_LONG, MPI_SUM, win);
	MPI_Win_fence(0, win);
	for (int i = 0; rank == 0 && i < 8; i++)
		CHECK(counters[i] == 5L * (size * i + size * (size - 1) / 2));
	MPI_Accumulate(own, 1, MPI_LONG, rank, 7, 1, MPI_LONG, MPI_REPLACE, win);
	MPI_Win_fence(0, win);
	CHECK(counters[7] == rank);
	MPI_Win_free(&win);
}

/* A counter that is read and written under a lock loses nothing. */
static void locks_exclude(void)
{
	enum { TURNS = 10 };
	int counter = 0, value = -1;
	MPI_Win win;
	MPI_Win_create(&counter, sizeof(counter), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < TURNS; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_unlock(0, win);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		const int one = 1;
		MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
	MPI_Barrier(MPI_COMM_WORLD); /* shared: all have it at once */
	MPI_Win_unlock(0, win);
	CHECK(value == TURNS * size);
	MPI_Win_free(&win);
}

/* Every second number here from every third there, and back. */
static void types_on_both_sides(void)
{
	int window[60], got[40], next = (rank + 1) % size;
	MPI_Datatype third, second;
	MPI_Win win;
	for (int i = 0; i < 60; i++)
		window[i] = 100 * rank + i;
	for (int i = 0; i < 40; i++)
		got[i] = -1;
	MPI_Type_vector(20, 1, 3, MPI_INT, &third);
	MPI_Type_vector(20, 1, 2, MPI_INT, &second);
	MPI_Type_commit(&third);
	MPI_Type_commit(&second);
	MPI_Win_create(window, sizeof(window), sizeof(*window), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Get(got, 1, second, next, 0, 1, third, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 40; i++)
		CHECK(got[i] == (i % 2 ? -1 : 100 * next + i / 2 * 3));
	MPI_Put(got, 1, second, next, 1, 1, third, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 60; i++)
		CHECK(window[i] == 100 * rank + (i % 3 == 1 ? i - 1 : i));
	MPI_Win_free(&win);
	MPI_Type_free(&third);
	MPI_Type_free(&second);
}

/* More in one epoch than an implementation may have under way. */
static void many_moves_in_an_epoch(void)
{
	enum { MANY = 90000, EVERY = 10 };
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	int *window = ints(MANY, -1), *from = ints(MANY, rank), *got = ints(MANY, -1);
	MPI_Win win;
	MPI_Win_create(window, MANY * sizeof(*window), sizeof(*window), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < MANY; i++)
		MPI_Put(&from[i], 1, MPI_INT, next, i, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < MANY; i += EVERY)
		MPI_Get(&got[i], 1, MPI_INT, next, i, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < MANY; i++)
		CHECK(window[i] == before && (i % EVERY || got[i] == rank));
	MPI_Win_free(&win);
	free(window);
	free(from);
	free(got);
}

static void bad_arguments_of_windows(void)
{
	int memory[4];
	MPI_Win win, none = MPI_WIN_NULL;
	MPI_Win_create(memory, sizeof(memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Win_fence(0, win);
	FAILS(MPI_Put(memory, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
	FAILS(MPI_Put(memory, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
	FAILS(MPI_Get(memory, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
#ifdef MINIMPI
	FAILS(MPI_Get(memory, 1, MPI_INT, 0, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
#endif
	FAILS(MPI_Win_fence(0, none), MPI_ERR_WIN);
	FAILS(MPI_Win_lock(99, 0, 0, win), MPI_ERR_LOCKTYPE);
	MPI_Win_fence(0, win);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Win_free(&win);
}

const struct test window_tests[] = {
	TEST(puts_and_gets_between_fences),
	TEST(accumulates_add_up),
	TEST(locks_exclude),
	TEST(types_on_both_sides),
	TEST(many_moves_in_an_epoch),
	TEST(bad_arguments_of_windows),
	{0},
};
