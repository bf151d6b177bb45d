/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instrument: where a NIC's time goes, which threads drove it, what it is made of.  Our own small addition to Portals 3.3.
 * Every call may be made from any thread after PtlInit, blocks no longer than any Portals call, and returns PTL_OK,
 * PTL_NO_INIT, PTL_NI_INVALID (bad handle) or PTL_SEGV (NULL result pointer).
 */
#ifndef PORTALS3_NIC_H
#define PORTALS3_NIC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "portals3.h"

#ifndef __GNUC__
#define __inline__ inline /* C89, as old programs are compiled, has no other word for it */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Stages of a message's life.  The names are those of tables 1 (host) and 2 (NIC thread) of the QsNet paper
 * where it has them: take lock, inspect header, match, housekeeping, write completion event, unlink, drop lock.
 */
#define PTL_NIC_STAGES(X)                                                                                              \
	X(POST_RECEIVE, "post receive", PTL_STAGE_HOST)                                                                \
	X(POST_SEND, "post send", PTL_STAGE_HOST)                                                                      \
	X(WAIT_SEND, "wait for send", PTL_STAGE_HOST)                                                                  \
	X(WAIT_ARRIVAL, "wait for arrival", PTL_STAGE_HOST)                                                            \
	X(OWN, "take ownership", PTL_STAGE_NIC)                                                                        \
	X(INSPECT, "inspect header", PTL_STAGE_NIC)                                                                    \
	X(ACCESS, "access check", PTL_STAGE_NIC)                                                                       \
	X(MATCH, "match", PTL_STAGE_NIC)                                                                               \
	X(HOUSEKEEPING, "housekeeping", PTL_STAGE_NIC)                                                                 \
	X(COPY, "copy", PTL_STAGE_NIC)                                                                                 \
	X(EVENT, "write event", PTL_STAGE_NIC)                                                                         \
	X(UNLINK, "unlink", PTL_STAGE_NIC)                                                                             \
	X(ACK, "ack", PTL_STAGE_NIC)                                                                                   \
	X(RELEASE, "release ownership", PTL_STAGE_NIC)                                                                 \
	X(MESSAGE, "message total", PTL_STAGE_TOTAL)                                                                   \
	X(IDLE, "idle", PTL_STAGE_BETWEEN)                                                                             \
	X(DOORBELL, "doorbell", PTL_STAGE_BETWEEN)                                                                     \
	X(WAKE, "wake-up", PTL_STAGE_BETWEEN)                                                                          \
	X(SEND, "queued send", PTL_STAGE_TRANSPORT)                                                                    \
	X(POLL, "poll", PTL_STAGE_TRANSPORT)                                                                           \
	X(RDMA, "RDMA", PTL_STAGE_TRANSPORT)                                                                           \
	X(REGISTER, "registration", PTL_STAGE_TRANSPORT)

/* HOST stages are calls of the application; NIC stages add up to MESSAGE; BETWEEN and TRANSPORT stand for themselves. */
typedef enum {
	PTL_STAGE_HOST,
	PTL_STAGE_NIC,
	PTL_STAGE_TOTAL,
	PTL_STAGE_BETWEEN,
	PTL_STAGE_TRANSPORT
} ptl_stage_group_t;

typedef enum {
#define PTL_STAGE_ENUM(name, text, group) PTL_STAGE_##name,
	PTL_NIC_STAGES(PTL_STAGE_ENUM)
#undef PTL_STAGE_ENUM
		PTL_STAGE_COUNT
} ptl_stage_t;

/*
 * One stage since timing was switched on or reset.  Times in nanoseconds; the clock's own cost is not subtracted.  p50 and p99 are of a
 * histogram whose buckets are at most 1.6 % wide, or one tick of the clock.  Members are added at the end.
 */
typedef struct {
	const char *name;
	ptl_stage_group_t group;
	uint64_t count;
	double total, mean, p50, p99, min, max;
	double trimmed_mean; /* of the middle eight tenths: a preemption is not in it */
	double clock; /* what of the mean is the instrument: reading the clock, and recording the stage before; not PTL_TRACE.  In
			 batches, counting the stages */
} ptl_stage_times_t;

