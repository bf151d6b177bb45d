/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_SEND_H
#define MINIMPI_SEND_H

#include "request.h"

/*
 * The match bits by which a receiver fetches what only its header arrived of: a short message, with hdr_data as the offset,
 * by these; a long one by its hdr_data.
 */
#define SEND_SLOTS UINT64_C(0)

void send_open(void);
void send_close(void);
void send_start(MPI_Request request);
/* Everything under way to a process that has died ends. */
void send_fail(struct peer *peer);
/* Has everything that was sent been answered? */
bool send_idle(void);

#endif
