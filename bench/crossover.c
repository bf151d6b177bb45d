/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short or long: the ping-pong of put-latency once with a short limit (PTL_SHORT_MAX) as great as the transport allows and
 * once with none, so that each size travels both ways, in turns; and the size from which long is quicker, found by
 * bisection.  The prototype InfiniBand drivers looked for theirs by trying short limits (their tables 3 and 4, figure 7).
 */
#include "tests.h"

#include "machine.h"
#include "opening.h"
#include "output.h"
#include "setups.h"
#include "sizes.h"

enum protocol { PROTOCOL_SHORT, PROTOCOL_LONG, PROTOCOLS };

static const struct setup setups[PROTOCOLS] = {
	[PROTOCOL_SHORT] = {.settings = {{"PTL_SHORT_MAX", "1G"}, {"PTL_SHORT_MAX", "1G"}}},
	[PROTOCOL_LONG] = {.settings = {{"PTL_SHORT_MAX", "0"}, {"PTL_SHORT_MAX", "0"}}},
};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"short (us)", "short_us", 3},
	{"long (us)", "long_us", 3},
	{"long/short", "ratio", 3},
};

/* Median of rounds of both in turns: whether long was not the slower one. */
static bool measure_once(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t size)
{
	double us[PROTOCOLS];

	setups_medians(pairs, PROTOCOLS, size, session->load.repeat, us);
	double compact = us[PROTOCOL_SHORT], lengthy = us[PROTOCOL_LONG];
	setups_row(session, (union cell[]){{(double)size}, {compact}, {lengthy}, {lengthy / compact}},
		   &pairs[PROTOCOL_LONG], size);
	return lengthy <= compact;
}

/* What crosses once may have been disturbed; what crosses twice crosses. */
static bool measure_size(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t size)
{
	return measure_once(session, pairs, size) && measure_once(session, pairs, size);
}

/* Between a size at which short was quicker and one at which long was, to a sixteenth. */
static uint64_t bisect(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t quick,
		       uint64_t slow)
{
	while (slow - quick > 1 && slow - quick > slow / 16) {
		uint64_t middle = quick + (slow - quick) / 2;
		if (measure_size(session, pairs, middle))
			slow = middle;
		else
			quick = middle;
	}
	return slow;
}

/* The greatest size that is better sent short; false if that is below or beyond the sizes, where nothing was measured. */
static bool find_crossover(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t *limit)
{
	const struct workload *load = &session->load;
	uint64_t sizes[SIZES_MAX], last_short = 0;
	size_t count = sizes_choose(load, sizes, 0, 1);

	for (size_t i = 0; i < count; i++) {
		if (!measure_size(session, pairs, sizes[i])) {
			last_short = sizes[i];
			continue;
		}
		if (i == 0) {
			output_note("crossover", "long messages are not slower at any of these sizes");
			return false;
		}
		uint64_t crossed = bisect(session, pairs, last_short, sizes[i]);

		output_note("crossover", "long messages are not slower from %llu bytes on",
			    (unsigned long long)crossed);
		*limit = crossed - 1;
		return true;
	}
	output_note("crossover", "short messages are quicker up to %llu bytes, or as long as there are any",
		    (unsigned long long)last_short);
	return false;
}

static int save(const struct options *options, bool crossed, uint64_t limit)
{
	if (!crossed) {
		output_note("saved", "no crossing in these sizes, nothing saved");
		return 1;
	}
	opening_save_limit(options, limit, options->save);
	output_note("saved", "in %s: messages of at most %llu bytes are short over %s; PTL_TUNING_FILE has it read",
		    options->save, (unsigned long long)limit, opening_transport(options));
	return 0;
}

int crossover(const struct options *options)
{
	struct peers pairs[PROTOCOLS];
	const struct options own = setups_share(options, PROTOCOLS);
	const struct session session = {.options = options, .load = options->load};

	setups_open(pairs, setups, PROTOCOLS, &own);
	machine_facts();
	output_fact("latency", "half a round trip of puts, one receive descriptor for all; medians of turns");
	output_fact("short, long",
		    "PTL_SHORT_MAX as great as the transport allows, and 0; beyond what it allows both are long");
	if (options->load.nic_timing)
		output_fact("NIC timing", "of the long messages");
	stage_rows_open(&session, columns, sizeof(columns) / sizeof(columns[0]));
	uint64_t limit = 0;
	bool crossed = find_crossover(&session, pairs, &limit);

	stage_rows_close(&session);
	setups_close(pairs, PROTOCOLS);
	return options->save ? save(options, crossed, limit) : 0;
}
