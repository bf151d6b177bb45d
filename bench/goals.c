/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What we promise, and whether it holds here.  Each figure comes from another test of ptlbench, run in a process of its
 * own by the command that the row shows.  What has others to be compared with is a ratio within one run of compare; the
 * rest is run in turn, several times over, and a figure is the median of these rounds, its spread the least and the
 * greatest.  Where a figure is divided by another one, that is done in every round.
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

/*
 * One run for all that has candidates.  The ping-pongs have a persistent receive descriptor, as MPI-like layers have.
 */
#define COMPARE                                                                                                        \
	"compare --rows put-latency,get-latency,rate,put-bandwidth,get-bandwidth,loaded,dedicated,self,tcp-latency,"   \
	"tcp-bandwidth,net-latency,net-bandwidth"
#define TIMING   "compare --rows put-latency --against"
#define PUT      "put-latency --persistent --quick --sizes "
#define DEPTHS   "match-depth --persistent --repeat 3 --depths 0,10000"
#define ATTACH   "attach --quick --depths 10000"
#define PAIRS    "pairs --repeat 1"
#define BYPASS   "bypass --quick --sizes 1M"
#define WAKE     "wake --iterations 1"
#define NO_LIMIT NAN

enum bound { AT_MOST, AT_LEAST };

/*
 * In every round; in each pass of every round, which is for what differs from run to run by more than its goal allows; in the first
 * round, or in the first one if --against says against what.
 */
enum when { EACH_ROUND, EACH_PASS, ONCE, IF_AGAINST };

#define PASSES 3

struct goal {
	const char *number, *what;
	const char *command;
	const char *row, *column; /* of its CSV: how the row begins, the name of the column */
	double scale;             /* from the column's unit to ours */
	const char *unit;
	enum bound bound;
	double limit;
	const char *base;     /* `what` of the goal by whose figure this one is divided, or NULL */
	const char *excuse;   /* `what` of a figure; where that is above the limit the goal cannot be met */
	const char *absolute; /* column with what stands beside a ratio, or NULL */
	const char *absolute_unit;
	enum when when;
};

/* Ratios of a row of compare, with what ours is beside them. */
#define RATIO(number, what, row, column, bound, limit, unit)                                                           \
	{                                                                                                              \
		number, what, COMPARE, row, column, 1, "x", bound, limit, NULL, NULL, "ours", unit, ONCE               \
	}
#define TO_PEER(number, what, row, limit) RATIO(number, what ", to the best peer", row, "to_peer", AT_MOST, limit, "us")
#define TO_BARE(number, what, row, limit)                                                                              \
	RATIO(number, what ", to the bare limit", row, "to_bare", AT_MOST, limit, "us")
#define WIDE(number, what, row, column, limit) RATIO(number, what, row, column, AT_LEAST, limit, "GB/s")
#define NOTHING                                NULL, NULL, NULL, NULL

