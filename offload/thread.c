/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC thread: what it does in each mode, and when it sleeps.  Read the design note of own.c first. */
#include "offload/thread.h"
#include "offload/affinity.h"
#include "offload/doorbell.h"
#include "offload/drive.h"
#include "offload/own.h"
#include "offload/spawn.h"
#include "offload/waiters.h"
#include "offload/yield.h"

#define LEASE_GLANCE_NS 50000
#define DEEP_TICKS      8
#define DEAF_TICKS      16
#define DEDICATED_SPINS 10 /* a dedicated NIC thread polls this many times PTL_SPIN before it sleeps */
#define CLOCK_ROUNDS    64 /* fruitless rounds of it between readings of the clock */

static void sleep_until(struct nic *nic, uint64_t until)
{
	uint64_t start = timing_start(&nic->timing);

	nic_sleep(nic, nic->doorbells.nic, WATCH_TRANSPORTS, until);
	timing_stop(&nic->timing, PTL_STAGE_IDLE, start);
	if (timing_on(&nic->timing))
		timing_stop(&nic->timing, PTL_STAGE_WAKE,
			    atomic_exchange_explicit(&nic->sleep.woken_at, 0, memory_order_relaxed));
}

static bool host_waits(const struct nic *nic)
{
	return atomic_load_explicit(&nic->hosts.waiting, memory_order_relaxed) > 0;
}

static bool hosts_drive(struct nic *nic, uint64_t *seen)
{
	uint64_t drives = atomic_load_explicit(&nic->hosts.drives, memory_order_relaxed);
	bool drove = drives != *seen;

	*seen = drives;
	return drove || host_waits(nic);
}

static bool stopping(struct nic *nic)
{
	return atomic_load_explicit(&nic->sleep.stop, memory_order_acquire);
}

/* One round of an owner: drives, wakes, runs commands.  0: there was nothing to do; -EOWNERDEAD: not the owner any more. */
static int work(struct nic *nic)
{
	int driven = nic_drive(nic);

	own_wake_waiters(nic); /* timers post events too, and count as no work */
	int served = own_serve(nic, NIC_THREAD);

	return served < 0 ? served : driven + served;
}

/* Owner on entry, not any more on return: until hosts want to drive, or after a sleep. */
static void serve(struct nic *nic)
{
	uint64_t seen = atomic_load_explicit(&nic->hosts.drives, memory_order_relaxed), idle = 0, until;
	struct yielder yielder = {0};

	while (!stopping(nic) && !hosts_drive(nic, &seen)) {
		int done = work(nic);

		if (done < 0)
			return;
		if (done > 0) {
			idle = 0;
			continue;
		}
		uint64_t now = monotonic_ns();

		idle = idle ? idle : now;
		adaptive_yield(&yielder, 0);
		if (now - idle < nic->settings->spin / 2 || nic_arm(nic, &until))
			continue;
		nic->drive.nic_sleeps_until = until;
		nic->drive.past_sleeper = 0;
		nic->counters.sleeps++;
		nic->drive.needs_rearm = false;
		/* Before ownership is released: the next owner sees it in rearm_sleeper(). */
		atomic_store(&nic->sleep.nic_asleep, true);
		own_give_back(nic, NIC_THREAD);
		sleep_until(nic, until);
		atomic_store(&nic->sleep.nic_asleep, false);
		return;
	}
	own_give_back(nic, NIC_THREAD);
}

