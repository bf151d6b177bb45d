/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs that only those concerned take part in: a target posts its window to origins, which start, access and complete; the
 * target waits for that.  Each step is an empty message in the window's own communicator.
 */
#include <stdlib.h>

#include "collective.h"
#include "epoch.h"
#include "point.h"
#include "wait.h"

enum tag { TAG_POST, TAG_COMPLETE };

static MPI_Request message(MPI_Win win, enum request_kind kind, int rank, enum tag tag)
{
	return point_start(kind, NULL, 0, MPI_BYTE, rank, (int)tag, win->comm, win->comm->context);
}

/* The rank in the window of member `i` of a group. */
static int member(MPI_Win win, MPI_Group group, int i)
{
	return group_find(win->comm->group, group->ranks[i]);
}

static int check_group(MPI_Win win, MPI_Group group)
{
	int error = window_check(win);
	if (!error && !group)
		error = MPI_ERR_GROUP;
	for (int i = 0; !error && i < group->size; i++)
		if (member(win, group, i) == MPI_UNDEFINED)
			error = MPI_ERR_GROUP;
	return error;
}

/* ---- the target ---- */

int MPI_Win_post(MPI_Group group, int assertion, MPI_Win win)
{
	(void)assertion;
	int error = check_group(win, group);
	if (!error && (win->post.completes || win->epoch == EPOCH_FENCE_USED))
		error = MPI_ERR_RMA_SYNC;
	if (error)
		return window_raise(win, error, __func__);
	struct post *post = &win->post;
	post->count = group->size;
	post->completes = job_memory((size_t)group->size * sizeof(MPI_Request) + 1); /* not NULL, whatever the size */
	for (int i = 0; i < group->size; i++) {
		MPI_Request posted = message(win, REQUEST_SEND, member(win, group, i), TAG_POST);
		post->completes[i] = message(win, REQUEST_RECEIVE, member(win, group, i), TAG_COMPLETE);
		MPI_Request_free(&posted);
	}
	return MPI_SUCCESS;
}

static bool all_complete(const struct post *post)
{
	for (int i = 0; i < post->count; i++)
		if (!post->completes[i]->complete)
			return false;
	return true;
}

static int end_post(MPI_Win win)
{
	const struct post post = win->post;
	win->post = (struct post){0, NULL};
	return collective_wait(post.count, post.completes);
}

int MPI_Win_wait(MPI_Win win)
{
	int error = window_check(win);
	if (!error && !win->post.completes)
		error = MPI_ERR_RMA_SYNC;
	return window_raise(win, error ? error : end_post(win), __func__);
}

int MPI_Win_test(MPI_Win win, int *flag)
{
	int error = window_check(win);
	if (!error && !flag)
		error = MPI_ERR_ARG;
	if (!error && !win->post.completes)
		error = MPI_ERR_RMA_SYNC;
	if (error)
		return window_raise(win, error, __func__);
	wait_poll();
	*flag = all_complete(&win->post);
	return *flag ? window_raise(win, end_post(win), __func__) : MPI_SUCCESS;
}

/* ---- the origin ---- */

int MPI_Win_start(MPI_Group group, int assertion, MPI_Win win)
{
	(void)assertion;
	int error = check_group(win, group);
	if (!error && win->epoch > EPOCH_FENCE)
		error = MPI_ERR_RMA_SYNC;
	if (error)
		return window_raise(win, error, __func__);
	win->epoch = EPOCH_START; /* even of no rank */
	for (int i = 0; i < group->size; i++) {
		const int rank = member(win, group, i);
		const int wait_error = wait_for(message(win, REQUEST_RECEIVE, rank, TAG_POST), MPI_STATUS_IGNORE);
		error = error ? error : wait_error;
		epoch_enter(win, rank, EPOCH_START);
	}
	return window_raise(win, error, __func__);
}

int MPI_Win_complete(MPI_Win win)
{
	int error = window_check(win);
	if (!error && win->epoch != EPOCH_START)
		error = MPI_ERR_RMA_SYNC;
	if (error)
		return window_raise(win, error, __func__);
	error = window_flush(win);
	for (int rank = 0; rank < win->comm->group->size; rank++) {
		if (!win->open[rank])
			continue;
		MPI_Request completed = message(win, REQUEST_SEND, rank, TAG_COMPLETE);
		MPI_Request_free(&completed);
		epoch_leave(win, rank);
	}
	win->epoch = EPOCH_NONE;
	return window_raise(win, error, __func__);
}