/* Stages are added behind the last, and members at the end: see PtlNicTimingRead. */
typedef struct {
	ptl_stage_times_t stage[PTL_STAGE_COUNT];
	uint64_t messages;       /* requests and responses the NIC processed while timing was on */
	uint64_t entries_walked; /* match entries looked at for them */
	double clock_cost; /* nanoseconds of a reading of the clock: one in each stage, and in MESSAGE one for each of its stages */
	const char *clock; /* "rdtsc", "cntvct_el0" or "clock_gettime" */
	uint64_t
		messages_in_batches; /* PTL_NIC_TIMING_BATCHES: of so many messages the stages are means; otherwise 0 */
} ptl_nic_timing_t;

/* Always on, since PtlNIInit.  Members are added at the end. */
typedef struct {
	uint64_t requests_received, responses_received, notices_received;
	uint64_t requests_sent, responses_sent, notices_sent;
	uint64_t bytes_received, bytes_sent; /* payload */
	uint64_t long_messages;              /* moved by RDMA, either direction */
	uint64_t drops;                      /* = PTL_SR_DROP_COUNT */
	uint64_t malformed;                  /* messages that decoded to nothing */
	uint64_t stale;                      /* from or for an earlier incarnation of a process, or an unknown one */
	uint64_t retries;                    /* sends that had to wait for room or for a peer */
	uint64_t commands;                   /* calls handed to the owner because it was busy */
	uint64_t driven_by_host;             /* messages and completions handled by a thread inside a Portals call */
	uint64_t driven_by_nic;              /* ... and by the NIC thread */
	uint64_t sleeps, kicks;              /* times a thread slept on a doorbell; times a doorbell was written to */
	uint64_t allocations;                /* times a pool had to grow */
	/* Of bytes_sent, by how they got to the NIC: in lines of its queue, or what a provider injects; */
	uint64_t bytes_in_lines;
	uint64_t bytes_copied;  /* by a copy in a buffer of the transport, or from their place (ofi:net) */
	uint64_t bytes_exposed; /* announced, and fetched by the target, or with its help */
} ptl_nic_counters_t;

/* For PtlNicTimingSet. */
#define PTL_NIC_TIMING_OFF     0
#define PTL_NIC_TIMING_ON      1 /* as is any value that is none of these */
#define PTL_NIC_TIMING_BATCHES 2
/*
 * Switches the stage clocks on or off; off costs one predicted branch a message.  Switching on resets.  PTL_NO_SPACE: no
 * memory for their histograms; they are off.
 *
 * On, the clock is read after each stage, and what a reading takes is in the stage: of one of 10 to 40 ns much is the clock.  In
 * batches, the clock is read at the beginning of a message and after some of its NIC stages, each time after a number of them that
 * is drawn by lot.  The NIC stages are then differences of means of such batches (of their middle eight tenths), out of
 * which the readings cancel, and MESSAGE is their sum.  They have no p50, p99, min and max (0), may be a little below 0
 * where they take next to nothing, and come from a few hundred messages at least; 16 kinds of messages (the same stages in the same
 * order) of at most 16 stages are told apart, others are not counted.  While PTL_TRACE records, batches mean the same as on.
 */
int PtlNicTimingSet(ptl_handle_ni_t ni, int how);
/*
 * Reads the stage times so far into a structure of `size` bytes that begins with so many `stages` of `stage_size` bytes each:
 * the program's ptl_nic_timing_t, which may have fewer or more members and stages than the library's.  What the library does
 * not have becomes 0, names NULL.  PTL_NO_SPACE: the stages are not within `size`.
 */
int PtlNicTimingRead(ptl_handle_ni_t ni, ptl_nic_timing_t *timing, size_t size, size_t stage_size, unsigned stages);
/* Reads the stage times so far. */
static __inline__ int PtlNicTimingGet(ptl_handle_ni_t ni, ptl_nic_timing_t *timing)
{
	return PtlNicTimingRead(ni, timing, sizeof(*timing), sizeof(timing->stage[0]), PTL_STAGE_COUNT);
}
/* Prints the stage times as a table: count, mean, p50, p99 and share of the message total. */
int PtlNicTimingPrint(ptl_handle_ni_t ni, FILE *out);

