/* SPDX-License-Identifier: BSD-3-Clause */
#include "size_table.h"

#include <math.h>

#include "output.h"
#include "raw.h"
#include "sizes.h"
#include "stage_rows.h"

/* Columns in their order; those without a title are for machines. */
enum {
	COLUMN_WINDOW, /* of several, and of rates; else the table begins behind it */
	COLUMN_SIZE,
	COLUMN_MEDIAN,
	COLUMN_P10,
	COLUMN_P90,
	COLUMN_P99,
	COLUMN_RATE,
	COLUMN_RAW,
	COLUMN_RATIO,
	COLUMN_RAW_P10,
	COLUMN_RAW_P90,
	COLUMN_RAW_P99,
	COLUMN_BATCH,
	COLUMN_BATCHES,
	COLUMN_INITIATOR_HOST,
	COLUMN_TARGET_HOST,
	COLUMN_INITIATOR_CPU,
	COLUMN_TARGET_CPU,
	COLUMN_LINE_BEFORE,
	COLUMN_LINE_AFTER,
	COLUMN_TRIES,
	COLUMN_COUNT
};

/* Messages of an iteration, whichever way they went. */
static double messages_of(const struct run *run, const struct quantity *quantity)
{
	return quantity->windowed ? (double)run->window * (quantity->messages ? quantity->messages : 1)
				  : quantity->messages;
}

static double rate(double nanoseconds, const struct run *run, const struct quantity *quantity)
{
	return run->window ? messages_of(run, quantity) * 1e9 / nanoseconds : NAN;
}

static struct summary summarise(struct series *series, double (*of)(double, const struct run *))
{
	struct samples *samples = &series->samples;

	for (size_t i = 0; i < samples->count; i++)
		samples->value[i] = of(samples->value[i], &series->run);
	return samples_summary(samples);
}

/* CPU time of all threads of a side for each message, whichever way that went, us. */
static double cpu_per_message(const struct series *series, enum role role, const struct quantity *quantity)
{
	double messages = messages_of(&series->run, quantity);

	return series->usage[role].cpu_ns / 1e3 / ((double)series->iterations * messages);
}

static size_t first_column(const struct workload *load, const struct quantity *quantity)
{
	return load->window_count > 1 || quantity->rates ? COLUMN_WINDOW : COLUMN_SIZE;
}

/* What a row is of; window 0: the usual one, if there are windows at all. */
struct point {
	uint64_t size;
	uint32_t window;
};

static struct series new_series(const struct session *session, int exchange, const struct quantity *quantity,
				struct point point)
{
	struct run run = {.exchange = (uint32_t)exchange, .size = point.size};

	if (quantity->windowed)
		run.window = point.window ? point.window : session_window(&session->load, point.size);
	return (struct series){.run = run};
}

static void measure_point(struct session *session, enum exchange_id exchange, const struct quantity *quantity,
			  struct point point)
{
	int candidate = raw_counterpart(session, exchange, point.size);
	struct series all_series[] = {new_series(session, (int)exchange, quantity, point),
				      new_series(session, candidate, quantity, point)};
	struct series *ours = &all_series[0], *raw = &all_series[1];

