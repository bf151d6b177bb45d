/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The LogP parameters of short puts, by the method of Culler et al. (Assessing fast network interfaces, IEEE Micro 1996),
 * as Active Messages on VIA reported them (its table 2): half a round trip, what that is beyond the raw transport, latency
 * L, host overhead of sending o_s and of receiving o_r, gap g.
 */
#include "tests.h"

#include <math.h>

#include "base/arch.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "raw.h"
#include "stage_rows.h"

#define BURST 8 /* messages; so few never wait for room */

static struct {
	struct samples send, receive;
} overhead;

static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

static void overhead_prepare(struct session *session, const struct run *run)
{
	source_md = session_bind_silent(session, session->source, run->size);
	entry = session_attach_sink(session, run->size);
}

static void send_burst(struct session *session)
{
	for (int i = 0; i < BURST; i++)
		session_put(session, source_md, BITS_DATA);
}

/*
 * A burst there and a burst back, which has arrived when we begin to receive it: run.depth says how long we keep from
 * Portals meanwhile, ns.
 */
static void overhead_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	uint64_t start = monotonic_ns();
	send_burst(session);
	samples_add(&overhead.send, (double)(monotonic_ns() - start) / BURST);
	for (uint64_t end = monotonic_ns() + run->depth; monotonic_ns() < end;)
		cpu_pause();
	start = monotonic_ns();
	session_wait(session, PTL_EVENT_PUT_END, (uint64_t)(iteration + 1) * BURST);
	samples_add(&overhead.receive, (double)(monotonic_ns() - start) / BURST);
}

static void overhead_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	session_wait(session, PTL_EVENT_PUT_END, (uint64_t)(iteration + 1) * BURST);
	send_burst(session);
}

static void overhead_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, source_md);
}

const struct exchange overhead_exchange = {overhead_prepare, overhead_initiate, overhead_serve, overhead_finish};

static const struct column columns[] = {
	{"Size", "bytes", 0},   {"RTT/2 (us)", "half_rtt_us", 3}, {"beyond raw", "delta_us", 3},
	{"L", "latency_us", 3}, {"o_s", "send_overhead_us", 3},   {"o_r", "receive_overhead_us", 3},
	{"g", "gap_us", 3},
};

static double median_us(struct samples *samples, double divisor)
{
	double median = samples_summary(samples).median / divisor / 1e3;

	samples_free(samples);
	return median;
}

static void measure_size(struct session *session, uint64_t size)
{
	const uint32_t window = session_window(&session->load, size);
	int candidate = raw_counterpart(session, EXCHANGE_PUT, size);
	struct series all_series[] = {
		{.run = {.exchange = EXCHANGE_COMPLETION, .size = size, .variant = session->load.wait == WAIT_EQGET}},
		{.run = {.exchange = EXCHANGE_PUT_WINDOW, .size = size, .window = window}},
		{.run = {.exchange = (uint32_t)candidate, .size = size}},
	};

	measure_row(session, all_series, candidate < 0 ? 2 : 3);
	double half = median_us(&all_series[0].samples, 2), gap = median_us(&all_series[1].samples, window);
	double raw = candidate < 0 ? NAN : median_us(&all_series[2].samples, 2);
	struct run run = {.exchange = EXCHANGE_OVERHEAD,
			  .size = size,
			  .depth = (uint32_t)fmin(1e3 * (10 * half + 2 * BURST * gap), UINT32_MAX),
			  .lead = 10,
			  .batch = 1,
			  .batches = session->load.quick ? 200 : 2000};
	measure_run(session, &run, NULL);
	double send = median_us(&overhead.send, 1), receive = median_us(&overhead.receive, 1);
	stage_row(
		session,
		(union cell[]){{(double)size}, {half}, {half - raw}, {half - send - receive}, {send}, {receive}, {gap}},
		&(struct run){.exchange = EXCHANGE_PUT_WINDOW, .size = size, .window = window});
}

int logp(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {16, 1024};
	size_t count = 2;

	if (session->load.sizes_given)
		count = size_list_from_1(session->load.size_min, session->load.size_max, session->load.quick ? 4 : 2,
					 sizes, SIZES_MAX);
	output_fact("RTT/2",
		    "half a round trip of puts, one receive descriptor for all; beyond raw: less that of --raw");
	output_fact("o_s, o_r", "PtlPut, and PtlEQWait whose event's message has arrived, of bursts of %d", BURST);
	output_fact("L, g", "RTT/2 - o_s - o_r; time between messages of a stream of windows");
	raw_fact(session);
	stage_rows_open(session, columns, sizeof columns / sizeof columns[0]);
	for (size_t i = 0; i < count; i++)
		measure_size(session, sizes[i]);
	stage_rows_close(session);
	return 0;
}
