/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about event queues: nic_command's, whose results refusal.h describes. */
#ifndef PORTALS_OFFLOAD_EQ_H
#define PORTALS_OFFLOAD_EQ_H

#include "offload/nic.h"

struct eq_arguments {
	struct event_ring *ring;
	ptl_eq_handler_t handler;
	ptl_handle_eq_t handle; /* result, or the queue to free, whose ring is one then */
};

int eq_allocate(struct nic *, void *);
/* Descriptors that still name the queue go on without one; threads that wait for it leave. */
int eq_free(struct nic *, void *);

#endif
