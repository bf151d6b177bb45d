/* SPDX-License-Identifier: BSD-3-Clause */
/* The job: this process's interface, its rank, and what it keeps of every other rank. */
#ifndef MINIMPI_JOB_H
#define MINIMPI_JOB_H

#include <portals3.h>
#include <portals3_nic.h>

#include <mpi.h>
#include <stdbool.h>

/* Portal table entries. */
enum {
	INDEX_MESSAGES = 4, /* match list: posted receives, marker, blocks, headers (receive.c, unexpected.c) */
	INDEX_LONG = 5,     /* what receivers fetch: long messages, and short ones that found no block (send.c) */
	INDEX_WINDOWS = 6,  /* memory of one-sided communication */
	INDEX_CALLS = 7     /* receivers call for what they have kept the headers of (fetch.h) */
};

/*
 * Most descriptors of each purpose, out of the 65536 that an interface has.  What is beyond waits in lists of ours, so a
 * program may have as many requests as it has memory.  What all ranks together have sent to one and it has not answered is as
 * much again: it may be fetching each of these messages, by a descriptor of its own.
 */
#define JOB_POSTED 24576u /* receives */
#define JOB_SENT   16384u /* messages that no receiver has answered yet, to all ranks together */
#define JOB_MOVED  4096u  /* puts and gets of windows */
#define JOB_CALLED 1024u  /* messages that receivers have called for, and as many that this process calls for */

/*
 * Messages that have no receive yet may wait for one as long as the program likes, and collective operations must go on
 * meanwhile.  So theirs do not queue behind those of the program.
 */
enum lane_of { LANE_PROGRAM, LANE_COLLECTIVE, LANES };

struct lane {
	unsigned unanswered;     /* messages whose ACK, or whose fetching, has yet to come */
	MPI_Request first, last; /* sends that wait until there are fewer, in their order */
};

struct peer {
	ptl_process_id_t id;
	struct lane lanes[LANES];
	unsigned counted;                  /* short messages to it without an ACK since it had told of all (slots.h) */
	unsigned told;                     /* of how many of these it has told */
	unsigned has;                      /* such messages from it that are here, of which it has not been told */
	unsigned held;                     /* messages from it that wait at its side as they came (fetch.h) */
	unsigned calls;                    /* receives that have called for their message */
	MPI_Request first_call, last_call; /* receives that wait until there are fewer */
	bool dead;                         /* its process ended: whatever is under way with it fails */
};

struct job {
	ptl_handle_ni_t ni;
	int rank, size;
	enum { JOB_BEFORE, JOB_OPEN, JOB_CLOSING, JOB_CLOSED } state;
	int threads;            /* MPI_THREAD_* */
	struct peer *peers;     /* by rank in MPI_COMM_WORLD */
	unsigned window[LANES]; /* most unanswered messages to one peer */
	unsigned most_counted;  /* and, beyond these, most that have asked for no ACK */
	unsigned most_held;     /* most messages of one peer whose data waits at its side as they came */
	unsigned most_calls;    /* most receives that call for a message of one peer at a time */
};
extern struct job job;

/* Opens the interface and finds the other ranks.  Arrivals are held back (PTL_HOLD) until job_ready. */
void job_open(void);
void job_ready(void);
void job_close(void);
/* The rank of a process, or -1. */
int job_find(ptl_process_id_t id);
/* Ends this process, and with it the job: the launcher sees to the others. */
_Noreturn void job_abort(int code);
_Noreturn void job_fail(const char *what, const char *why);

/* For calls of Portals that can only fail if this library is wrong, or memory has run out. */
#define PORTALS(call)                                                                                                  \
	do {                                                                                                           \
		int code_ = (call);                                                                                    \
		if (code_ != PTL_OK)                                                                                   \
			job_fail(#call, PtlErrorStr((unsigned)code_));                                                 \
	} while (0)

void *job_memory(size_t size); /* malloc that does not fail */

#endif