/* clang-format off */
static const struct goal table[] = {
	TO_PEER("1", "put 8 B", "\"put-latency\",8,", 1.0),
	TO_BARE("1", "put 8 B", "\"put-latency\",8,", 1.6),
	{"1", "CPU time of both sides a message", COMPARE, "\"put-latency\",8,", "ours_cpu_us", 1, "us", AT_MOST, NO_LIMIT, NOTHING, ONCE},
	TO_PEER("2", "put 64 B", "\"put-latency\",64,", 0.9),
	TO_PEER("2", "put 1 KiB", "\"put-latency\",1024,", 0.9),
	TO_BARE("3", "put 4 KiB", "\"put-latency\",4096,", 2.0),
	{"3", "put 4 KiB, to the best peer", COMPARE, "\"put-latency\",4096,", "to_peer", 1, "x", AT_MOST, 0.3, NULL, "put 4 KiB, bare limit to peer", "ours", "us", ONCE},
	{"3", "put 4 KiB, bare limit to peer", COMPARE, "\"put-latency\",4096,", "to_peer", 1, "x", AT_MOST, NO_LIMIT, "put 4 KiB, to the bare limit", NULL, NULL, NULL, ONCE},
	{"4", "put 8 B, us", COMPARE, "\"put-latency\",8,", "ours", 1, "us", AT_MOST, NO_LIMIT, NOTHING, ONCE},
	{"4", "get 8 B, whole, to put", COMPARE, "\"get-latency\",8,", "ours", 1, "x", AT_MOST, 2.0, "put 8 B, us", NULL, "ours", "us", ONCE},
#define GET_BANDWIDTH(size, row) \
	{"4", "put bandwidth " size, COMPARE, "\"put-bandwidth\"," row ",", "ours", 1, "GB/s", AT_LEAST, NO_LIMIT, NOTHING, ONCE}, \
	{"4", "get bandwidth " size ", to put", COMPARE, "\"get-bandwidth\"," row ",", "ours", 1, "x", AT_LEAST, 0.9, "put bandwidth " size, NULL, "ours", "GB/s", ONCE}
	GET_BANDWIDTH("64 KiB", "65536"),
	GET_BANDWIDTH("256 KiB", "262144"),
	GET_BANDWIDTH("1 MiB", "1048576"),
	GET_BANDWIDTH("4 MiB", "4194304"),
	TO_BARE("5", "put 16 KiB", "\"put-latency\",16384,", 1.4),
	TO_BARE("5", "put 64 KiB", "\"put-latency\",65536,", 1.4),
	TO_BARE("6", "put 256 KiB", "\"put-latency\",262144,", 1.25),
	TO_BARE("6", "put 1 MiB", "\"put-latency\",1048576,", 1.25),
	TO_BARE("6", "put 4 MiB", "\"put-latency\",4194304,", 1.25),
	RATIO("7", "rate 8 B, to the bare limit", "\"rate\",8,", "to_bare", AT_LEAST, 0.55, "M/s"),
	RATIO("7", "rate 8 B, to the best peer", "\"rate\",8,", "to_peer", AT_LEAST, 1.4, "M/s"),
	WIDE("8", "put bandwidth 4 KiB, to the bare limit", "\"put-bandwidth\",4096,", "to_bare", 0.8),
	WIDE("8", "put bandwidth 16 KiB, to the bare limit", "\"put-bandwidth\",16384,", "to_bare", 0.8),
	WIDE("8", "put bandwidth 64 KiB, to the bare limit", "\"put-bandwidth\",65536,", "to_bare", 0.8),
	{"8", "put bandwidth 4 KiB", COMPARE, "\"put-bandwidth\",4096,", "ours", 1, "GB/s", AT_LEAST, NO_LIMIT, NOTHING, ONCE},
	{"8", "put bandwidth 16 KiB", COMPARE, "\"put-bandwidth\",16384,", "ours", 1, "GB/s", AT_LEAST, NO_LIMIT, NOTHING, ONCE},
	{"8", "put bandwidth 16 KiB, to 4 KiB", COMPARE, "\"put-bandwidth\",16384,", "ours", 1, "x", AT_LEAST, 1.0, "put bandwidth 4 KiB", NULL, NULL, NULL, ONCE},
	{"8", "put bandwidth 64 KiB, to 16 KiB", COMPARE, "\"put-bandwidth\",65536,", "ours", 1, "x", AT_LEAST, 1.0, "put bandwidth 16 KiB", NULL, NULL, NULL, ONCE},
#define MATCHING(what, column, limit) \
	{"9", "nothing in front" what, DEPTHS, "0,", column, 1, "us", AT_MOST, NO_LIMIT, NOTHING, ONCE}, \
	{"9", "behind 10 000 entries, to none" what, DEPTHS, "10000,", column, 1, "x", AT_MOST, limit, "nothing in front" what, NULL, column, "us", ONCE}
	MATCHING("", "latency_us", 1.2),
	MATCHING("; 10 % wildcards", "wildcards_latency_us", 1.2),
	MATCHING("; 4 masks", "prefixes_latency_us", 1.2),
	MATCHING("; 1 000 masks", "different_masks_latency_us", NO_LIMIT),
#define LONG_LIST(where) \
	{"10", "attach and detach, " where " of 10 000", ATTACH, "10000,\"" where "\"", "ratio", 1, "x", AT_MOST, 1.5, NULL, NULL, "ns", "ns", EACH_ROUND}
	LONG_LIST("head"),
	LONG_LIST("middle"),
	LONG_LIST("tail"),
#define OVER_OFI(name, what, size) \
	RATIO("11", "ofi:" name " " what ", to raw", "\"" name "-latency\"," size ",", "to_peer", AT_MOST, 1.10, "us")
#define OFI(name) \
	OVER_OFI(name, "8 B", "8"), \
	OVER_OFI(name, "1 KiB", "1024"), \
	OVER_OFI(name, "4 KiB", "4096"), \
	OVER_OFI(name, "16 KiB", "16384"), \
	OVER_OFI(name, "64 KiB", "65536"), \
	WIDE("11", "ofi:" name " bandwidth 64 KiB, to raw", "\"" name "-bandwidth\",65536,", "to_peer", 0.97), \
	WIDE("11", "ofi:" name " bandwidth 1 MiB, to raw", "\"" name "-bandwidth\",1048576,", "to_peer", 0.97), \
	WIDE("11", "ofi:" name " bandwidth 4 MiB, to raw", "\"" name "-bandwidth\",4194304,", "to_peer", 0.97)
	OFI("tcp"),
	OFI("net"),
	RATIO("12", "dedicated, 8 B, to a wake on one core", "\"dedicated\",8,", "to_bare", AT_MOST, 5, "us"),
	RATIO("12", "dedicated, put to self, to the bare path", "\"self\",8,", "to_bare", AT_MOST, 3, "us"),
	TO_PEER("13", "loaded cores, 8 B", "\"loaded\",8,", 1.0),
	RATIO("13", "loaded cores, 8 B, to a bare line", "\"loaded\",8,", "to_bare", AT_MOST, 3, "us"),
#define OTHER_PAIRS(what, row) \
	{"14", "2 pairs, unpinned, " what, PAIRS, "\"" row "; 2 pairs; unpinned\"", "message_us", 1, "us", AT_MOST, NO_LIMIT, NOTHING, EACH_ROUND}, \
	{"14", "2 pairs, unpinned, to " what, PAIRS, "\"2 pairs; unpinned\"", "message_us", 1, "x", AT_MOST, NO_LIMIT, "2 pairs, unpinned, " what, NULL, "message_us", "us", EACH_ROUND}
	{"14", "2 pairs, unpinned, to 1 pair", PAIRS, "\"2 pairs; unpinned\"", "ratio", 1, "x", AT_MOST, 2.2, NULL, "2 pairs, the better bare way, to our 1 pair", "message_us", "us", EACH_ROUND},
	{"14", "2 pairs, the better bare way, to our 1 pair", PAIRS, "\"bare; 2 pairs; unpinned\"", "ratio", 1, "x", AT_MOST, NO_LIMIT, NULL, NULL, "message_us", "us", EACH_ROUND},
	OTHER_PAIRS("bare", "bare"),
	OTHER_PAIRS("MPI", "MPI"),
	{"14", "2 pairs, co-scheduled on one core, to 1 pair", PAIRS, "\"2 pairs; co-scheduled on one core\"", "ratio", 1, "x", AT_MOST, NO_LIMIT, NULL, NULL, "message_us", "us", EACH_ROUND},
	{"15", "first put after 1 s, to a bare wake", WAKE, "8,", "ratio", 1, "x", AT_MOST, 1.3, NULL, NULL, "latency_us", "us", EACH_ROUND},
	{"16", "put 1 MiB while target computes, ACK", BYPASS, "\"put\",1048576,", "complete_us", 1e-3, "ms", AT_MOST, 0.3, NOTHING, EACH_ROUND},
	{"16", "computing slowed, beyond the copy", BYPASS, "\"put\",1048576,", "lost_beyond_copy_percent", 1, "%", AT_MOST, 5, NOTHING, EACH_ROUND},
#define BY_EQGET(what, size, row) \
	{"17", "put " what " by PtlEQWait", PUT size, row ",", "latency_us", 1, "us", AT_MOST, NO_LIMIT, NOTHING, EACH_PASS}, \
	{"17", "put " what " by PtlEQGet, to PtlEQWait", PUT size " --wait eqget", row ",", "latency_us", 1, "x", AT_MOST, 1.05, "put " what " by PtlEQWait", NULL, "latency_us", "us", EACH_PASS}
	BY_EQGET("8 B", "8", "8"),
	BY_EQGET("64 KiB", "64K", "65536"),
	BY_EQGET("1 MiB", "1M", "1048576"),
	{"18", "idle, asleep outside Portals", "idle", "\"nanosleep\"", "greater_cpu_percent", 1, "% CPU", AT_MOST, 0.1, NOTHING, ONCE},
	{"18", "idle, asleep in PtlEQPoll", "idle", "\"PtlEQPoll\"", "greater_cpu_percent", 1, "% CPU", AT_MOST, 0.1, NOTHING, ONCE},
	{"19", "PtlNIInit and PtlNIFini", "open --quick", "\"PtlNIInit and PtlNIFini\"", "median_ms", 1, "ms", AT_MOST, 5, NOTHING, EACH_ROUND},
	{"20", "memory of an interface at rest", "memory", "\"interface at rest\"", "sum_bytes", 1.0 / (1 << 20), "MiB", AT_MOST, 8, NOTHING, ONCE},
	{"20", "memory of a contacted peer", "memory", "\"contacted peer\"", "anonymous_bytes", 1.0 / 1024, "KiB", AT_MOST, 4, NOTHING, ONCE},
	{"20", "pages touched in that peer's segment", "memory", "\"contacted peer\"", "shared_bytes", 1.0 / 1024, "KiB", AT_MOST, NO_LIMIT, NOTHING, ONCE},
	{"20", "memory of a peer never contacted", "memory", "\"peer that is only there\"", "anonymous_bytes", 1, "B", AT_MOST, 64, NOTHING, ONCE},
	{"21", "put 8 B, to the build of --against", TIMING, "\"put-latency\",8,", "to_other", 1, "x", AT_MOST, 1.01, NULL, NULL, "ours", "us", IF_AGAINST},
	{"21", "put 8 B with PTL_STAT=1, to without", "PTL_STAT=1 " PUT "8", "8,", "latency_us", 1, "x", AT_MOST, 1.005, "put 8 B by PtlEQWait", NULL, "latency_us", "us", EACH_PASS},
};
/* clang-format on */

