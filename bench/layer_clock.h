/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a layer above Portals spends where.  The layers' sources are compiled for ptlbench with this header in front of them: what
 * they call below is timed, and they stay as they are.  Off, a call costs a look at a flag.
 */
#ifndef PTLBENCH_LAYER_CLOCK_H
#define PTLBENCH_LAYER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <portals3.h>

#include "base/arch.h"

enum layer_part {
	LAYER_PUT,        /* PtlPutRegion, PtlGetRegion */
	LAYER_EVENT_SENT, /* PtlEQGet, PtlEQPoll: what was sent has left, or is acknowledged */
	LAYER_EVENT_CAME, /* something has come */
	LAYER_EVENT_NONE, /* nothing is there */
	LAYER_QUEUE,      /* arrived messages queued for their handlers, and taken */
	LAYER_HANDLER,    /* the program's own */
	LAYER_SEND,       /* the whole of a call that sends, puts and gets inside */
	LAYER_RECEIVE,    /* the whole of a call that takes what has come, all other parts inside */
	LAYER_PARTS
};

struct layer_clock {
	bool on;
	uint64_t cycles[LAYER_PARTS], count[LAYER_PARTS]; /* of the burst under way */
};

extern struct layer_clock layer_clock;

static inline uint64_t layer_clock_now(void)
{
	return layer_clock.on ? cycle_clock() : 0;
}

static inline void layer_clock_add(enum layer_part part, uint64_t began)
{
	if (!layer_clock.on)
		return;
	layer_clock.cycles[part] += cycle_clock() - began;
	layer_clock.count[part]++;
}

/* From no bursts. */
void layer_clock_start(void);

/* A burst of so many operations is over. */
void layer_clock_burst(unsigned operations);

/*
 * Stops, and says how many nanoseconds of an operation were spent where, without what the clock itself takes: of LAYER_SEND and
 * LAYER_RECEIVE what is in no other part.  Medians of bursts.
 */
void layer_clock_take(double ns[LAYER_PARTS]);

#endif
