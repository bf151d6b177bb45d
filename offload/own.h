/* SPDX-License-Identifier: BSD-3-Clause */
/* Ownership as the NIC thread needs it; hosts use nic_call(), nic_try_own() and nic_release(). */
#ifndef PORTALS_OFFLOAD_OWN_H
#define PORTALS_OFFLOAD_OWN_H

#include "offload/nic.h"

/* Takes ownership as `owner` if it is free. */
bool own_try(struct nic *, enum nic_owner owner);

/* The same, waiting for it in turn with threads that wait for commands.  False: the engine is dead. */
bool own_take(struct nic *, enum nic_owner owner);

/* Does any thread wait for something to be done?  Owner only. */
bool own_wanted(const struct nic *);

/*
 * Runs what other threads have asked for by now, in their order.  Returns how many commands; -EOWNERDEAD: one wanted the
 * engine, which has another owner from now on.
 */
int own_serve(struct nic *, enum nic_owner owner);

/* Wakes the waiters chosen so far without giving ownership back. */
void own_wake_waiters(struct nic *);

/* Runs the last commands, settles with sleepers, lets go, wakes; or hands on to a thread that wants it. */
void own_give_back(struct nic *, enum nic_owner owner);

/* Writes to one of the two doorbells (doorbell.c). */
void nic_write_doorbell(struct nic *, int event);

#endif
