/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What we promise, and whether it holds here.  Each figure comes from another test of ptlbench, run in a process of its
 * own by the command that the row shows.  All are run in turn, several times over; a figure is the median of these
 * rounds, its spread the least and the greatest.  Where a figure is divided by another one, that is done in every round.
 */
#include "goals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "machine.h"
#include "output.h"
#include "stats.h"
#include "tests.h"

/* Ping-pongs with a persistent receive descriptor, as MPI-like layers have for short messages. */
#define PUT      "put-latency --persistent --quick --sizes "
#define GET      "get-latency --persistent --quick --sizes "
#define WINDOWS  "put-bandwidth --quick --sizes "
#define PUT_8    PUT "8 --raw slots"
#define RATE     WINDOWS "8 --window 64 --raw slots"
#define SELF     "self-latency --quick --mode dedicated --sizes 8"
#define PAIRS    "pairs --repeat 1"
#define BYPASS   "bypass --quick --sizes 1M"
#define WAKE     "wake --iterations 1"
#define NO_LIMIT NAN

enum bound { AT_MOST, AT_LEAST };

struct goal {
	const char *number, *what;
	const char *command;
	const char *row, *column; /* of its CSV: how the row begins, the name of the column */
	double scale;             /* from the column's unit to ours */
	const char *unit;
	enum bound bound;
	double limit;
	const char *base; /* number of the goal by whose figure this one is divided, or NULL */
	bool once;        /* in the first round only */
};

