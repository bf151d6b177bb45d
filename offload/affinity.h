/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC thread's place in the system. */
#ifndef PORTALS_OFFLOAD_AFFINITY_H
#define PORTALS_OFFLOAD_AFFINITY_H

#include <stdatomic.h>
#include <stdbool.h>

struct nic;

struct affinity {
	int cpu;       /* where the NIC thread is pinned, -1 if not */
	unsigned home; /* struct transport_config's */
	int cpu_lock;  /* keeps other NIC threads of this user from that CPU; -1: shared, or not pinned */
	_Atomic(const char *) slice_error; /* why the NIC thread has no short scheduling slice, or NULL */
};

/* A short scheduling slice for the calling thread, or the system's.  NULL, or why not. */
const char *nic_thread_slice(bool short_slice);

/* Name, affinity, scheduling slice, timer slack: of the calling thread. */
void nic_thread_prepare(struct nic *);

/* Decides the mode, the NIC thread's CPU, which is locked, and where memory is to be: base/topology.h says how. */
void nic_place(struct nic *);
void nic_cpu_release(struct nic *);

#endif
