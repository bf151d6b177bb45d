/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of compare: one line for each row and distance of the cores, one column for each candidate. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>

#include "output.h"

/* Fewer values say nothing about the quantile. */
#define FOR_P99  100
#define FOR_P999 1000

enum distance { NEAR, DISTANT, MOVED, DISTANCES }; /* MOVED: not the same before and after, or not known */

/* What a candidate's turns at one distance amount to, in the unit of the row. */
struct standing {
	double median, p99, p999, cpu_us;
	uint32_t turns;
};

static double threshold;

static enum distance distance_of(const struct turn *turn)
{
	bool before = turn->before > threshold, after = turn->after > threshold;
	bool unknown = isnan(turn->before) || isnan(turn->after);

	if (isinf(threshold))
		return NEAR;
	return unknown || before != after ? MOVED : before ? DISTANT : NEAR;
}

static const char *distance_name(enum distance distance)
{
	return isinf(threshold) ? "alike" : distance == NEAR ? "near" : "distant";
}

static struct standing stand(const struct compare_result *result, const struct turn *turns, uint32_t repeat,
			     enum distance distance)
{
	struct standing standing = {NAN, NAN, NAN, NAN, 0};
	struct samples all = {0};
	double cpu_ns = 0, iterations = 0;

	for (const struct turn *turn = turns; turn < turns + repeat; turn++) {
		if (!turn->samples.count || distance_of(turn) != distance)
			continue;
		for (size_t i = 0; i < turn->samples.count; i++)
			samples_add(&all, turn->samples.value[i]);
		cpu_ns += turn->cpu_ns;
		iterations += turn->iterations;
		standing.turns++;
	}
	if (!standing.turns)
		return standing;
	struct summary summary = samples_summary(&all);
	standing.median = compare_figure(result->row, summary.median);
	if (all.count >= FOR_P99)
		standing.p99 = compare_figure(result->row, summary.p99);
	if (all.count >= FOR_P999)
		standing.p999 = compare_figure(result->row, quantile(all.value, all.count, 0.999));
	standing.cpu_us = cpu_ns / 1e3 / (iterations * compare_messages(result->row));
	samples_free(&all);
	return standing;
}

/* The column of the best candidate of a side, or -1. */
static int best(const struct compare_row *row, const struct standing standings[COMPARE_COLUMNS], enum side side)
{
	int found = -1;

	for (int column = 0; column < COMPARE_COLUMNS; column++) {
		double median = standings[column].median;
		if (compare_columns[column].side != side || isnan(median))
			continue;
		double leader = found < 0 ? NAN : standings[found].median;
		if (found < 0 || (row->more_wins ? median > leader : median < leader))
			found = column;
	}
	return found;
}

/* After the fixed ones: median, p99, p99.9 and CPU time of each candidate. */
enum {
	COLUMN_TEST,
	COLUMN_SIZE,
	COLUMN_DEPTH,
	COLUMN_CORES,
	COLUMN_LINE,
	COLUMN_UNIT,
	COLUMN_TO_PEER,
	COLUMN_PEER,
	COLUMN_TO_BARE,
	COLUMN_BARE,
	COLUMN_TO_OTHER,
	COLUMN_TURNS,
	COLUMN_MOVED,
	COLUMN_CANDIDATES,
	COLUMN_COUNT = COLUMN_CANDIDATES + 4 * COMPARE_COLUMNS
};

static struct column columns[COLUMN_COUNT] = {
	[COLUMN_TEST] = {"Test", "test", -13},        [COLUMN_SIZE] = {"bytes", "bytes", 0},
	[COLUMN_DEPTH] = {"depth", "depth", 0},       [COLUMN_CORES] = {"cores", "cores", -7},
	[COLUMN_LINE] = {"line us", "line_us", 3},    [COLUMN_UNIT] = {"unit", "unit", -4},
	[COLUMN_TO_PEER] = {"to peer", "to_peer", 3}, [COLUMN_PEER] = {"best", "best_peer", -9},
	[COLUMN_TO_BARE] = {"to bare", "to_bare", 3}, [COLUMN_BARE] = {"best", "best_bare", -15},
	[COLUMN_TO_OTHER] = {NULL, "to_other", 3},    [COLUMN_TURNS] = {NULL, "turns", 0},
	[COLUMN_MOVED] = {NULL, "turns_moved", 0},
};

static const char *const parts[4] = {"", "_p99", "_p999", "_cpu_us"};

