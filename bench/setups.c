/* SPDX-License-Identifier: BSD-3-Clause */
#include "setups.h"

#include <stdlib.h>

#include "fail.h"
#include "pair.h"

/* What the initiator of a pair is ordered: to measure a size, and to answer with the latency, us, or with stages; or to end. */
struct request {
	enum { MEASURE, TIME_STAGES, END } kind;
	uint64_t size;
};

static void answer_latency(struct session *session, struct peers *parent, uint64_t size)
{
	struct series series = {.run = {.exchange = EXCHANGE_PUT, .size = size}};

	measure_row(session, &series, 1);
	double us = samples_summary(&series.samples).median / 2000;
	samples_free(&series.samples);
	control_send(parent, &us, sizeof(us));
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

static void obey(struct session *session, struct peers *parent)
{
	struct request request;

	for (control_receive(parent, &request, sizeof(request)); request.kind != END;
	     control_receive(parent, &request, sizeof(request)))
		(request.kind == MEASURE ? answer_latency : answer_stages)(session, parent, request.size);
	measure_end(session);
}

void setups_open(struct peers *pairs, const struct setup *setups, size_t count, const struct options *options)
{
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

double setups_measure(const struct peers *pair, uint64_t size)
{
	const struct request request = {MEASURE, size};
	double us;

	control_send(pair, &request, sizeof(request));
	control_receive(pair, &us, sizeof(us));
	return us;
}

void setups_medians(const struct peers *pairs, size_t count, uint64_t size, uint32_t rounds, double *median_us)
{
	struct samples *us = calloc(count, sizeof(*us));

	if (!us)
		fail("no memory for %zu medians", count);
	for (uint32_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			samples_add(&us[i], setups_measure(&pairs[i], size));
	for (size_t i = 0; i < count; i++) {
		median_us[i] = samples_summary(&us[i]).median;
		samples_free(&us[i]);
	}
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