/*
 * What the interface has counted so far, in `size` bytes: the program's ptl_nic_counters_t, which may have fewer or more
 * members than the library's.  What the library does not have becomes 0.
 */
int PtlNicCountersRead(ptl_handle_ni_t ni, ptl_nic_counters_t *counters, size_t size);
/* What the interface has counted so far. */
static __inline__ int PtlNicCounters(ptl_handle_ni_t ni, ptl_nic_counters_t *counters)
{
	return PtlNicCountersRead(ni, counters, sizeof(*counters));
}

/*
 * Describes what an interface is made of, one "name: value" per line: mode, NIC thread, clock, transports and their
 * providers, refusals with reasons; its rank in its job, also among those of this node if the launcher tells.  Waits for
 * a transport that is still opening in the background.
 * `text` is always terminated; PTL_NO_SPACE if it was too small (then cut).
 */
int PtlNicInfo(ptl_handle_ni_t ni, char *text, size_t size);

/* Waits until every transport of the interface has opened or failed.  PTL_FAIL if one failed (see PtlNicErrorText). */
int PtlNicReady(ptl_handle_ni_t ni);

/*
 * Says that this process is ready, with PTL_HOLD=1, and takes from now on what others send.  Otherwise, and when called again, it does
 * nothing.  An interface of such a process lets what others put, get and swap wait at its senders (their operations stay
 * under way, in order; operations of its own, their answers, and what it sends itself are not held), until the program
 * first finds an event queue empty in PtlEQGet, PtlEQWait or PtlEQPoll, which is how one gets ready that waits for
 * events; until this call, which is for one that waits for memory to change; or until PTL_CONNECT_TIMEOUT has passed since
 * PtlNIInit.  What then matches nothing is dropped and counted.  So what is put to such a process before it has
 * attached its match entries is not lost.  Beyond Portals 3.3.
 */
int PtlNicReadyToReceive(ptl_handle_ni_t ni);

/*
 * A descriptor for epoll, poll or select that is readable when `eq` has events: for programs that sleep in a loop of their
 * own and not in PtlEQWait.  The same for each call with the same queue.
 *
 *     for (;;) {
 *         while ((rc = PtlEQGet(eq, &event)) == PTL_OK || rc == PTL_EQ_DROPPED)
 *             ...
 *         epoll_wait(...);
 *     }
 *
 * From this call on, while no thread is inside a Portals call about the queue, an event in it means a readable descriptor,
 * also if the loop took one of several and sleeps again.  It becomes unreadable when PtlEQGet, or PtlEQPoll with the
 * queue, returns PTL_EQ_EMPTY; so it may be readable without an event for one round (at first it is), and the
 * program must go on until PTL_EQ_EMPTY if it waits for edges (EPOLLET).  Taking events costs no system call; a queue
 * that was drained costs one when the next event comes and one when it is drained again.  A loop that looks with
 * PtlEQGet though nothing was announced polls, as ever: it drives the interface itself, and if it then sleeps after all, the NIC thread
 * takes over after PTL_NIC_TICK at the latest.  (Events that several threads take: each may be woken for one that
 * another takes.)
 *
 * The descriptor is the library's: not to be read, written or closed.  PtlEQFree, PtlNIFini and PtlFini close it, without waking
 * a thread that sleeps on it: take it out of the loop before.  Closed by exec; in a forked child it is gone.
 *
 *   PTL_EQ_INVALID  the queue
 *   PTL_FAIL        PTL_NIC_MODE=host: no thread would drive the interface while the program sleeps
 *   PTL_NO_SPACE    no descriptor left (RLIMIT_NOFILE)
 */
int PtlNicEventFd(ptl_handle_eq_t eq, int *fd);

