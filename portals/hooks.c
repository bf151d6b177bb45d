/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fork and exit.
 *
 * A forked child has no NIC threads and must not touch what it shares with its parent: every call returns PTL_NO_INIT
 * until PtlFini, which only forgets; then it may start anew.  At exit without PtlFini the NIC threads are stopped,
 * before the destructors of libfabric take away what they run on.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/report.h"
#include "portals/process_table.h"
#include "portals/runtime/launcher.h"

static _Thread_local bool locked_for_fork;

/* The open interfaces and those that end.  Under the lock. */
static void each_interface(void (*act)(struct nic *))
{
	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = atomic_load_explicit(&process_table.interfaces[i], memory_order_relaxed);

		if (nic)
			act(nic);
		if (process_table.ending[i])
			act(process_table.ending[i]);
	}
}

/*
 * A thread that opens libfabric holds locks there, which a child would find locked for ever when it starts anew: it is
 * waited for.  So is one that closes libfabric, which holds our own lock.  Not by a signal handler that interrupted a call
 * of ours: the call would have to go on first.  (The child of such a handler should do nothing but exec.)
 */
static void before_fork(void)
{
	if (process_holds_lock() || nic_inside())
		return;
	process_lock_outside();
	locked_for_fork = true;
	each_interface(nic_await_opening);
	event_rings_lock(true);
}

static void after_fork_in_parent(void)
{
	if (!locked_for_fork)
		return;
	event_rings_lock(false);
	locked_for_fork = false;
	process_unlock();
}

static void after_fork_in_child(void)
{
	after_fork_in_parent();
	process_table.ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* whoever waited for it is not here */
	process_table.finishing = false;                                /* nor is who finished */
	launcher_forked(atomic_load_explicit(&process_table.ready, memory_order_relaxed));
	/* What a child that has not started anew has given up already may have the numbers of its own descriptors now. */
	if (!process_ready())
		return;
	atomic_store_explicit(&process_table.forked, true, memory_order_relaxed);
	each_interface(nic_abandon);
}

/* For a second at most: a launcher, say, may let another thread wait in PtlNIInit, and the user has lost patience. */
static bool lock_in_time(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	return pthread_mutex_timedlock(&process_table.lock, &until) == 0;
}

/* Under the lock, because a thread that closes an interface stops the same ones; without it, those of open interfaces. */
static void stop_threads(void)
{
	bool locked = !process_holds_lock() && lock_in_time();

	for (int i = 0; i < MAX_INTERFACES; i++) {
		struct nic *nic = atomic_load_explicit(&process_table.interfaces[i], memory_order_relaxed);

		if (nic)
			nic_stop_threads(nic);
		if (locked && process_table.ending[i])
			nic_stop_threads(process_table.ending[i]);
	}
	if (locked)
		pthread_mutex_unlock(&process_table.lock);
}

static void at_exit(void)
{
	/* exit() from a signal handler inside a Portals call: this thread owns an engine that others wait for. */
	if (nic_inside())
		return;
	if (process_ready())
		stop_threads();
	launcher_leave(); /* NIC threads may have asked it for addresses */
}

int process_hook(void)
{
	if (process_table.hooked)
		return 0;
	int rc = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

	if (rc || atexit(at_exit))
		return report_error(-ENOMEM, "no memory for the handlers of fork and exit");
	process_table.hooked = true;
	return 0;
}
