/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a layer above Portals costs its host, part by part, as the document on VIA parted its layers (tables 3 to 5, figures 3 and
 * 4): the base transport, the notification of events, flow control, and what the layer means; of a short request and its reply of
 * Active Messages, of a get of Split-C, and of 1 KiB in a stream.
 */
#include "tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "am_exchange.h"
#include "fail.h"
#include "layer_clock.h"
#include "measure.h"
#include "output.h"
#include "splitc_exchange.h"
#include "stage_rows.h"

#define PAUSE_MOST_US 1000.0
#define BULK_BYTES    1024 /* table 5 */
#define SHORT         32
#define COPIES        1000

enum group { BASE, NOTIFICATION, FLOW, MEANING, GROUPS };

static const char *const group_names[GROUPS] = {"base transport", "event notification", "flow control", "semantics"};

struct part {
	enum group group;
	enum layer_part part;
	const char *name;
	double via_percent; /* NaN: has no counterpart there */
};

struct breakdown {
	const char *layer;
	double via_percent[GROUPS];
	uint32_t exchange, variant;
	struct part parts[8];
	size_t count;
};

static const struct breakdown breakdowns[] = {
	{"Active Messages",
	 {32.5, 44.2, 14.4, 8.9},
	 EXCHANGE_AM_OVERHEAD,
	 0, /* short, with credits */
	 {{BASE, LAYER_PUT, "PtlPutRegion", NAN},
	  {NOTIFICATION, LAYER_EVENT_SENT, "PtlEQGet: sent", 22.1},
	  {NOTIFICATION, LAYER_EVENT_CAME, "PtlEQGet: came", 22.1},
	  {NOTIFICATION, LAYER_EVENT_NONE, "PtlEQGet: nothing", NAN},
	  {FLOW, LAYER_SEND, "slot, credit, header", 5.7},
	  {FLOW, LAYER_QUEUE, "queue of messages", 8.7},
	  {MEANING, LAYER_RECEIVE, "read message", 6.3},
	  {MEANING, LAYER_HANDLER, "handler", 2.6}},
	 8},
	{"Split-C get",
	 {36.1, 46.9, 11.6, 5.4},
	 EXCHANGE_SPLITC_OVERHEAD,
	 SPLITC_GET,
	 {{BASE, LAYER_PUT, "PtlGetRegion", NAN},
	  {NOTIFICATION, LAYER_EVENT_CAME, "PtlEQPoll", 22.5},
	  {FLOW, LAYER_SEND, "word, checks", 4.9},
	  {MEANING, LAYER_RECEIVE, "store value", 3.6}},
	 4},
};

static const struct column columns[] = {
	{"Layer", "layer", -16},         {"part", "part", -19},       {"operation", "operation", -21}, {"ns", "ns", 1},
	{"% of overhead", "percent", 1}, {"VIA %", "via_percent", 1}, {"VIA us", "via_us", 1},
};

/* Layer, part and operation; with --nic-timing the stages of `run` if that is not NULL. */
static void row(struct session *session, const char *const names[3], const struct run *run, double ns, double of,
		double via_percent, double via_us)
{
	stage_row(session,
		  (union cell[]){{.text = names[0]},
				 {.text = names[1]},
				 {.text = names[2]},
				 {ns},
				 {100 * ns / of},
				 {via_percent},
				 {via_us}},
		  run);
}

#define NAMES(layer, part, operation) ((const char *const[]){layer, part, operation})

static void measure_parts(struct session *session, const struct breakdown *breakdown, double pause_us)
{
	struct run run = {.exchange = breakdown->exchange,
			  .size = sizeof(uint64_t),
			  .variant = breakdown->variant,
			  .window = AM_BURST,
			  .depth = (uint32_t)(1e3 * pause_us),
			  .batch = 1,
			  .batches = session->load.quick ? 300 : 3000};
	double ns[LAYER_PARTS], sum[GROUPS] = {0}, all = 0;

	measure_run(session, &run, NULL);
	layer_clock_start();
	measure_run(session, &run, NULL);
	layer_clock_take(ns);
	for (size_t i = 0; i < breakdown->count; i++) {
		sum[breakdown->parts[i].group] += ns[breakdown->parts[i].part];
		all += ns[breakdown->parts[i].part];
	}
	for (size_t i = 0; i < breakdown->count; i++) {
		const struct part *part = &breakdown->parts[i];
		if (i == 0 || part->group != part[-1].group)
			row(session, NAMES(breakdown->layer, group_names[part->group], ""), NULL, sum[part->group], all,
			    breakdown->via_percent[part->group], NAN);
		row(session, NAMES(breakdown->layer, group_names[part->group], part->name), NULL, ns[part->part], all,
		    part->via_percent, NAN);
	}
	row(session, NAMES(breakdown->layer, "overhead", "all"), &run, all, all, 100, NAN);
}

