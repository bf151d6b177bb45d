/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages timed in batches, so that the clock is in none of them.  Of each message the clock is read twice: at its beginning, and after a
 * number of its laps that is drawn by lot, none to all.  What these laps took together is a batch.  A stage is the difference of the
 * means of two batches, the one that ends with it and the one that ends before it, of messages that had the same laps in the
 * same order (a way).  The price of two readings is in both and cancels out, and the stages of a way add up to what its messages took.
 * By lot, because messages that alternate would otherwise always have the same batches.
 *
 * Written by the owner of the engine, after a message has ended; read by any thread, slightly torn.
 */
#ifndef PORTALS_OFFLOAD_TIMING_BATCH_H
#define PORTALS_OFFLOAD_TIMING_BATCH_H

#include <portals3_nic.h>
#include <stdatomic.h>

#include "base/arch.h"

enum {
	BATCH_LAPS = 16,     /* messages with more are not counted */
	BATCH_WAYS = 16,     /* nor are those of further ways */
	BATCH_SAMPLES = 4096 /* of each batch, the last ones */
};

struct batch_way {
	_Atomic uint8_t stages[BATCH_LAPS];
	_Atomic uint32_t laps;
	_Atomic uint64_t messages;
	/* Of the batch of so many laps. */
	_Atomic uint32_t taken[BATCH_LAPS + 1];
	_Atomic uint32_t ticks[BATCH_LAPS + 1][BATCH_SAMPLES];
};

/* Some 4.4 MiB, few of which are used: there from the first time on that batches are asked for. */
struct batches {
	/* The present message; engine only. */
	uint8_t stages[BATCH_LAPS];
	uint32_t laps, wanted; /* how many it has had, after how many the clock is read */
	uint64_t started, ticks;
	/* Of all. */
	uint32_t longest;
	uint64_t lot;
	_Atomic uint32_t known; /* ways; release: they are written */
	struct batch_way ways[BATCH_WAYS];
};

/* What all ways say together. */
struct batch_sums {
	uint64_t messages;
	uint64_t count[PTL_STAGE_COUNT];
	double ticks[PTL_STAGE_COUNT];
};

void batches_forget(struct batches *);
/* The message has ended. */
void batches_keep(struct batches *);
void batches_read(const struct batches *, struct batch_sums *);

/* A message begins.  Returns when. */
static inline uint64_t batches_begin(struct batches *batches)
{
	batches->lot ^= batches->lot << 13;
	batches->lot ^= batches->lot >> 7;
	batches->lot ^= batches->lot << 17;
	batches->wanted = (uint32_t)((batches->lot >> 32) * (batches->longest + 1) >> 32);
	batches->laps = 0;
	batches->ticks = 0;
	batches->started = cycle_clock();
	if (batches->wanted == 0)
		batches->ticks = cycle_clock() - batches->started;
	return batches->started;
}

static inline void batches_lap(struct batches *batches, ptl_stage_t stage)
{
	uint32_t lap = batches->laps++;

	if (likely(lap < BATCH_LAPS))
		batches->stages[lap] = (uint8_t)stage;
	if (batches->laps == batches->wanted)
		batches->ticks = cycle_clock() - batches->started;
}

#endif
