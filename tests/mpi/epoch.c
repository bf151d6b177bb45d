/* SPDX-License-Identifier: BSD-3-Clause */
/* When windows may be accessed: what is refused outside of epochs; post and start; locks of all; operations that fetch. */
#include "mpi_test.h"

#ifdef MINIMPI /* the standard calls such programs erroneous, and not every library notices */
static void accesses_need_an_epoch(void)
{
	int word = 0, value = 1;
	MPI_Win win;
	MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	FAILS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush(rank, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
	MPI_Win_fence(0, win);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win); /* ends the epoch that the fence began, as nothing has used it */
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
	CHECK(win != MPI_WIN_NULL);
	if (size > 1)
		FAILS(MPI_Get(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
	MPI_Win_unlock(rank, win);
	FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
	CHECK(word == 0);
	FAILS(MPI_Win_fence(12345, win), MPI_ERR_ASSERT);
	MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
	FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
	MPI_Win_wait(win);
	MPI_Win_free(&win);
}

static void accumulates_combine_what_the_target_has(void)
{
	int word = 0;
	const float other = 1;
	const int value = 1;
	MPI_Win win;
	MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	MPI_Win_fence(0, win);
	FAILS(MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
	FAILS(MPI_Accumulate(&other, 1, MPI_FLOAT, rank, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_TYPE);
	MPI_Win_fence(0, win);
	CHECK(word == 0);
	MPI_Win_free(&win);
}
#endif

/* Within its epoch each access is allowed, and does nothing. */
static void no_process_is_locked_and_accessed(void)
{
	int word = 0, value = 1;
	MPI_Win win;
	MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	CHECK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win) == MPI_SUCCESS);
	CHECK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
	CHECK(MPI_Win_flush(MPI_PROC_NULL, win) == MPI_SUCCESS);
	CHECK(MPI_Win_unlock(MPI_PROC_NULL, win) == MPI_SUCCESS);
	CHECK(word == 0);
	MPI_Win_free(&win);
}

/* Each rank puts into the next one, which the one before puts into: the epochs of origins and of targets overlap. */
static void post_start_complete_wait(void)
{
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	int word = -1, flag = 0;
	MPI_Group world, to, from;
	MPI_Win win;
	MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &next, &to);
	MPI_Group_incl(world, 1, &before, &from);
	for (int i = 0; i < 10; i++) {
		const int value = 100 * i + rank;
		MPI_Win_post(from, 0, win);
		MPI_Win_start(to, 0, win);
		MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
		MPI_Win_complete(win);
		if (i % 2)
			MPI_Win_wait(win);
		else
			while (!flag)
				MPI_Win_test(win, &flag);
		flag = 0;
		CHECK(word == 100 * i + before);
	}
	MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
	MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Group_free(&world);
	MPI_Win_free(&win);
}

/* A shared counter: each number is given to one process. */
static void fetch_and_op_counts(void)
{
	enum { TURNS = 20 };
	long *counter, one = 1, got = -1, last = -1, left;
	MPI_Win win;
	MPI_Win_allocate(rank == 0 ? sizeof(*counter) : 0, sizeof(*counter), MPI_INFO_NULL, MPI_COMM_WORLD, &counter,
			 &win);
	if (rank == 0)
		*counter = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < TURNS; i++) {
		MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		CHECK(got > last);
		last = got;
	}
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Fetch_and_op(NULL, &left, MPI_LONG, 0, 0, MPI_NO_OP, win);
	MPI_Win_flush_local(0, win);
	CHECK(left == (long)TURNS * size);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

/* The first to find -1 writes its rank; the others are told of it. */
static void compare_and_swap_elects(void)
{
	int word = -1, none = -1, was = -2, winner;
	MPI_Win win;
	MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Compare_and_swap(&rank, &none, &was, MPI_INT, 0, 0, win);
	MPI_Win_unlock(0, win);
	int first = was == -1, elected;
	MPI_Allreduce(&first, &elected, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(elected == 1);
	winner = first ? rank : was;
	MPI_Bcast(&winner, 1, MPI_INT, 0, MPI_COMM_WORLD);
	CHECK(was == -1 || was == winner);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	MPI_Win_fence(0, win);
#ifdef MINIMPI
	FAILS(MPI_Compare_and_swap(&rank, &none, &was, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE);
#endif
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
}

/* Operations of pairs, though the pairs are within a type of the program. */
static void pairs_accumulate(void)
{
	struct {
		double value;
		int index;
	} best[4], own[2] = {{rank, rank}, {-rank, rank}}, was[2];
	MPI_Datatype every_second;
	MPI_Win win;
	for (int i = 0; i < 4; i++) {
		best[i].value = -100;
		best[i].index = -1;
	}
	MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &every_second);
	MPI_Type_commit(&every_second);
	MPI_Win_create(best, sizeof(best), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Accumulate(own, 2, MPI_DOUBLE_INT, 0, 0, 1, every_second, MPI_MAXLOC, win);
	MPI_Win_fence(0, win);
	if (rank == 0)
		CHECK(best[0].value == size - 1 && best[0].index == size - 1 && best[1].index == -1 &&
		      best[2].value == 0 && best[2].index == 0);
	MPI_Get_accumulate(own, 2, MPI_DOUBLE_INT, was, 2, MPI_DOUBLE_INT, rank, 0, 1, every_second, MPI_REPLACE, win);
	MPI_Win_fence(0, win);
	CHECK(best[0].index == rank && best[2].value == -rank);
	CHECK(was[0].index == (rank == 0 ? size - 1 : -1));
	MPI_Win_free(&win);
	MPI_Type_free(&every_second);
}

const struct test epoch_tests[] = {
#ifdef MINIMPI
	TEST(accesses_need_an_epoch),
	TEST(accumulates_combine_what_the_target_has),
#endif
	TEST(no_process_is_locked_and_accessed),
	TEST(post_start_complete_wait),
	TEST(fetch_and_op_counts),
	TEST(compare_and_swap_elects),
	TEST(pairs_accumulate),
	{0},
};
