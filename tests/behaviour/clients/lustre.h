/* SPDX-License-Identifier: BSD-3-Clause */
/* The half of a mixed program that knows no `unlinked`: it reads the same queues with the library's own events. */
#ifndef TESTS_CLIENTS_LUSTRE_H
#define TESTS_CLIENTS_LUSTRE_H

#include <stddef.h>

/* Bytes of an event as the library has it. */
size_t plain_event_size(void);

/* Kind of the next event of the queue, which this half of the program takes. */
int plain_take(unsigned int eq);

#endif
