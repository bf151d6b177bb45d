/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a long match list costs: the ping-pong of put-latency with so many entries in front of the one that matches, on
 * both sides, for several mixes of what the entries ignore.
 */
#include "tests.h"

#include <stdlib.h>

#include "fail.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "stage_rows.h"

#define MESSAGE_SIZE 8

/* How the ignore bits and the source of entry number `index` come about; run.variant says which mix. */
struct mix {
	const char *title, *key, *p99_key, *text;
	ptl_match_bits_t (*ignore)(uint32_t index);
	bool (*any_source)(uint32_t index);
};

static ptl_match_bits_t ignore_nothing(uint32_t index)
{
	(void)index;
	return 0;
}

/* Of 64 bits the lower 8, 16, 24 or 32 are ignored. */
static ptl_match_bits_t ignore_suffix(uint32_t index)
{
	return ((ptl_match_bits_t)1 << 8 * (index % 4 + 1)) - 1;
}

/* All but the top bit. */
static ptl_match_bits_t ignore_all_of_some(uint32_t index)
{
	return index % 10 == 0 ? ~((ptl_match_bits_t)1 << 63) : 0;
}

/* Counts through bits 8 and up. */
static ptl_match_bits_t ignore_differently(uint32_t index)
{
	return (ptl_match_bits_t)(index % 1000 + 1) << 8;
}

static bool from_one(uint32_t index)
{
	(void)index;
	return false;
}

static bool some_from_all(uint32_t index)
{
	return index % 10 == 0;
}

static const struct mix mixes[] = {
	{"Latency (us)", "latency_us", "p99", "all want exact bits", ignore_nothing, from_one},
	{"Wild (us)", "wildcards_latency_us", "wildcards_p99",
	 "one of ten takes all sources and ignores all bits but one", ignore_all_of_some, some_from_all},
	{"Prefix (us)", "prefixes_latency_us", "prefixes_p99", "four ignore masks, of 8, 16, 24 and 32 low bits",
	 ignore_suffix, from_one},
	{"Masks (us)", "different_masks_latency_us", "different_masks_p99", "a thousand different ignore masks",
	 ignore_differently, from_one},
};

#define MIXES (sizeof(mixes) / sizeof(mixes[0]))

static ptl_handle_me_t *in_front;

/* Bit 63 is set, and in no message, and never ignored: the entry matches nothing. */
static void attach_in_front(struct session *session, uint32_t index, const struct mix *mix)
{
	ptl_match_bits_t bits = (ptl_match_bits_t)1 << 63 | (ptl_match_bits_t)index << 8;
	ptl_process_id_t source = session->other;
	ptl_handle_md_t md;

	if (mix->any_source(index))
		source = (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY};
	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, source, bits, mix->ignore(index), PTL_RETAIN, PTL_INS_AFTER,
			&in_front[index]));
	PTL(PtlMDAttach(in_front[index], session_md(session, NULL, 0, PTL_MD_OP_PUT), PTL_RETAIN, &md));
}

static void behind_prepare(struct session *session, const struct run *run)
{
	in_front = calloc(run->depth + 1, sizeof(*in_front));
	if (!in_front)
		fail("no memory for %u match entries", run->depth);
	if (run->variant >= MIXES)
		fail("there is no mix %u of match entries", run->variant);
	for (uint32_t index = 0; index < run->depth; index++)
		attach_in_front(session, index, &mixes[run->variant]);
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

/* Half round trips, us. */
static struct summary summarise(struct series *series)
{
	struct summary summary = samples_summary(&series->samples);

	summary.median /= 2000;
	summary.p10 /= 2000;
	summary.p90 /= 2000;
	summary.p99 /= 2000;
	samples_free(&series->samples);
	return summary;
}

/* The depth; then median and p99 of each mix, of the exact one p10 and p90 too. */
enum { COLUMN_DEPTH, COLUMN_MIX, COLUMN_P10 = COLUMN_MIX + 2 * MIXES, COLUMN_P90, COLUMN_COUNT };

static void measure_depth(struct session *session, uint32_t depth)
{
	struct series all_series[MIXES] = {0};
	union cell cells[COLUMN_COUNT] = {[COLUMN_DEPTH] = {depth}};

	for (uint32_t mix = 0; mix < MIXES; mix++)
		all_series[mix].run = (struct run){
			.exchange = EXCHANGE_PUT_BEHIND, .size = MESSAGE_SIZE, .depth = depth, .variant = mix};
	measure_row(session, all_series, MIXES);
	for (uint32_t mix = 0; mix < MIXES; mix++) {
		struct summary summary = summarise(&all_series[mix]);
		cells[COLUMN_MIX + 2 * mix].number = summary.median;
		cells[COLUMN_MIX + 2 * mix + 1].number = summary.p99;
		if (mix)
			continue;
		cells[COLUMN_P10].number = summary.p10;
		cells[COLUMN_P90].number = summary.p90;
	}
	stage_row(session, cells, &(struct run){.exchange = EXCHANGE_PUT_BEHIND, .size = MESSAGE_SIZE, .depth = depth});
}

/* The columns live as long as the table. */
static void start_table(const struct session *session)
{
	static struct column columns[COLUMN_COUNT] = {
		[COLUMN_DEPTH] = {"Depth", "entries_in_front", 0},
		[COLUMN_P10] = {NULL, "p10", 3},
		[COLUMN_P90] = {NULL, "p90", 3},
	};

	output_fact("latency", "half a round trip of %d-byte puts that match behind so many entries", MESSAGE_SIZE);
	for (size_t mix = 0; mix < MIXES; mix++) {
		columns[COLUMN_MIX + 2 * mix] = (struct column){mixes[mix].title, mixes[mix].key, 3};
		columns[COLUMN_MIX + 2 * mix + 1] = (struct column){"p99", mixes[mix].p99_key, 3};
		output_fact(mixes[mix].title, "%s", mixes[mix].text);
	}
	stage_rows_open(session, columns, COLUMN_COUNT);
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

	start_table(session);
	measure_usage(session, before);
	for (uint32_t i = 0; i < load->depth_count; i++)
		if (load->depths[i] <= greatest)
			measure_depth(session, load->depths[i]);
		else
			fail("--depths %u: this interface allows %u", load->depths[i], greatest);
	measure_note_drivers(session, before);
	stage_rows_close(session);
	return 0;
}
