/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of latency and bandwidth tests: one row per message size, ours and perhaps libfabric's side by side. */
#ifndef PTLBENCH_SIZE_TABLE_H
#define PTLBENCH_SIZE_TABLE_H

#include "measure.h"

struct quantity {
	const char *title, *key;
	double (*of)(double nanoseconds, const struct run *run); /* from the time of one iteration */
	bool windowed;                                           /* an iteration is a window of operations */
	unsigned messages; /* or else of so many; of a window: for each of its operations, 0: 1 */
	bool rates;        /* of messages, so that there is no other column for them */
};

void size_table(struct session *session, enum exchange_id exchange, const struct quantity *quantity);

#endif
