/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The LogP parameters of short puts, by the method of Culler et al. (Assessing fast network interfaces, IEEE Micro 1996),
 * as Active Messages on VIA reported them (its table 2): half a round trip, what that is beyond the raw transport, latency
 * L, host overhead of sending o_s and of receiving o_r, gap g; with --raw those of the raw transport beside ours.
 */
#include "tests.h"

#include <math.h>

#include "base/arch.h"
#include "common.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "raw.h"
#include "sizes.h"
#include "slots.h"
#include "stage_rows.h"

#define BURST CHECKED_LEAST /* messages; so few never wait for room */

static struct {
	struct samples send, receive;
} overhead;

static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

/* run.variant: what sends and receives the bursts. */
enum layer { PORTALS, LIBFABRIC, LINES };

static uint64_t lines_received, head_seen; /* of LINES, as slots.h wants it */

/* Nothing to do where receives are shared or persistent. */
static void post_burst(struct session *session, const struct run *run)
{
	for (int i = 0; run->variant == LIBFABRIC && i < BURST; i++)
		raw_post(raw_endpoint_for(session, run), session->sink, raw_put_size(session, run));
}

static void overhead_prepare(struct session *session, const struct run *run)
{
	if (run->variant == PORTALS) {
		source_md = session_bind_silent(session, session->source, run->size);
		entry = session_attach_sink(session, (session->load.check ? BURST : 1) * run->size);
	} else if (run->variant == LIBFABRIC) {
		raw_forget(raw_endpoint_for(session, run));
		post_burst(session, run);
	} else {
		memset(&session->common->queue[session->peers.role], 0, sizeof(session->common->queue[0]));
		lines_received = head_seen = 0;
	}
}

/* With --check a burst's messages lie behind each other. */
static void send_one(struct session *session, const struct run *run, int index)
{
	const uint64_t offset = session->load.check ? (uint64_t)index * run->size : 0;

	if (run->variant == PORTALS)
		PTL(PtlPut(source_md, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, offset, 0));
	else if (run->variant == LIBFABRIC)
		raw_send(raw_endpoint_for(session, run), session->source, raw_put_size(session, run));
	else
		slot_send(&session->common->queue[!session->peers.role], session->source, &head_seen);
}

static void send_burst(struct session *session, const struct run *run)
{
	for (int i = 0; i < BURST; i++)
		send_one(session, run, i);
}

static void take_burst(struct session *session, const struct run *run, uint32_t iteration)
{
	const uint64_t messages = (uint64_t)(iteration + 1) * BURST;

	if (run->variant == PORTALS)
		session_wait(session, PTL_EVENT_PUT_END, messages);
	else if (run->variant == LIBFABRIC)
		raw_wait(raw_endpoint_for(session, run), messages);
	else
		while (lines_received < messages)
			slot_receive(&session->common->queue[session->peers.role], lines_received++, session->sink);
}

/* The raw transport's payloads are not ours to check. */
static void fill_burst(const struct session *session, const struct run *run, uint32_t iteration)
{
	if (run->variant == PORTALS)
		payload_fill(session, session->source, run->size, iteration);
}

static void check_burst(const struct session *session, const struct run *run, uint32_t iteration)
{
	for (int i = 0; run->variant == PORTALS && i < BURST; i++)
		payload_check(session, session->sink + (size_t)i * run->size, run->size, iteration);
}

/* Lets the burst leave; none of it is host overhead of a call. */
static void flush_burst(struct session *session, const struct run *run)
{
	if (run->variant == LIBFABRIC)
		raw_flush(raw_endpoint_for(session, run));
}

/*
 * A burst there and a burst back, which has arrived when we begin to receive it: run.depth says how long we keep from
 * the layer meanwhile, ns.
 */
static void overhead_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	fill_burst(session, run, iteration);
	uint64_t start = monotonic_ns();
	send_burst(session, run);
	samples_add(&overhead.send, (double)(monotonic_ns() - start) / BURST);
	flush_burst(session, run);
	for (uint64_t end = monotonic_ns() + run->depth; monotonic_ns() < end;)
		cpu_pause();
	start = monotonic_ns();
	take_burst(session, run, iteration);
	samples_add(&overhead.receive, (double)(monotonic_ns() - start) / BURST);
	check_burst(session, run, iteration);
	if (iteration + 1 < run_iterations(run))
		post_burst(session, run);
}

static void overhead_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	take_burst(session, run, iteration);
	check_burst(session, run, iteration);
	if (iteration + 1 < run_iterations(run))
		post_burst(session, run);
	fill_burst(session, run, iteration);
	send_burst(session, run);
	flush_burst(session, run);
}

