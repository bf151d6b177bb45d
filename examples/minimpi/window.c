/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: making them, fences, locks. */
#include "window.h"

#include <stdlib.h>

#include "collective.h"
#include "errors.h"
#include "wait.h"

static int check_window(MPI_Win win)
{
	return win ? errors_check_comm(win->comm) : MPI_ERR_WIN;
}

static int raise(MPI_Win win, int error, const char *call)
{
	return errors_check(win ? win->comm : NULL, error, call);
}

static ptl_handle_me_t attach(uint64_t bits, void *start, size_t length)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	PORTALS(PtlMEMDAttach(job.ni, INDEX_WINDOWS, anyone, bits, 0, PTL_RETAIN, PTL_INS_AFTER,
			      (ptl_md_t){.start = start,
					 .length = length,
					 .threshold = PTL_MD_THRESH_INF,
					 .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
					 .eq_handle = PTL_EQ_NONE},
			      PTL_RETAIN, &me, &md));
	return me;
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	(void)info;
	int error = errors_check_comm(comm);
	if (!error && (size < 0 || unit <= 0 || !win))
		error = size < 0 ? MPI_ERR_SIZE : unit <= 0 ? MPI_ERR_DISP : MPI_ERR_ARG;
	if (error)
		return errors_check(comm, error, __func__);
	MPI_Comm own;
	comm->group->users++;
	error = comm_new(comm, comm->group, &own);
	if (error || !own)
		return errors_check(comm, error, __func__);
	errors_release(own->handler);
	own->handler = MPI_ERRORS_ARE_FATAL;
	MPI_Win made = *win = job_memory(sizeof(*made));
	*made = (struct minimpi_window){.comm = own};
	made->shapes = job_memory((size_t)own->group->size * sizeof(*made->shapes));
	made->memory = attach(WINDOW_MEMORY_BITS(made), base, (size_t)size);
	made->words_entry = attach(WINDOW_WORDS_BITS(made), &made->words, sizeof(made->words));
	const struct shape shape = {size, unit};
	/* A rank tells its shape when its memory is attached: a rank that has all shapes may access all memory. */
	error = collective_allgather(&shape, sizeof(shape), MPI_BYTE, made->shapes, sizeof(shape), MPI_BYTE, own);
	return errors_check(comm, error, __func__);
}

/* An access may have its END, and so its ACK, a moment before its descriptor is free. */
static void detach(ptl_handle_me_t me)
{
	while (PtlMEUnlink(me) == PTL_ME_IN_USE)
		wait_poll();
}

int MPI_Win_free(MPI_Win *win)
{
	if (!win || check_window(*win))
		return errors_check(NULL, MPI_ERR_WIN, __func__);
	int error = window_flush(*win);
	const int barrier_error = collective_barrier((*win)->comm);
	error = error ? error : barrier_error;
	detach((*win)->memory);
	detach((*win)->words_entry);
	window_close(*win);
	const int result = raise(*win, error, __func__);
	comm_release((*win)->comm);
	free((*win)->shapes);
	free(*win);
	*win = MPI_WIN_NULL;
	return result;
}

int MPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
	const int error = check_window(win);
	if (error || !group)
		return raise(win, error ? error : MPI_ERR_ARG, __func__);
	win->comm->group->users++;
	*group = win->comm->group;
	return MPI_SUCCESS;
}

/* One of the two predefined handlers. */
int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler)
{
	const int error = check_window(win);
	if (error || (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN))
		return raise(win, error ? error : MPI_ERR_ARG, __func__);
	win->comm->handler = handler;
	return MPI_SUCCESS;
}

/* An ACK says that the data is in memory: after the barrier what all have done is there. */
int MPI_Win_fence(int assertion, MPI_Win win)
{
	(void)assertion;
	int error = check_window(win);
	if (!error) {
		error = window_flush(win);
		const int barrier_error = collective_barrier(win->comm);
		error = error ? error : barrier_error;
	}
	return raise(win, error, __func__);
}

/* ---- locks ---- */

static int check_rank(MPI_Win win, int rank)
{
	const int error = check_window(win);
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

int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win win)
{
	(void)assertion;
	bool granted = rank == MPI_PROC_NULL;
	int error = check_rank(win, rank);
	if (!error && kind != MPI_LOCK_EXCLUSIVE && kind != MPI_LOCK_SHARED)
		error = MPI_ERR_LOCKTYPE;
	while (!granted && !error)
		error = try_lock(win, rank, kind == MPI_LOCK_EXCLUSIVE, &granted);
	return raise(win, error, __func__);
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
	if (!error && rank != MPI_PROC_NULL)
		error = unlock(win, rank);
	return raise(win, error, __func__);
}
