/* SPDX-License-Identifier: BSD-3-Clause */
/* Ownership: own.c. */
#ifndef PORTALS_OFFLOAD_STATE_OWNER_H
#define PORTALS_OFFLOAD_STATE_OWNER_H

#include <pthread.h>
#include <stdint.h>

/* States of the ownership word; the rest of the word is the newest pending command. */
enum nic_owner {
	NIC_FREE,     /* no owner; implies no command */
	NIC_HOST,     /* a thread inside a Portals call */
	NIC_THREAD,   /* the NIC thread */
	NIC_SLEEPING, /* dedicated mode: the NIC thread, asleep; implies no command */
	NIC_DEAD,     /* closed */
	NIC_OWNER_MASK = 7
};

/* What taking ownership cost this time, while timing is on.  Owner only. */
struct own_times {
	uint64_t ticks;
	uint64_t start;
	pthread_t thread;  /* that took it: another one may give it back */
	uint64_t messages; /* handled before */
};

#endif
