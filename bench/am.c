/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active Messages (examples/active_messages) as the document on VIA measured its own (tables 2 and 5, figure 5): the LogP parameters
 * of short, medium and bulk messages, what they add to a put, and how they are kept from overrunning their target: by credits on one
 * channel, by credits of three channels for each peer, or not at all.
 */
#include "tests.h"

#include <math.h>

#include "am_exchange.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

#define PAUSE_MOST_US 1000.0

static const char *const kinds[] = {"short", "medium", "bulk"};
static const char *const flows[AM_FLOWS] = {"credits", "3 channels", "no credits"};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"message", "message", -8},
	{"flow control", "flow_control", -12},
	{"RTT/2 (us)", "half_rtt_us", 3},
	{"beyond put", "delta_us", 3},
	{"L", "latency_us", 3},
	{"o_s", "send_overhead_us", 3},
	{"o_r", "receive_overhead_us", 3},
	{"g", "gap_us", 3},
	{"MB/s", "megabytes_per_second", 1},
	{"put MB/s", "put_megabytes_per_second", 1},
};

/* The series of a row: round trips and streams of puts, then of each flow control. */
enum { PUT, PUT_STREAM, FIRST_FLOW };

static double median_us(struct samples *samples, double divisor)
{
	double median = samples_summary(samples).median / divisor / 1e3;

	samples_free(samples);
	return median;
}

static void measure_overhead(struct session *session, uint64_t size, uint32_t variant, double pause_us, double us[2])
{
	struct run run = {.exchange = EXCHANGE_AM_OVERHEAD,
			  .size = size,
			  .variant = variant,
			  .depth = (uint32_t)(1e3 * pause_us),
			  .lead = 10,
			  .batch = 1,
			  .batches = session->load.quick ? 100 : 1000};
	struct samples send, receive;

	measure_run(session, &run, NULL);
	am_take_overhead(&send, &receive);
	us[INITIATOR] = median_us(&send, 1);
	us[TARGET] = median_us(&receive, 1);
}

static void measure_size(struct session *session, uint64_t size)
{
	const enum am_kind kind = am_kind_of(size);
	const uint32_t window = session_window(&session->load, size);
	struct series all_series[FIRST_FLOW + 2 * AM_FLOWS] = {
		[PUT] = {.run = {.exchange = EXCHANGE_PUT, .size = size}},
		[PUT_STREAM] = {.run = {.exchange = EXCHANGE_PUT_WINDOW, .size = size, .window = window}},
	};
	double us[FIRST_FLOW + 2 * AM_FLOWS];

	for (unsigned flow = 0; flow < AM_FLOWS; flow++) {
		const uint32_t variant = am_variant(flow, kind);
		all_series[FIRST_FLOW + 2 * flow].run =
			(struct run){.exchange = EXCHANGE_AM, .size = size, .variant = variant};
		all_series[FIRST_FLOW + 2 * flow + 1].run = (struct run){
			.exchange = EXCHANGE_AM_STREAM, .size = size, .window = window, .variant = variant};
	}
	measure_row(session, all_series, FIRST_FLOW + 2 * AM_FLOWS);
	for (size_t i = 0; i < FIRST_FLOW + 2 * AM_FLOWS; i++)
		us[i] = median_us(&all_series[i].samples, i % 2 ? window : 2);
	for (unsigned flow = 0; flow < AM_FLOWS; flow++) {
		const double half = us[FIRST_FLOW + 2 * flow], gap = us[FIRST_FLOW + 2 * flow + 1];
		double overhead[2];
		measure_overhead(session, size, am_variant(flow, kind),
				 fmin(10 * half + 4 * AM_BURST * gap, PAUSE_MOST_US), overhead);
		stage_row(session,
			  (union cell[]){{(double)size},
					 {.text = kinds[kind]},
					 {.text = flows[flow]},
					 {half},
					 {half - us[PUT]},
					 {kind == AM_KIND_BULK ? NAN : half - overhead[INITIATOR] - overhead[TARGET]},
					 {overhead[INITIATOR]},
					 {overhead[TARGET]},
					 {gap},
					 {(double)size / gap},
					 {(double)size / us[PUT_STREAM]}},
			  &(struct run){.exchange = EXCHANGE_AM, .size = size, .variant = am_variant(flow, kind)});
	}
}

int am(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {16, AM_SHORT_BYTES, 1024, 4096, 65536};
	size_t count = sizes_choose(&session->load, sizes, 5, 1);

	output_fact("RTT/2",
		    "half of a request and its reply of the same size; beyond put: less put-latency, in turns");
	output_fact("messages",
		    "short: arguments, up to %d bytes; medium: up to 4096, into a receive block; bulk: into the "
		    "segment, and a short message",
		    AM_SHORT_BYTES);
	output_fact("o_s, o_r",
		    "a request, and taking a reply that has arrived, of bursts of %d; L: RTT/2 - o_s - o_r, "
		    "unless o_s waits for bulk data to leave",
		    AM_BURST);
	output_fact("g", "time between requests of a stream, each answered by an empty reply; MB/s from it");
	output_fact("flow control",
		    "8 credits for each peer; as many for short, medium and bulk apart; or no credits: what finds no "
		    "room is fetched");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_size(session, sizes[i]);
	stage_rows_close(session);
	return 0;
}
