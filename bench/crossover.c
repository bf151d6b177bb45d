/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short or long: the ping-pong of put-latency once with a short limit (PTL_SHORT_MAX) as great as the transport allows and
 * once with none, so that each size travels both ways, in turns; and the size from which long is quicker, found by
 * bisection.  The prototype InfiniBand drivers looked for theirs by trying short limits (their tables 3 and 4, figure 7).
 */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "measure.h"
#include "output.h"

enum protocol { PROTOCOL_SHORT, PROTOCOL_LONG, PROTOCOLS };

/* The initiator of a pair is ordered to measure a size, and answers with the latency, us; or to end. */
#define NO_MORE UINT64_MAX

static const char *const limits[PROTOCOLS] = {[PROTOCOL_SHORT] = "1G", [PROTOCOL_LONG] = "0"};

static void obey(struct session *session, struct peers *parent)
{
	uint64_t size;

	for (control_receive(parent, &size, sizeof size); size != NO_MORE;
	     control_receive(parent, &size, sizeof size)) {
		struct contestant contestant = {.run = {.exchange = EXCHANGE_PUT, .size = size}};
		measure_row(session, &contestant, 1);
		double us = samples_summary(&contestant.samples).median / 2000;
		samples_free(&contestant.samples);
		control_send(parent, &us, sizeof us);
	}
	measure_end(session);
}

static void __attribute__((noreturn))
be_pair(struct peers *parent, const struct options *options, enum protocol protocol)
{
	struct options own = *options;
	struct session session;

	own.load.persistent = true;
	setenv("PTL_SHORT_MAX", limits[protocol], 1);
	session_open(&session, &own);
	if (session.peers.role == INITIATOR)
		obey(&session, parent);
	else
		measure_serve(&session);
	session_close(&session);
	if (session.peers.role == INITIATOR)
		peers_part(parent);
	exit(0);
}

static double ask(const struct peers *pair, uint64_t size)
{
	double us;

	control_send(pair, &size, sizeof size);
	control_receive(pair, &us, sizeof us);
	return us;
}

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"short (us)", "short_us", 3},
	{"long (us)", "long_us", 3},
	{"long/short", "ratio", 3},
};

/* Median of rounds of both in turns: whether long was not the slower one. */
static bool measure_once(const struct peers pairs[PROTOCOLS], uint64_t size, uint32_t rounds)
{
	struct samples us[PROTOCOLS] = {{0}};

	for (uint32_t round = 0; round < rounds; round++)
		for (enum protocol protocol = 0; protocol < PROTOCOLS; protocol++)
			samples_add(&us[protocol], ask(&pairs[protocol], size));
	double brief = samples_summary(&us[PROTOCOL_SHORT]).median,
	       lengthy = samples_summary(&us[PROTOCOL_LONG]).median;
	output_row((union cell[]){{(double)size}, {brief}, {lengthy}, {lengthy / brief}});
	samples_free(&us[PROTOCOL_SHORT]);
	samples_free(&us[PROTOCOL_LONG]);
	return lengthy <= brief;
}

/* What crosses once may have been disturbed; what crosses twice crosses. */
static bool measure_size(const struct peers pairs[PROTOCOLS], uint64_t size, uint32_t rounds)
{
	return measure_once(pairs, size, rounds) && measure_once(pairs, size, rounds);
}

/* Between a size at which short was quicker and one at which long was, to a sixteenth. */
static uint64_t bisect(const struct peers pairs[PROTOCOLS], uint64_t quick, uint64_t slow, uint32_t rounds)
{
	while (slow - quick > slow / 16) {
		uint64_t middle = quick + (slow - quick) / 2;
		if (measure_size(pairs, middle, rounds))
			slow = middle;
		else
			quick = middle;
	}
	return slow;
}

static void find(const struct peers pairs[PROTOCOLS], const struct options *options)
{
	const struct workload *load = &options->load;
	uint64_t sizes[SIZES_MAX], last_short = 0;
	size_t count =
		size_list(load->size_min ? load->size_min : 1, load->size_max, load->quick ? 4 : 2, sizes, SIZES_MAX);
	bool crossed = false;

	for (size_t i = 0; i < count && !crossed; i++) {
		crossed = measure_size(pairs, sizes[i], load->repeat);
		if (crossed && i)
			output_note("crossover", "long messages are not slower from %llu bytes on",
				    (unsigned long long)bisect(pairs, last_short, sizes[i], load->repeat));
		else if (crossed)
			output_note("crossover", "long messages are not slower at any of these sizes");
		last_short = sizes[i];
	}
	if (!crossed)
		output_note("crossover", "short messages are quicker up to %llu bytes, or as long as there are any",
			    (unsigned long long)last_short);
}

int crossover(const struct options *options)
{
	struct peers pairs[PROTOCOLS];
	struct options own = *options;

	own.load.row_ms = (options->load.row_ms  ? options->load.row_ms
			   : options->load.quick ? 300
						 : 1100) /
			  PROTOCOLS / options->load.repeat;
	own.load.row_ms += own.load.row_ms == 0;
	own.load.repeat = 1;
	fflush(stdout);
	for (enum protocol protocol = 0; protocol < PROTOCOLS; protocol++) {
		peers_prepare(&pairs[protocol]);
		peers_fork(&pairs[protocol]);
		if (pairs[protocol].role == TARGET)
			be_pair(&pairs[protocol], &own, protocol);
	}
	machine_facts();
	output_fact("latency", "half a round trip of puts, one receive descriptor for all; medians of turns");
	output_fact("short, long",
		    "PTL_SHORT_MAX as great as the transport allows, and 0; beyond what it allows both are long");
	output_table(columns, sizeof columns / sizeof columns[0]);
	find(pairs, options);
	for (enum protocol protocol = 0; protocol < PROTOCOLS; protocol++) {
		control_send(&pairs[protocol], &(uint64_t){NO_MORE}, sizeof(uint64_t));
		peers_part(&pairs[protocol]);
		peers_finish(&pairs[protocol]);
	}
	return 0;
}
