/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Application bypass: the target attaches a buffer and then computes, without a call to Portals, while the initiator
 * puts into it or gets from it.  Without a NIC thread nothing would happen until the computing is over.
 */
#include "tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arch.h"
#include "fail.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

#define COMPUTE_NS 20e6
#define SETTLE_NS  2000000 /* the operation starts at least so long after the computing */

/* What the target says of one trial. */
struct finding {
	double alone_ns, busy_ns; /* what the computing took, without and with traffic */
	double copy_ns;           /* what a copy of as many bytes takes here */
	uint32_t found;           /* the event was in the queue when the computing ended */
};

static uint64_t loop_turns; /* of compute(), that take COMPUTE_NS undisturbed */

/* Arithmetic that the compiler cannot remove and that touches no memory; returns how long it took, ns. */
static double compute(uint64_t turns)
{
	volatile uint64_t result;
	uint64_t value = 88172645463325252u, start = monotonic_ns();

	for (uint64_t turn = 0; turn < turns; turn++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
	}
	result = value;
	(void)result;
	return (double)(monotonic_ns() - start);
}

/* Target: how long the loop must be.  The best of several: what else runs here can only make it longer. */
static void calibrate_loop(void)
{
	static const uint64_t probe = 1000000;
	double best = INFINITY;

	for (int i = 0; i < 5; i++)
		best = fmin(best, compute(probe));
	loop_turns = (uint64_t)(COMPUTE_NS / best * (double)probe);
}

static void wait_ns(uint64_t nanoseconds)
{
	for (uint64_t end = monotonic_ns() + nanoseconds; monotonic_ns() < end;)
		cpu_pause();
}

static bool is_put(const struct run *run)
{
	return run->exchange == EXCHANGE_PUT_TO_BUSY;
}

static void busy_prepare(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == TARGET && !loop_turns)
		calibrate_loop();
}

/* Was the event posted while we computed?  (START events, if asked for, come before it.) */
static bool event_is_there(struct session *session, ptl_event_kind_t kind)
{
	while (PtlEQGet(session->eq, &session->event) == PTL_OK)
		if (session->event.type == kind)
			return true;
	return false;
}

static double time_copy(struct session *session, size_t size)
{
	uint64_t start = monotonic_ns();

	memcpy(session->sink, session->source, size);
	__asm__ volatile("" : : "r"(session->sink) : "memory"); /* the copy is wanted */
	return (double)(monotonic_ns() - start);
}

/* Computes twice, first in peace, so that the machine's moods hit both alike. */
static void busy_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	ptl_event_kind_t kind = is_put(run) ? PTL_EVENT_PUT_END : PTL_EVENT_GET_END;
	unsigned options = is_put(run) ? PTL_MD_OP_PUT : PTL_MD_OP_GET;
	ptl_md_t md = session_md(session, is_put(run) ? session->sink : session->source, run->size, options);
	struct finding finding = {.alone_ns = compute(loop_turns)};
	ptl_handle_me_t me = session_attach(session, BITS_DATA, md, PTL_RETAIN);

	finding.copy_ns = time_copy(session, run->size);
	payload_fill(session, session->source, run->size, iteration);
	control_meet(&session->peers);
	control_meet(&session->peers);
	finding.busy_ns = compute(loop_turns);
	finding.found = event_is_there(session, kind);
	session->seen[kind] += finding.found;
	session_wait(session, kind, iteration + 1);
	if (is_put(run))
		payload_check(session, session->sink, run->size, iteration);
	session_detach(session, me);
	control_send(&session->peers, &finding, sizeof(finding));
}

/* All trials of one kind at the initiator: us, percent. */
static struct {
	struct samples source_free, complete, alone, busy, copy;
	uint32_t trials, bypassed;
} result;

