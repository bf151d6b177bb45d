/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: making them and freeing them. */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "wait.h"

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

/* An access may have its END, and so its ACK, a moment before its descriptor is free. */
static void detach(ptl_handle_me_t me)
{
	while (PtlMEUnlink(me) == PTL_ME_IN_USE)
		wait_poll();
}

/* Its memory is the program's again. */
static void dispose(MPI_Win win)
{
	detach(win->memory);
	detach(win->words_entry);
	window_close(win);
	comm_release(win->comm);
	free(win->shapes);
	free(win->open);
	free(win->allocated);
	free(win);
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
	MPI_Win made = job_memory(sizeof(*made));
	*made = (struct minimpi_window){.comm = own, .base = base};
	made->shapes = job_memory((size_t)own->group->size * sizeof(*made->shapes));
	made->open = job_memory((size_t)own->group->size * sizeof(*made->open));
	memset(made->open, 0, (size_t)own->group->size * sizeof(*made->open));
	made->memory = attach(WINDOW_MEMORY_BITS(made), base, (size_t)size);
	made->words_entry = attach(WINDOW_WORDS_BITS(made), &made->words, sizeof(made->words));
	const struct shape shape = {size, unit};
	/* A rank tells its shape when its memory is attached: a rank that has all shapes may access all memory. */
	error = collective_allgather(&shape, sizeof(shape), MPI_BYTE, made->shapes, sizeof(shape), MPI_BYTE, own);
	if (error)
		dispose(made);
	else
		*win = made;
	return errors_check(comm, error, __func__);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
	int error = errors_check_comm(comm);
	if (!error && (size < 0 || !base))
		error = size < 0 ? MPI_ERR_SIZE : MPI_ERR_ARG;
	if (error)
		return errors_check(comm, error, __func__);
	void *memory = job_memory((size_t)size);
	error = MPI_Win_create(memory, size, unit, info, comm, win);
	if (error) {
		free(memory);
		return error;
	}
	*(void **)base = (*win)->allocated = memory;
	return MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win *win)
{
	if (!win || window_check(*win))
		return errors_check(NULL, MPI_ERR_WIN, __func__);
	if ((*win)->epoch >= EPOCH_LOCK || (*win)->post.completes)
		return window_raise(*win, MPI_ERR_RMA_SYNC, __func__);
	int error = attribute_delete_all(window_owner(*win));
	if (error)
		return window_raise(*win, error, __func__);
	error = window_flush(*win);
	const int barrier_error = collective_barrier((*win)->comm);
	error = error ? error : barrier_error;
	const int result = window_raise(*win, error, __func__);
	dispose(*win);
	*win = MPI_WIN_NULL;
	return result;
}

int MPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
	const int error = window_check(win);
	if (error || !group)
		return window_raise(win, error ? error : MPI_ERR_ARG, __func__);
	win->comm->group->users++;
	*group = win->comm->group;
	return MPI_SUCCESS;
}

/* One of the two predefined handlers. */
int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler)
{
	const int error = window_check(win);
	if (error || (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN))
		return window_raise(win, error ? error : MPI_ERR_ARG, __func__);
	win->comm->handler = handler;
	return MPI_SUCCESS;
}

/* The name is that of the window's own communicator. */
int MPI_Win_set_name(MPI_Win win, const char *name)
{
	const int error = window_check(win);
	return error ? window_raise(win, error, __func__) : MPI_Comm_set_name(win->comm, name);
}

int MPI_Win_get_name(MPI_Win win, char *name, int *length)
{
	const int error = window_check(win);
	return error ? window_raise(win, error, __func__) : MPI_Comm_get_name(win->comm, name, length);
}

int MPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *handler)
{
	const int error = window_check(win);
	return error ? window_raise(win, error, __func__) : MPI_Comm_get_errhandler(win->comm, handler);
}
