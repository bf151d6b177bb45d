/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated network processor: everything that happens to a message happens on a `struct nic`, under its
 * ownership.  Who owns it, who sleeps and who wakes whom is described in own.c.
 */
#ifndef PORTALS_OFFLOAD_NIC_H
#define PORTALS_OFFLOAD_NIC_H

#include <portals3.h>
#include <portals3_nic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arch.h"
#include "base/settings.h"
#include "offload/affinity.h"
#include "offload/doorbell.h"
#include "offload/event.h"
#include "offload/match.h"
#include "offload/open.h"
#include "offload/peer/peer_failure.h"
#include "offload/peer/peer_table.h"
#include "offload/peer/unverified.h"
#include "offload/pool.h"
#include "offload/timing.h"
#include "transports/transport.h"

#define NIC_PORTALS        64 /* portal table entries */
#define NIC_ACL_ENTRIES    8
#define NIC_MAX_OBJECTS    65536 /* of a kind, as far as handles go */
#define NIC_MAX_QUEUES     1024
#define NIC_MAX_REQUESTS   (1 << 19) /* that are ours, at a time: see operation.c */
#define NIC_MAX_OPERATIONS (1 << 20) /* these and what others ask of us */
#define LOOPBACK_NET       127       /* first byte of addresses of the loopback */
#define NIC_NEVER          UINT64_MAX

/* Generations of objects and operations; with the index they make handles (offload/handle.h) and tokens. */
#define NIC_HANDLE_GENERATIONS 2046
#define NIC_TOKEN_INDEX_BITS   20
#define NIC_TOKEN_GENERATIONS  ((1 << (32 - NIC_TOKEN_INDEX_BITS)) - 1)

struct peer;
struct operation;
struct waiter;
struct command;

struct acl_entry {
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
};

/* States of the ownership word; the rest of the word is the newest pending command. */
enum nic_owner {
	NIC_FREE,     /* no owner; implies no command */
	NIC_HOST,     /* a thread inside a Portals call */
	NIC_THREAD,   /* the NIC thread */
	NIC_SLEEPING, /* dedicated mode: the NIC thread, asleep; implies no command */
	NIC_DEAD,     /* closed */
	NIC_OWNER_MASK = 7
};

/* Who is in poll() on behalf of the engine while nobody owns it. */
enum nic_sleeper { SLEEPER_NONE, SLEEPER_HOST };

/* What the NIC thread does while hosts drive. */
enum nic_lease { LEASE_OUT, LEASE_TICKING, LEASE_DEEP };

struct nic {
	_Alignas(CACHE_LINE) _Atomic uintptr_t own;

	/* Written by hosts, read by the NIC thread. */
	_Alignas(CACHE_LINE) _Atomic uint32_t hosts_waiting; /* threads inside PtlEQWait or PtlEQPoll */
	_Atomic uint64_t host_drives;

	/* Written by the owner, read by hosts that wait: where the process was seen that is waited for (transport_sink). */
	_Atomic uint32_t partner_place;

	/* Written by whoever goes to sleep or wakes up. */
	_Alignas(CACHE_LINE) _Atomic uint32_t lease;
	_Atomic uint32_t sleeper;
	_Atomic bool nic_asleep; /* the NIC thread is, or is about to be, in poll() with every transport armed */
	_Atomic bool stop;
	_Atomic uint64_t wakes, woken_at; /* how often a doorbell was written to, and (timing) when last */
	_Atomic bool closing;             /* no thread may begin to sleep for events any more */

