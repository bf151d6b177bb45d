/* SPDX-License-Identifier: BSD-3-Clause */
#include "setups.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Processes of one CPU are started on it, as by taskset: their NIC threads stay there too. */
static void __attribute__((noreturn))
be_pair(struct peers *parent, const struct options *options, const struct setup *setup)
{
	struct options own = *options;
	struct session session;

	own.load.persistent = true;
	own.settings = setup->settings;
	if (setup->one_cpu) {
		own.unpinned = true;
		peers_pin(parent);
	}
	session_open(&session, &own);
	if (setup->wait[session.peers.role] == WAIT_EQGET)
		session.load.wait = WAIT_EQGET;
	if (session.peers.role == INITIATOR)
		obey(&session, parent);
	else
		measure_serve(&session);
	session_close(&session);
	if (session.peers.role == INITIATOR)
		peers_part(parent);
	exit(0);
}

void setups_open(struct peers *pairs, const struct setup *setups, size_t count, const struct options *options)
{
	fflush(stdout);
	for (size_t i = 0; i < count; i++) {
		peers_prepare(&pairs[i]);
		peers_fork(&pairs[i]);
		if (pairs[i].role == TARGET)
			be_pair(&pairs[i], options, &setups[i]);
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
