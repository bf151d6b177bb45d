/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_RECEIVE_H
#define MINIMPI_RECEIVE_H

#include "unexpected.h"

void receive_open(void);
void receive_close(void);
/* Waits until one more message can be fetched. */
void receive_make_room(void);
/* Takes a message that is already there, or posts the receive. */
void receive_start(MPI_Request request);
/* Gives a message that the caller has taken out of the list to a receive. */
void receive_message(MPI_Request request, struct minimpi_message *message);
/* Gives new messages to receives that wait for an entry, and entries to those.  After each event that was handled. */
void receive_serve_waiting(void);
/* Takes back a receive that no message has met; false if it is too late. */
bool receive_cancel(MPI_Request request);
/* Gives what has come to receives that wait for an entry: the end of a process may overtake what it had sent. */
void receive_take_arrived(void);
/*
 * Only a process that is dead could send it.  Its end is told in another queue than what it had sent, and may have overtaken
 * that: nothing comes any more when progress_take_unexpected has nothing left.
 */
bool receive_is_orphan(MPI_Comm comm, int from);
/* Ends a receive whose peer has died; those that wait for an entry and may be from it. */
void receive_fail(MPI_Request request);
void receive_fail_waiting(bool (*may_be_from)(MPI_Request request, int world_rank), int world_rank);

#endif
