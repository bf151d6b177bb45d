/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that have only said HELLO so far. */
#ifndef PORTALS_OFFLOAD_UNVERIFIED_H
#define PORTALS_OFFLOAD_UNVERIFIED_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

struct nic;
struct peer;

#define NIC_UNVERIFIED       1024     /* known at a time: unverified_admit() */
#define NIC_UNVERIFIED_BURST 256      /* answered at a time: unverified_affordable() */
#define NIC_UNVERIFIED_NS    5000000u /* and one more after each such time */

struct unverified {
	struct peer *ring[NIC_UNVERIFIED]; /* peers that said HELLO and nothing else so far */
	uint32_t next;
	uint32_t credit; /* unverified peers that may be answered now */
	uint64_t credited_at;
};

/*
 * Finds or creates the peer that says HELLO.  Of those that only ever said that, the oldest makes room.  NULL: too many
 * come.
 */
struct peer *unverified_admit(struct nic *, ptl_process_id_t);
/*
 * May a process be answered of which a name is all that we know?  It costs an address and attempts to connect to it, up
 * to a millisecond of the engine, so a flood of invented names must not decide how often that is done.
 */
bool unverified_affordable(struct nic *);

#endif
