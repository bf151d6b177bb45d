/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that wait for events, as the owner sees them: waiters.c.  Owner only. */
#ifndef PORTALS_OFFLOAD_STATE_WAITING_H
#define PORTALS_OFFLOAD_STATE_WAITING_H

#include <portals3.h>

struct event_queue;
struct waiter;

struct waiting {
	struct waiter *first;   /* blocked hosts */
	struct waiter *looking; /* the host that drives just now because it wants events, or NULL */
	struct {
		struct event_queue *eq;
		ptl_event_t *event;
	} wanted;                   /* what the host that drives just now takes next: event_hand_over(); or NULL */
	struct event_queue *polled; /* the queue with a descriptor that it looks at next, or NULL */
};

#endif