static void overhead_finish(struct session *session, const struct run *run)
{
	if (run->variant != PORTALS)
		return;
	session_detach(session, entry);
	session_release(session, source_md);
}

const struct exchange overhead_exchange = {overhead_prepare, overhead_initiate, overhead_serve, overhead_finish};

/* Ours, and what the raw transport has in its place. */
static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"RTT/2 (us)", "half_rtt_us", 3},
	{"beyond raw", "delta_us", 3},
	{"L", "latency_us", 3},
	{"o_s", "send_overhead_us", 3},
	{"o_r", "receive_overhead_us", 3},
	{"g", "gap_us", 3},
	{NULL, "raw_half_rtt_us", 3},
	{"raw L", "raw_latency_us", 3},
	{"raw o_s", "raw_send_overhead_us", 3},
	{"raw o_r", "raw_receive_overhead_us", 3},
	{"raw g", "raw_gap_us", 3},
};

struct figures {
	double half, gap, send, receive; /* us */
};

static double median_us(struct samples *samples, double divisor)
{
	double median = samples_summary(samples).median / divisor / 1e3;

	samples_free(samples);
	return median;
}

static struct figures measure_overheads(struct session *session, enum layer layer, uint64_t size, double half,
					double gap)
{
	struct run run = {.exchange = EXCHANGE_OVERHEAD,
			  .size = size,
			  .variant = layer,
			  .depth = (uint32_t)fmin(1e3 * (10 * half + 2 * BURST * gap), UINT32_MAX),
			  .lead = 10,
			  .batch = 1,
			  .batches = session->load.quick ? 200 : 2000};

	measure_run(session, &run, NULL);
	return (struct figures){half, gap, median_us(&overhead.send, 1), median_us(&overhead.receive, 1)};
}

/* A write into the other side's memory has no receiver that could spend anything. */
static struct figures measure_raw(struct session *session, uint64_t size, struct series *ping_pong,
				  struct series *windows, bool any)
{
	double half = any ? median_us(&ping_pong->samples, 2) : NAN,
	       gap = any ? median_us(&windows->samples, windows->run.window) : NAN;

	if (!any || session->load.raw == RAW_RMA)
		return (struct figures){half, gap, NAN, NAN};
	return measure_overheads(session, session->raw ? LIBFABRIC : LINES, size, half, gap);
}

static void measure_size(struct session *session, uint64_t size)
{
	const uint32_t window = session_window(&session->load, size);
	int raw_put = raw_counterpart(session, EXCHANGE_PUT, size),
	    raw_window = raw_counterpart(session, EXCHANGE_PUT_WINDOW, size);
	bool any = raw_put >= 0 && raw_window >= 0;
	struct series all_series[] = {
		{.run = {.exchange = EXCHANGE_COMPLETION, .size = size, .variant = session->load.wait == WAIT_EQGET}},
		{.run = {.exchange = EXCHANGE_PUT_WINDOW, .size = size, .window = window}},
		{.run = {.exchange = (uint32_t)raw_put, .size = size}},
		{.run = {.exchange = (uint32_t)raw_window, .size = size, .window = window}},
	};

	measure_row(session, all_series, any ? 4 : 2);
	double half = median_us(&all_series[0].samples, 2), gap = median_us(&all_series[1].samples, window);
	struct figures ours = measure_overheads(session, PORTALS, size, half, gap);
	struct figures raw = measure_raw(session, size, &all_series[2], &all_series[3], any);
	stage_row(session,
		  (union cell[]){{(double)size},
				 {ours.half},
				 {ours.half - raw.half},
				 {ours.half - ours.send - ours.receive},
				 {ours.send},
				 {ours.receive},
				 {ours.gap},
				 {raw.half},
				 {raw.half - raw.send - raw.receive},
				 {raw.send},
				 {raw.receive},
				 {raw.gap}},
		  &(struct run){.exchange = EXCHANGE_PUT_WINDOW, .size = size, .window = window});
}

int logp(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {16, 1024};
	size_t count = sizes_choose(&session->load, sizes, 2, 1);

	output_fact("RTT/2",
		    "half a round trip of puts, one receive descriptor for all; beyond raw: less that of --raw");
	output_fact("o_s, o_r",
		    "PtlPut, and PtlEQWait whose event's message has arrived, of bursts of %d; raw: a send, and "
		    "reading a completion, after which "
		    "the provider may have all the work to do",
		    BURST);
	output_fact("L, g", "RTT/2 - o_s - o_r; time between messages of a stream of windows");
	raw_fact(session);
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_size(session, sizes[i]);
	stage_rows_close(session);
	return 0;
}
