/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling against sleeping (microbenchmarks for cluster interconnects, 2.2.6; report on prototype InfiniBand hardware, table 2
 * and figures 4 and 5): a waiter polls as long as it waits (PtlEQGet), or sleeps at once (PTL_SPIN=0), at neither end, at one, at both;
 * on two processors, and with both processes on one.
 */
#include "tests.h"

#include "machine.h"
#include "output.h"
#include "setups.h"
#include "sizes.h"

static const struct {
	const char *initiator, *target;
	unsigned cpus;
} names[] = {
	{"polls", "polls", 2},   {"polls", "sleeps", 2},  {"sleeps", "polls", 2},
	{"sleeps", "sleeps", 2}, {"sleeps", "sleeps", 1},
};

/* A process that polls calls PtlEQGet: PTL_SPIN would make the NIC threads of pairs poll that wait for their turn. */
#define SLEEPS                                                                                                         \
	{                                                                                                              \
		"PTL_SPIN", "0"                                                                                        \
	}

static const struct setup setups[] = {
	{.wait = {WAIT_EQGET, WAIT_EQGET}},
	{.wait = {WAIT_EQGET, WAIT_EQWAIT}, .settings = {[TARGET] = SLEEPS}},
	{.wait = {WAIT_EQWAIT, WAIT_EQGET}, .settings = {[INITIATOR] = SLEEPS}},
	{.settings = {SLEEPS, SLEEPS}},
	{.settings = {SLEEPS, SLEEPS}, .one_cpu = true},
};

#define SETUPS (sizeof(setups) / sizeof(setups[0]))

static const struct column columns[] = {
	{"Size", "bytes", 0}, {"initiator", "initiator", -10},     {"target", "target", -10},
	{"CPUs", "cpus", 0},  {"Latency (us)", "latency_us", 3},   {"p10", "p10", 3},
	{"p90", "p90", 3},    {"MB/s", "megabytes_per_second", 2},
};

static void measure_size(const struct session *session, const struct peers pairs[SETUPS], uint64_t size)
{
	const uint32_t rounds = session->options->load.repeat;
	struct samples us[SETUPS] = {0};

	for (uint32_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < SETUPS; i++)
			samples_add(&us[i], setups_measure(&pairs[i], size));
	for (size_t i = 0; i < SETUPS; i++) {
		struct summary summary = samples_summary(&us[i]);
		setups_row(session,
			   (union cell[]){{(double)size},
					  {.text = names[i].initiator},
					  {.text = names[i].target},
					  {names[i].cpus},
					  {summary.median},
					  {summary.p10},
					  {summary.p90},
					  {(double)size / summary.median}},
			   &pairs[i], size);
		samples_free(&us[i]);
	}
}

int blocking(const struct options *options)
{
	uint64_t sizes[SIZES_MAX] = {8, 4096, 65536};
	struct peers pairs[SETUPS];
	const struct options own = setups_share(options, 1); /* a setup of these has a row of its own */
	const struct session session = {.options = options, .load = options->load};
	size_t count = sizes_choose(&options->load, sizes, 3, 0);

	setups_open(pairs, setups, SETUPS, &own);
	machine_facts();
	output_fact("latency", "half a round trip of puts, one receive descriptor for all; medians of turns");
	output_fact(
		"polls, sleeps",
		"a loop of PtlEQGet, and PtlEQWait with PTL_SPIN=0; throughput is a message's bytes by its latency");
	stage_rows_open(&session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		measure_size(&session, pairs, sizes[i]);
	stage_rows_close(&session);
	setups_close(pairs, SETUPS);
	return 0;
}
