/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message cut into fragments (GRIM, figures 5.8, 5.10 and 5.12): each put when its predecessor has been confirmed (store and
 * forward), or all at once, so that sender, network and receiver work on different ones (pipelined); beside them what a pipeline
 * should take by its slowest stage: the first fragment, and for each of the others the gap between fragments of a stream.
 */
#include "tests.h"

#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

/* run.variant; run.size is a fragment's length, run.window the number of fragments. */
enum manner { PIPELINED, ONE_BY_ONE, MANNERS };

#define LEAST 256u
#define MOST  128u /* fragments: fewer than events that a queue has room for */

static ptl_handle_md_t source_md, note_md;
static ptl_handle_me_t entry;

static void fragments_prepare(struct session *session, const struct run *run)
{
	const uint64_t length = run->size * run->window;

	source_md = session_bind_silent(session, session->source, length);
	note_md = session_bind_silent(session, NULL, 0);
	entry = session_attach_sink(session, length);
}

static uint64_t serial(uint32_t iteration, uint32_t index)
{
	return (uint64_t)iteration * MOST + index;
}

static void check_fragment(const struct session *session, const struct run *run, uint32_t iteration, uint32_t index)
{
	payload_check(session, session->sink + index * run->size, run->size, serial(iteration, index));
}

static void put_fragment(const struct session *session, const struct run *run, uint32_t iteration, uint32_t index)
{
	const uint64_t offset = index * run->size;

	payload_fill(session, session->source + offset, run->size, serial(iteration, index));

	PTL(PtlPutRegion(source_md, offset, run->size, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA,
			 offset, 0));
}

static void fragments_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	const uint32_t notes = run->variant == ONE_BY_ONE ? run->window : 1;

	for (uint32_t i = 0; i < run->window; i++) {
		put_fragment(session, run, iteration, i);
		if (run->variant == ONE_BY_ONE)
			session_wait(session, PTL_EVENT_PUT_END, (uint64_t)iteration * notes + i + 1);
	}
	session_wait(session, PTL_EVENT_PUT_END, (uint64_t)(iteration + 1) * notes);
}

static void fragments_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	const uint64_t before = (uint64_t)iteration * run->window;

	for (uint32_t i = 0; i < run->window && run->variant == ONE_BY_ONE; i++) {
		session_wait(session, PTL_EVENT_PUT_END, before + i + 1);
		check_fragment(session, run, iteration, i);
		session_put(session, note_md, BITS_DATA);
	}
	session_wait(session, PTL_EVENT_PUT_END, before + run->window);
	if (run->variant != PIPELINED)
		return;
	for (uint32_t i = 0; i < run->window; i++)
		check_fragment(session, run, iteration, i);
	session_put(session, note_md, BITS_DATA);
}

static void fragments_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, source_md);
	session_release(session, note_md);
}

const struct exchange fragments_exchange = {fragments_prepare, fragments_initiate, fragments_serve, fragments_finish};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"fragment", "fragment_bytes", 0},
	{"one by one (us)", "one_by_one_us", 2},
	{"pipelined (us)", "pipelined_us", 2},
	{"model (us)", "model_us", 2},
	{"MB/s", "megabytes_per_second", 1},
	{"to whole", "ratio_to_whole", 3},
};

static double median_us(struct series *series)
{
	double median = samples_summary(&series->samples).median / 1e3;

	samples_free(&series->samples);
	return median;
}

/* Returns the time of a pipelined message, us; `whole`: that of one in one piece, or 0. */
static double measure_fragment(struct session *session, uint64_t size, uint64_t fragment, double whole)
{
	const uint32_t count = (uint32_t)(size / fragment), stream = session_window(&session->load, fragment);
	struct series all_series[] = {
		{.run = {.exchange = EXCHANGE_FRAGMENTS, .size = fragment, .window = count, .variant = ONE_BY_ONE}},
		{.run = {.exchange = EXCHANGE_FRAGMENTS, .size = fragment, .window = count, .variant = PIPELINED}},
		{.run = {.exchange = EXCHANGE_FRAGMENTS, .size = fragment, .window = 1, .variant = PIPELINED}},
		{.run = {.exchange = EXCHANGE_PUT_WINDOW, .size = fragment, .window = stream}},
	};

	measure_row(session, all_series, sizeof(all_series) / sizeof(all_series[0]));
	double slow = median_us(&all_series[0]), quick = median_us(&all_series[1]), first = median_us(&all_series[2]);
	double gap = median_us(&all_series[3]) / stream;
	whole = whole > 0 ? whole : quick;
	stage_row(
		session,
		(union cell[]){{(double)size},
			       {(double)fragment},
			       {slow},
			       {quick},
			       {first + (count - 1) * gap},
			       {(double)size / quick},
			       {quick / whole}},
		&(struct run){.exchange = EXCHANGE_FRAGMENTS, .size = fragment, .window = count, .variant = PIPELINED});
	return quick;
}

int fragments(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {4096, 65536, 1 << 20};
	const unsigned factor = session->load.quick ? 8 : 2;
	size_t count = sizes_choose(&session->load, sizes, 3, 1);

	output_fact("one by one", "each fragment is put when an empty put back has confirmed the one before");
	output_fact("pipelined", "all are put at once, one empty put back confirms them; to whole: to one fragment");
	output_fact("model", "the first fragment's time, and for each other one the gap between fragments of a stream");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		double whole = 0;
		for (uint64_t fragment = sizes[i]; fragment * MOST >= sizes[i] && fragment; fragment /= factor) {
			if (fragment < LEAST && whole > 0)
				break;
			double pipelined = measure_fragment(session, sizes[i], fragment, whole);
			whole = whole > 0 ? whole : pipelined;
		}
	}
	stage_rows_close(session);
	return 0;
}
