/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the test compare: what is measured (compare_rows.c), how (compare.c), what comes of it (compare_table.c). */
#ifndef PTLBENCH_COMPARE_H
#define PTLBENCH_COMPARE_H

#include "candidate_start.h"

/* Processes. */
enum candidate_id {
	CANDIDATE_OURS,
	CANDIDATE_OTHER_BUILD,
	CANDIDATE_DEDICATED,
	CANDIDATE_SELF,
	CANDIDATE_MPI,
	CANDIDATE_UCX,
	CANDIDATE_SHM,
	CANDIDATE_BARE,
	CANDIDATE_OURS_TCP,
	CANDIDATE_RAW_TCP,
	CANDIDATE_OURS_NET,
	CANDIDATE_RAW_NET,
	CANDIDATES
};

/* Columns of candidates; which one a column shows depends on the row's group. */
enum side { SIDE_OURS, SIDE_OTHER_BUILD, SIDE_PEER, SIDE_BARE };

struct compare_column {
	const char *title, *key;
	enum side side;
};

#define COMPARE_COLUMNS 10
extern const struct compare_column compare_columns[COMPARE_COLUMNS];

/* Which of them take part in which rows. */
struct entrant {
	unsigned column; /* of compare_columns */
	enum candidate_id candidate;
	uint32_t variant; /* of the order: a way of the bare ones */
	uint32_t groups;  /* bits */
	uint32_t kinds;   /* bits of enum candidate_kind */
	uint64_t size_min, size_max;
};

struct compare_row {
	const char *test;
	const char *unit;
	uint32_t group; /* bit */
	enum candidate_kind kind;
	uint64_t size;
	uint32_t depth, window;
	bool quick;     /* done with --quick, too */
	bool loaded;    /* while a process computes on each core */
	bool more_wins; /* bandwidths and rates */
};

extern const struct candidate_kind_of candidate_kinds[CANDIDATES];
extern const struct compare_row compare_rows[];
extern const size_t compare_row_count;

/* What a column of a row shows, or NULL. */
const struct entrant *compare_entrant(const struct compare_row *row, unsigned column);

/* Of a time of one iteration, ns, in the unit of the row. */
double compare_figure(const struct compare_row *row, double nanoseconds);

/* Messages of an iteration. */
double compare_messages(const struct compare_row *row);

/* NULL if `names` is a list of tests that compare has, or what it should have been. */
const char *compare_refuses(const char *names);

/* One turn of one candidate. */
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
