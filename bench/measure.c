/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arch.h"
#include "distance.h"
#include "fail.h"
#include "histogram.h"
#include "output.h"

static const struct exchange *const exchanges[EXCHANGE_COUNT] = {
	[EXCHANGE_PUT] = &put_exchange,
	[EXCHANGE_GET] = &get_exchange,
	[EXCHANGE_PUT_WINDOW] = &put_window_exchange,
	[EXCHANGE_GET_WINDOW] = &get_window_exchange,
	[EXCHANGE_PUT_REWRITTEN] = &put_rewritten_exchange,
	[EXCHANGE_PUT_BEHIND] = &put_behind_exchange,
	[EXCHANGE_PUT_UNEXPECTED] = &put_unexpected_exchange,
	[EXCHANGE_PUT_TO_BUSY] = &put_to_busy_exchange,
	[EXCHANGE_GET_FROM_BUSY] = &get_from_busy_exchange,
	[EXCHANGE_IDLE] = &idle_exchange,
	[EXCHANGE_COUNTED_PUT] = &counted_put_exchange,
	[EXCHANGE_COUNTED_BARE] = &counted_bare_exchange,
	[EXCHANGE_WAKE_PUT] = &wake_put_exchange,
	[EXCHANGE_WAKE_FUTEX] = &wake_futex_exchange,
	[EXCHANGE_BOTH_PUT] = &both_put_exchange,
	[EXCHANGE_BOTH_WINDOW] = &both_window_exchange,
	[EXCHANGE_SEGMENTS] = &segments_exchange,
	[EXCHANGE_COMPLETION] = &completion_exchange,
	[EXCHANGE_REUSE] = &reuse_exchange,
	[EXCHANGE_REUSE_WINDOW] = &reuse_window_exchange,
	[EXCHANGE_OPERATIONS] = &operations_exchange,
	[EXCHANGE_OVERHEAD] = &overhead_exchange,
	[EXCHANGE_HOST_OVERHEAD] = &host_overhead_exchange,
	[EXCHANGE_FRAGMENTS] = &fragments_exchange,
	[EXCHANGE_SEQUENCE] = &sequence_exchange,
	[EXCHANGE_AM] = &am_exchange,
	[EXCHANGE_AM_STREAM] = &am_stream_exchange,
	[EXCHANGE_AM_OVERHEAD] = &am_overhead_exchange,
	[EXCHANGE_RM] = &rm_exchange,
	[EXCHANGE_SPLITC] = &splitc_exchange,
	[EXCHANGE_SPLITC_PUTS] = &splitc_puts_exchange,
	[EXCHANGE_SPLITC_OVERHEAD] = &splitc_overhead_exchange,
	[EXCHANGE_TIMED] = &timed_exchange,
	[EXCHANGE_RAW_TIMED] = &raw_timed_exchange,
	[EXCHANGE_SLOTS] = &slots_exchange,
	[EXCHANGE_SLOTS_WINDOW] = &slots_window_exchange,
	[EXCHANGE_BARE] = &bare_exchange,
	[EXCHANGE_BARE_WINDOW] = &bare_window_exchange,
	[EXCHANGE_DISTANCE] = &distance_exchange,
	[EXCHANGE_RAW_PUT] = &raw_put_exchange,
	[EXCHANGE_RAW_GET] = &raw_get_exchange,
	[EXCHANGE_RAW_PUT_WINDOW] = &raw_put_window_exchange,
	[EXCHANGE_RAW_GET_WINDOW] = &raw_get_window_exchange,
	[EXCHANGE_RMA_PUT] = &rma_put_exchange,
	[EXCHANGE_RMA_GET] = &rma_get_exchange,
	[EXCHANGE_RMA_PUT_WINDOW] = &rma_put_window_exchange,
	[EXCHANGE_RMA_GET_WINDOW] = &rma_get_window_exchange,
};

struct order {
	enum { ORDER_RUN, ORDER_USAGE, ORDER_TIMING_ON, ORDER_TIMING_OFF, ORDER_END } kind;
	struct run run;
};

