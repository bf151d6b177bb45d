/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short or long: the ping-pong of put-latency once with a short limit (PTL_SHORT_MAX) as great as the transport allows and
 * once with none, so that each size travels both ways, in turns; and the greatest size that is quicker short and
 * the least that is quicker long, both by more than their figures spread, each found by bisection.  What the
 * transport does not send short, by the count of its NIC, travels the same way twice, and crosses by chance only.  The prototype InfiniBand drivers looked for theirs by trying short limits (their tables 3 and 4, figure 7).
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

/* Of a size: by how much short is quicker, what that may be by chance, us; and whether it is sent short at all. */
struct comparison {
	double ahead, spread;
	bool sent_short;
};

/* Medians of rounds of both in turns. */
static struct comparison measure_once(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t size)
{
	double us[PROTOCOLS], spread[PROTOCOLS];

	setups_bytes(&pairs[PROTOCOL_SHORT]);
	setups_medians(pairs, PROTOCOLS, size, session->load.repeat, us, spread);
	bool sent_short = setups_bytes(&pairs[PROTOCOL_SHORT]).exposed <= 0;
	double compact = us[PROTOCOL_SHORT], lengthy = us[PROTOCOL_LONG];

	setups_row(session, (union cell[]){{(double)size}, {compact}, {lengthy}, {lengthy / compact}},
		   &pairs[PROTOCOL_LONG], size);
	return (struct comparison){lengthy - compact, spread[PROTOCOL_SHORT] + spread[PROTOCOL_LONG], sent_short};
}

enum outcome { SHORT_IS_QUICKER, EVEN, LONG_IS_QUICKER, NEVER_SHORT };

/* What is quicker once may have been disturbed; for long, which ends the search, it has to be twice. */
static enum outcome measure_size(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t size)
{
	struct comparison once = measure_once(session, pairs, size);

	if (!once.sent_short)
		return NEVER_SHORT;
	if (once.ahead > once.spread)
		return SHORT_IS_QUICKER;
	if (once.ahead >= -once.spread)
		return EVEN;
	once = measure_once(session, pairs, size);
	return once.ahead < -once.spread ? LONG_IS_QUICKER : EVEN;
}

static bool is_narrow(uint64_t quick, uint64_t slow)
{
	return slow - quick <= 1 || slow - quick <= slow / 16;
}

/* What is known so far: sizes at which one is quicker beyond doubt, the greatest sent short; 0: none. */
struct findings {
	uint64_t quicker_short, quicker_long, sent_short;
};

static enum outcome note_size(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t size,
			      struct findings *findings)
{
	enum outcome outcome = measure_size(session, pairs, size);

	if (outcome == SHORT_IS_QUICKER)
		findings->quicker_short = size;
	else if (outcome == LONG_IS_QUICKER)
		findings->quicker_long = size;
	if (outcome != NEVER_SHORT)
		findings->sent_short = size;
	return outcome;
}

/*
 * Moves the greatest size that is surely better short up, then the least that is surely better long down, each to a sixteenth of the
 * next where neither is known to be better.
 */
static void narrow(const struct session *session, const struct peers pairs[PROTOCOLS], struct findings *findings)
{
	uint64_t above = findings->quicker_long;

	while (!is_narrow(findings->quicker_short, above)) {
		uint64_t middle = findings->quicker_short + (above - findings->quicker_short) / 2;
		if (note_size(session, pairs, middle, findings) != SHORT_IS_QUICKER)
			above = middle;
	}
	uint64_t below = findings->quicker_short;

	while (!is_narrow(below, findings->quicker_long)) {
		uint64_t middle = below + (findings->quicker_long - below) / 2;
		if (note_size(session, pairs, middle, findings) != LONG_IS_QUICKER)
			below = middle;
	}
}

/* What is sent short ends between the greatest size that was and one that was not; long may be quicker below that end. */
static void search_limit(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t beyond,
			 struct findings *findings)
{
	while (!findings->quicker_long && !is_narrow(findings->sent_short, beyond)) {
		uint64_t middle = findings->sent_short + (beyond - findings->sent_short) / 2;
		if (note_size(session, pairs, middle, findings) == NEVER_SHORT)
			beyond = middle;
	}
}

static void search(const struct session *session, const struct peers pairs[PROTOCOLS], struct findings *findings)
{
	uint64_t sizes[SIZES_MAX];
	size_t count = sizes_choose(&session->load, sizes, 0, 1);

	for (size_t i = 0; i < count && !findings->quicker_long; i++)
		if (note_size(session, pairs, sizes[i], findings) == NEVER_SHORT) {
			search_limit(session, pairs, sizes[i], findings);
			return;
		}
}

/* The greatest size that is better sent short; false if nothing crosses where it was measured. */
static bool find_crossover(const struct session *session, const struct peers pairs[PROTOCOLS], uint64_t *limit)
{
	struct findings findings = {0};

	search(session, pairs, &findings);
	if (findings.quicker_long && findings.quicker_short) {
		narrow(session, pairs, &findings);
		output_note("crossover", "short messages are quicker up to %llu bytes and long ones from %llu bytes on",
			    (unsigned long long)findings.quicker_short, (unsigned long long)findings.quicker_long);
		*limit = findings.quicker_short;
		return true;
	}
	if (findings.quicker_long)
		output_note("crossover", "no crossing: short messages are quicker at none of these sizes");
	else
		output_note("crossover",
			    "no crossing: long messages are quicker at none of these sizes that are sent short too, "
			    "of which the greatest is %llu bytes",
			    (unsigned long long)findings.sent_short);
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
	output_fact(
		"short, long",
		"PTL_SHORT_MAX as great as the transport allows, and 0; beyond what it allows both are long, and the "
		"search ends");
	output_fact(
		"crossing",
		"between the greatest size at which short is quicker and the least at which long is, each by more than "
		"half of the samples spread; between them neither is surely quicker");
	if (options->load.nic_timing)
		output_fact("NIC timing", "of the long messages");
	stage_rows_open(&session, columns, sizeof(columns) / sizeof(columns[0]));
	uint64_t limit = 0;
	bool crossed = find_crossover(&session, pairs, &limit);

	stage_rows_close(&session);
	setups_close(pairs, PROTOCOLS);
	return options->save ? save(options, crossed, limit) : 0;
}
