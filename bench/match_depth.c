/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a long match list costs: the ping-pong of put-latency with so many entries in front of the one that matches, on
 * both sides.  Once all entries want exact bits, once every one ignores a different set of bits.
 */
#include "tests.h"

#include <stdlib.h>

#include "fail.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"

#define MESSAGE_SIZE 8

/* What run.variant means here. */
enum masks { MASKS_EXACT, MASKS_DIFFERENT };

static ptl_handle_me_t *in_front;

/*
 * Bit 63 is set, and in no message, and never ignored: the entry matches nothing.  The masks count through bits 8 to 62
 * and so are all different.
 */
static void attach_in_front(struct session *session, uint32_t index, enum masks masks)
{
	ptl_match_bits_t bits = (ptl_match_bits_t)1 << 63 | (ptl_match_bits_t)index << 8;
	ptl_match_bits_t ignore = masks == MASKS_DIFFERENT ? (ptl_match_bits_t)(index + 1) << 8 : 0;
	ptl_handle_md_t md;

	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, session->other, bits, ignore, PTL_RETAIN, PTL_INS_AFTER,
			&in_front[index]));
	PTL(PtlMDAttach(in_front[index], session_md(session, NULL, 0, PTL_MD_OP_PUT), PTL_RETAIN, &md));
}

static void behind_prepare(struct session *session, const struct run *run)
{
	in_front = calloc(run->depth + 1, sizeof *in_front);
	if (!in_front)
		fail("no memory for %u match entries", run->depth);
	for (uint32_t index = 0; index < run->depth; index++)
		attach_in_front(session, index, (enum masks)run->variant);
	put_prepare(session, run);
}

static void behind_finish(struct session *session, const struct run *run)
{
	put_finish(session, run);
	for (uint32_t index = 0; index < run->depth; index++)
		session_detach(session, in_front[index]);
	free(in_front);
}

const struct exchange put_behind_exchange = {behind_prepare, put_initiate, put_serve, behind_finish};

enum { COLUMN_DEPTH, COLUMN_MEDIAN, COLUMN_P10, COLUMN_P90, COLUMN_P99, COLUMN_MASKS, COLUMN_MASKS_P99, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_DEPTH] = {"Depth", "entries_in_front", 0},
	[COLUMN_MEDIAN] = {"Latency (us)", "latency_us", 2},
	[COLUMN_P10] = {"p10", "p10", 2},
	[COLUMN_P90] = {"p90", "p90", 2},
	[COLUMN_P99] = {"p99", "p99", 2},
	[COLUMN_MASKS] = {"Masks (us)", "different_masks_latency_us", 2},
	[COLUMN_MASKS_P99] = {"p99", "different_masks_p99", 2},
};

/* Half round trips, us. */
static struct summary summarise(struct contestant *contestant)
{
	struct summary summary = samples_summary(&contestant->samples);

	summary.median /= 2000;
	summary.p10 /= 2000;
	summary.p90 /= 2000;
	summary.p99 /= 2000;
	samples_free(&contestant->samples);
	return summary;
}

static void measure_depth(struct session *session, uint32_t depth)
{
	struct run run = {.exchange = EXCHANGE_PUT_BEHIND, .size = MESSAGE_SIZE, .depth = depth};
	struct contestant contestants[] = {{.run = run}, {.run = run}};

	contestants[1].run.variant = MASKS_DIFFERENT;
	measure_row(session, contestants, 2);
	struct summary exact = summarise(&contestants[0]), masks = summarise(&contestants[1]);
	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_DEPTH] = {depth},
		[COLUMN_MEDIAN] = {exact.median},
		[COLUMN_P10] = {exact.p10},
		[COLUMN_P90] = {exact.p90},
		[COLUMN_P99] = {exact.p99},
		[COLUMN_MASKS] = {masks.median},
		[COLUMN_MASKS_P99] = {masks.p99},
	});
}

/* Entries we may attach in front: the exchange needs two of its own, and the initiator a free descriptor to send. */
static uint32_t greatest_depth(const struct session *session)
{
	const ptl_ni_limits_t *limits = &session->limits;
	int least = limits->max_me_list;

	least = limits->max_mes < least ? limits->max_mes : least;
	least = limits->max_mds < least ? limits->max_mds : least;
	return least > 4 ? (uint32_t)least - 4 : 0;
}

int match_depth(struct session *session)
{
	const struct workload *load = &session->load;
	uint32_t greatest = greatest_depth(session);
	struct usage before[2];

	output_fact("latency", "half a round trip of %d-byte puts that match behind so many entries", MESSAGE_SIZE);
	output_fact("masks", "the same with a different ignore mask in every entry");
	output_table(columns, COLUMN_COUNT);
	measure_usage(session, before);
	for (uint32_t i = 0; i < load->depth_count; i++)
		if (load->depths[i] <= greatest)
			measure_depth(session, load->depths[i]);
		else
			fail("--depths %u: this interface allows %u", load->depths[i], greatest);
	measure_note_drivers(session, before);
	return 0;
}
