/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests unwanted yet: PTL_HOLD. */
#ifndef PORTALS_OFFLOAD_HOLD_H
#define PORTALS_OFFLOAD_HOLD_H

#include "offload/nic.h"

/* If PTL_HOLD wants it; before any peer can be met. */
void hold_begin(struct nic *);
static inline bool hold_in_force(const struct nic *nic)
{
	return atomic_load_explicit(&nic->hold.on, memory_order_relaxed);
}
void hold_tick(struct nic *, uint64_t now);

/* Ends the hold, if there is one; the argument is a text that says why.  nic_call's. */
int hold_end(struct nic *, void *why);

/* The program is ready for what others send, if it has not been.  0 or what nic_call() says. */
static inline int nic_end_hold(struct nic *nic, const char *why)
{
	return atomic_load_explicit(&nic->hold.on, memory_order_relaxed)
		       ? nic_call(nic, hold_end, (void *)(uintptr_t)why)
		       : 0;
}

#endif
