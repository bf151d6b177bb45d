/* SPDX-License-Identifier: BSD-3-Clause */
/* Which threads wait or sleep for the engine; shared by the owner, waiting hosts and the NIC thread. */
#ifndef PORTALS_OFFLOAD_STATE_SLEEP_H
#define PORTALS_OFFLOAD_STATE_SLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Which host is in poll() on behalf of the engine while no thread owns it. */
enum nic_sleeper { SLEEPER_NONE, SLEEPER_HOST };

/* What the NIC thread does while hosts drive. */
enum nic_lease { LEASE_OUT, LEASE_TICKING, LEASE_DEEP };

struct hosts {
	/* Written by hosts, read by the NIC thread. */
	_Atomic uint32_t waiting; /* threads inside PtlEQWait or PtlEQPoll */
	_Atomic uint64_t drives;
	/* Written by the owner, read by hosts: where the process that they wait for was seen (transport_sink). */
	_Atomic uint32_t partner_place;
};

/* Written by threads that go to sleep or wake up. */
struct sleep {
	_Atomic uint32_t lease;
	_Atomic uint32_t sleeper;
	_Atomic bool nic_asleep; /* the NIC thread is, or is about to be, in poll() with every transport armed */
	_Atomic bool stop;
	_Atomic uint64_t wakes, woken_at; /* how often a doorbell was written to, and (timing) when last */
	_Atomic bool closing;             /* no thread may begin to sleep for events any more */
};

#endif
