/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage clocks.  A message's way through the NIC is cut into laps: each lap's end is the next one's beginning, so
 * the stages of a message add up to its total by construction, and a stage costs one reading of the clock.
 * Off: one predicted branch a lap.  In batches, laps are not read one by one, see batches.h.
 *
 * Laps are recorded by the owner of the engine alone, with plain loads and stores: a locked instruction takes as long as a
 * short stage.  All other stages are recorded by any thread, hence by relaxed atomic adds.  Reading while others record gives a slightly torn picture, never a wrong address.
 */
#ifndef PORTALS_OFFLOAD_TIMING_H
#define PORTALS_OFFLOAD_TIMING_H

#include <portals3_nic.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arch.h"
#include "base/probe.h"

#ifndef PORTALS_TIMING /* the build option `timing` */
#define PORTALS_TIMING 1
#endif

/* Histogram: values up to 127 ticks one by one, above that 64 buckets per power of two up to 2^42: none is wider than 1.6 %. */
#define TIMING_STEPS_LOG 6
#define TIMING_STEPS     (1 << TIMING_STEPS_LOG)
#define TIMING_BUCKETS   ((42 - TIMING_STEPS_LOG + 1) * TIMING_STEPS)

struct stage_clock {
	_Atomic uint64_t count, ticks, least, greatest;
};

/* Some 400 KiB: there from the first time on that the clocks are on. */
struct timing_histograms {
	_Atomic uint64_t buckets[PTL_STAGE_COUNT][TIMING_BUCKETS];
};

struct batches;
struct timeline;

struct timing {
	_Atomic bool on;
	_Atomic uint64_t since; /* when it was switched on last, ticks */
	uint64_t lap;           /* end of the last lap, ticks; 0: no message is being handled; engine only */
	uint64_t started;       /* when the current message began; engine only */
	/* Ticks that belong to messages but to no single one: taking and releasing ownership.  Written by the owner. */
	_Atomic uint64_t outside;
	struct timeline *timeline; /* where laps and stages are recorded besides, or NULL */
	_Atomic uint64_t messages, walked;
	struct stage_clock stages[PTL_STAGE_COUNT];
	/* Published by the owner before `on`; stays until timing_free(), because any thread may still record. */
	struct timing_histograms *_Atomic histograms;
	struct batches *_Atomic batches; /* likewise; there from the first time on that they are asked for */
	_Atomic bool in_batches;         /* laps are timed so */
};

/* Nanoseconds per tick and the price of a reading; measured once per process, takes a few milliseconds. */
double timing_ns_per_tick(void);
double timing_clock_cost(void);
const char *timing_clock_name(void);

/* Both clocks at one moment: monotonic_ns() and cycle_clock(). */
void timing_now(uint64_t *ns, uint64_t *ticks);

/* PTL_NIC_TIMING_OFF, _ON or _BATCHES; -ENOMEM: the clocks stay off. */
int timing_set(struct timing *, int how);
void timing_free(struct timing *);
void timing_read(const struct timing *, ptl_nic_timing_t *);
void timing_print(const ptl_nic_timing_t *, FILE *);
/* The same for programs: members of a JSON object, without its braces. */
void timing_write(const ptl_nic_timing_t *, FILE *);

/* A stage of which no more is known than how long it took; of the other one also when. */
void timing_record(struct timing *, ptl_stage_t, uint64_t ticks);
void timing_record_span(struct timing *, ptl_stage_t, uint64_t start, uint64_t end);
void timing_record_begin(struct timing *);
void timing_record_lap(struct timing *, ptl_stage_t);
void timing_record_message(struct timing *);
/* For the next message, and for the total until there is one. */
void timing_add_outside(struct timing *, uint64_t ticks);

static inline bool timing_on(const struct timing *timing)
{
	return PORTALS_TIMING && unlikely(atomic_load_explicit(&timing->on, memory_order_relaxed));
}

/* Starts a message: its first lap begins here. */
static inline void timing_begin(struct timing *timing)
{
	PROBE1(message_begin, timing);
	if (timing_on(timing))
		timing_record_begin(timing);
}

/* It was no message after all, or begins again on another way. */
static inline void timing_dismiss(struct timing *timing)
{
	PROBE1(message_dismissed, timing);
	timing->lap = 0;
}

/*
 * Ends a lap: the time since the last one was spent in `stage`.  What happens outside of any message (the end of a long one,
 * an unlink by its caller) belongs to no lap.
 */
static inline void timing_lap(struct timing *timing, ptl_stage_t stage)
{
	PROBE2(stage, timing, stage);
	if (timing_on(timing) && timing->lap != 0)
		timing_record_lap(timing, stage);
}

static inline void timing_end(struct timing *timing)
{
	PROBE1(message_end, timing);
	if (timing_on(timing) && timing->lap != 0)
		timing_record_message(timing);
}

/* For stages that stand alone: start = timing_start(t); ... timing_stop(t, stage, start). */
static inline uint64_t timing_start(const struct timing *timing)
{
	return timing_on(timing) ? cycle_clock() : 0;
}

/* The same from a start that the caller has kept: if that is none (0), or was before timing went on, from now. */
static inline uint64_t timing_resume(const struct timing *timing, uint64_t start)
{
	return start > atomic_load_explicit(&timing->since, memory_order_relaxed) ? start : cycle_clock();
}

static inline void timing_stop(struct timing *timing, ptl_stage_t stage, uint64_t start)
{
	if (unlikely(start != 0))
		timing_record_span(timing, stage, start, cycle_clock());
}

#endif
