/* SPDX-License-Identifier: BSD-3-Clause */
/* What windows are made of: transfers that end by UNLINK, and words that are exchanged. */
#include <stdlib.h>

#include "wait.h"
#include "window.h"

struct window_transfer {
	struct listener listener;
	MPI_Win win;
	enum window_move move;
	ptl_handle_md_t md;
	int moves; /* still to be issued, then under way */
};

ptl_process_id_t window_peer(MPI_Win win, int rank)
{
	return job.peers[win->comm->group->ranks[rank]].id;
}

static void end(struct window_transfer *transfer)
{
	transfer->win->pending--;
	free(transfer);
}

/* A put whose target has died gets no ACK: then what is left of the threshold has to be given up. */
static void hear(struct listener *self, const ptl_event_t *event)
{
	struct window_transfer *transfer = (struct window_transfer *)self;
	if (event->ni_fail_type != PTL_NI_OK)
		transfer->win->error = MPI_ERR_OTHER;
	const bool failed = event->type == PTL_EVENT_SEND_END && event->ni_fail_type != PTL_NI_OK;
	if (event->type == PTL_EVENT_UNLINK || (failed && PtlMDUnlink(transfer->md) == PTL_OK))
		end(transfer);
}

struct window_transfer *window_begin(MPI_Win win, enum window_move move, void *bytes, size_t length, int moves)
{
	struct window_transfer *transfer = job_memory(sizeof *transfer);
	*transfer = (struct window_transfer){{hear}, win, move, PTL_INVALID_HANDLE, moves};
	/* A put costs one when it is issued and one when its ACK comes, a get one when its REPLY does. */
	PORTALS(PtlMDBind(job.ni,
			  (ptl_md_t){.start = bytes,
				     .length = length,
				     .threshold = move == WINDOW_PUT ? 2 * moves : moves,
				     .options = PTL_MD_EVENT_START_DISABLE,
				     .user_ptr = transfer,
				     .eq_handle = progress_done},
			  PTL_UNLINK, &transfer->md));
	win->pending++;
	return transfer;
}

void window_move(struct window_transfer *transfer, int rank, uint64_t bits, size_t from, size_t length, uint64_t offset)
{
	const ptl_process_id_t peer = window_peer(transfer->win, rank);
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

/* ---- words ---- */

/* Exchanges a word; *value becomes what was there. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the reply is written there */
static int exchange(MPI_Win win, int rank, uint64_t word, uint64_t *value)
{
	uint64_t put = *value;
	struct window_transfer *transfer = job_memory(sizeof *transfer);
	*transfer = (struct window_transfer){{hear}, win, WINDOW_GET, PTL_INVALID_HANDLE, 1};
	ptl_md_t md = {.start = value,
		       .length = sizeof *value,
		       .threshold = 1,
		       .options = PTL_MD_EVENT_START_DISABLE,
		       .user_ptr = transfer,
		       .eq_handle = progress_done};
	PORTALS(PtlMDBind(job.ni, md, PTL_UNLINK, &transfer->md));
	md.start = &put;
	md.eq_handle = PTL_EQ_NONE;
	ptl_handle_md_t out;
	PORTALS(PtlMDBind(job.ni, md, PTL_UNLINK, &out));
	win->pending++;
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
