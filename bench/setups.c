/* SPDX-License-Identifier: BSD-3-Clause */
#include "setups.h"

#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "histogram.h"
#include "pair.h"

/* What the initiator of a pair is ordered: to measure a size, and to answer with the samples, or with stages; to tell what it has sent; or to end. */
struct request {
	enum { MEASURE, TIME_STAGES, TELL_BYTES, END } kind;
	uint64_t size;
};

static void answer_samples(struct session *session, struct peers *parent, uint64_t size)
{
	struct series series = {.run = {.exchange = EXCHANGE_PUT, .size = size}};

	measure_row(session, &series, 1);
	control_send(parent, &series.samples.count, sizeof(series.samples.count));
	control_send(parent, series.samples.value, series.samples.count * sizeof(double));
	samples_free(&series.samples);
}

static struct run timed_run(uint64_t size)
{
	return (struct run){.exchange = EXCHANGE_PUT, .size = size, .batch = 10, .batches = 100};
}

static void answer_stages(struct session *session, struct peers *parent, uint64_t size)
{
	const struct run run = timed_run(size);
	static struct stage_times times[2];

	measure_nic_timing(session, &run, times);
	control_send(parent, times, sizeof(times));
}

static void answer_bytes(struct session *session, struct peers *parent, uint64_t size)
{
	static ptl_nic_counters_t before;
	ptl_nic_counters_t now;

	(void)size;
	PTL(PtlNicCounters(session->ni, &now));
	const struct setup_bytes bytes = {.in_lines = (double)(now.bytes_in_lines - before.bytes_in_lines),
					  .copied = (double)(now.bytes_copied - before.bytes_copied),
					  .exposed = (double)(now.bytes_exposed - before.bytes_exposed)};

	before = now;
	control_send(parent, &bytes, sizeof(bytes));
}

static void obey(struct session *session, struct peers *parent)
{
	static void (*const answers[])(struct session *, struct peers *, uint64_t) = {
		[MEASURE] = answer_samples, [TIME_STAGES] = answer_stages, [TELL_BYTES] = answer_bytes};
	struct request request;

	histogram_leave();
	for (control_receive(parent, &request, sizeof(request)); request.kind != END;
	     control_receive(parent, &request, sizeof(request)))
		answers[request.kind](session, parent, request.size);
	measure_end(session);
}

void setups_open(struct peers *pairs, const struct setup *setups, size_t count, const struct options *options)
{
	unsetenv("PTL_TUNING_SAVE"); /* what is only tried would be saved */
	for (size_t i = 0; i < count; i++) {
		struct pair pair = {.options = *options,
				    .wait = {setups[i].wait[INITIATOR], setups[i].wait[TARGET]},
				    .one_cpu = setups[i].one_cpu,
				    .cpu = TARGET,
				    .initiate = obey};

		pair.options.settings = setups[i].settings;
		pair_start(&pairs[i], &pair);
	}
}

/* One turn; its samples, ns of a round trip, are added.  Their median, us of half of one. */
static double take_turn(const struct peers *pair, uint64_t size, struct samples *all)
{
	const struct request request = {MEASURE, size};
	struct samples samples = {0};
	size_t count;

	control_send(pair, &request, sizeof(request));
	control_receive(pair, &count, sizeof(count));
	while (samples.count < count) {
		double ns;

		control_receive(pair, &ns, sizeof(ns));
		samples_add(&samples, ns);
		samples_add(all, ns);
	}
	double us = samples_summary(&samples).median / 2000;

	samples_free(&samples);
	return us;
}

double setups_measure(const struct peers *pair, uint64_t size)
{
	struct samples all = {0};
	double us = take_turn(pair, size, &all);

	samples_free(&all);
	return us;
}

struct setup_bytes setups_bytes(const struct peers *pair)
{
	const struct request request = {.kind = TELL_BYTES};
	struct setup_bytes bytes;

	control_send(pair, &request, sizeof(request));
	control_receive(pair, &bytes, sizeof(bytes));
	return bytes;
}

/* The median of the distances from the median, of round trips in ns. */
static double half_spread(const struct samples *samples)
{
	struct samples sorted = {0}, distances = {0};

	for (size_t i = 0; i < samples->count; i++)
		samples_add(&sorted, samples->value[i]);
	double median = samples_summary(&sorted).median;
	for (size_t i = 0; i < sorted.count; i++)
		samples_add(&distances, fabs(sorted.value[i] - median));
	double spread = samples_summary(&distances).median / 2000;

	samples_free(&sorted);
	samples_free(&distances);
	return spread;
}

void setups_medians(const struct peers *pairs, size_t count, uint64_t size, uint32_t rounds, double *median_us,
		    double *spread_us)
{
	struct samples *us = calloc(count, sizeof(*us));
	struct series *series = calloc(count, sizeof(*series));

	if (!us || !series)
		fail("no memory for %zu medians", count);
	for (size_t i = 0; i < count; i++)
		series[i].run = (struct run){.exchange = EXCHANGE_PUT, .size = size};
	for (uint32_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			samples_add(&us[i], take_turn(&pairs[i], size, &series[i].samples));
	histogram_add(series, count);
	for (size_t i = 0; i < count; i++) {
		median_us[i] = samples_summary(&us[i]).median;
		if (spread_us)
			spread_us[i] = half_spread(&series[i].samples);
		samples_free(&us[i]);
		samples_free(&series[i].samples);
	}
	free(series);
	free(us);
}

struct options setups_share(const struct options *options, size_t count)
{
	const struct workload *load = &options->load;
	struct options own = *options;

	own.load.row_ms = (load->row_ms ? load->row_ms : load->quick ? 300 : 1100) / (uint32_t)count / load->repeat;
	own.load.row_ms += own.load.row_ms == 0;
	own.load.repeat = 1;
	return own;
}

static void time_stages(const struct peers *pair, uint64_t size, struct stage_times times[2])
{
	const struct request request = {TIME_STAGES, size};

	control_send(pair, &request, sizeof(request));
	control_receive(pair, times, 2 * sizeof(*times));
}

void setups_row(const struct session *session, const union cell *cells, const struct peers *pair, uint64_t size)
{
	const struct run run = timed_run(size);
	static struct stage_times times[2];

	if (session->load.nic_timing)
		time_stages(pair, size, times);
	stage_row_with(session, cells, &run, times);
}

void setups_close(struct peers *pairs, size_t count)
{
	const struct request request = {.kind = END};

	for (size_t i = 0; i < count; i++) {
		control_send(&pairs[i], &request, sizeof(request));
		peers_part(&pairs[i]);
		peers_finish(&pairs[i]);
	}
}