#define GOALS (sizeof(table) / sizeof(table[0]))

static struct samples figures[GOALS]; /* in our unit, before division */
static struct samples absolutes[GOALS];
static struct samples results[GOALS];

/* What others are divided or excused by. */
static size_t find_goal(const char *what)
{
	size_t i = 0;

	while (strcmp(table[i].what, what) != 0)
		i++;
	return i;
}

/* What makes a test shorter.  Those without a time for each row have a --quick. */
static const char *time_for(const struct goal *goal, const char *test, bool quick)
{
	if (!strcmp(test, "compare"))
		return quick ? " --repeat 3 --row-time 30" : "";
	if (goal->when == ONCE && !tests_take(test, OPTION_BIT(ROW_TIME)))
		return quick ? " --quick" : "";
	return !tests_take(test, OPTION_BIT(ROW_TIME)) ? "" : quick ? " --row-time 100" : " --row-time 200";
}

/* A setting may be in front of a command, as in a shell: its length, with the blank behind it. */
static int setting_length(const char *command)
{
	size_t word = strcspn(command, " ");

	return memchr(command, '=', word) ? (int)word + 1 : 0;
}

/* As one would type it. */
static void write_command(const struct goal *goal, const struct options *options, char *command, size_t size)
{
	char test[32];

	const char *words = goal->command + setting_length(goal->command);
	snprintf(test, sizeof(test), "%.*s", (int)strcspn(words, " "), words);
	const char *time = time_for(goal, test, options->load.quick);
	if (goal->when == IF_AGAINST)
		snprintf(command, size, "%s %s%s", goal->command, options->against ? options->against : "FILE", time);
	else if (!tests_take(test, OPTION_BIT(TRANSPORT)))
		snprintf(command, size, "%s%s", goal->command, time);
	else
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
		if (!strcmp(table[i].command, table[first].command)) {
			const struct goal *goal = &table[i];
			samples_add(&figures[i], goal->scale * goals_figure(csv, goal->row, goal->column));
			if (goal->absolute)
				samples_add(&absolutes[i], goals_figure(csv, goal->row, goal->absolute));
		}
}