/* clang-format off */
static const struct goal table[] = {
	{"1", "put 8 B", PUT_8, "8,", "latency_us", 1, "us", AT_MOST, 0.22, NULL, false},
	{"1", "put 8 B, to a bare slot queue", PUT_8, "8,", "ratio", 1, "x", AT_MOST, 1.7, NULL, false},
	{"1", "bare slot queue", PUT_8, "8,", "raw", 1, "us", AT_MOST, NO_LIMIT, NULL, false},
	{"1", "initiator driven by its host", PUT_8, "8,", "initiator_host_percent", 1, "%", AT_MOST, NO_LIMIT, NULL, false},
	{"1", "target driven by its host", PUT_8, "8,", "target_host_percent", 1, "%", AT_MOST, NO_LIMIT, NULL, false},
	{"1", "initiator's CPU time a message", PUT_8, "8,", "initiator_cpu_us", 1, "us", AT_MOST, NO_LIMIT, NULL, false},
	{"1", "target's CPU time a message", PUT_8, "8,", "target_cpu_us", 1, "us", AT_MOST, NO_LIMIT, NULL, false},
	{"1", "put 8 B, receive attached each time", "put-latency --quick --sizes 8", "8,", "latency_us", 1, "us", AT_MOST, NO_LIMIT, NULL, false},
	{"2", "put 64 B", PUT "64", "64,", "latency_us", 1, "us", AT_MOST, 0.30, NULL, false},
	{"2", "put 1 KiB", PUT "1K", "1024,", "latency_us", 1, "us", AT_MOST, 0.55, NULL, false},
	{"2", "put 4 KiB", PUT "4K", "4096,", "latency_us", 1, "us", AT_MOST, 1.0, NULL, false},
	{"3", "get 8 B, whole, to goal 1", GET "8", "8,", "latency_us", 1, "x", AT_MOST, 2.2, "1", false},
	{"4", "rate of puts of 8 B, window 64", RATE, "8,", "messages_per_second", 1e-6, "M/s", AT_LEAST, 16, NULL, false},
	{"4", "bare slot queue", RATE, "8,", "raw", 1.0 / 8, "M/s", AT_LEAST, NO_LIMIT, NULL, false},
	{"5", "put bandwidth 64 KiB", WINDOWS "64K", "65536,", "megabytes_per_second", 1e-3, "GB/s", AT_LEAST, 22, NULL, false},
	{"5", "put bandwidth 256 KiB", WINDOWS "256K", "262144,", "megabytes_per_second", 1e-3, "GB/s", AT_LEAST, 32, NULL, false},
	{"6", "put 64 KiB", PUT "64K", "65536,", "latency_us", 1, "us", AT_MOST, 3.3, NULL, false},
	{"6", "put 256 KiB", PUT "256K", "262144,", "latency_us", 1, "us", AT_MOST, 8, NULL, false},
	{"6", "put 1 MiB", PUT "1M", "1048576,", "latency_us", 1, "us", AT_MOST, 28, NULL, false},
	{"6", "put 4 MiB", PUT "4M", "4194304,", "latency_us", 1, "us", AT_MOST, 205, NULL, false},
	{"7", "put 8 B by PtlEQGet, to goal 1", PUT "8 --wait eqget", "8,", "latency_us", 1, "x", AT_MOST, 1.05, "1", false},
	{"8", "put to self, dedicated, 2 events", SELF, "8,", "latency_us", 1, "us", AT_MOST, 0.60, NULL, false},
	{"9", "put 1 MiB while target computes, ACK", BYPASS, "\"put\",1048576,", "complete_us", 1e-3, "ms", AT_MOST, 0.5, NULL, false},
	{"9", "computing slowed, beyond the copy", BYPASS, "\"put\",1048576,", "lost_beyond_copy_percent", 1, "%", AT_MOST, 5, NULL, false},
	{"10", "idle, asleep outside Portals", "idle", "\"nanosleep\"", "greater_cpu_percent", 1, "% CPU", AT_MOST, 0.1, NULL, true},
	{"10", "idle, asleep in PtlEQPoll", "idle", "\"PtlEQPoll\"", "greater_cpu_percent", 1, "% CPU", AT_MOST, 0.1, NULL, true},
	{"10", "first put after 1 s, to a bare wake", WAKE, "8,", "ratio", 1, "x", AT_MOST, 1.3, NULL, false},
	{"10", "first put after 1 s", WAKE, "8,", "latency_us", 1, "us", AT_MOST, NO_LIMIT, NULL, false},
	{"11", "2 pairs, unpinned, to 1 pair", PAIRS, "\"2 pairs; unpinned\"", "ratio", 1, "x", AT_MOST, 1.5, NULL, false},
	{"11", "2 pairs, mates on one core, to 1 pair", PAIRS, "\"2 pairs; mates on one core\"", "ratio", 1, "x", AT_MOST, 5, NULL, false},
	{"12", "PtlNIInit and PtlNIFini", "open --quick", "\"PtlNIInit and PtlNIFini\"", "median_ms", 1, "ms", AT_MOST, 5, NULL, false},
	{"13", "memory of an interface at rest", "memory", "\"interface at rest\"", "sum_bytes", 1.0 / (1 << 20), "MiB", AT_MOST, 8, NULL, true},
	{"13", "memory of a contacted peer", "memory", "\"contacted peer\"", "anonymous_bytes", 1.0 / 1024, "KiB", AT_MOST, 4, NULL, true},
	{"13", "pages touched in that peer's segment", "memory", "\"contacted peer\"", "shared_bytes", 1.0 / 1024, "KiB", AT_MOST, NO_LIMIT, NULL, true},
	{"13", "memory of a peer never contacted", "memory", "\"peer that is only there\"", "anonymous_bytes", 1, "B", AT_MOST, 64, NULL, true},
};
/* clang-format on */

#define GOALS (sizeof table / sizeof table[0])

static struct samples figures[GOALS]; /* in our unit, before division */
static struct samples results[GOALS];

/* The first goal with this number: what others are divided by. */
static size_t find_goal(const char *number)
{
	size_t i = 0;

	while (strcmp(table[i].number, number) != 0)
		i++;
	return i;
}

/* As one would type it.  Tests without a time for each row have a --quick that shortens them. */
static void write_command(const struct goal *goal, const struct options *options, char *command, size_t size)
{
	const char *time = options->load.quick ? " --row-time 100" : " --row-time 200";

	if (goal->once)
		time = options->load.quick ? " --quick" : "";
	snprintf(command, size, "%s%s --transport %s", goal->command, time,
		 options->transport ? options->transport : "node");
}

static void show_progress(uint32_t round, const char *command)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[Kround %u: %s\r", round + 1, command);
}

/* All goals that the command of the first of them serves. */
static void take_figures(size_t first, const char *csv)
{
	for (size_t i = first; i < GOALS; i++)
		if (!strcmp(table[i].command, table[first].command))
			samples_add(&figures[i], table[i].scale * goals_figure(csv, table[i].row, table[i].column));
}

static bool is_first_of_its_command(size_t goal)
{
	for (size_t i = 0; i < goal; i++)
		if (!strcmp(table[i].command, table[goal].command))
			return false;
	return true;
}

