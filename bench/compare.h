/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the test compare: what is measured (compare_rows.c), how (compare.c), what comes of it (compare_table.c). */
#ifndef PTLBENCH_COMPARE_H
#define PTLBENCH_COMPARE_H

#include "rival_start.h"

/* Processes. */
enum rival_id {
	RIVAL_OURS,
	RIVAL_OTHER_BUILD,
	RIVAL_DEDICATED,
	RIVAL_SELF,
	RIVAL_MPI,
	RIVAL_UCX,
	RIVAL_SHM,
	RIVAL_BARE,
	RIVAL_OURS_TCP,
	RIVAL_RAW_TCP,
	RIVAL_OURS_NET,
	RIVAL_RAW_NET,
	RIVALS
};

/* Columns of contestants; who stands in one depends on the row's group. */
enum side { SIDE_OURS, SIDE_OTHER_BUILD, SIDE_PEER, SIDE_BARE };

struct compare_column {
	const char *title, *key;
	enum side side;
};

#define COMPARE_COLUMNS 10
extern const struct compare_column compare_columns[COMPARE_COLUMNS];

/* Who takes part in which rows. */
struct entrant {
	unsigned column; /* of compare_columns */
	enum rival_id rival;
	uint32_t variant; /* of the order: a way of the bare ones */
	uint32_t groups;  /* bits */
	uint32_t kinds;   /* bits of enum rival_kind */
	uint64_t size_min, size_max;
};

struct compare_row {
	const char *test;
	const char *unit;
	uint32_t group; /* bit */
	enum rival_kind kind;
	uint64_t size;
	uint32_t depth, window;
	bool quick;     /* done with --quick, too */
	bool loaded;    /* while a process computes on each core */
	bool more_wins; /* bandwidths and rates */
};

extern const struct rival_kind_of rival_kinds[RIVALS];
extern const struct compare_row compare_rows[];
extern const size_t compare_row_count;

/* Who stands in a column of a row, or NULL. */
const struct entrant *compare_entrant(const struct compare_row *row, unsigned column);

/* Of a time of one iteration, ns, in the unit of the row. */
double compare_figure(const struct compare_row *row, double nanoseconds);

/* Messages of an iteration. */
double compare_messages(const struct compare_row *row);

/* NULL if `names` is a list of tests that compare has, or what it should have been. */
const char *compare_refuses(const char *names);

/* One turn of one contestant. */
struct turn {
	struct samples samples; /* ns; none: there was no turn */
	double before, after;   /* distance of the cores, ns */
	double cpu_ns;          /* of both processes */
	double iterations;
};

/* All turns of a row, [column * repeat + turn]. */
struct compare_result {
	const struct compare_row *row;
	struct turn *turns;
};

/* Prints the table.  The distances, of all turns, decide what is near and distant. */
void compare_table(const struct compare_result *results, size_t count, uint32_t repeat, struct samples *distances);

#endif