static bool is_first_of_its_command(size_t goal)
{
	for (size_t i = 0; i < goal; i++)
		if (!strcmp(table[i].command, table[goal].command))
			return false;
	return true;
}

static bool is_repeated(const struct goal *goal)
{
	return goal->when == EACH_ROUND || goal->when == EACH_PASS;
}

/* One that has failed is not tried again. */
static bool is_due(size_t goal, uint32_t round, uint32_t pass, const struct options *options)
{
	const struct samples *samples = &figures[goal];

	if (table[goal].when == IF_AGAINST && !options->against)
		return false;
	if ((round && !is_repeated(&table[goal])) || (pass && table[goal].when != EACH_PASS))
		return false;
	return is_first_of_its_command(goal) && !(samples->count && isnan(samples->value[samples->count - 1]));
}

static void play_pass(const struct options *options, uint32_t round, uint32_t pass)
{
	char command[512];

	for (size_t i = 0; i < GOALS; i++) {
		if (!is_due(i, round, pass, options))
			continue;
		write_command(&table[i], options, command, sizeof(command));
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

static double median_of(size_t goal)
{
	return samples_summary(&results[goal]).median;
}

static bool meets(const struct goal *goal, double median)
{
	return goal->bound == AT_MOST ? median <= goal->limit : median >= goal->limit;
}

enum outcome { NOT_ASKED, NOT_MEASURED, FAILED, EXCUSED, MET, MISSED, OUTCOMES };

static enum outcome judge(size_t i, double median)
{
	const struct goal *goal = &table[i];

	if (!results[i].count)
		return NOT_MEASURED;
	if (isnan(goal->limit))
		return NOT_ASKED; /* of a library that is not here there is no figure */
	if (isnan(median))
		return FAILED;
	if (meets(goal, median))
		return MET;
	return goal->excuse && !meets(goal, median_of(find_goal(goal->excuse))) ? EXCUSED : MISSED;
}

static uint32_t outcomes[OUTCOMES];

enum {
	COLUMN_NUMBER,
	COLUMN_WHAT,
	COLUMN_MEDIAN,
	COLUMN_LEAST,
	COLUMN_GREATEST,
	COLUMN_UNIT,
	COLUMN_LIMIT,
	COLUMN_OUTCOME,
	COLUMN_ABSOLUTE,
	COLUMN_ABSOLUTE_UNIT,
	COLUMN_COMMAND,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_NUMBER] = {"Goal", "goal", -5},          [COLUMN_WHAT] = {"what", "what", -46},
	[COLUMN_ABSOLUTE] = {"absolute", "absolute", 3}, [COLUMN_ABSOLUTE_UNIT] = {"unit", "absolute_unit", -4},
	[COLUMN_MEDIAN] = {"measured", "median", 3},     [COLUMN_LEAST] = {"least", "least", 3},
	[COLUMN_GREATEST] = {"greatest", "greatest", 3}, [COLUMN_UNIT] = {"unit", "unit", -5},
	[COLUMN_LIMIT] = {"limit", "limit", -8},         [COLUMN_OUTCOME] = {"", "verdict", -6},
	[COLUMN_COMMAND] = {"command", "command", -8},
};

static bool has_failed(size_t goal)
{
	for (size_t round = 0; round < results[goal].count; round++)
		if (isnan(results[goal].value[round]))
			return true;
	return false;
}

static const char *bound_text(const struct goal *goal, char *text, size_t size)
{
	*text = '\0';
	if (!isnan(goal->limit))
		snprintf(text, size, "%s %g", goal->bound == AT_MOST ? "<=" : ">=", goal->limit);
	return text;
}

static void print_goal(size_t i, const struct options *options)
{
	static const char *const words[OUTCOMES] = {[NOT_ASKED] = "-",    [NOT_MEASURED] = "-", [FAILED] = "error",
						    [EXCUSED] = "beyond", [MET] = "met",        [MISSED] = "missed"};
	const struct goal *goal = &table[i];
	char command[512], whole[528], limit[24];
	bool failed = has_failed(i), spread = !failed && is_repeated(goal);
	double median = failed ? NAN : median_of(i);
	enum outcome outcome = judge(i, median);

	write_command(goal, options, command, sizeof(command));
	int setting = setting_length(command);
	snprintf(whole, sizeof(whole), "%.*sptlbench %s", setting, command, command + setting);
	outcomes[outcome]++;
	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_NUMBER] = {.text = goal->number},
		[COLUMN_WHAT] = {.text = goal->what},
		[COLUMN_MEDIAN] = {median},
		[COLUMN_LEAST] = {spread ? results[i].value[0] : NAN},
		[COLUMN_GREATEST] = {spread ? results[i].value[results[i].count - 1] : NAN},
		[COLUMN_UNIT] = {.text = goal->unit},
		[COLUMN_LIMIT] = {.text = bound_text(goal, limit, sizeof(limit))},
		[COLUMN_OUTCOME] = {.text = words[outcome]},
		[COLUMN_ABSOLUTE] = {goal->absolute ? samples_summary(&absolutes[i]).median : NAN},
		[COLUMN_ABSOLUTE_UNIT] = {.text = goal->absolute ? goal->absolute_unit : ""},
		[COLUMN_COMMAND] = {.text = whole},
	});
}

