/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two event queues, and which function hears of an event: that of the listener to which the descriptor's user_ptr points.
 *
 * Data moves without this file: the NIC matches, copies and acknowledges while the program computes.  What is done here is
 * to read what it did.
 */
#ifndef MINIMPI_PROGRESS_H
#define MINIMPI_PROGRESS_H

#include <portals3.h>
#include <stdbool.h>

struct listener {
	void (*hear)(struct listener *self, const ptl_event_t *event);
};

extern ptl_handle_eq_t progress_done;       /* posted receives, sends, fetches, windows */
extern ptl_handle_eq_t progress_unexpected; /* messages that met no posted receive: posting a receive tests it */

/* `died` is called for a process that has ended; `events` is what the second queue may have to hold. */
void progress_open(unsigned events, void (*died)(ptl_process_id_t id));
/* Handles every event there is. */
void progress_poll(void);
/* Handles one event, waiting for it. */
void progress_wait(void);
/* Handles one event of progress_unexpected.  False: there is none. */
bool progress_take_unexpected(void);

#endif