static char *new_block(void)
{
	char *block = malloc((size_t)COPIES * BULK_BYTES);

	if (!block)
		fail("no memory for %d copies", COPIES);
	memset(block, 1, (size_t)COPIES * BULK_BYTES);
	return block;
}

/* Each of other memory, as a stream's messages are: one place copied again and again would stay in the innermost cache. */
static double copy_ns(void)
{
	char *from = new_block(), *to = new_block();
	uint64_t start = monotonic_ns();

	for (size_t at = 0; at < (size_t)COPIES * BULK_BYTES; at += BULK_BYTES) {
		memcpy(to + at, from + at, BULK_BYTES);
		__asm__ volatile("" ::: "memory");
	}
	uint64_t spent = monotonic_ns() - start;
	free(from);
	free(to);
	return (double)spent / COPIES;
}

static double median_ns(struct series *series)
{
	double median = samples_summary(&series->samples).median / series->run.window;

	samples_free(&series->samples);
	return median;
}

/* Of a message in a stream, ns: a put, a short put, a message of the layer. */
struct stream {
	double put, answer, am;
};

static struct stream measure_stream(struct session *session)
{
	const uint32_t window = session_window(&session->load, BULK_BYTES);
	struct series all_series[] = {
		{.run = {.exchange = EXCHANGE_PUT_WINDOW, .size = BULK_BYTES, .window = window}},
		{.run = {.exchange = EXCHANGE_PUT_WINDOW, .size = SHORT, .window = window}},
		{.run = {.exchange = EXCHANGE_AM_STREAM,
			 .size = BULK_BYTES,
			 .window = window,
			 .variant = am_variant(0, AM_KIND_MEDIUM)}},
	};

	measure_row(session, all_series, 3);
	return (struct stream){median_ns(&all_series[0]), median_ns(&all_series[1]), median_ns(&all_series[2])};
}

/* As there: what a message takes beyond a put, and what explains it, a copy and a short message back. */
static void explain_stream(struct session *session, const struct stream *stream)
{
	const char *const layer = "1 KiB in a stream", *const part = "beyond put";
	const double beyond = stream->am - stream->put, copy = copy_ns();

	row(session, NAMES(layer, part, "memory copy"), NULL, copy, beyond, NAN, 4);
	row(session, NAMES(layer, part, "short message back"), NULL, stream->answer, beyond, NAN, 14.5);
	row(session, NAMES(layer, part, "not explained"), NULL, beyond - copy - stream->answer, beyond, NAN, NAN);
	row(session, NAMES(layer, part, "all"), NULL, beyond, beyond, NAN, 18.5);
}

int breakdown(struct session *session)
{
	const struct stream stream = measure_stream(session);

	output_fact("overhead",
		    "of the process that asks: bursts of %d requests and, when their replies have come, taking these; "
		    "medians of bursts",
		    AM_BURST);
	output_fact("VIA", "%% of overhead in tables 3 and 4 of the document on VIA, us in its table 5");
	output_fact("target",
		    "of a Split-C get takes no part but by its NIC thread, which a read before each burst wakes");
	output_fact("1 KiB in a stream",
		    "memory copy: each of another place; not explained: of what the layer takes beyond a "
		    "put; below 0: both overlap");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	/* Replies have come by then; longer, and the NIC threads would sleep meanwhile. */
	double pause_us = fmin(4 * AM_BURST * stream.am / 1e3, PAUSE_MOST_US);
	for (size_t i = 0; i < sizeof(breakdowns) / sizeof(breakdowns[0]); i++)
		measure_parts(session, &breakdowns[i], pause_us);
	explain_stream(session, &stream);
	stage_rows_close(session);
	return 0;
}
