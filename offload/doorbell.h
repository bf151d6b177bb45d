/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleepers and their doorbells. */
#ifndef PORTALS_OFFLOAD_DOORBELL_H
#define PORTALS_OFFLOAD_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/peer/peer_table.h"

struct nic;

/* What sleepers wait for: a doorbell each, and the descriptors of transports. */
struct doorbells {
	int nic, host;
	int alarm; /* a timer that ends the NIC thread's deep lease, in mode `shared`; -1: none, it can be done without */
	_Atomic unsigned writers; /* threads outside that hand over a command, and then wake the owner for it */
	_Atomic int wait_fds[NIC_TRANSPORTS]; /* plus one; 0: none */
	bool late[NIC_TRANSPORTS];            /* limits.late_doorbell; written before the descriptor */
};

/* Wakes the thread that sleeps for the engine, so that it looks again. */
void nic_wake(struct nic *);

/* The NIC thread is woken from WATCH_ALARM in `ns`: for the thread that sets it this costs no more than a system call. */
void nic_set_alarm(struct nic *, uint64_t ns);

/* Writes to both doorbells, also those that are about to sleep. */
void nic_wake_all(struct nic *);

/* Whose descriptors a sleeper watches besides its doorbell. */
enum nic_watch { WATCH_NOTHING, WATCH_ALARM, WATCH_LATE_DOORBELL, WATCH_TRANSPORTS };

/*
 * Sleeps until what is watched is ready, the doorbell is written to, or `until`; empties the doorbell.  True: the
 * former.
 */
bool nic_sleep(struct nic *, int event, enum nic_watch, uint64_t until);

#endif