/* One that has failed is not tried again. */
static bool is_due(size_t goal, uint32_t round)
{
	const struct samples *samples = &figures[goal];

	return is_first_of_its_command(goal) && !(round && table[goal].once) &&
	       !(samples->count && isnan(samples->value[samples->count - 1]));
}

static void play_round(const struct options *options, uint32_t round)
{
	char command[256];

	for (size_t i = 0; i < GOALS; i++) {
		if (!is_due(i, round))
			continue;
		write_command(&table[i], options, command, sizeof command);
		show_progress(round, command);
		char *csv = goals_run(command);
		take_figures(i, csv);
		free(csv);
	}
	show_progress(round, "");
}

/* A round without a figure makes the result NaN. */
static void divide(size_t goal)
{
	const struct samples *own = &figures[goal];
	const struct samples *base = table[goal].base ? &figures[find_goal(table[goal].base)] : NULL;

	for (size_t round = 0; round < own->count; round++)
		samples_add(&results[goal], own->value[round] / (base ? base->value[round] : 1));
}

static const char *verdict(const struct goal *goal, double median)
{
	if (isnan(median))
		return "error";
	if (isnan(goal->limit))
		return "-";
	return (goal->bound == AT_MOST ? median <= goal->limit : median >= goal->limit) ? "met" : "missed";
}

enum {
	COLUMN_NUMBER,
	COLUMN_WHAT,
	COLUMN_MEDIAN,
	COLUMN_LEAST,
	COLUMN_GREATEST,
	COLUMN_UNIT,
	COLUMN_LIMIT,
	COLUMN_VERDICT,
	COLUMN_COMMAND,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_NUMBER] = {"Goal", "goal", -5},          [COLUMN_WHAT] = {"what", "what", -37},
	[COLUMN_MEDIAN] = {"measured", "median", 3},     [COLUMN_LEAST] = {"least", "least", 3},
	[COLUMN_GREATEST] = {"greatest", "greatest", 3}, [COLUMN_UNIT] = {"unit", "unit", -5},
	[COLUMN_LIMIT] = {"limit", "limit", -8},         [COLUMN_VERDICT] = {"", "verdict", -6},
	[COLUMN_COMMAND] = {"command", "command", -8},
};

static bool has_failed(size_t goal)
{
	for (size_t round = 0; round < results[goal].count; round++)
		if (isnan(results[goal].value[round]))
			return true;
	return false;
}

/* Returns whether there is a figure. */
static bool print_goal(size_t i, const struct options *options)
{
	const struct goal *goal = &table[i];
	char command[256], whole[272], limit[24] = "";
	bool failed = has_failed(i);
	double least = NAN, greatest = NAN, median = failed ? NAN : samples_summary(&results[i]).median;

	write_command(goal, options, command, sizeof command);
	snprintf(whole, sizeof whole, "ptlbench %s", command);
	if (!isnan(goal->limit))
		snprintf(limit, sizeof limit, "%s %g", goal->bound == AT_MOST ? "<=" : ">=", goal->limit);
	if (!failed && !goal->once) {
		least = results[i].value[0];
		greatest = results[i].value[results[i].count - 1];
	}
	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_NUMBER] = {.text = goal->number},
		[COLUMN_WHAT] = {.text = goal->what},
		[COLUMN_MEDIAN] = {median},
		[COLUMN_LEAST] = {least},
		[COLUMN_GREATEST] = {greatest},
		[COLUMN_UNIT] = {.text = goal->unit},
		[COLUMN_LIMIT] = {.text = limit},
		[COLUMN_VERDICT] = {.text = verdict(goal, median)},
		[COLUMN_COMMAND] = {.text = whole},
	});
	return !failed;
}

int goals(const struct options *options)
{
	uint32_t rounds = options->load.quick ? 3 : 5;
	bool complete = true;

	machine_facts();
	output_fact("measured", "median of %u rounds, with the least and the greatest; idle and memory have one",
		    rounds);
	output_fact("put latency", "half a round trip, persistent receive descriptor, both sides in PtlEQWait");
	output_table(columns, COLUMN_COUNT);
	for (uint32_t round = 0; round < rounds; round++)
		play_round(options, round);
	for (size_t i = 0; i < GOALS; i++)
		divide(i);
	for (size_t i = 0; i < GOALS; i++)
		complete = print_goal(i, options) && complete;
	return !complete;
}
