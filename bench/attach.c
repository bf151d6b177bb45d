/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to attach a match entry with its descriptor to a long list and to unlink them again: at the list's head, in its middle and at its
 * tail, beside the same in an empty list.
 */
#include "tests.h"

#include <stdlib.h>

#include "fail.h"
#include "machine.h"
#include "output.h"
#include "session.h"
#include "stats.h"

#define EMPTY_PT_INDEX (BENCH_PT_INDEX + 1)
#define BATCH          20
#define BATCHES        400
#define BATCHES_QUICK  60

enum where { EMPTY, HEAD, MIDDLE, TAIL, WHERES };

static const char *const names[WHERES] = {"empty list", "head", "middle", "tail"};

static ptl_handle_me_t *entries;
static uint32_t length;

/* An entry counts only once it has a descriptor. */
static void give_descriptor(struct session *session, ptl_handle_me_t me)
{
	ptl_handle_md_t md;

	PTL(PtlMDAttach(me, session_md(session, NULL, 0, PTL_MD_OP_PUT), PTL_RETAIN, &md));
}

static ptl_handle_me_t attach_at(struct session *session, enum where where)
{
	ptl_match_bits_t bits = (ptl_match_bits_t)1 << 62;
	ptl_handle_me_t me;

	if (where == MIDDLE && length)
		PTL(PtlMEInsert(entries[length / 2], session->self, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	else
		PTL(PtlMEAttach(session->ni, where == EMPTY ? EMPTY_PT_INDEX : BENCH_PT_INDEX, session->self, bits, 0,
				PTL_RETAIN, where == HEAD ? PTL_INS_BEFORE : PTL_INS_AFTER, &me));
	give_descriptor(session, me);
	return me;
}

/* ns for each entry. */
static double time_batch(struct session *session, enum where where)
{
	uint64_t start = monotonic_ns();

	for (int i = 0; i < BATCH; i++)
		PTL(PtlMEUnlink(attach_at(session, where)));
	return (double)(monotonic_ns() - start) / BATCH;
}

static void fill(struct session *session, uint32_t depth)
{
	length = depth;
	entries = calloc(depth + 1, sizeof(*entries));
	if (!entries)
		fail("no memory for %u match entries", depth);
	for (uint32_t i = 0; i < depth; i++) {
		PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, session->self, i, 0, PTL_RETAIN, PTL_INS_AFTER,
				&entries[i]));
		give_descriptor(session, entries[i]);
	}
}

static void empty(void)
{
	for (uint32_t i = 0; i < length; i++)
		PTL(PtlMEUnlink(entries[i]));
	free(entries);
}

static const struct column columns[] = {
	{"Entries", "entries", 0}, {"where", "where", -10}, {"ns", "ns", 1}, {"p99", "p99", 1}, {"ratio", "ratio", 3},
};

static void measure_depth(struct session *session, uint32_t depth, uint32_t batches)
{
	struct samples samples[WHERES] = {{0}};
	double base = 0;

	fill(session, depth);
	for (uint32_t batch = 0; batch < batches; batch++)
		for (enum where where = EMPTY; where < WHERES; where++)
			samples_add(&samples[where], time_batch(session, where));
	for (enum where where = EMPTY; where < WHERES; where++) {
		struct summary summary = samples_summary(&samples[where]);
		base = where == EMPTY ? summary.median : base;
		output_row((union cell[]){
			{depth}, {.text = names[where]}, {summary.median}, {summary.p99}, {summary.median / base}});
		samples_free(&samples[where]);
	}
	empty();
}

int attach(const struct options *options)
{
	const struct workload *load = &options->load;
	struct session session;

	session_open_alone(&session, options, PTL_PID_ANY);
	int most = session.limits.max_mes < session.limits.max_mds ? session.limits.max_mes : session.limits.max_mds;
	machine_facts();
	session_facts(&session);
	output_fact("ns",
		    "PtlMEAttach or PtlMEInsert, PtlMDAttach and PtlMEUnlink; ratio: to the same in an empty list");
	output_table(columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < load->depth_count; i++)
		if ((int64_t)load->depths[i] + 1 < most)
			measure_depth(&session, load->depths[i], load->quick ? BATCHES_QUICK : BATCHES);
		else
			fail("--depths %u: this interface allows %d entries", load->depths[i], most - 2);
	PtlFini();
	return 0;
}
