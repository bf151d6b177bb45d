/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What unexpected messages cost those that come after them: the ping-pong of put-latency between processes of which the target
 * has taken so many messages that no receive was posted for.  They go to the entry that takes all, behind the target's
 * last, where the layer above Portals finds them.
 */
#include "tests.h"

#include "measure.h"
#include "output.h"
#include "pingpong.h"

#define MESSAGE_SIZE 8

static ptl_handle_me_t take_all;

static void unexpected_prepare(struct session *session, const struct run *run)
{
	ptl_md_t md = session_md(session, session->sink, MESSAGE_SIZE, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
	ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_md_t handle;

	md.eq_handle = PTL_EQ_NONE;
	session->load.persistent = true; /* attached in an iteration, it would be behind the entry that takes all */
	put_prepare(session, run);
	if (session->peers.role != TARGET)
		return;
	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, any, BITS_DONE, ~(ptl_match_bits_t)0, PTL_RETAIN, PTL_INS_AFTER,
			&take_all));
	PTL(PtlMDAttach(take_all, md, PTL_RETAIN, &handle));
}

static void unexpected_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	ptl_md_t md = session_md(session, session->source, MESSAGE_SIZE, 0);

	if (iteration == 0) {
		md.eq_handle = PTL_EQ_NONE;
		ptl_handle_md_t source = session_bind(session, md, PTL_RETAIN);
		for (uint32_t message = 0; message < run->depth; message++)
			session_put(session, source, BITS_DONE);
		session_release(session, source);
	}
	put_initiate(session, run, iteration);
}

static void unexpected_finish(struct session *session, const struct run *run)
{
	put_finish(session, run);
	if (session->peers.role == TARGET)
		session_detach(session, take_all);
}

const struct exchange put_unexpected_exchange = {unexpected_prepare, unexpected_initiate, put_serve, unexpected_finish};

enum {
	COLUMN_COUNT_WAITING,
	COLUMN_MEDIAN,
	COLUMN_P10,
	COLUMN_P90,
	COLUMN_P99,
	COLUMN_RATIO,
	COLUMN_BATCHES,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_COUNT_WAITING] = {"Unexpected", "unexpected_messages", 0},
	[COLUMN_MEDIAN] = {"Latency (us)", "latency_us", 3},
	[COLUMN_P10] = {"p10", "p10", 3},
	[COLUMN_P90] = {"p90", "p90", 3},
	[COLUMN_P99] = {"p99", "p99", 3},
	[COLUMN_RATIO] = {"to the first", "ratio", 3},
	[COLUMN_BATCHES] = {NULL, "batches", 0},
};

/* Half round trips, us; returns the median. */
static double measure_depth(struct session *session, uint32_t depth, double first)
{
	struct series series = {
		.run = {.exchange = EXCHANGE_PUT_UNEXPECTED, .size = MESSAGE_SIZE, .depth = depth},
	};

	measure_row(session, &series, 1);
	struct summary summary = samples_summary(&series.samples);
	double median = summary.median / 2000;
	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_COUNT_WAITING] = {depth},
		[COLUMN_MEDIAN] = {median},
		[COLUMN_P10] = {summary.p10 / 2000},
		[COLUMN_P90] = {summary.p90 / 2000},
		[COLUMN_P99] = {summary.p99 / 2000},
		[COLUMN_RATIO] = {first > 0 ? median / first : 1},
		[COLUMN_BATCHES] = {(double)summary.count},
	});
	samples_free(&series.samples);
	return median;
}

int unexpected_depth(struct session *session)
{
	const struct workload *load = &session->load;
	struct usage before[2];
	double first = 0;

	output_fact("latency",
		    "half a round trip of %d-byte puts after so many to the same target that its posted receive does "
		    "not match",
		    MESSAGE_SIZE);
	output_fact("unexpected",
		    "they are in a descriptor without an event queue; to look for one is up to the layer above");
	output_table(columns, COLUMN_COUNT);
	measure_usage(session, before);
	for (uint32_t i = 0; i < load->depth_count; i++) {
		double median = measure_depth(session, load->depths[i], first);
		first = i ? first : median;
	}
	measure_note_drivers(session, before);
	return 0;
}
