/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the blocked hosts is woken.  Read the beginning of wait.c first. */
#include "offload/waiters.h"
#include "offload/doorbell.h"
#include "offload/event_fd.h"

static bool waits_for(const struct waiter *waiter, const struct event_queue *eq)
{
	for (int i = 0; i < waiter->count; i++)
		if (waiter->queues[i] == eq)
			return true;
	return false;
}

void waiters_notify(struct nic *nic, struct event_queue *eq)
{
	struct waiter *looking = nic->waiting.looking, *waiter = nic->waiting.first;

	if (atomic_load_explicit(&eq->event_fd, memory_order_relaxed) && nic->waiting.polled != eq)
		event_fd_announce(eq);
	while (waiter && (waiter->notified || !waits_for(waiter, eq)))
		waiter = waiter->next;
	if (!waiter)
		return;
	if (looking && !looking->claimed && waits_for(looking, eq))
		looking->claimed = true;
	else
		waiter->notified = true;
}

int waiters_collect(struct nic *nic, _Atomic uint32_t **words, int room)
{
	int count = 0;

	for (struct waiter *waiter = nic->waiting.first; waiter && count < room; waiter = waiter->next) {
		if (!waiter->notified || waiter->collected)
			continue;
		waiter->collected = true;
		if (waiter->sleeper) {
			nic_wake(nic);
		} else {
			/* Pairs with the futex system call, which compares under the kernel's lock. */
			atomic_store_explicit(&waiter->woken, 1, memory_order_release);
			words[count++] = &waiter->woken;
		}
	}
	return count;
}

void waiters_wake_all(struct nic *nic)
{
	for (struct waiter *waiter = nic->waiting.first; waiter; waiter = waiter->next)
		waiter->notified = true;
}

/* Only one of them is here, if any: none has to be woken, but the system call goes on after a signal handler. */
void waiters_abandon(struct nic *nic)
{
	for (struct waiter *waiter = nic->waiting.first; waiter; waiter = waiter->next)
		atomic_store_explicit(&waiter->woken, 1, memory_order_relaxed);
}

/* If no thread sleeps for the engine, one of those that are blocked has to; one that is about to wake up will. */
int waiters_hand_on(struct nic *nic, void *unused)
{
	(void)unused;
	if (!nic_hosts_drive(nic) || atomic_load_explicit(&nic->sleep.sleeper, memory_order_relaxed) == SLEEPER_HOST)
		return 0;
	for (struct waiter *other = nic->waiting.first; other; other = other->next)
		if (other->notified)
			return 0;
	if (nic->waiting.first)
		nic->waiting.first->notified = true; /* it finds no event, and sleeps for the engine next */
	return 0;
}