/* Parks without a timer if a host sleeps for the engine: see LEASES in own.c. */
static bool go_deep(struct nic *nic)
{
	atomic_store_explicit(&nic->sleep.lease, LEASE_DEEP, memory_order_relaxed);
	/* Store DEEP before loading the sleeper; pairs with the fence in nic_end_deep(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&nic->sleep.sleeper, memory_order_relaxed) == SLEEPER_HOST && !stopping(nic))
		return true;
	atomic_store_explicit(&nic->sleep.lease, LEASE_TICKING, memory_order_relaxed);
	return false;
}

void nic_end_deep(struct nic *nic)
{
	uint32_t deep = LEASE_DEEP;

	/* The sleeper was cleared before; pairs with the fence in go_deep(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&nic->sleep.lease, memory_order_relaxed) == LEASE_DEEP &&
	    atomic_compare_exchange_strong(&nic->sleep.lease, &deep, LEASE_TICKING))
		nic_set_alarm(nic, nic->settings->tick);
}

/* What the NIC thread remembers from one lease to the next. */
struct hearing {
	uint64_t woken_at; /* when a late doorbell ended the last lease, or 0 */
	unsigned deaf;     /* so many ticks of a lease it does not listen */
};

/* Hosts drive again: was it in vain that we listened?  Returns how many ticks not to. */
static unsigned note_return(const struct nic *nic, struct hearing *hearing)
{
	if (hearing->woken_at && monotonic_ns() - hearing->woken_at >= nic->settings->tick)
		hearing->deaf = 0;
	else if (hearing->woken_at)
		hearing->deaf = hearing->deaf ? hearing->deaf * 2 : 1;
	if (hearing->deaf > DEAF_TICKS)
		hearing->deaf = DEAF_TICKS;
	hearing->woken_at = 0;
	return hearing->deaf;
}

static void pause_for(struct nic *nic, uint64_t ns)
{
	nic_sleep(nic, nic->doorbells.nic, WATCH_NOTHING, monotonic_ns() + ns);
}

/*
 * Sleeps for one tick, or until the host that sleeps for the engine has stopped to.  True: a peer writes to the late
 * doorbell.
 */
static bool sleep_a_tick(struct nic *nic, unsigned *ticks, bool listen)
{
	bool host_sleeps = atomic_load_explicit(&nic->sleep.sleeper, memory_order_relaxed) == SLEEPER_HOST;

	if (*ticks > DEEP_TICKS && host_sleeps && go_deep(nic)) {
		nic_sleep(nic, nic->doorbells.nic, WATCH_ALARM, NIC_NEVER);
		*ticks = 0;
		atomic_store_explicit(&nic->sleep.lease, LEASE_TICKING, memory_order_relaxed);
		return false;
	}
	return nic_sleep(nic, nic->doorbells.nic, listen && !host_sleeps ? WATCH_LATE_DOORBELL : WATCH_NOTHING,
			 monotonic_ns() + nic->settings->tick);
}

/* Hosts drive.  Returns when they have stopped to, when a peer finds that none does, or the interface closes. */
static void lease(struct nic *nic, struct hearing *hearing)
{
	uint64_t seen = atomic_load_explicit(&nic->hosts.drives, memory_order_relaxed);
	unsigned deaf = note_return(nic, hearing);

	atomic_store_explicit(&nic->sleep.lease, LEASE_TICKING, memory_order_relaxed);
	for (unsigned ticks = 1;; ticks++) {
		bool called = sleep_a_tick(nic, &ticks, ticks > deaf);

		if (stopping(nic))
			break;
		if (called && !host_waits(nic)) {
			hearing->woken_at = monotonic_ns();
			break;
		}
		if (called)
			deaf = ticks + 1;
		if (!hosts_drive(nic, &seen))
			break;
		if (host_waits(nic))
			continue;
		pause_for(nic, LEASE_GLANCE_NS);
		if (!hosts_drive(nic, &seen))
			break;
	}
	atomic_store_explicit(&nic->sleep.lease, LEASE_OUT, memory_order_relaxed);
}

static void shared_mode(struct nic *nic)
{
	struct hearing hearing = {0};

	while (!stopping(nic)) {
		uint64_t seen = atomic_load_explicit(&nic->hosts.drives, memory_order_relaxed);

		if (!hosts_drive(nic, &seen) && own_try(nic, NIC_THREAD))
			serve(nic);
		else
			lease(nic, &hearing);
	}
}

/* Sleeps without giving ownership away: see (3) in own.c. */
static void dedicated_sleep(struct nic *nic, uint64_t until)
{
	uintptr_t word = NIC_THREAD;

	nic->counters.sleeps++;
	if (!atomic_compare_exchange_strong_explicit(&nic->own, &word, NIC_SLEEPING, memory_order_acq_rel,
						     memory_order_relaxed))
		return;
	nic_thread_slice(true); /* to be woken soon; see affinity.c */
	sleep_until(nic, until);
	nic_thread_slice(false);
	word = NIC_SLEEPING;
	/* Fails if a pusher has done it already. */
	atomic_compare_exchange_strong_explicit(&nic->own, &word, NIC_THREAD, memory_order_acquire,
						memory_order_relaxed);
}

static void dedicated_mode(struct nic *nic)
{
	struct yielder yielder = {0};
	uint64_t idle = 0, until;
	unsigned rounds = 0;

	nic_thread_slice(false);
	own_take(nic, NIC_THREAD);
	while (!stopping(nic)) {
		int done = work(nic);

		if (done < 0)
			own_take(nic, NIC_THREAD);
		if (done != 0) {
			idle = 0;
			continue;
		}
		if (!adaptive_yield(&yielder, 0) && ++rounds % CLOCK_ROUNDS != 0)
			continue;
		uint64_t now = monotonic_ns();

		idle = idle ? idle : now;
		if (now - idle >= DEDICATED_SPINS * nic->settings->spin && !nic_arm(nic, &until)) {
			dedicated_sleep(nic, until);
			idle = 0;
		}
	}
	own_give_back(nic, NIC_THREAD);
}

static void tell_transports(struct nic *nic)
{
	if (!own_take(nic, NIC_THREAD))
		return;
	for (int i = 0; i < NIC_TRANSPORTS; i++)
		if (nic->transports[i] && nic->transports[i]->ops->threaded)
			nic->transports[i]->ops->threaded(nic->transports[i]);
	own_give_back(nic, NIC_THREAD);
}

static void *nic_thread(void *argument)
{
	struct nic *nic = argument;

	nic_thread_prepare(nic);
	tell_transports(nic);
	if (nic->mode == NIC_MODE_DEDICATED)
		dedicated_mode(nic);
	else
		shared_mode(nic);
	return NULL;
}

int nic_thread_start(struct nic *nic)
{
	int rc = nic_spawn(&nic->thread.id, nic_thread, nic, "be the NIC");

	if (rc)
		return rc;
	nic->thread.running = true;
	return 0;
}

void nic_thread_stop(struct nic *nic)
{
	if (!nic->thread.running)
		return;
	/* Pairs with stopping(); the doorbell is written to after it, so one of them is seen. */
	atomic_store(&nic->sleep.stop, true);
	nic_write_doorbell(nic, nic->doorbells.nic);
	pthread_join(nic->thread.id, NULL);
	nic->thread.running = false;
	nic_call(nic, waiters_hand_on, NULL); /* hosts that were blocked beside a dedicated NIC thread */
}