static void serve_run(struct session *session, const struct run *run)
{
	if (run->exchange >= EXCHANGE_COUNT)
		fail("the initiator ordered an unknown exchange (%u)", run->exchange);
	const struct exchange *exchange = exchanges[run->exchange];
	uint32_t iterations = run_iterations(run);
	session_forget(session);
	if (exchange->prepare)
		exchange->prepare(session, run);
	control_meet(&session->peers);
	for (uint32_t i = 0; i < iterations; i++)
		exchange->serve(session, run, i);
	if (exchange->finish)
		exchange->finish(session, run);
	control_meet(&session->peers);
}

static struct usage own_usage(const struct session *session)
{
	ptl_nic_counters_t counters;
	struct timespec cpu;

	PTL(PtlNicCounters(session->ni, &counters));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct usage){
		.cpu_ns = 1e9 * (double)cpu.tv_sec + (double)cpu.tv_nsec,
		.by_host = (double)counters.driven_by_host,
		.by_nic = (double)counters.driven_by_nic,
	};
}

static void serve_usage(struct session *session, const struct run *run)
{
	struct usage usage = own_usage(session);

	(void)run;
	control_send(&session->peers, &usage, sizeof(usage));
}

static void switch_timing_on(struct session *session, const struct run *run)
{
	PTL(PtlNicTimingSet(session->ni, run->stages_in_batches ? PTL_NIC_TIMING_BATCHES : PTL_NIC_TIMING_ON));
}

static void serve_timing_off(struct session *session, const struct run *run)
{
	struct stage_times times;

	(void)run;
	stage_times_take(session->ni, &times);
	control_send(&session->peers, &times, sizeof(times));
}

void measure_serve(struct session *session)
{
	static void (*const serve[ORDER_END])(struct session *, const struct run *) = {
		[ORDER_RUN] = serve_run,
		[ORDER_USAGE] = serve_usage,
		[ORDER_TIMING_ON] = switch_timing_on,
		[ORDER_TIMING_OFF] = serve_timing_off,
	};
	struct order order;

	for (;;) {
		control_receive(&session->peers, &order, sizeof(order));
		if (order.kind >= ORDER_END)
			break;
		serve[order.kind](session, &order.run);
	}
	peers_part(&session->peers);
}

void measure_end(struct session *session)
{
	struct order order = {.kind = ORDER_END};

	control_send(&session->peers, &order, sizeof(order));
	peers_part(&session->peers);
}

static double timed_batches(struct session *session, const struct run *run, struct samples *samples)
{
	const struct exchange *exchange = exchanges[run->exchange];
	uint32_t i = 0;

	while (i < run->lead)
		exchange->initiate(session, run, i++);
	uint64_t first = monotonic_ns(), start = first;
	for (uint32_t batch = 0; batch < run->batches; batch++) {
		for (uint32_t end = i + run->batch; i < end; i++)
			exchange->initiate(session, run, i);
		uint64_t now = monotonic_ns();
		if (samples)
			samples_add(samples, (double)(now - start) / run->batch);
		start = now;
	}
	return (double)(start - first);
}

/* One process that is its own other side needs no orders and no waiting. */
static bool is_alone(const struct session *session)
{
	return session->peers.control < 0;
}

static void give_order(const struct session *session, struct order order)
{
	if (!is_alone(session))
		control_send(&session->peers, &order, sizeof(order));
}

static void meet(const struct session *session)
{
	if (!is_alone(session))
		control_meet(&session->peers);
}

double measure_run(struct session *session, const struct run *run, struct samples *samples)
{
	const struct exchange *exchange = exchanges[run->exchange];

	give_order(session, (struct order){.kind = ORDER_RUN, .run = *run});
	session_forget(session);
	if (exchange->prepare)
		exchange->prepare(session, run);
	meet(session);
	double elapsed = timed_batches(session, run, samples);
	if (exchange->finish)
		exchange->finish(session, run);
	meet(session);
	return elapsed;
}

void measure_usage(struct session *session, struct usage usage[2])
{
	give_order(session, (struct order){.kind = ORDER_USAGE});
	usage[INITIATOR] = own_usage(session);
	usage[TARGET] = (struct usage){0};
	if (!is_alone(session))
		control_receive(&session->peers, &usage[TARGET], sizeof(usage[TARGET]));
}

double measure_host_percent(const struct usage *spent)
{
	double messages = spent->by_host + spent->by_nic;

	return messages > 0 ? 100 * spent->by_host / messages : NAN;
}

