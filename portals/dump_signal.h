/* SPDX-License-Identifier: BSD-3-Clause */
/* PTL_DUMP_SIGNAL: a signal that has every interface printed.  Both under the process's lock. */
#ifndef PORTALS_DUMP_SIGNAL_H
#define PORTALS_DUMP_SIGNAL_H

#include <stdbool.h>

/* From now on the signal does so; 0: none.  0, or a negative errno value, reported. */
int dump_signal_open(int number);

/* No more.  `forked`: in a child, where its thread is not. */
void dump_signal_close(bool forked);

/* All interfaces, now: match entries and event queues.  Any thread. */
void dump_everything(void);

#endif
