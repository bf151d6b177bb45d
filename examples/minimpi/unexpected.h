/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that came before their receive.  Behind the posted receives the match list has
 *
 *     marker    matches nothing; receives are inserted before it
 *     blocks    take short messages whole, one behind the other
 *     headers   takes what is left, of which it keeps nothing but the event: long messages, and short ones when all blocks
 *               are full.  The receiver fetches the data from the sender
 *
 * The blocks' events, START and END, and the headers' go to one queue.  STARTs come in the order of the messages, and
 * in the moment of the match.
 */
#ifndef MINIMPI_UNEXPECTED_H
#define MINIMPI_UNEXPECTED_H

#include "request.h"

#define UNEXPECTED_SHORT 8192u /* longest message that blocks take */

struct block;

struct minimpi_message {
	uint64_t bits;
	size_t length;
	struct peer *peer;
	uint64_t where;                          /* to fetch it from: see slots.h */
	bool kept;                               /* its sender has been told that its header is here: see fetch.h */
	ptl_seq_t link;                          /* of its START and END */
	struct block *block;                     /* where its data is; NULL: at the sender */
	const char *bytes;                       /* in the block */
	bool whole;                              /* its END has come */
	bool failed;                             /* its sender died in the middle */
	MPI_Comm comm;                           /* of MPI_Mprobe */
	MPI_Request wanted;                      /* receive that took it before its END */
	struct minimpi_message *opened;          /* next of those whose END has not come */
	struct minimpi_message *next, *previous; /* in the order of arrival, until a receive takes it */
};

extern ptl_handle_me_t unexpected_marker;

/* `deliver` is called at the END of a message that is wanted. */
void unexpected_open(void (*deliver)(struct minimpi_message *message));
/* Frees all, messages that nothing has received too; the interface is closed. */
void unexpected_close(void);
unsigned unexpected_events(void); /* the most that can wait in the queue */
/*
 * The oldest message in the list that fits, of those behind *seen (NULL: of all).  If there is none, *seen is the youngest,
 * so that a call that goes on looking looks at each once: what has been looked at leaves the list by its receive only.
 */
struct minimpi_message *unexpected_find(uint64_t bits, uint64_t ignore, const struct minimpi_message **seen);
/* The oldest that no one has looked at. */
struct minimpi_message *unexpected_first_new(void);
/* Takes a message out of the list. */
void unexpected_remove(struct minimpi_message *message);
/* Gives back its room in the block. */
void unexpected_free(struct minimpi_message *message);

#endif
