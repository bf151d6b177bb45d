/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What GRIM measured of its interfaces (tables 5.2 to 5.4, figures 5.8, 5.10, 5.12 to 5.14), on examples/remote_memory: half a round trip of an
 * active message (AM), of a write to a virtual address that is looked up each time (RM-V), and of one to a place that is known (RM-P); for
 * all lengths, then for one length with the ways to cut and to inject it.
 */
#include "tests.h"

#include <math.h>

#include "examples/remote_memory/rm.h"
#include "layer_clock.h"
#include "rm_exchange.h"
#include "sizes.h"
#include "stage_rows.h"

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"part", "part", -12},
	{"fragment", "fragment_bytes", 0},
	{"AM (us)", "am_us", 3},
	{"RM-V (us)", "rmv_us", 3},
	{"RM-P (us)", "rmp_us", 3},
	{"look up (us)", "lookup_us", 3},
	{"put (us)", "put_us", 3},
	{"AM MB/s", "am_megabytes_per_second", 1},
	{"RM-V MB/s", "rmv_megabytes_per_second", 1},
	{"RM-P MB/s", "rmp_megabytes_per_second", 1},
	{"put MB/s", "put_megabytes_per_second", 1},
	{"stage", "stage", -14},
};

#define MTU 65536 /* the greatest fragment */

enum { AM, RM_V, RM_P, LOOK_UP, PUT, SERIES };

static void measure(struct session *session, const char *part, uint64_t size, unsigned injection, uint64_t fragment)
{
	struct series all_series[SERIES] = {
		[AM] = {.run = rm_run(size, RM_MANNER_MESSAGE, injection, fragment)},
		[RM_V] = {.run = rm_run(size, RM_MANNER_LOOK_UP, injection, fragment)},
		[RM_P] = {.run = rm_run(size, RM_MANNER_KNOWN, injection, fragment)},
		[LOOK_UP] = {.run = rm_run(size, RM_MANNER_ASK, injection, fragment)},
		[PUT] = {.run = {.exchange = EXCHANGE_PUT, .size = size}},
	};
	const struct run timed = all_series[RM_P].run;
	double us[SERIES];

	measure_row(session, all_series, SERIES);
	for (int i = 0; i < SERIES; i++)
		us[i] = rm_median_us(&all_series[i], i == LOOK_UP ? 1 : 2);
	if (injection == RM_DIRECT)
		us[AM] = NAN; /* messages are always copied */
	const double bytes = (double)size;
	stage_row(session,
		  (union cell[]){{bytes},
				 {.text = part},
				 {(double)(fragment ? fragment : rm_defaults.fragment)},
				 {us[AM]},
				 {us[RM_V]},
				 {us[RM_P]},
				 {us[LOOK_UP]},
				 {us[PUT]},
				 {bytes / us[AM]},
				 {bytes / us[RM_V]},
				 {bytes / us[RM_P]},
				 {bytes / us[PUT]},
				 {.text = ""}},
		  &timed);
}

static const uint64_t delivered[] = {32, MTU}; /* table 5.2 */
#define BURST         16
#define BURST_LONG    4 /* of the greatest: all fragments have slots, on either side */
#define PAUSE_MOST_US 1000.0

/* The other side's messages have come by then; longer, and the NIC threads would sleep meanwhile. */
static double pause_ns(struct session *session, const struct run *burst)
{
	struct series one = {.run = rm_run(burst->size, RM_MANNER_MESSAGE, RM_BY_LENGTH, 0)};

	/* No row of the table, so that it must be none of --hist. */
	one.run.batch = 1;
	one.run.batches = 100;
	measure_run(session, &one.run, NULL);
	measure_run(session, &one.run, &one.samples);
	return 1e3 * fmin(4 * burst->window * rm_median_us(&one, 2), PAUSE_MOST_US);
}

/* Host time of a message's stages, of the process that sends a burst and takes one that has come (table 5.2). */
static void measure_delivery(struct session *session, uint64_t size)
{
	static const struct {
		enum layer_part part;
		const char *name;
	} stages[] = {
		{LAYER_SEND, "copy, number"},         {LAYER_PUT, "put"},
		{LAYER_EVENT_SENT, "sent, accepted"}, {LAYER_EVENT_CAME, "event came"},
		{LAYER_EVENT_NONE, "no event yet"},   {LAYER_RECEIVE, "order, queue"},
		{LAYER_HANDLER, "handler"},
	};
	struct run run = rm_run(size, RM_MANNER_BURST, RM_BY_LENGTH, 0);
	double ns[LAYER_PARTS];

	run.window = size < MTU ? BURST : BURST_LONG;
	run.depth = (uint32_t)pause_ns(session, &run);
	run.batch = 1;
	run.batches = session->load.quick ? 100 : 1000;
	measure_run(session, &run, NULL);
	layer_clock_start();
	measure_run(session, &run, NULL);
	layer_clock_take(ns);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		stage_row(session,
			  (union cell[]){{(double)size},
					 {.text = "delivery"},
					 {(double)rm_defaults.fragment},
					 {ns[stages[i].part] / 1e3},
					 {NAN},
					 {NAN},
					 {NAN},
					 {NAN},
					 {NAN},
					 {NAN},
					 {NAN},
					 {NAN},
					 {.text = stages[i].name}},
			  NULL);
}

/* One length, copied in fragments of all lengths up to its own, which then is store and forward; and from where it is. */
static void measure_fragments(struct session *session, uint64_t size)
{
	const unsigned factor = session->load.quick ? 8 : 2;

	for (uint64_t fragment = size < MTU ? size : MTU; fragment >= 256; fragment /= factor)
		measure(session, "fragments", size, RM_COPY, fragment);
	measure(session, "direct", size, RM_DIRECT, 0);
}

int grim(struct session *session)
{
	const struct workload *load = &session->load;
	uint64_t sizes[SIZES_MAX];
	size_t count = size_list(4, 2 << 20, load->quick ? 16 : 2, sizes, SIZES_MAX);

	count = sizes_choose(load, sizes, count, 1);
	output_fact("AM",
		    "half a round trip of active messages, of fragments of %zu bytes, put together by the receiver",
		    rm_defaults.fragment);
	output_fact("RM-P",
		    "of writes to a place that is known, up to %zu bytes copied for injection; put: of PtlPut, each "
		    "receive attached",
		    rm_defaults.copy_limit);
	output_fact("RM-V", "of writes whose place is asked for each time, by its address; look up: the question "
			    "alone, there and back");
	output_fact(
		"part",
		"all: as above; fragments: of this length, one copied while another is under way; direct: in one piece "
		"from where it is, which the transport cuts; delivery: host time of a message in a burst, stage by "
		"stage, "
		"of the process that sends it and takes its answer");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure(session, "all", sizes[i], RM_BY_LENGTH, 0);
	measure_fragments(session, load->sizes_given ? load->size_max : 65536);
	for (size_t i = 0; i < sizeof(delivered) / sizeof(delivered[0]); i++)
		if (delivered[i] <= session->source_size)
			measure_delivery(session, delivered[i]);
	stage_rows_close(session);
	return 0;
}
