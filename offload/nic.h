/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated network processor: everything that happens to a message happens on a `struct nic`, under its
 * ownership.  Which thread owns it, which sleep, and which wakes which is described in own.c.
 */
#ifndef PORTALS_OFFLOAD_NIC_H
#define PORTALS_OFFLOAD_NIC_H

#include <portals3.h>
#include <portals3_nic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arch.h"
#include "base/settings.h"
#include "offload/affinity.h"
#include "offload/doorbell.h"
#include "offload/event.h"
#include "offload/open.h"
#include "offload/peer/peer_failure.h"
#include "offload/peer/peer_table.h"
#include "offload/peer/unverified.h"
#include "offload/state/contact.h"
#include "offload/state/drive.h"
#include "offload/state/identity.h"
#include "offload/state/objects.h"
#include "offload/state/owner.h"
#include "offload/state/sleep.h"
#include "offload/state/waiting.h"
#include "offload/timing.h"
#include "transports/transport.h"
#include "transports/tuning.h"

#define LOOPBACK_NET 127 /* first byte of addresses of the loopback */
#define NIC_NEVER    UINT64_MAX

struct command;
struct operation;

struct nic {
	_Alignas(CACHE_LINE) _Atomic uintptr_t own;
	_Alignas(CACHE_LINE) struct hosts hosts;
	_Alignas(CACHE_LINE) struct sleep sleep;

	/* From here on: owner only, unless said otherwise; first what every message and every drive touches. */
	_Alignas(CACHE_LINE) struct command *backlog; /* taken, oldest first, and not run yet; FREE implies none */
	struct transport *transports[NIC_TRANSPORTS]; /* by path; NULL: not usable (yet) */
	struct drive drive;
	struct waiting waiting;
	struct peer_table peers;
	struct suspension suspension;
	struct {
		struct operation *first, **end;
	} stalled;         /* transfers that wait for room in their transport */
	uint32_t requests; /* operations that we began */
	uint32_t next_link;
	ptl_nic_counters_t counters;
	/* Each message looks whether it is on, and each call: apart from what the owner writes. */
	_Alignas(CACHE_LINE) struct timing timing;
	struct {
		uint64_t drop, receive, send;
	} lengths; /* bytes, for PtlNIStatus */
	struct objects objects;
	struct unverified unverified;
	struct failures failures;
	struct contact contact;
	struct own_times own_times;
	struct {
		uint64_t quiet_until, unprinted;
	} unexposed; /* see report_unexposed() */

	/* Constant after nic_open(). */
	struct transport *claimed[NIC_TRANSPORTS]; /* by path; the network's may still be opening, or have failed to */
	uint32_t index;                            /* in the process's table of interfaces */
	struct identity self;
	ptl_ni_limits_t limits;
	const struct settings *settings;
	enum nic_mode mode;
	bool cray;      /* PTL_DIALECT */
	uint32_t trace; /* PTL_DBG_*; set under ownership */

	struct {
		_Atomic bool on; /* PTL_HOLD, until the program is ready: hold.c */
		uint64_t until;
	} hold;

	/* Threads and descriptors. */
	struct {
		pthread_t id;
		_Atomic bool running; /* written by the threads that open and close, read by any */
	} thread;
	struct doorbells doorbells;
	struct affinity affinity;
	struct opening opening;

	struct {
		uint32_t generations; /* of its objects, when it was closed */
		struct nic *next;     /* in the process's list of closed interfaces */
		uint64_t at;
	} closed;

	_Atomic bool results_due; /* results_write() has something to do */
	struct tuning tuning;     /* PTL_TUNING_FILE; transports look when they are claimed or open */
};

_Static_assert(offsetof(struct nic, counters) - offsetof(struct nic, backlog) <= 4 * CACHE_LINE,
	       "what every message and every drive touches is together");

/* With what is counted elsewhere, or follows from the rest.  Owner only. */
static inline const ptl_nic_counters_t *nic_counters(struct nic *nic)
{
	ptl_nic_counters_t *counters = &nic->counters;

	counters->kicks = atomic_load_explicit(&nic->sleep.wakes, memory_order_relaxed);
	counters->bytes_in_lines = counters->bytes_sent - counters->bytes_copied - counters->bytes_exposed;
	return counters;
}

/* A number for START, END and UNLINK of one operation.  Owner only. */
static inline ptl_seq_t event_link(struct nic *nic)
{
	return ++nic->next_link;
}

/* --- ownership (own.c) --- */

typedef int nic_command(struct nic *, void *arguments);

/*
 * Runs the command under ownership, here or in the thread that holds it, and returns its result (refusal.h).
 * -ESHUTDOWN: closed; -EDEADLK: called from a signal handler that interrupted a Portals call of this thread.
 */
int nic_call(struct nic *, nic_command *, void *arguments);

/* Is the calling thread inside a Portals call (it runs a signal handler then)? */
bool nic_inside(void);

/* -EDEADLK, with a report to such a thread, or to one that only looks like it. */
int nic_refuse_reentry(void);

/* For threads that wait: takes ownership if it is free (false: another thread is at work), and gives it back. */
bool nic_try_own(struct nic *);
void nic_release(struct nic *);

/* For fork: waits for the ownership of one engine more, and gives one back.  The thread is inside until nic_leave(). */
void nic_hold(struct nic *);
void nic_let_go(struct nic *);

/*
 * Around what a signal handler of this thread must not come into (nor fork in), besides nic_call(): a lock, say.  False:
 * the thread is inside already.
 */
bool nic_enter(const struct nic *);
void nic_leave(void);

/* Do hosts poll the transports?  In dedicated mode only once the NIC thread was told to stop: at exit. */
static inline bool nic_hosts_drive(const struct nic *nic)
{
	/* Pairs with nothing: while the NIC thread still owns, hosts cannot drive, and their commands run there. */
	return nic->mode != NIC_MODE_DEDICATED || atomic_load_explicit(&nic->sleep.stop, memory_order_relaxed);
}

/*
 * A process that stands still for so long may have been given up meanwhile, by peers whose PTL_PEER_TIMEOUT is 1 s at least;
 * so may one that does twice, for half of it.
 */
#define NIC_DOUBT_NS 500000000u

/* What has come by now may be older than a peer's decision to give us up, until a drive finds nothing more. */
static inline void nic_note_time(struct nic *nic, uint64_t now)
{
	if (now - nic->suspension.clock_at >= NIC_DOUBT_NS)
		nic->suspension.seen = true;
	nic->suspension.clock_at = now;
}

/* Asks for timers to be looked at, at `when` (monotonic_ns). */
static inline void nic_timer_at(struct nic *nic, uint64_t when)
{
	if (when < nic->drive.timer)
		nic->drive.timer = when;
}

/*
 * Ends the engine: later calls get -ESHUTDOWN.  When it returns every waiter has left, and nothing is written to a doorbell
 * any more.  No NIC thread any more.
 */
void nic_reap(struct nic *);

#endif