/* Ends with how many are met. */
static int sum_up(const struct options *options)
{
	if (outcomes[EXCUSED])
		output_note("beyond", "%u where the bare limit itself is beyond the goal", outcomes[EXCUSED]);
	if (outcomes[FAILED])
		output_note("error", "%u without a figure", outcomes[FAILED]);
	machine_warn_of_outcome();
	output_note("goals", "%u of %u met", outcomes[MET], outcomes[MET] + outcomes[MISSED] + outcomes[FAILED]);
	return outcomes[FAILED] || (options->strict && outcomes[MISSED]);
}

int goals(const struct options *options)
{
	uint32_t rounds = options->load.quick ? 3 : 5;

	machine_facts();
	machine_warn_if_busy();
	output_fact("measured",
		    "ratios within one run of compare, at the distance of the cores that prevailed; the others "
		    "medians of %u rounds with the least and the greatest (PtlEQGet and PTL_STAT: %u passes a round), "
		    "idle, "
		    "memory and match-depth of one",
		    rounds, PASSES);
	output_table(columns, COLUMN_COUNT);
	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t pass = 0; pass < PASSES; pass++)
			play_pass(options, round, pass);
	for (size_t i = 0; i < GOALS; i++)
		divide(i);
	for (size_t i = 0; i < GOALS; i++)
		print_goal(i, options);
	return sum_up(options);
}