	measure_row(session, all_series, candidate < 0 ? 1 : 2);
	double messages = samples_summary(&ours->samples).median;
	struct summary mine = summarise(ours, quantity->of), its = summarise(raw, quantity->of);
	union cell cells[COLUMN_COUNT] = {
		[COLUMN_SIZE] = {(double)point.size},
		[COLUMN_WINDOW] = {point.window},
		[COLUMN_MEDIAN] = {mine.median},
		[COLUMN_P10] = {mine.p10},
		[COLUMN_P90] = {mine.p90},
		[COLUMN_P99] = {mine.p99},
		[COLUMN_RATE] = {rate(messages, &ours->run, quantity)},
		[COLUMN_RAW] = {its.median},
		[COLUMN_RATIO] = {mine.median / its.median},
		[COLUMN_RAW_P10] = {its.p10},
		[COLUMN_RAW_P90] = {its.p90},
		[COLUMN_RAW_P99] = {its.p99},
		[COLUMN_BATCH] = {ours->run.batch},
		[COLUMN_BATCHES] = {(double)mine.count},
		[COLUMN_INITIATOR_HOST] = {measure_host_percent(&ours->usage[INITIATOR])},
		[COLUMN_TARGET_HOST] = {measure_host_percent(&ours->usage[TARGET])},
		[COLUMN_INITIATOR_CPU] = {cpu_per_message(ours, INITIATOR, quantity)},
		[COLUMN_TARGET_CPU] = {cpu_per_message(ours, TARGET, quantity)},
		[COLUMN_LINE_BEFORE] = {session->distance.before / 1e3},
		[COLUMN_LINE_AFTER] = {session->distance.after / 1e3},
		[COLUMN_TRIES] = {session->distance.tries},
	};

	struct run run = ours->run;
	run.batches = 0; /* fewer than of a row that is only timed as a whole */
	stage_row(session, cells + first_column(&session->load, quantity), &run);
	samples_free(&ours->samples);
	samples_free(&raw->samples);
}

static void fill_table(struct session *session, enum exchange_id exchange, const struct quantity *quantity)
{
	const struct workload *load = &session->load;
	uint64_t sizes[SIZES_MAX];
	uint32_t windows = load->window_count ? load->window_count : 1;
	size_t count = sizes_choose(load, sizes, 0, 0);
	struct usage before[2];

	measure_usage(session, before);
	for (size_t i = 0; i < count; i++)
		for (uint32_t window = 0; window < windows; window++)
			measure_point(session, exchange, quantity, (struct point){sizes[i], load->windows[window]});
	measure_note_drivers(session, before);
	stage_rows_close(session);
}

void size_table(struct session *session, enum exchange_id exchange, const struct quantity *quantity)
{
	const struct workload *load = &session->load;
	int decimals = quantity->windowed ? 2 : 3;
	struct column columns[COLUMN_COUNT] = {
		[COLUMN_SIZE] = {"Size", "bytes", 0},
		[COLUMN_WINDOW] = {"Window", "window", 0},
		[COLUMN_MEDIAN] = {quantity->title, quantity->key, decimals},
		[COLUMN_P10] = {"p10", "p10", decimals},
		[COLUMN_P90] = {"p90", "p90", decimals},
		[COLUMN_P99] = {"p99", "p99", decimals},
		[COLUMN_RATE] = {quantity->windowed && !quantity->rates ? "messages/s" : NULL, "messages_per_second",
				 0},
		[COLUMN_RAW] = {load->raw ? "raw" : NULL, "raw", decimals},
		[COLUMN_RATIO] = {load->raw ? "ours/raw" : NULL, "ratio", 3},
		[COLUMN_RAW_P10] = {NULL, "raw_p10", decimals},
		[COLUMN_RAW_P90] = {NULL, "raw_p90", decimals},
		[COLUMN_RAW_P99] = {NULL, "raw_p99", decimals},
		[COLUMN_BATCH] = {NULL, "iterations_per_batch", 0},
		[COLUMN_BATCHES] = {NULL, "batches", 0},
		[COLUMN_INITIATOR_HOST] = {NULL, "initiator_host_percent", 1},
		[COLUMN_TARGET_HOST] = {NULL, "target_host_percent", 1},
		[COLUMN_INITIATOR_CPU] = {NULL, "initiator_cpu_us", 3},
		[COLUMN_TARGET_CPU] = {NULL, "target_cpu_us", 3},
		[COLUMN_LINE_BEFORE] = {"line (us)", "line_before_us", 3},
		[COLUMN_LINE_AFTER] = {"after", "line_after_us", 3},
		[COLUMN_TRIES] = {NULL, "tries", 0},
	};

	size_t first = first_column(load, quantity);

	stage_rows_open(session, columns + first, COLUMN_COUNT - first);
	fill_table(session, exchange, quantity);
}
