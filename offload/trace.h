/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tracing what an interface does, for people: PtlNIDebug says what, the lines go to p3_out.  The owner of the engine prints,
 * so a slow terminal slows the interface down; where nothing is traced it costs a branch that is never taken.
 */
#ifndef PORTALS_OFFLOAD_TRACE_H
#define PORTALS_OFFLOAD_TRACE_H

#include <p3api/debug.h>

#include "offload/nic.h"

/* One of PTL_DBG_*, then as printf. */
#define trace(nic, what, ...)                                                                                          \
	do {                                                                                                           \
		if (unlikely((nic)->trace & (what)))                                                                   \
			trace_print(nic, what, __VA_ARGS__);                                                           \
	} while (0)

void trace_print(const struct nic *, unsigned what, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));

#endif
