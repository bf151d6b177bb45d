/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has only said HELLO so far. */
#ifndef PORTALS_OFFLOAD_STRANGER_H
#define PORTALS_OFFLOAD_STRANGER_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

struct nic;
struct peer;

#define NIC_STRANGERS      1024     /* known at a time: stranger_admit() */
#define NIC_STRANGER_BURST 256      /* answered at a time: stranger_affordable() */
#define NIC_STRANGER_NS    5000000u /* and one more after each such time */

struct strangers {
	struct peer *ring[NIC_STRANGERS]; /* who said HELLO and nothing else so far */
	uint32_t next;
	uint32_t credit; /* strangers that may be answered now */
	uint64_t credited_at;
};

/* Finds or creates whoever says HELLO.  Of those that only ever said that, the oldest makes room.  NULL: too many come. */
struct peer *stranger_admit(struct nic *, ptl_process_id_t);
/*
 * May somebody be answered of whom a name is all that we know?  It costs an address and attempts to connect to it, up to
 * a millisecond of the engine, so a flood of invented names must not decide how often that is done.
 */
bool stranger_affordable(struct nic *);

#endif
