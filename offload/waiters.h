/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that are blocked, as the engine sees them: a list under ownership. */
#ifndef PORTALS_OFFLOAD_WAITERS_H
#define PORTALS_OFFLOAD_WAITERS_H

#include "offload/nic.h"

struct waiter {
	struct waiter *next;
	struct event_queue **queues;
	const uint32_t *generations;
	int count;
	uint64_t deadline, sleep_until;
	bool sleeper, notified, collected;
	bool claimed;           /* an event that others wait for as well was left to it since it last blocked */
	bool others_blocked;    /* others were blocked when it left */
	_Atomic uint32_t woken; /* a futex */
};

/* An event was posted to a queue with waiters: choose one to wake when ownership is released. */
void waiters_notify(struct nic *, struct event_queue *);

/* Futex words to wake after release; returns how many, at most `room`. */
int waiters_collect(struct nic *, _Atomic uint32_t **words, int room);
void waiters_wake_all(struct nic *);

/* In a forked child: no thread sleeps on. */
void waiters_abandon(struct nic *);

/* Sees to it that one of the blocked hosts sleeps for the engine, if hosts have to.  nic_call's. */
int waiters_hand_on(struct nic *, void *unused);

#endif
