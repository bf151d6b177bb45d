/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How anything between two processes is measured.  The initiator gives orders over the control channel, the target
 * obeys; a run is an exchange repeated so many times, timed in batches at the initiator.
 */
#ifndef PTLBENCH_MEASURE_H
#define PTLBENCH_MEASURE_H

#include "session.h"
#include "stage_times.h"
#include "stats.h"

enum exchange_id {
	EXCHANGE_PUT,
	EXCHANGE_GET,
	EXCHANGE_PUT_WINDOW,
	EXCHANGE_GET_WINDOW,
	EXCHANGE_PUT_REWRITTEN,
	EXCHANGE_PUT_BEHIND,
	EXCHANGE_PUT_UNEXPECTED,
	EXCHANGE_PUT_TO_BUSY,
	EXCHANGE_GET_FROM_BUSY,
	EXCHANGE_IDLE,
	EXCHANGE_COUNTED_PUT,
	EXCHANGE_COUNTED_BARE,
	EXCHANGE_WAKE_PUT,
	EXCHANGE_WAKE_FUTEX,
	EXCHANGE_BOTH_PUT,
	EXCHANGE_BOTH_WINDOW,
	EXCHANGE_SEGMENTS,
	EXCHANGE_COMPLETION,
	EXCHANGE_REUSE,
	EXCHANGE_REUSE_WINDOW,
	EXCHANGE_OPERATIONS,
	EXCHANGE_OVERHEAD,
	EXCHANGE_HOST_OVERHEAD,
	EXCHANGE_FRAGMENTS,
	EXCHANGE_SEQUENCE,
	EXCHANGE_AM, /* layers above */
	EXCHANGE_AM_STREAM,
	EXCHANGE_AM_OVERHEAD,
	EXCHANGE_RM,
	EXCHANGE_SPLITC,
	EXCHANGE_SPLITC_PUTS,
	EXCHANGE_SPLITC_OVERHEAD,
	EXCHANGE_TIMED,
	EXCHANGE_RAW_TIMED,
	EXCHANGE_SLOTS, /* without any library */
	EXCHANGE_SLOTS_WINDOW,
	EXCHANGE_BARE,
	EXCHANGE_BARE_WINDOW,
	EXCHANGE_DISTANCE,
	EXCHANGE_RAW_PUT, /* messages */
	EXCHANGE_RAW_GET,
	EXCHANGE_RAW_PUT_WINDOW,
	EXCHANGE_RAW_GET_WINDOW,
	EXCHANGE_RMA_PUT,
	EXCHANGE_RMA_GET,
	EXCHANGE_RMA_PUT_WINDOW,
	EXCHANGE_RMA_GET_WINDOW,
	EXCHANGE_COUNT
};

/* What one run is.  The whole of it: (lead + batch * batches) iterations, of which the first `lead` are not timed. */
struct run {
	uint32_t exchange; /* enum exchange_id */
	uint32_t window;   /* operations of an iteration, for windows */
	uint64_t size;     /* bytes of a message */
	uint32_t depth;    /* match entries in front of the one that matches, or unexpected messages */
	uint32_t variant;  /* what else the exchange wants to know */
	uint32_t lead, batch, batches;
	bool stages_in_batches; /* how measure_nic_timing() has them timed */
};

/*
 * Both sides' part of one kind of exchange.  prepare() is done on both sides before the first initiate(): what that
 * one needs at the other side is attached there.  finish() puts everything back; either may be NULL.
 */
struct exchange {
	void (*prepare)(struct session *, const struct run *);
	void (*initiate)(struct session *, const struct run *, uint32_t iteration);
	void (*serve)(struct session *, const struct run *, uint32_t iteration);
	void (*finish)(struct session *, const struct run *);
};

