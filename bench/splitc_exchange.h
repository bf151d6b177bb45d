/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs of Split-C do: run.variant. */
#ifndef PTLBENCH_SPLITC_EXCHANGE_H
#define PTLBENCH_SPLITC_EXCHANGE_H

#include "measure.h"

enum splitc_operation {
	SPLITC_READ,
	SPLITC_WRITE,
	SPLITC_GET,
	SPLITC_PUT,
	SPLITC_STORE,
	SPLITC_BULK_READ,
	SPLITC_BULK_WRITE,
	SPLITC_BULK_GET,
	SPLITC_BULK_PUT,
	SPLITC_BULK_STORE,
	SPLITC_ALL_STORE_SYNC,
	SPLITC_BARRIER,
	SPLITC_OPERATIONS
};

/* Of EXCHANGE_SPLITC_PUTS, which are Portals' own: when a window is over. */
enum { SPLITC_PUTS_ACKNOWLEDGED, SPLITC_PUTS_SENT };

#endif