/* What an interface knows of a process. */
typedef enum {
	PTL_NIC_PEER_UNKNOWN,    /* never met, nothing known of it any more, or it could not be reached in time */
	PTL_NIC_PEER_CONTACTING, /* something is to be sent to it, and it has not answered yet */
	PTL_NIC_PEER_CONNECTED,  /* met, and not found to be gone since */
	PTL_NIC_PEER_DEAD        /* it was given up: what was under way with it has failed */
} ptl_nic_peer_state_t;

/*
 * What is known of the process `id` now; asks no other process.  `evidence`, if not NULL, becomes why it is taken for dead ("its
 * process has ended", "its port is closed", "silent for PTL_PEER_TIMEOUT", ...), else "": a constant text, for people.
 *
 * A peer's end is certain to be noticed if something is under way with it, after PTL_PEER_TIMEOUT at the latest; without that
 * it is if the kernel tells, as it does within a node.  The last 256 that were given up are remembered, each until it,
 * or a process that follows it under the same id, is met again; the id of one that was forgotten is UNKNOWN.  DEAD is also one
 * that stood still (SIGSTOP, a machine asleep) for longer than PTL_PEER_TIMEOUT; it is met again when it goes on and
 * either has something to send.
 */
int PtlNicPeerState(ptl_handle_ni_t ni, ptl_process_id_t id, ptl_nic_peer_state_t *state, const char **evidence);

/* The kind of event by which PtlNicPeerEvents tells. */
#define PTL_NIC_EVENT_PEER_DIED ((ptl_event_kind_t)64)

/*
 * Tells in an event queue of each peer that is given up from now on (PTL_EQ_NONE: no more; there is one such queue for an
 * interface; a process of our own node may have connected for a message and ended before it said one: it is told of, too),
 * by an event of the kind PTL_NIC_EVENT_PEER_DIED, which no program gets that has not asked for it:
 *   initiator, uid, jid  the process that it was
 *   ni_fail_type         PTL_NI_PEER_DIED
 *   md_handle            PTL_INVALID_HANDLE; there is no descriptor, and no other field means anything
 * What was under way with it fails before, except long messages whose bytes are just being moved.  A process that starts under
 * the id of another, or that closes its interface and opens it again, is another: if the end of the first one was not noticed
 * before, the event tells of it when the second greets, and PtlNicPeerState says PTL_NIC_PEER_CONNECTED at once.
 *   PTL_EQ_INVALID  not a queue of this interface
 */
int PtlNicPeerEvents(ptl_handle_ni_t ni, ptl_handle_eq_t eq);

/*
 * Waits until every process of the interface's job has called it as often (a fence), at most `timeout` milliseconds
 * (PTL_TIME_FOREVER: for ever; 0: says that this process has come, and looks).  The launcher counts the processes, over PMIx.
 * It says nothing about messages under way; a process that has attached its match entries before it can be put to after it.
 * Messages go on arriving meanwhile, also in host mode, where this call drives.  Threads that call at the same time come
 * to one fence together.  Blocks.  Beyond Portals 3.3.
 *   PTL_OK          all have come; at once in a job of one, and without a job
 *   PTL_EQ_EMPTY    not all within `timeout`: this process has come all the same, and the next call waits for the same fence
 *   PTL_FAIL        the job has several processes, but no launcher counts them (PtlSetRank, PTL_MY_RID); or the launcher
 *                   gave up, as it may when a process of the job has died
 *   PTL_NO_INIT, PTL_NI_INVALID
 */
int PtlNicFence(ptl_handle_ni_t ni, ptl_time_t timeout);

/*
 * The last error that a call of this thread detected, with object, value and limit; "" if there was none yet, or if the
 * code says it all (PTL_MD_NO_UPDATE, PTL_*_IN_USE).  Never NULL.  Calls that succeed leave it alone, and so does
 * PTL_EQ_EMPTY.
 */
const char *PtlNicErrorText(void);

/* The table of environment variables: name, value in force, default, meaning. Needs no PtlInit. */
void PtlNicSettingsPrint(FILE *out);

#ifdef __cplusplus
}
#endif

#endif