extern const struct exchange put_exchange, get_exchange;                   /* pingpong.c */
extern const struct exchange put_rewritten_exchange;                       /* pingpong.c */
extern const struct exchange put_window_exchange, get_window_exchange;     /* bandwidth.c */
extern const struct exchange put_behind_exchange;                          /* match_depth.c */
extern const struct exchange put_unexpected_exchange;                      /* unexpected_depth.c */
extern const struct exchange put_to_busy_exchange, get_from_busy_exchange; /* bypass.c */
extern const struct exchange idle_exchange;                                /* idle.c */
extern const struct exchange counted_put_exchange, counted_bare_exchange;  /* pairs.c */
extern const struct exchange wake_put_exchange, wake_futex_exchange;       /* wake.c */
extern const struct exchange both_put_exchange, both_window_exchange;      /* bidirectional.c */
extern const struct exchange segments_exchange;                            /* segments.c */
extern const struct exchange completion_exchange;                          /* completion.c */
extern const struct exchange reuse_exchange, reuse_window_exchange;        /* buffer_reuse.c */
extern const struct exchange operations_exchange;                          /* operations.c */
extern const struct exchange overhead_exchange;                            /* logp.c */
extern const struct exchange host_overhead_exchange;                       /* host_overhead.c */
extern const struct exchange fragments_exchange;                           /* fragment.c */
extern const struct exchange sequence_exchange;                            /* sequence.c */
extern const struct exchange am_exchange, am_stream_exchange;              /* am_exchange.c */
extern const struct exchange rm_exchange;                                  /* rm_exchange.c */
extern const struct exchange am_overhead_exchange;                         /* am_exchange.c */
extern const struct exchange splitc_exchange, splitc_overhead_exchange;    /* splitc_exchange.c */
extern const struct exchange splitc_puts_exchange;                         /* splitc_exchange.c */
extern const struct exchange timed_exchange, raw_timed_exchange;           /* initiator_timing.c */
extern const struct exchange slots_exchange, slots_window_exchange;        /* slots.c */
extern const struct exchange bare_exchange, bare_window_exchange;          /* bare.c */
extern const struct exchange distance_exchange;                            /* distance.c */
extern const struct exchange raw_put_exchange, raw_get_exchange;           /* raw_messages.c */
extern const struct exchange raw_put_window_exchange, raw_get_window_exchange;
extern const struct exchange rma_put_exchange, rma_get_exchange; /* raw_rma.c */
extern const struct exchange rma_put_window_exchange, rma_get_window_exchange;

/* run.variant of EXCHANGE_COMPLETION: the initiator waits for its ACK, and nothing comes back. */
#define COMPLETION_BY_ACK 2

static inline uint32_t run_iterations(const struct run *run)
{
	return run->lead + run->batch * run->batches;
}

/* The target's life: obeys until the initiator says it is over. */
void measure_serve(struct session *session);
void measure_end(struct session *session);

/*
 * One run.  Adds nanoseconds per iteration, one sample a batch, unless `samples` is NULL; returns how long all batches
 * took, ns.
 */
double measure_run(struct session *session, const struct run *run, struct samples *samples);

/* What a side has spent: CPU time of all its threads, and which side of the NIC handled messages and completions. */
struct usage {
	double cpu_ns, by_host, by_nic;
};

/* A series of a row of a table.  `run` says what; lead, batch and batches are chosen by measure_row(). */
struct series {
	struct run run;
	struct samples samples; /* nanoseconds per iteration */
	double iteration_ns;    /* how long one took lately, on average */
	uint64_t iterations;    /* all that were measured, and what they cost, by role */
	struct usage usage[2];
};

/*
 * Warms up, then lets the series take turns so that changes of the machine's speed affect them alike.  If the cores have
 * moved apart or together meanwhile (distance.h), does it again.
 */
void measure_row(struct session *session, struct series *all_series, size_t count);

/* A few round trips: the two sides know each other and everything is warm. */
void measure_connect(struct session *session);

/* What both sides have spent so far, by role. */
void measure_usage(struct session *session, struct usage usage[2]);

/* Which thread drove the NIC: percent of the messages that the host handled; NaN if there were none. */
double measure_host_percent(const struct usage *spent);

/* Moves the times to completion of the last runs of EXCHANGE_PUT_TO_BUSY, us, to the caller. */
void bypass_take(struct samples *complete_us);

/* Says which threads drove since `before`. */
void measure_note_drivers(struct session *session, const struct usage before[2]);

/* Repeats the run with stage clocks on: the times of both sides, by role. */
void measure_nic_timing(struct session *session, const struct run *run, struct stage_times times[2]);

#endif
