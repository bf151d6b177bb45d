/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of event loops.  Under ownership. */
#ifndef PORTALS_OFFLOAD_EVENT_FD_H
#define PORTALS_OFFLOAD_EVENT_FD_H

#include "offload/nic.h"

/* The queue's descriptor, made now if it has none; or a negative errno value, reported. */
int event_fd_open(struct nic *, struct event_queue *);
void event_fd_close(struct event_queue *);
void event_fds_close(struct nic *);

/* An event that may not have been seen is there: the descriptor becomes readable, if it is not. */
void event_fd_announce(struct event_queue *);

/* The caller has found the queue empty: its descriptor is readable no longer. */
void event_fd_arm(struct event_queue *);

#endif
