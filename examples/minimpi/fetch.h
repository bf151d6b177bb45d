/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Getting what arrived as a header only.
 *
 * A message whose data waits at its sender takes an entry there, and room in the windows of both (job.h).  There is only so
 * much of either, but a program may have any number of messages without a receive, and others must get past them.  So
 * of each peer the receiver leaves only the first few so, and of what comes beyond these it keeps the header alone:
 *
 *     receiver                                       sender
 *       | <------------------------ header ------------ |   entry with threshold 2, put and one more
 *       | --- GET of no bytes, with FETCH_KEEPS ------> |   the entry is used up; room for the next message.
 *       |                                               |   A slot keeps its data, a long message its request
 *       .   (the receive comes)                         .
 *       | --- call: a put of no bytes to INDEX_CALLS -> |   of a long message: it is put again, when its sender
 *       | <-------- data, to an entry for it alone ---- |   is in a call of MPI
 *       | --- ACK ------------------------------------> |   the send ends
 *
 * That all goes on while both are in calls of MPI, whatever they wait for.  Headers are in memory, requests are in memory, and
 * nothing else is needed for a message that waits.  Calls have a window of their own; receives that wait for it are in a list.
 */
#ifndef MINIMPI_FETCH_H
#define MINIMPI_FETCH_H

#include "unexpected.h"

/* Under INDEX_LONG, besides where a message is (slots.h). */
#define FETCH_KEEPS (UINT64_C(1) << 63) /* GET: the receiver keeps the header */
#define FETCH_CALLED                                                                                                   \
	(UINT64_C(1) << 62) /* data that was called for; GET of a short message of which the header was kept */

/* `end` is called when the data of a receive is here, or will not come. */
void fetch_open(void (*end)(MPI_Request request, ptl_ni_fail_t failure));
/* A header has come.  A counted message takes no room that anything waits for. */
void fetch_header(struct minimpi_message *message, bool counted);
/* The receive is there. */
void fetch_start(MPI_Request request, const struct minimpi_message *message);
/* Waits until one more message can be fetched. */
void fetch_make_room(void);
/* Ends receives whose data will not come from a process that has died. */
void fetch_fail(struct peer *peer);

#endif
