/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_SEND_H
#define MINIMPI_SEND_H

#include "request.h"

void send_open(void);
void send_close(void);
void send_start(MPI_Request request);
/* Everything under way to a process that has died ends. */
void send_fail(struct peer *peer);
/* Has everything that was sent been answered? */
bool send_idle(void);

#endif
