/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of the engine.  Owner only. */
#ifndef PORTALS_OFFLOAD_DRIVE_H
#define PORTALS_OFFLOAD_DRIVE_H

#include "offload/nic.h"

/* One bounded step: a poll of each transport, retries, timers.  Returns how much was done.  Owner only. */
int nic_drive(struct nic *);

/* 0: everything is armed and nothing is pending, so the owner may sleep until *until; -EAGAIN: drive again. */
int nic_arm(struct nic *, uint64_t *until);

/* The claimed transport of a path has been opened and is used from now on. */
void nic_attach(struct nic *, enum nic_path);

#endif
