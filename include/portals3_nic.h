/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instrument: where a NIC's time goes, who drove it, what it is made of.  Our own small addition to Portals 3.3.
 * Every call may be made from any thread after PtlInit, blocks no longer than any Portals call, and returns PTL_OK,
 * PTL_NO_INIT, PTL_NI_INVALID (bad handle) or PTL_SEGV (NULL result pointer).
 */
#ifndef PORTALS3_NIC_H
#define PORTALS3_NIC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "portals3.h"

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

/* One stage since timing was switched on or reset.  Times in nanoseconds; the clock's own cost is not subtracted. */
typedef struct {
	const char *name;
	ptl_stage_group_t group;
	uint64_t count;
	double total, mean, p50, p99, min, max;
} ptl_stage_times_t;

typedef struct {
	ptl_stage_times_t stage[PTL_STAGE_COUNT];
	uint64_t messages;       /* requests and responses the NIC processed while timing was on */
	uint64_t entries_walked; /* match entries looked at for them */
	double clock_cost;       /* nanoseconds one reading of the clock takes */
	const char *clock;       /* "rdtsc", "cntvct_el0" or "clock_gettime" */
} ptl_nic_timing_t;

/* Always on, since PtlNIInit. */
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
	uint64_t sleeps, kicks;              /* times somebody slept on the wait object, and was woken on purpose */
	uint64_t allocations;                /* times a pool had to grow */
} ptl_nic_counters_t;

/* Switch the stage clocks on (1) or off (0); off costs one predicted branch a message.  Switching on resets. */
int PtlNicTimingSet(ptl_handle_ni_t ni, int on);
/* Times so far. */
int PtlNicTimingGet(ptl_handle_ni_t ni, ptl_nic_timing_t *timing);
/* The same as a table: count, mean, p50, p99 and share of the message total. */
int PtlNicTimingPrint(ptl_handle_ni_t ni, FILE *out);

int PtlNicCounters(ptl_handle_ni_t ni, ptl_nic_counters_t *counters);

/*
 * What this interface is made of, one "name: value" per line: mode, NIC thread, clock, transports and their
 * providers, refusals with reasons; its rank in its job, also among those of this node if the launcher tells.  Waits for
 * a transport that is still opening in the background.
 * `text` is always terminated; PTL_NO_SPACE if it was too small (then cut).
 */
int PtlNicInfo(ptl_handle_ni_t ni, char *text, size_t size);

/* Waits until every transport of the interface has opened or failed.  PTL_FAIL if one failed (see PtlNicErrorText). */
int PtlNicReady(ptl_handle_ni_t ni);

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
