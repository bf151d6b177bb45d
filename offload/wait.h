/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting hosts. */
#ifndef PORTALS_OFFLOAD_WAIT_H
#define PORTALS_OFFLOAD_WAIT_H

#include "offload/nic.h"

/*
 * Takes one event from the first of `count` queues that has one, or waits up to `timeout_ns` (NIC_NEVER: for ever).
 * 0, -EOVERFLOW (as event_take), -EAGAIN (nothing in time), -ESHUTDOWN (the interface was closed).
 */
int nic_wait(struct nic *, struct event_queue **queues, const uint32_t *generations, int count, uint64_t timeout_ns,
	     ptl_event_t *event, int *which);

/* PtlEQGet's way: one look, one bounded step of driving if ownership is free, one more look. */
int nic_look(struct nic *, struct event_queue *, uint32_t generation, ptl_event_t *event);

/* PtlProgress's: one bounded step, if no other thread is at work.  Returns how much was done; -1: another thread does it. */
int nic_step(struct nic *);

/* Is the calling thread inside nic_wait() (it runs a signal handler then)?  It may call Portals, but not close. */
bool nic_waits(void);

#endif
