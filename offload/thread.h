/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC thread. */
#ifndef PORTALS_OFFLOAD_THREAD_H
#define PORTALS_OFFLOAD_THREAD_H

#include "offload/nic.h"

int nic_thread_start(struct nic *);
void nic_thread_stop(struct nic *);

/* The host that slept for the engine has stopped: a NIC thread parked without a timer takes up its ticks. */
void nic_end_deep(struct nic *);

#endif
