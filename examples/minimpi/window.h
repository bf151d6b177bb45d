/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window: memory that others read and write.  It is two match entries under INDEX_WINDOWS, over the program's memory and
 * over the words below; the match bits are the context of the window's communicator, which it has alone.  The program that
 * owns the memory takes no part, nor does its copy of this library: offsets are the initiator's (PTL_MD_MANAGE_REMOTE).
 */
#ifndef MINIMPI_WINDOW_INTERNAL_H
#define MINIMPI_WINDOW_INTERNAL_H

#include "comm.h"
#include "errors.h"
#include "job.h"

/* Words of a window that others change, by PtlGetPut: it exchanges, and is atomic. */
struct window_words {
	uint64_t mutex;      /* held while `readers` is looked at and changed */
	int64_t readers;     /* processes with a shared lock; -1: one with an exclusive lock */
	uint64_t accumulate; /* held while elements are fetched, combined and put back */
};

#define WINDOW_WORD(name) offsetof(struct window_words, name)

struct shape {
	MPI_Aint size;
	int unit;
};

struct window_transfer;

/*
 * By which calls this process may access others' memory now (MPI 3.1, 11.5).  A fence may begin an epoch or not: one that no
 * access has used yet gives way to a lock or a start.
 */
enum window_epoch {
	EPOCH_NONE,
	EPOCH_FENCE,
	EPOCH_FENCE_USED,
	EPOCH_LOCK,     /* ranks in `open` */
	EPOCH_LOCK_ALL, /* all ranks */
	EPOCH_START     /* ranks in `open` */
};

/* What MPI_Win_post waits for: a message of each origin's MPI_Win_complete. */
struct post {
	int count;
	MPI_Request *completes; /* NULL: nothing is posted */
};

struct minimpi_window {
	MPI_Comm comm;
	struct shape *shapes; /* of every rank's memory */
	ptl_handle_me_t memory, words_entry;
	struct window_words words;
	enum window_epoch epoch;
	bool *open;     /* by rank: locked, or started */
	bool open_null; /* MPI_PROC_NULL is locked */
	int open_count; /* how many of them */
	struct post post;
	struct attribute *attributes;
	void *base;       /* of its own memory */
	void *allocated;  /* by MPI_Win_allocate */
	unsigned pending; /* operations of this process that have not ended */
	int error;        /* of those that have, since the last synchronization */
	struct window_transfer *failed;
};

static inline struct owner window_owner(MPI_Win win)
{
	return (struct owner){OWNER_WINDOW, {.win = win}, &win->attributes};
}

#define WINDOW_MEMORY_BITS(win) ((uint64_t)(unsigned)(win)->comm->context)
#define WINDOW_WORDS_BITS(win)  ((uint64_t)(unsigned)(win)->comm->context + 1)

static inline int window_check(MPI_Win win)
{
	return win ? errors_check_comm(win->comm) : MPI_ERR_WIN;
}
/* As errors_check, with the window's handler. */
static inline int window_raise(MPI_Win win, int error, const char *call)
{
	return errors_check(win ? win->comm : NULL, error, call);
}
ptl_process_id_t window_peer(MPI_Win win, int rank);
/* Moves `length` bytes between `bytes` and a place in a rank's memory, or words; waits only if too many are under way. */
enum window_move { WINDOW_PUT, WINDOW_GET };
struct window_transfer *window_begin(MPI_Win win, enum window_move move, void *bytes, size_t length, int moves);
void window_move(struct window_transfer *transfer, int rank, uint64_t bits, size_t from, size_t length,
		 uint64_t offset);
/* Waits until nothing is pending; the first error since the last time. */
int window_flush(MPI_Win win);
/* Frees what is left of operations that failed. */
void window_close(MPI_Win win);
/* Waits for a word of a rank's to be 0 and makes it 1; makes it 0 again. */
int window_acquire(MPI_Win win, int rank, uint64_t word);
int window_release(MPI_Win win, int rank, uint64_t word);
/* Reads and writes a word, in their order. */
int window_read(MPI_Win win, int rank, uint64_t word, void *value);
int window_write(MPI_Win win, int rank, uint64_t word, void *value);

#endif
