/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fork and exit.
 *
 * A forked child has no NIC threads and must not touch what it shares with its parent: every call returns PTL_NO_INIT
 * until PtlFini, which only forgets; then it may start anew.  At exit without PtlFini the NIC threads are stopped,
 * before the destructors of libfabric take away what they run on, and what was measured is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cancel.h"
#include "base/report.h"
#include "offload/results.h"
#include "portals/hazard.h"
#include "portals/process_table.h"
#include "portals/runtime/launcher.h"
#include "portals/stat.h"

/* Forks of this thread that interrupted something of ours, perhaps another fork of it, and are under way: they lock nothing. */
static _Thread_local volatile unsigned char unlocked_forks;

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
 * What a child is to find whole is taken before, in this order: the process's lock, each engine, and the locks that an
 * owner takes.  Then no thread is in the middle of anything: no table of peers is being moved, no descriptor has been closed
 * whose number is still written down, no lock of libfabric's is held by a thread that the child has not.  A thread that
 * opens libfabric holds such locks for long: it is waited for.  So is one that closes libfabric, which holds our own lock.
 * Owners are waited for in turn, and leave within microseconds, whatever their peers do.
 *
 * Not by a signal handler that interrupted a call of ours: the call would have to go on first.  The child of such a handler
 * finds everything in any state, touches nothing, and should do nothing but exec, which closes our descriptors.
 */
static void before_fork(void)
{
	if (process_holds_lock() || nic_inside()) {
		unlocked_forks++;
		return;
	}
	process_lock_outside();
	if (process_ready()) { /* a child that has not started anew has its parent's engines, owned as they were */
		each_interface(nic_await_opening);
		each_interface(nic_hold);
	}
	event_rings_lock(true);
}

static void after_fork_in_parent(void)
{
	if (unlocked_forks > 0) {
		unlocked_forks--;
		return;
	}
	event_rings_lock(false);
	if (process_ready())
		each_interface(nic_let_go);
	nic_leave();
	process_unlock();
}

/* Only the thread that forked is here: engines are dead, should a signal handler have forked that returns into a call. */
static void leave_to_parent(void)
{
	UNCANCELLED; /* a signal handler may have forked inside a call */

	/* What a child that has not started anew has given up already may have the numbers of its own descriptors now. */
	if (process_ready()) {
		if (unlocked_forks == 0)
			each_interface(nic_abandon);
		atomic_store_explicit(&process_table.forked, true, memory_order_relaxed);
	}
	stat_forked();
	hazard_forked();
	launcher_forked(atomic_load_explicit(&process_table.ready, memory_order_relaxed));
}

/* The thread can be cancelled as before the fork when process_unlock() has given back what process_lock_outside() took. */
static void after_fork_in_child(void)
{
	leave_to_parent();
	if (unlocked_forks > 0) {
		unlocked_forks--;
		return;
	}
	process_table.ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* threads that waited for it are not here */
	process_table.finishing = false;                                /* nor is the one that finished */
	event_rings_lock(false);
	nic_leave();
	process_unlock();
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

		if (nic) {
			nic_stop_threads(nic);
			results_write(nic);
		}
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

/*
 * Handlers that run before a fork run in the opposite order of their registration.  Ours must be the last: a library that
 * uses us may take its own locks in its handler, with another thread inside Portals that holds one of them.
 */
static bool hooked_fork;

__attribute__((constructor)) static void hook_fork(void)
{
	hooked_fork = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

int hooks_install(void)
{
	if (process_table.hooked)
		return 0;
	if (!hooked_fork || atexit(at_exit))
		return report_error(-ENOMEM, "no memory for the handlers of fork and exit");
	process_table.hooked = true;
	return 0;
}
