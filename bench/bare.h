/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least that a put within a node can cost, by each way that its bytes may take: what two processes must do at least,
 * done by hand in memory that they share (struct common).  Nothing here uses Portals.
 */
#ifndef PTLBENCH_BARE_H
#define PTLBENCH_BARE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arch.h"
#include "slots.h"

/* What run.variant means to the bare exchanges. */
enum bare_way {
	BARE_PATH,       /* header and bytes in lines; match, copy, an event written and read */
	BARE_YIELDING,   /* the same, where a waiter gives its core away after a short while */
	BARE_SLEEPING,   /* the same, where it sleeps on a futex then */
	BARE_STAGED_16K, /* copied in and out of shared memory, both ends at work at once, in chunks of 16 KiB */
	BARE_STAGED_64K,
	BARE_CROSS,    /* the target reads the other process's memory */
	BARE_SPLIT,    /* the target reads one half while the initiator writes the other one */
	BARE_BLOCKING, /* one line; a waiter sleeps on a futex once it has waited in vain for PTL_SPIN */
	BARE_WAKE,     /* a futex alone, both processes on one core */
	BARE_WAYS
};

#define PATH_LARGEST 1024u /* bytes of a message in lines */
#define PATH_LINES   ((56 + PATH_LARGEST) / CACHE_LINE + 1)
#define PATH_SLOTS   64
#define STAGE_CHUNKS 16
#define STAGE_CHUNK  65536u
#define EVENT_WORDS  20

/* One direction of each way. */
struct bare_lane {
	_Alignas(CACHE_LINE) char slot[PATH_SLOTS * PATH_LINES * CACHE_LINE];
	struct word full, freed;                        /* chunks, counted from the beginning of a run */
	struct word written;                            /* halves that the sender of a split copy has written */
	struct word line;                               /* messages of the ways that send a line for each */
	_Alignas(CACHE_LINE) _Atomic uint32_t doorbell; /* messages of those that sleep: a futex */
	_Atomic uint32_t asleep;
	pid_t pid; /* of the sender, and where its messages are, and where the receiver wants them */
	const char *source;
	char *sink;
	_Alignas(4096) char chunk[STAGE_CHUNKS][STAGE_CHUNK];
};

#endif