static void usage_add(struct usage *sum, const struct usage *before, const struct usage *after)
{
	sum->cpu_ns += after->cpu_ns - before->cpu_ns;
	sum->by_host += after->by_host - before->by_host;
	sum->by_nic += after->by_nic - before->by_nic;
}

/* Time for one row of a table, ns.  24 rows from 0 to 4M must be done in 40 s, 13 quick ones in 8 s. */
static double row_budget(const struct workload *load)
{
	return load->row_ms ? load->row_ms * 1e6 : load->quick ? 0.3e9 : 1.1e9;
}

/* Mean time of an iteration, ns. */
static double trial(struct session *session, struct run run, uint32_t iterations)
{
	run.batch = 1;
	run.batches = iterations;
	return measure_run(session, &run, NULL) / iterations;
}

/* The first trial makes the connection and is kept short, the second warms up, but not for long. */
static void warm_up(struct session *session, struct series *series, double budget)
{
	double time = trial(session, series->run, 3);
	double iterations = fmin(session->load.warmup, 0.1 * budget / time);

	if (iterations >= 1)
		time = trial(session, series->run, (uint32_t)iterations);
	series->iteration_ns = time;
}

/* Plans anew each time: how long an iteration takes depends on what else the machine does. */
static void take_turn(struct session *session, struct series *series, double budget)
{
	uint32_t turns = session->load.repeat, iterations = (session->load.iterations + turns - 1) / turns;
	struct run *run = &series->run;
	struct batch_limits limits = run->window ? (struct batch_limits){1, 1} : (struct batch_limits){10, 50};
	struct plan plan = plan_batches(series->iteration_ns, budget, iterations, limits);
	struct usage before[2], after[2];

	run->batch = plan.batch;
	run->batches = plan.batches;
	run->lead = (plan.batch + 4) / 5;
	measure_usage(session, before);
	double elapsed = measure_run(session, run, &series->samples);
	measure_usage(session, after);
	for (int role = INITIATOR; role <= TARGET; role++)
		usage_add(&series->usage[role], &before[role], &after[role]);
	series->iterations += run_iterations(run);
	series->iteration_ns = elapsed / ((double)plan.batch * plan.batches);
}

static void try_row(struct session *session, struct series *all_series, size_t count)
{
	double budget = row_budget(&session->load) / (double)count;

	for (size_t i = 0; i < count; i++)
		warm_up(session, &all_series[i], budget);
	for (uint32_t turn = 0; turn < session->load.repeat; turn++)
		for (size_t i = 0; i < count; i++)
			take_turn(session, &all_series[i], budget / session->load.repeat);
}

void measure_row(struct session *session, struct series *all_series, size_t count)
{
	struct distance *distance = &session->distance;

	for (distance->tries = 1;; distance->tries++) {
		distance->before = distance_measure(session);
		try_row(session, all_series, count);
		distance->after = distance_measure(session);
		if (!distance_has_changed(distance))
			break;
		for (size_t i = 0; i < count; i++) {
			samples_free(&all_series[i].samples);
			all_series[i] = (struct series){.run = all_series[i].run};
		}
	}
	histogram_add(all_series, count);
}

void measure_connect(struct session *session)
{
	struct run run = {.exchange = EXCHANGE_PUT, .size = 8, .batch = 10, .batches = 10};

	measure_run(session, &run, NULL);
}

void measure_note_drivers(struct session *session, const struct usage before[2])
{
	static const char *const names[] = {"initiator driven by", "target driven by"};
	struct usage spent[2] = {{0}}, after[2];

	measure_usage(session, after);
	for (int role = INITIATOR; role <= TARGET; role++) {
		usage_add(&spent[role], &before[role], &after[role]);
		double host = measure_host_percent(&spent[role]);
		if (!isnan(host))
			output_note(names[role], "host %.1f %%, NIC thread %.1f %%", host, 100 - host);
	}
}

void measure_nic_timing(struct session *session, const struct run *run, struct stage_times times[2])
{
	give_order(session, (struct order){.kind = ORDER_TIMING_ON, .run = *run});
	switch_timing_on(session, run);
	measure_run(session, run, NULL);
	stage_times_take(session->ni, &times[INITIATOR]);
	give_order(session, (struct order){.kind = ORDER_TIMING_OFF});
	if (is_alone(session))
		stage_times_none(&times[TARGET]);
	else
		control_receive(&session->peers, &times[TARGET], sizeof(times[TARGET]));
}
