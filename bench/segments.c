/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of several segments (microbenchmarks for cluster interconnects, 2.2.10): the ping-pong of put-latency with a
 * PTL_MD_IOVEC descriptor at the end that sends (gather), at the one that receives (scatter), or at none.
 */
#include "tests.h"

#include "fail.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

#define SEGMENTS_MOST 64
#define GAP           64u /* bytes between segments: no two are one piece of memory, nor share a cache line */

/* run.variant; run.depth is the number of segments. */
enum form { FORM_WHOLE, FORM_GATHER, FORM_SCATTER, FORM_COUNT };

static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

/* Segments of equal length, but for the last one, which has the rest too. */
static ptl_md_t cut(const struct session *session,
		    char *memory, /* NOLINT(readability-non-const-parameter): puts write it */
		    const struct run *run, unsigned options, ptl_md_iovec_t segments[SEGMENTS_MOST])
{
	size_t piece = run->size / run->depth;

	for (uint32_t i = 0; i < run->depth; i++)
		segments[i] = (ptl_md_iovec_t){
			.iov_base = memory + i * (piece + GAP),
			.iov_len = i + 1 < run->depth ? piece : run->size - i * piece,
		};
	return session_md(session, segments, run->depth, options | PTL_MD_IOVEC);
}

static void segments_prepare(struct session *session, const struct run *run)
{
	const unsigned receives = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
	ptl_md_iovec_t of_source[SEGMENTS_MOST], of_sink[SEGMENTS_MOST];

	source_md = session_bind(session,
				 run->variant == FORM_GATHER ? cut(session, session->source, run, 0, of_source)
							     : session_md(session, session->source, run->size, 0),
				 PTL_RETAIN);
	entry = session_attach(session, BITS_DATA,
			       run->variant == FORM_SCATTER ? cut(session, session->sink, run, receives, of_sink)
							    : session_md(session, session->sink, run->size, receives),
			       PTL_RETAIN);
}

/* Where byte `at` of the message is, in pieces or in one, and how many bytes from there on are together. */
static size_t place(const struct run *run, bool in_pieces, size_t at, size_t *together)
{
	const size_t piece = run->size / run->depth;
	const size_t which = in_pieces && piece ? at / piece < run->depth ? at / piece : run->depth - 1 : 0;

	*together = (in_pieces && which + 1 < run->depth ? (which + 1) * piece : run->size) - at;
	return at + which * GAP;
}

static void fill(const struct session *session, const struct run *run, uint32_t iteration)
{
	for (size_t at = 0, together; session->load.check && at < run->size; at += together) {
		char *to = session->source + place(run, run->variant == FORM_GATHER, at, &together);
		payload_fill_part(session, to, at, together, iteration);
	}
}

static void check(const struct session *session, const struct run *run, uint32_t iteration)
{
	for (size_t at = 0, together; session->load.check && at < run->size; at += together) {
		const char *from = session->sink + place(run, run->variant == FORM_SCATTER, at, &together);
		payload_check_part(session, from, at, together, iteration);
	}
}

static void segments_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	fill(session, run, iteration);
	session_put(session, source_md, BITS_DATA);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	check(session, run, iteration);
}

static void segments_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	check(session, run, iteration);
	fill(session, run, iteration);
	session_put(session, source_md, BITS_DATA);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
}

static void segments_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, source_md);
}

const struct exchange segments_exchange = {segments_prepare, segments_initiate, segments_serve, segments_finish};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"segments", "segments", 0},
	{"one piece (us)", "latency_us", 3},
	{"gather (us)", "gather_us", 3},
	{"scatter (us)", "scatter_us", 3},
	{"gather/piece", "gather_ratio", 3},
	{"scatter/piece", "scatter_ratio", 3},
};

static void measure_segments(struct session *session, uint64_t size, uint32_t segments)
{
	struct series all_series[FORM_COUNT] = {0};
	double us[FORM_COUNT];

	for (uint32_t form = 0; form < FORM_COUNT; form++)
		all_series[form].run =
			(struct run){.exchange = EXCHANGE_SEGMENTS, .size = size, .depth = segments, .variant = form};
	measure_row(session, all_series, FORM_COUNT);
	for (uint32_t form = 0; form < FORM_COUNT; form++) {
		us[form] = samples_summary(&all_series[form].samples).median / 2000;
		samples_free(&all_series[form].samples);
	}
	stage_row(
		session,
		(union cell[]){{(double)size},
			       {segments},
			       {us[FORM_WHOLE]},
			       {us[FORM_GATHER]},
			       {us[FORM_SCATTER]},
			       {us[FORM_GATHER] / us[FORM_WHOLE]},
			       {us[FORM_SCATTER] / us[FORM_WHOLE]}},
		&(struct run){.exchange = EXCHANGE_SEGMENTS, .size = size, .depth = segments, .variant = FORM_SCATTER});
}

int segments(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {64, 4096, 65536};
	size_t count = sizes_choose(&session->load, sizes, 3, 0);
	uint32_t most = SEGMENTS_MOST, factor = session->load.quick ? 8 : 2;
	if (session->limits.max_md_iovecs < (int)most)
		most = (uint32_t)session->limits.max_md_iovecs;
	output_fact("latency", "half a round trip of puts; one receive descriptor for all");
	output_fact("segments", "of PTL_MD_IOVEC, of equal length, %u bytes between them", GAP);
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		for (uint32_t n = 1; n <= most && n <= (sizes[i] ? sizes[i] : 1); n *= factor)
			measure_segments(session, sizes[i], n);
	stage_rows_close(session);
	return 0;
}
