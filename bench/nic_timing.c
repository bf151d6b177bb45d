/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the NIC's time goes (Portals on QsNet, table 2; the GRIM chapter, tables 5.1 to 5.3): the stages of a message at both ends of
 * a ping-pong of puts, and beside them a tag matcher in plain C over the same list, measured in the same run.
 */
#include "tests.h"

#include <math.h>

#include "bare_matcher.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"

/* As many times as long: each of its messages has one batch of some ten. */
#define BATCHED_RUN 8

/* Of fewer messages than these one batch that was disturbed is more than a stage. */
#define BATCHED_LEAST 1000

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"Depth", "entries_in_front", 0},
	{"side", "side", -10},
	{"who", "who", -9},
	{"Stage", "stage", -18},
	{"a message", "per_message", 2},
	{"mean (ns)", "mean_ns", 1},
	{"trimmed", "trimmed_mean_ns", 1},
	{"median", "p50_ns", 1},
	{"p99", "p99_ns", 1},
	{"clock", "clock_ns", 1},
	{"share %", "share_percent", 1},
	{"in batches", "batched_ns", 1},
	{"matcher", "matcher_ns", 1},
};

static const char *const who[] = {[PTL_STAGE_HOST] = "host",
				  [PTL_STAGE_NIC] = "NIC",
				  [PTL_STAGE_TOTAL] = "NIC",
				  [PTL_STAGE_BETWEEN] = "between",
				  [PTL_STAGE_TRANSPORT] = "transport"};

static const struct {
	const char *name;
	ptl_stage_group_t group;
} stages[PTL_STAGE_COUNT] = {
#define STAGE_ROW(name, text, group) {text, group},
	PTL_NIC_STAGES(STAGE_ROW)
#undef STAGE_ROW
};

static void print_side(const struct run *run, const char *side, const struct stage_times *times,
		       const struct stage_times *batched, struct bare_stages *bare)
{
	const double whole = times->figures[PTL_STAGE_MESSAGE][STAGE_TOTAL_NS];

	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		const double *figures = times->figures[i];
		const bool part = stages[i].group == PTL_STAGE_NIC || stages[i].group == PTL_STAGE_TOTAL;

		if (!(figures[STAGE_COUNTED] > 0))
			continue;
		output_row((union cell[]){
			{(double)run->size},
			{run->depth},
			{.text = side},
			{.text = who[stages[i].group]},
			{.text = stages[i].name},
			{figures[STAGE_COUNTED] / times->messages},
			{figures[STAGE_MEAN]},
			{figures[STAGE_TRIMMED_MEAN]},
			{figures[STAGE_P50]},
			{figures[STAGE_P99]},
			{figures[STAGE_CLOCK_NS]},
			{part ? 100 * figures[STAGE_TOTAL_NS] / whole : NAN},
			{part && batched->messages >= BATCHED_LEAST ? batched->figures[i][STAGE_MEAN] : NAN},
			{samples_summary(&bare->stage[i]).median}});
	}
}

static void measure_size(struct session *session, uint64_t size, uint32_t depth)
{
	struct run run = {.exchange = EXCHANGE_PUT_BEHIND, .size = size, .depth = depth, .batch = 1};
	struct bare_stages bare = {0};
	struct stage_times times[2], batched[2];

	run.batches = session->load.iterations ? session->load.iterations : session->load.quick ? 1000 : 5000;
	measure_nic_timing(session, &run, times);
	run.stages_in_batches = true;
	run.batches *= BATCHED_RUN;
	measure_nic_timing(session, &run, batched);
	bare_matcher_measure(&bare, depth, size, session->source, session->sink);
	print_side(&run, "initiator", &times[INITIATOR], &batched[INITIATOR], &bare);
	print_side(&run, "target", &times[TARGET], &batched[TARGET], &bare);
	bare_matcher_free(&bare);
}

int nic_timing(struct session *session)
{
	const struct workload *load = &session->load;
	const bool depths_given = session->options->given & OPTION_BIT(DEPTHS);
	uint64_t sizes[SIZES_MAX] = {0, 64};
	size_t count = sizes_choose(load, sizes, 2, 0);

	output_fact("stages",
		    "of a ping-pong of puts, each receive attached inside the iteration; clock: what of the mean is "
		    "the clock's; share: of the messages' total");
	output_fact("trimmed", "mean of the middle eight tenths");
	output_fact("in batches",
		    "mean of the stage timed in batches, in a run of its own: the clock cancels out "
		    "(PTL_NIC_TIMING_BATCHES), %d times as many messages; none for fewer than %d",
		    BATCHED_RUN, BATCHED_LEAST);
	output_fact("matcher",
		    "a tag matcher in plain C with as many entries in front, without descriptors, access control and "
		    "threads; medians of batches, without clock");
	output_table(columns, sizeof(columns) / sizeof(columns[0]));
	measure_connect(session);
	for (size_t i = 0; i < count; i++)
		for (uint32_t depth = 0; depth < (depths_given ? load->depth_count : 1); depth++)
			measure_size(session, sizes[i], load->depths[depth]);
	return 0;
}
