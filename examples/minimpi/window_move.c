/* SPDX-License-Identifier: BSD-3-Clause */
/* What windows are made of: transfers of one move or of several, and words that are exchanged. */
#include <stdlib.h>

#include "wait.h"
#include "window.h"

struct window_transfer {
	struct listener listener;
	MPI_Win win;
	enum window_move move;
	ptl_handle_md_t md;
	int moves; /* those that have not ended, issued or not */
	bool failed;
	struct window_transfer *next; /* in the window's list of failed ones */
};

static unsigned under_way; /* moves in all windows */

ptl_process_id_t window_peer(MPI_Win win, int rank)
{
	return job.peers[win->comm->group->ranks[rank]].id;
}

/* All moves have ended.  Of one that has failed an event may still be in the queue: it stays until the window goes. */
static void end(struct window_transfer *transfer)
{
	MPI_Win win = transfer->win;
	win->pending--;
	if (transfer->failed) {
		transfer->next = win->failed;
		win->failed = transfer;
		return;
	}
	PORTALS(PtlMDUnlink(transfer->md));
	free(transfer);
}

/* A put ends with its ACK, which may say that it failed, or, if it was not even sent, with its SEND_END. */
static bool ends_move(const ptl_event_t *event)
{
	return event->type == PTL_EVENT_ACK || event->type == PTL_EVENT_REPLY_END ||
	       (event->type == PTL_EVENT_SEND_END && event->ni_fail_type != PTL_NI_OK);
}

static void hear(struct listener *self, const ptl_event_t *event)
{
	struct window_transfer *transfer = (struct window_transfer *)self;
	if (transfer->moves == 0)
		return; /* a put that could not be read at its target has a failed SEND_END and a failed ACK */
	if (event->ni_fail_type != PTL_NI_OK) {
		transfer->failed = true;
		transfer->win->error = MPI_ERR_OTHER;
	}
	if (!ends_move(event))
		return;
	under_way--;
	if (--transfer->moves == 0)
		end(transfer);
}

/* With a process that has died a move ends at once: Portals would wait for another to come in its place. */
static bool is_dead(struct window_transfer *transfer, int rank)
{
	if (!job.peers[transfer->win->comm->group->ranks[rank]].dead)
		return false;
	transfer->failed = true;
	transfer->win->error = MPI_ERR_OTHER;
	if (--transfer->moves == 0)
		end(transfer);
	return true;
}

/* The event queue has room for so many; each takes a descriptor, or a part of one. */
static void wait_for_room(void)
{
	while (under_way >= JOB_MOVED)
		wait_step();
	under_way++;
}

struct window_transfer *window_begin(MPI_Win win, enum window_move move, void *bytes, size_t length, int moves)
{
	struct window_transfer *transfer = job_memory(sizeof(*transfer));
	*transfer = (struct window_transfer){{hear}, win, move, PTL_INVALID_HANDLE, moves, false, NULL};
	PORTALS(PtlMDBind(job.ni,
			  (ptl_md_t){.start = bytes,
				     .length = length,
				     .threshold = PTL_MD_THRESH_INF,
				     .options = PTL_MD_EVENT_START_DISABLE,
				     .user_ptr = transfer,
				     .eq_handle = progress_done},
			  PTL_RETAIN, &transfer->md));
	win->pending++;
	return transfer;
}

void window_move(struct window_transfer *transfer, int rank, uint64_t bits, size_t from, size_t length, uint64_t offset)
{
	const ptl_process_id_t peer = window_peer(transfer->win, rank);
	if (is_dead(transfer, rank))
		return;
	wait_for_room();
	if (transfer->move == WINDOW_PUT)
		PORTALS(PtlPutRegion(transfer->md, from, length, PTL_ACK_REQ, peer, INDEX_WINDOWS, 0, bits, offset, 0));
	else
		PORTALS(PtlGetRegion(transfer->md, from, length, peer, INDEX_WINDOWS, 0, bits, offset));
}

int window_flush(MPI_Win win)
{
	while (win->pending > 0)
		wait_step();
	const int error = win->error;
	win->error = MPI_SUCCESS;
	return error;
}

void window_close(MPI_Win win)
{
	for (struct window_transfer *transfer = win->failed; transfer; transfer = transfer->next)
		while (PtlMDUnlink(transfer->md) == PTL_MD_IN_USE)
			wait_poll();
	wait_poll(); /* no event names them any more */
	while (win->failed) {
		struct window_transfer *transfer = win->failed;
		win->failed = transfer->next;
		free(transfer);
	}
}

/* ---- words ---- */

/* Exchanges a word; *value becomes what was there. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the reply is written there */
static int exchange(MPI_Win win, int rank, uint64_t word, uint64_t *value)
{
	uint64_t put = *value;
	struct window_transfer *transfer = window_begin(win, WINDOW_GET, value, sizeof(*value), 1);
	ptl_handle_md_t out;
	if (is_dead(transfer, rank))
		return window_flush(win);
	PORTALS(PtlMDBind(job.ni,
			  (ptl_md_t){.start = &put, .length = sizeof(put), .threshold = 1, .eq_handle = PTL_EQ_NONE},
			  PTL_UNLINK, &out));
	wait_for_room();
	PORTALS(PtlGetPut(transfer->md, out, window_peer(win, rank), INDEX_WINDOWS, 0, WINDOW_WORDS_BITS(win), word,
			  0));
	return window_flush(win); /* what the reply brings was put before: `put` is not needed any more */
}

int window_acquire(MPI_Win win, int rank, uint64_t word)
{
	uint64_t taken;
	int error;
	do {
		taken = 1;
		error = exchange(win, rank, word, &taken);
	} while (taken && !error);
	return error;
}

int window_release(MPI_Win win, int rank, uint64_t word)
{
	uint64_t zero = 0;
	return exchange(win, rank, word, &zero);
}

int window_read(MPI_Win win, int rank, uint64_t word, void *value)
{
	window_move(window_begin(win, WINDOW_GET, value, sizeof(uint64_t), 1), rank, WINDOW_WORDS_BITS(win), 0,
		    sizeof(uint64_t), word);
	return window_flush(win);
}

int window_write(MPI_Win win, int rank, uint64_t word, void *value)
{
	window_move(window_begin(win, WINDOW_PUT, value, sizeof(uint64_t), 1), rank, WINDOW_WORDS_BITS(win), 0,
		    sizeof(uint64_t), word);
	return window_flush(win);
}
