/* SPDX-License-Identifier: BSD-3-Clause */
/* When a process may access windows: fences and locks.  Fences are collective; of locks the target's program knows nothing. */
#include "epoch.h"

#include "collective.h"

static bool *open_place(MPI_Win win, int rank)
{
	return rank == MPI_PROC_NULL ? &win->open_null : &win->open[rank];
}

int epoch_check(MPI_Win win, int rank)
{
	switch (win->epoch) {
	case EPOCH_NONE:
		return MPI_ERR_RMA_SYNC;
	case EPOCH_FENCE:
		win->epoch = EPOCH_FENCE_USED;
		return MPI_SUCCESS;
	case EPOCH_LOCK:
	case EPOCH_START:
		return rank == MPI_PROC_NULL || win->open[rank] ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
	default:
		return MPI_SUCCESS;
	}
}

void epoch_enter(MPI_Win win, int rank, enum window_epoch epoch)
{
	win->epoch = epoch;
	*open_place(win, rank) = true;
	win->open_count++;
}

void epoch_leave(MPI_Win win, int rank)
{
	*open_place(win, rank) = false;
	if (--win->open_count == 0)
		win->epoch = EPOCH_NONE;
}

/* ---- fence ---- */

/* An ACK says that the data is in memory: after the barrier what all have done is there. */
int MPI_Win_fence(int assertion, MPI_Win win)
{
	const int known = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
	int error = window_check(win);
	if (!error && (assertion & ~known))
		error = MPI_ERR_ASSERT;
	if (!error && (win->epoch >= EPOCH_LOCK || win->post.completes))
		error = MPI_ERR_RMA_SYNC;
	if (!error) {
		error = window_flush(win);
		const int barrier_error = collective_barrier(win->comm);
		error = error ? error : barrier_error;
		win->epoch = assertion & MPI_MODE_NOSUCCEED ? EPOCH_NONE : EPOCH_FENCE;
	}
	return window_raise(win, error, __func__);
}

/* ---- locks ---- */

static int check_rank(MPI_Win win, int rank)
{
	const int error = window_check(win);
	if (error || rank == MPI_PROC_NULL)
		return error;
	return errors_check_rank(win->comm, rank, MPI_ERR_RANK);
}

/* Adds to the number of readers if `allowed` lets it; *granted says whether. */
static int try_lock(MPI_Win win, int rank, bool exclusive, bool *granted)
{
	int64_t readers = 0;
	int error = window_acquire(win, rank, WINDOW_WORD(mutex));
	if (error)
		return error;
	error = window_read(win, rank, WINDOW_WORD(readers), &readers);
	*granted = exclusive ? readers == 0 : readers >= 0;
	if (*granted && !error) {
		readers = exclusive ? -1 : readers + 1;
		error = window_write(win, rank, WINDOW_WORD(readers), &readers);
	}
	const int release_error = window_release(win, rank, WINDOW_WORD(mutex));
	return error ? error : release_error;
}

static int lock(MPI_Win win, int rank, bool exclusive)
{
	bool granted = false;
	int error = MPI_SUCCESS;
	while (!granted && !error)
		error = try_lock(win, rank, exclusive, &granted);
	return error;
}

int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win win)
{
	(void)assertion;
	int error = check_rank(win, rank);
	if (!error && kind != MPI_LOCK_EXCLUSIVE && kind != MPI_LOCK_SHARED)
		error = MPI_ERR_LOCKTYPE;
	if (!error && (win->epoch > EPOCH_LOCK || win->epoch == EPOCH_FENCE_USED || *open_place(win, rank)))
		error = MPI_ERR_RMA_SYNC;
	if (!error && rank != MPI_PROC_NULL)
		error = lock(win, rank, kind == MPI_LOCK_EXCLUSIVE);
	if (!error)
		epoch_enter(win, rank, EPOCH_LOCK);
	return window_raise(win, error, __func__);
}

static int unlock(MPI_Win win, int rank)
{
	int64_t readers = 0;
	int error = window_flush(win);
	if (!error)
		error = window_acquire(win, rank, WINDOW_WORD(mutex));
	if (error)
		return error;
	error = window_read(win, rank, WINDOW_WORD(readers), &readers);
	readers = readers == -1 ? 0 : readers - 1;
	if (!error)
		error = window_write(win, rank, WINDOW_WORD(readers), &readers);
	const int release_error = window_release(win, rank, WINDOW_WORD(mutex));
	return error ? error : release_error;
}

int MPI_Win_unlock(int rank, MPI_Win win)
{
	int error = check_rank(win, rank);
	if (!error && (win->epoch != EPOCH_LOCK || !*open_place(win, rank)))
		error = MPI_ERR_RMA_SYNC;
	if (error)
		return window_raise(win, error, __func__);
	if (rank != MPI_PROC_NULL)
		error = unlock(win, rank);
	epoch_leave(win, rank);
	return window_raise(win, error, __func__);
}

/* A shared lock of every rank. */
int MPI_Win_lock_all(int assertion, MPI_Win win)
{
	(void)assertion;
	int error = window_check(win);
	if (!error && (win->epoch > EPOCH_FENCE || win->open_count > 0))
		error = MPI_ERR_RMA_SYNC;
	for (int rank = 0; !error && rank < win->comm->group->size; rank++) {
		error = lock(win, rank, false);
		if (!error)
			epoch_enter(win, rank, EPOCH_LOCK_ALL);
	}
	return window_raise(win, error, __func__);
}

int MPI_Win_unlock_all(MPI_Win win)
{
	int error = window_check(win);
	if (!error && win->epoch != EPOCH_LOCK_ALL)
		error = MPI_ERR_RMA_SYNC;
	if (error)
		return window_raise(win, error, __func__);
	for (int rank = 0; rank < win->comm->group->size; rank++) {
		const int unlock_error = unlock(win, rank);
		error = error ? error : unlock_error;
		epoch_leave(win, rank);
	}
	return window_raise(win, error, __func__);
}

/* ---- within locks: an operation that is complete here is complete there, so all four are the same ---- */

static int flush(MPI_Win win, int rank, const char *call)
{
	int error = check_rank(win, rank);
	if (!error && win->epoch != EPOCH_LOCK && win->epoch != EPOCH_LOCK_ALL)
		error = MPI_ERR_RMA_SYNC;
	if (!error)
		error = epoch_check(win, rank);
	if (!error)
		error = window_flush(win);
	return window_raise(win, error, call);
}

int MPI_Win_flush(int rank, MPI_Win win)
{
	return flush(win, rank, __func__);
}

int MPI_Win_flush_local(int rank, MPI_Win win)
{
	return flush(win, rank, __func__);
}

int MPI_Win_flush_all(MPI_Win win)
{
	return flush(win, MPI_PROC_NULL, __func__);
}

int MPI_Win_flush_local_all(MPI_Win win)
{
	return flush(win, MPI_PROC_NULL, __func__);
}

/* There is one copy of a window, which loads and stores of its program reach (the unified model). */
int MPI_Win_sync(MPI_Win win)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return window_raise(win, window_check(win), __func__);
}