	/* From here on: owner only, unless said otherwise. */
	_Alignas(CACHE_LINE) struct command *backlog; /* taken, oldest first, and not run yet; FREE implies none */
	struct transport *transports[NIC_TRANSPORTS]; /* by path; NULL: not usable (yet) */
	enum nic_path polling;                        /* whose arrivals are being handled */
	bool needs_rearm;         /* since ownership was taken something happened that arm() has to be asked about */
	uint64_t own_ticks;       /* timing: what taking ownership cost this time, */
	uint64_t own_start;       /* when that began, */
	pthread_t own_thread;     /* and in which thread: another one may give it back */
	uint64_t messages_before; /* timing: messages handled when it was taken */
	uint32_t drives;
	uint64_t timer; /* when run_timers() in drive.c has something to do, NIC_NEVER if not */
	uint64_t host_sleeps_until, nic_sleeps_until; /* what each sleeper believes, while it sleeps */
	unsigned drives_past_sleeper;
	struct waiter *waiters; /* blocked hosts */
	struct waiter *looking; /* the host that drives just now because it wants events, or NULL */
	struct {
		struct event_queue *eq;
		ptl_event_t *event;
	} wanted;                   /* what the host that drives just now takes next: event_hand_over(); or NULL */
	struct event_queue *polled; /* the queue with a descriptor that it looks at next, or NULL */
	struct peer *busy;          /* peers with anything under way */
	struct peer *unsent;        /* those of them that every drive asks: see note_unsent() in peer.c */
	uint64_t clock_at;          /* when we last looked at the clock: see nic_note_time() */
	bool was_suspended;         /* and then we had stood still, and have not caught up yet */
	uint64_t hold_until;        /* while holding */
	uint64_t severed_at;        /* when we last looked for connections with peers given up */
	struct operation *stalled, **stalled_end; /* transfers that wait for room in their transport */
	uint32_t requests;                        /* operations that we began */
	uint32_t next_link;
	uint64_t tag_key; /* of conversations' tags: new_tag() in contact.c */
	uint16_t tags_given;
	ptl_nic_counters_t counters;
	uint64_t drop_length, receive_length, send_length;
	uint64_t unexposed_quiet_until, unexposed_unprinted; /* see report_unexposed() */

	struct match_list portals[NIC_PORTALS];
	struct acl_entry acl[NIC_ACL_ENTRIES];
	struct pool entries, descriptors, queues, operations;
	struct peer_table peers;
	struct unverified unverified;
	struct failures failures;
	struct peer_addresses met[NIC_TRANSPORTS]; /* of compact transports: true if peer->address says so too */

	/* Constant after nic_open(). */
	struct transport *claimed[NIC_TRANSPORTS]; /* by path; the network's may still be opening, or have failed to */
	uint32_t index;                            /* in the process's table of interfaces */
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	uint64_t incarnation[2];
	ptl_ni_limits_t limits;
	const struct settings *settings;
	enum nic_mode mode;
	bool cray;            /* PTL_DIALECT */
	_Atomic bool holding; /* PTL_HOLD, until the program is ready: hold.c */
	uint32_t trace;       /* PTL_DBG_*; set under ownership */
	char iface[32];

	/* Threads and descriptors. */
	pthread_t thread;
	_Atomic bool thread_running; /* written by whoever opens and closes, read by anybody */
	struct doorbells doorbells;
	struct affinity affinity;
	struct opening opening;

	uint32_t spent; /* generations of its objects, when it was closed */
	/* Of the process's list of closed interfaces. */
	struct nic *next_closed;
	uint64_t closed_at;

	struct timing timing;
	_Atomic bool results_due; /* results_write() has something to do */
};

/* A number for START, END and UNLINK of one operation.  Owner only. */
static inline ptl_seq_t event_link(struct nic *nic)
{
	return ++nic->next_link;
}

/* --- ownership (own.c) --- */

typedef int nic_command(struct nic *, void *arguments);

/*
 * Runs the command under ownership, here or in the thread that holds it, and returns its result.
 * -ESHUTDOWN: closed; -EDEADLK: called from a signal handler that interrupted a Portals call of this thread.
 */
int nic_call(struct nic *, nic_command *, void *arguments);

/* Is the calling thread inside a Portals call (it runs a signal handler then)? */
bool nic_inside(void);

/* -EDEADLK, with a report to such a thread, or to one that only looks like it. */
int nic_refuse_reentry(void);

/* For threads that wait: takes ownership if it is free (false: somebody else is at work), and gives it back. */
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
	return nic->mode != NIC_MODE_DEDICATED || atomic_load_explicit(&nic->stop, memory_order_relaxed);
}

/*
 * Whoever stands still for so long may have been given up meanwhile, by peers whose PTL_PEER_TIMEOUT is 1 s at least; so
 * may whoever does twice, for half of it.
 */
#define NIC_DOUBT_NS 500000000u

/* What has come by now may be older than a peer's decision to give us up, until a drive finds nothing more. */
static inline void nic_note_time(struct nic *nic, uint64_t now)
{
	if (now - nic->clock_at >= NIC_DOUBT_NS)
		nic->was_suspended = true;
	nic->clock_at = now;
}

/* Asks for timers to be looked at, at `when` (monotonic_ns). */
static inline void nic_timer_at(struct nic *nic, uint64_t when)
{
	if (when < nic->timer)
		nic->timer = when;
}

/* Ends the engine: later calls get -ESHUTDOWN, every waiter has left when it returns.  No NIC thread any more. */
void nic_reap(struct nic *);

#endif
