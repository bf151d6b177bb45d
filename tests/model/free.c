/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Free mode: real processes on real transports, all talking to all at once.
 *
 * A round is one program on one combination of transport and mode.  The runner draws the program from a seed before it
 * forks, so every process knows every request of all: what an event must say follows from (initiator, number), which
 * travel in the match bits.  What the order of section 4 leaves free is not predicted but recorded, in a ledger that
 * the processes share, and judged there.
 *
 *   free.c           rounds, the summary, shrinking
 *   free_program.c   the program: lanes and requests
 *   free_memory.c    patterns and the memory they land in
 *   free_process.c   the life of a process: its queues, turns and phases
 *   free_origin.c    the initiator's descriptors
 *   free_issue.c     requests issued from them
 *   free_initiator.c the initiator's events
 *   free_lanes.c     what a process attaches for others, and how it is replaced
 *   free_windows.c   ... that stays
 *   free_target.c    the target's events
 *   free_receive.c   the lane that receives as MPI does
 *   free_audit.c     what must hold when all is quiet
 *   free_print.c     a program as C, and the last requests of a pair
 */
#include <stdio.h>
#include <string.h>

#include "tests/model/free_memory.h"
#include "tests/model/free_process.h"
#include "tests/model/model.h"

#define OPERATIONS_PER_PROCESS 10000
#define SECONDS_OF_ROUND       120
#define ATTEMPTS               3 /* runs of a smaller program before it counts as passing */
#define SHRINKING_SECONDS      120
#define GREATEST_PRINTED       400

static void prepare(const struct round *round)
{
	program_draw(round);
	window_memory_make();
	ledger_make();
}

static void clear_away(void)
{
	ledger_free();
	window_memory_free();
	program_free();
}

static enum test_outcome run_round(const struct round *round, char *text, size_t size)
{
	char environment[64];
	prepare(round);
	snprintf(environment, sizeof(environment), "PTL_SHORT_MAX=%s", program.short_max);
	const struct test test = {.name = "round",
				  .run = process_run,
				  .processes = (int)program.round.processes,
				  .environment = environment,
				  .seconds = SECONDS_OF_ROUND};
	peers_choose(program.transport, program.mode);
	struct harness harness = peers_harness(NULL);
	harness.silent = round->terse;
	return harness_attempt(&harness, &test, text, size);
}

/* ---- Shrinking ---- */

static char complaint[2048]; /* of the smallest program that failed so far */

/* A race may have to be run several times to be lost. */
static bool try_smaller(struct round *round, struct round smaller)
{
	char text[sizeof(complaint)];
	enum test_outcome outcome = PASSED;
	for (int i = 0; i < ATTEMPTS && outcome == PASSED; i++) {
		outcome = run_round(&smaller, text, sizeof(text));
		clear_away();
	}
	if (outcome == PASSED)
		return false;
	*round = smaller;
	memcpy(complaint, text, sizeof(complaint));
	return true;
}

/* One kind of lane alone, else without one kind after the other. */
static void shrink_kinds(struct round *round, uint64_t deadline)
{
	struct round smaller = *round;
	for (unsigned kind = 0; kind < LANE_KINDS && now_ns() < deadline; kind++) {
		smaller.kinds = 1u << kind;
		if (try_smaller(round, smaller))
			return;
	}
	for (unsigned kind = 0; kind < LANE_KINDS && now_ns() < deadline; kind++) {
		smaller = *round;
		smaller.kinds &= ~(1u << kind);
		try_smaller(round, smaller);
	}
}

/* Halves while a half fails. */
static void shrink_requests(struct round *round, uint64_t deadline)
{
	while (round->beyond - round->first > 1 && now_ns() < deadline) {
		struct round early = *round, late = *round;
		early.beyond = late.first = round->first + (round->beyond - round->first) / 2;
		if (!try_smaller(round, early) && !try_smaller(round, late))
			return;
	}
}

static struct round shrink(struct round round)
{
	uint64_t deadline = now_ns() + SHRINKING_SECONDS * 1000000000ull;
	round.terse = true;
	shrink_kinds(&round, deadline);
	shrink_requests(&round, deadline);
	while (round.processes > 1 && now_ns() < deadline) {
		struct round fewer = round;
		fewer.processes--;
		if (!try_smaller(&round, fewer))
			break;
	}
	shrink_requests(&round, deadline);
	return round;
}

static void report(struct round round, unsigned number, const char text[static sizeof(complaint)])
{
	printf("DISAGREEMENT in round %u: %s\n", number, text);
	printf("again: --free --seed %llu (%s, %s, PTL_SHORT_MAX=%s, %u processes)\n", (unsigned long long)round.seed,
	       program.transport, program.mode, program.short_max, program.round.processes);
	round.processes = program.round.processes;
	clear_away();
	printf("shrinking for at most %d s ...\n", SHRINKING_SECONDS);
	fflush(stdout);
	memcpy(complaint, text, sizeof(complaint));
	round = shrink(round);
	prepare(&round);
	printf("smallest program that failed: %u requests; %s\n", program.total, complaint);
	if (program.total <= GREATEST_PRINTED)
		print_program();
}

/* ---- Rounds ---- */

/* Round n of a seed is the first of seed + n, and the seed decides the combination. */
int free_mode(const struct model_options *options)
{
	uint64_t start = now_ns(), operations = 0;
	unsigned rounds = 0;
	uint64_t seed = options->seed_given ? options->seed : start;
	char text[sizeof(complaint)] = "";
	enum test_outcome outcome = PASSED;
	printf("free: rounds from seed %llu on\n", (unsigned long long)seed);
	fflush(stdout);
	pattern_make();
	initialise_libfabric_once();
	while (outcome == PASSED) {
		struct round round = {.seed = seed + rounds,
				      .operations = OPERATIONS_PER_PROCESS,
				      .beyond = OPERATIONS_PER_PROCESS,
				      .kinds = (1u << LANE_KINDS) - 1};
		outcome = run_round(&round, text, sizeof(text));
		operations += program.total;
		if (outcome != PASSED)
			report(round, rounds, text);
		clear_away();
		rounds++;
		if (options->once || (options->operations && operations >= options->operations) ||
		    (double)(now_ns() - start) / 1e9 >= options->seconds)
			break;
	}
	printf("free: %llu operations in %u rounds, %d disagreements\n", (unsigned long long)operations, rounds,
	       outcome != PASSED);
	return outcome != PASSED;
}