static void put_once(struct session *session, const struct run *run, uint32_t iteration)
{
	ptl_handle_md_t md = session_bind(session, session_md(session, session->source, run->size, 0), PTL_RETAIN);

	payload_fill(session, session->source, run->size, iteration);
	uint64_t start = monotonic_ns();
	PTL(PtlPut(md, PTL_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
	samples_add(&result.source_free, (double)(monotonic_ns() - start) / 1e3);
	session_wait(session, PTL_EVENT_ACK, iteration + 1);
	samples_add(&result.complete, (double)(monotonic_ns() - start) / 1e3);
	session_release(session, md);
}

static void get_once(struct session *session, const struct run *run, uint32_t iteration)
{
	ptl_handle_md_t md = session_bind(session, session_md(session, session->sink, run->size, 0), PTL_RETAIN);
	uint64_t start = monotonic_ns();

	PTL(PtlGet(md, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0));
	session_wait(session, PTL_EVENT_REPLY_END, iteration + 1);
	samples_add(&result.complete, (double)(monotonic_ns() - start) / 1e3);
	payload_check(session, session->sink, run->size, iteration);
	session_release(session, md);
}

/*
 * Starts at a random moment of the first half of the computing, so that a quick NIC is done before it ends.  The
 * computing begins after `start`: what is complete within its length from then on was complete before it ended, whatever
 * the clock of the target says.  The first meeting makes the second one short.
 */
static void busy_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct finding finding;

	wait_ns((uint64_t)COMPUTE_NS); /* keeps this core as busy while the target computes in peace */
	control_meet(&session->peers);
	uint64_t start = monotonic_ns();
	control_meet(&session->peers);
	wait_ns(SETTLE_NS + (uint64_t)rand() % ((uint64_t)(COMPUTE_NS / 2) - SETTLE_NS));
	(is_put(run) ? put_once : get_once)(session, run, iteration);
	double elapsed = (double)(monotonic_ns() - start);
	control_receive(&session->peers, &finding, sizeof(finding));
	samples_add(&result.alone, finding.alone_ns);
	samples_add(&result.busy, finding.busy_ns);
	samples_add(&result.copy, finding.copy_ns);
	result.trials++;
	result.bypassed += finding.found && elapsed < finding.busy_ns;
}

const struct exchange put_to_busy_exchange = {busy_prepare, busy_initiate, busy_serve, NULL};
const struct exchange get_from_busy_exchange = {busy_prepare, busy_initiate, busy_serve, NULL};

enum {
	COLUMN_OPERATION,
	COLUMN_SIZE,
	COLUMN_SOURCE_FREE,
	COLUMN_COMPLETE,
	COLUMN_WORST,
	COLUMN_TRIALS,
	COLUMN_BYPASSED,
	COLUMN_LOST,
	COLUMN_LOST_BEYOND,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_OPERATION] = {"Operation", "operation", -10},
	[COLUMN_SIZE] = {"Size", "bytes", 0},
	[COLUMN_SOURCE_FREE] = {"SEND_END (us)", "send_end_us", 1},
	[COLUMN_COMPLETE] = {"complete (us)", "complete_us", 1},
	[COLUMN_WORST] = {"worst (us)", "worst_us", 1},
	[COLUMN_TRIALS] = {"trials", "trials", 0},
	[COLUMN_BYPASSED] = {"bypassed", "bypassed", 0},
	[COLUMN_LOST] = {"lost %", "compute_lost_percent", 2},
	[COLUMN_LOST_BEYOND] = {"beyond copy", "lost_beyond_copy_percent", 2},
};

static void forget_result(void)
{
	samples_free(&result.source_free);
	samples_free(&result.complete);
	samples_free(&result.alone);
	samples_free(&result.busy);
	samples_free(&result.copy);
	result.trials = result.bypassed = 0;
}

void bypass_take(struct samples *complete_us)
{
	*complete_us = result.complete;
	result.complete = (struct samples){0};
	forget_result();
}

static double worst(struct samples *samples)
{
	samples_summary(samples);
	return samples->count ? samples->value[samples->count - 1] : NAN;
}

static void measure_operation(struct session *session, enum exchange_id exchange, uint64_t size, uint32_t trials)
{
	struct run run = {.exchange = exchange, .size = size, .batch = 1, .batches = trials};

	measure_run(session, &run, NULL);
	double alone = samples_summary(&result.alone).median, busy = samples_summary(&result.busy).median;
	double copy = samples_summary(&result.copy).median;
	union cell cells[COLUMN_COUNT] = {
		[COLUMN_OPERATION] = {.text = is_put(&run) ? "put" : "get"},
		[COLUMN_SIZE] = {(double)size},
		[COLUMN_SOURCE_FREE] = {samples_summary(&result.source_free).median},
		[COLUMN_COMPLETE] = {samples_summary(&result.complete).median},
		[COLUMN_WORST] = {worst(&result.complete)},
		[COLUMN_TRIALS] = {result.trials},
		[COLUMN_BYPASSED] = {result.bypassed},
		[COLUMN_LOST] = {100 * (busy / alone - 1)},
		[COLUMN_LOST_BEYOND] = {100 * ((busy - copy) / alone - 1)},
	};

	forget_result();
	stage_row(session, cells, &run);
	forget_result();
}

int bypass(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {8, 64 << 10, 1 << 20};
	size_t count = sizes_choose(&session->load, sizes, 3, 0);
	uint32_t trials = session->load.iterations ? session->load.iterations : session->load.quick ? 5 : 20;
	struct usage before[2];
	char mode[32] = "";
	info_line(session->info, "mode", mode, sizeof(mode));
	output_fact("target", "computes for %.0f ms without calling Portals", COMPUTE_NS / 1e6);
	output_fact("complete", "PtlPut to ACK (the target's PUT_END is earlier), PtlGet to REPLY_END; medians");
	output_fact("bypassed", "trials complete, and PUT_END or GET_END posted, before the computing ended");
	output_fact("lost",
		    "how much longer the computing took than without traffic; beyond a memcpy of as many bytes");
	if (!strncmp(mode, "host", 4))
		output_fact("note", "mode host has no NIC thread: no bypass is expected");
	stage_rows_open(session, columns, COLUMN_COUNT);
	measure_connect(session);
	measure_usage(session, before);
	for (enum exchange_id exchange = EXCHANGE_PUT_TO_BUSY; exchange <= EXCHANGE_GET_FROM_BUSY; exchange++)
		for (size_t i = 0; i < count; i++)
			measure_operation(session, exchange, sizes[i], trials);
	measure_note_drivers(session, before);
	stage_rows_close(session);
	return 0;
}
