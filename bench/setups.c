/* SPDX-License-Identifier: BSD-3-Clause */
#include "setups.h"

#include "pair.h"

/* The initiator of a pair is ordered to measure a size, and answers with the latency, us; or to end. */
#define NO_MORE UINT64_MAX

static void obey(struct session *session, struct peers *parent)
{
	uint64_t size;

	for (control_receive(parent, &size, sizeof size); size != NO_MORE;
	     control_receive(parent, &size, sizeof size)) {
		struct series series = {.run = {.exchange = EXCHANGE_PUT, .size = size}};
		measure_row(session, &series, 1);
		double us = samples_summary(&series.samples).median / 2000;
		samples_free(&series.samples);
		control_send(parent, &us, sizeof us);
	}
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
	double us;

	control_send(pair, &size, sizeof size);
	control_receive(pair, &us, sizeof us);
	return us;
}

void setups_close(struct peers *pairs, size_t count)
{
	const uint64_t size = NO_MORE;

	for (size_t i = 0; i < count; i++) {
		control_send(&pairs[i], &size, sizeof size);
		peers_part(&pairs[i]);
		peers_finish(&pairs[i]);
	}
}