/* In text p99 and CPU time of ours only. */
static void make_columns(void)
{
	static const char *const titles[4] = {NULL, "p99", "p99.9", "CPU us"};
	static char keys[4 * COMPARE_COLUMNS][32];

	for (int i = 0; i < 4 * COMPARE_COLUMNS; i++) {
		const struct compare_column *column = &compare_columns[i / 4];
		const char *title = column->side == SIDE_OURS && i % 4 ? titles[i % 4] : NULL;
		snprintf(keys[i], sizeof(keys[i]), "%s%s", column->key, parts[i % 4]);
		columns[COLUMN_CANDIDATES + i] = (struct column){i % 4 ? title : column->title, keys[i], 3};
	}
}

/* Ours is the first column. */
static double ratio(const struct standing standings[COMPARE_COLUMNS], int candidate)
{
	return candidate < 0 ? NAN : standings[0].median / standings[candidate].median;
}

static double median_line(const struct compare_result *result, uint32_t repeat, enum distance distance)
{
	struct samples lines = {0};

	for (size_t i = 0; i < (size_t)COMPARE_COLUMNS * repeat; i++) {
		const struct turn *turn = &result->turns[i];
		double line = (turn->before + turn->after) / 2;
		if (turn->samples.count && distance_of(turn) == distance && !isnan(line))
			samples_add(&lines, line);
	}
	double median = samples_summary(&lines).median;
	samples_free(&lines);
	return median / 1e3;
}

static uint32_t count_turns(const struct compare_result *result, uint32_t repeat, enum distance distance)
{
	uint32_t count = 0;

	for (size_t i = 0; i < (size_t)COMPARE_COLUMNS * repeat; i++)
		count += result->turns[i].samples.count && distance_of(&result->turns[i]) == distance;
	return count;
}

static void print_standings(const struct compare_result *result, uint32_t repeat, enum distance distance)
{
	const struct compare_row *row = result->row;
	struct standing standings[COMPARE_COLUMNS];
	union cell cells[COLUMN_COUNT];

	for (unsigned column = 0; column < COMPARE_COLUMNS; column++) {
		standings[column] = stand(result, &result->turns[column * repeat], repeat, distance);
		const struct standing *standing = &standings[column];
		union cell *of = &cells[COLUMN_CANDIDATES + 4 * column];
		of[0].number = standing->median;
		of[1].number = standing->p99;
		of[2].number = standing->p999;
		of[3].number = standing->cpu_us;
	}
	int peer = best(row, standings, SIDE_PEER), bare = best(row, standings, SIDE_BARE);
	cells[COLUMN_TEST].text = row->test;
	cells[COLUMN_SIZE].number = (double)row->size;
	cells[COLUMN_DEPTH].number = row->depth;
	cells[COLUMN_CORES].text = distance_name(distance);
	cells[COLUMN_LINE].number = median_line(result, repeat, distance);
	cells[COLUMN_UNIT].text = row->unit;
	cells[COLUMN_TO_PEER].number = ratio(standings, peer);
	cells[COLUMN_PEER].text = peer < 0 ? "-" : compare_columns[peer].key;
	cells[COLUMN_TO_BARE].number = ratio(standings, bare);
	cells[COLUMN_BARE].text = bare < 0 ? "-" : compare_columns[bare].key;
	cells[COLUMN_TO_OTHER].number = ratio(standings, best(row, standings, SIDE_OTHER_BUILD));
	cells[COLUMN_TURNS].number = standings[0].turns;
	cells[COLUMN_MOVED].number = count_turns(result, repeat, MOVED);
	output_row(cells);
}

/* The distance at which most turns were taken comes first. */
static void print_row(const struct compare_result *result, uint32_t repeat)
{
	uint32_t turns[] = {count_turns(result, repeat, NEAR), count_turns(result, repeat, DISTANT)};
	enum distance first = turns[NEAR] >= turns[DISTANT] ? NEAR : DISTANT, second = first == NEAR ? DISTANT : NEAR;

	print_standings(result, repeat, first);
	if (turns[second])
		print_standings(result, repeat, second);
}

void compare_table(const struct compare_result *results, size_t count, uint32_t repeat, struct samples *distances)
{
	threshold = samples_threshold(distances);
	if (isinf(threshold))
		output_fact("cores", "at one distance all the time: a line takes %.3f us one way, median",
			    samples_summary(distances).median / 1e3);
	else
		output_fact("cores", "near or distant: a line takes less or more than %.3f us one way",
			    threshold / 1e3);
	output_fact("to peer, to bare", "ours divided by the best one's");
	make_columns();
	output_table(columns, COLUMN_COUNT);
	for (size_t i = 0; i < count; i++)
		print_row(&results[i], repeat);
}
