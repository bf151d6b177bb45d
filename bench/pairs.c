/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More processes than cores: pairs of processes play the ping-pong of put-latency at the same time.  What counts is how
 * many messages all of them exchange while the clock runs, so that no median hides a process that starves.  Beside them
 * the same by hand, by two ways to wait of which the better one counts, and by MPI.
 */
#include "tests.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"
#include "fail.h"
#include "machine.h"
#include "measure.h"
#include "output.h"
#include "pair.h"
#include "pairs_mpi.h"
#include "pingpong.h"
#include "stage_rows.h"

#define PAIRS_MAX    2
#define MESSAGE_SIZE 8
#define RUN_NS       50e6 /* about, between two looks at the end */
#define WINDOW_NS    100000000

enum place { CORES_APART, CORES_FREE, CORES_TOGETHER };
enum player { OURS, YIELDING, SLEEPING, BEST_BARE, MPI };

struct arrangement {
	const char *name;
	unsigned pairs;
	enum place place;
	enum player player; /* BEST_BARE: the better one of the two rows before */
};

/* The first one is what the others are compared with. */
static const struct arrangement arrangements[] = {
	{"1 pair; a core each", 1, CORES_APART, OURS},
	{"1 pair; unpinned", 1, CORES_FREE, OURS},
	{"2 pairs; unpinned", 2, CORES_FREE, OURS},
	{"2 pairs; co-scheduled on one core", 2, CORES_TOGETHER, OURS},
	{"2 pairs; a core for each side", 2, CORES_APART, OURS},
	{"bare; 1 pair; a core each", 1, CORES_APART, YIELDING},
	{"bare, yields; 2 pairs; unpinned", 2, CORES_FREE, YIELDING},
	{"bare, sleeps; 2 pairs; unpinned", 2, CORES_FREE, SLEEPING},
	{"bare; 2 pairs; unpinned", 2, CORES_FREE, BEST_BARE},
	{"MPI; 1 pair; unpinned", 1, CORES_FREE, MPI},
	{"MPI; 2 pairs; unpinned", 2, CORES_FREE, MPI},
};

#define ARRANGEMENTS (sizeof(arrangements) / sizeof(arrangements[0]))

/* What the parent reads while the pairs play. */
static struct board {
	_Atomic bool over, stages_wanted; /* the first pair's, while all play */
	struct word messages[PAIRS_MAX];
} * board;

static unsigned own_pair;
static enum player own_player;

static void count_messages(void)
{
	_Atomic uint64_t *messages = &board->messages[own_pair].value;

	atomic_store_explicit(messages, atomic_load_explicit(messages, memory_order_relaxed) + 2, memory_order_relaxed);
}

static void counted_put_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	put_initiate(session, run, iteration);
	count_messages();
}

static void counted_bare_prepare(struct session *session, const struct run *run)
{
	bare_exchange.prepare(session, run);
}

static void counted_bare_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	bare_exchange.initiate(session, run, iteration);
	count_messages();
}

static void counted_bare_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	bare_exchange.serve(session, run, iteration);
}

const struct exchange counted_put_exchange = {put_prepare, counted_put_initiate, put_serve, put_finish};
const struct exchange counted_bare_exchange = {counted_bare_prepare, counted_bare_initiate, counted_bare_serve, NULL};

static const struct run timed_run = {.exchange = EXCHANGE_PUT, .size = MESSAGE_SIZE, .batch = 10, .batches = 100};

static void send_stages(struct session *session, const struct peers *parent)
{
	static struct stage_times times[2];

	measure_nic_timing(session, &timed_run, times);
	control_send(parent, times, sizeof(times));
}

/* Plays until the parent has seen enough. */
static void play(struct session *session, struct peers *parent)
{
	struct run run = {
		.exchange = own_player == OURS ? EXCHANGE_COUNTED_PUT : EXCHANGE_COUNTED_BARE,
		.variant = own_player == SLEEPING ? BARE_SLEEPING : BARE_YIELDING,
		.size = MESSAGE_SIZE,
		.batch = 100,
		.batches = 1,
	};

	measure_run(session, &run, NULL);
	control_meet(parent);
	while (!atomic_load(&board->over)) {
		if (own_pair == 0 && atomic_exchange(&board->stages_wanted, false))
			send_stages(session, parent);
		double iteration_ns = measure_run(session, &run, NULL) / run.batch;
		run.batch = (uint32_t)(RUN_NS / iteration_ns) + 1;
	}
	measure_end(session);
}

static uint64_t messages_so_far(void)
{
	uint64_t sum = 0;

	for (unsigned pair = 0; pair < PAIRS_MAX; pair++)
		sum += atomic_load_explicit(&board->messages[pair].value, memory_order_relaxed);
	return sum;
}

/* Time for each message that any pair exchanges, us. */
static double watch(void)
{
	struct timespec left = {.tv_nsec = WINDOW_NS};
	uint64_t start = monotonic_ns(), before = messages_so_far();

	while (nanosleep(&left, &left))
		;
	uint64_t messages = messages_so_far() - before;
	return (double)(monotonic_ns() - start) / 1e3 / (double)messages;
}

/* With the stages of the first pair too, unless `times` is NULL. */
static double measure_once(const struct options *options, const struct arrangement *arrangement,
			   struct stage_times *times)
{
	struct peers initiator[PAIRS_MAX];

	memset(board, 0, sizeof(*board));
	own_player = arrangement->player;
	for (own_pair = 0; own_pair < arrangement->pairs; own_pair++) {
		struct pair pair = {.options = *options,
				    .one_cpu = arrangement->place == CORES_TOGETHER,
				    .cpu = own_pair % 2 ? TARGET : INITIATOR,
				    .initiate = play};

		pair.options.unpinned = arrangement->place == CORES_FREE;
		pair.options.load.raw = own_player == OURS ? RAW_NONE : RAW_SLOTS;
		pair_start(&initiator[own_pair], &pair);
	}
	for (unsigned pair = 0; pair < arrangement->pairs; pair++)
		control_meet(&initiator[pair]);
	double time = watch();
	if (times) {
		atomic_store(&board->stages_wanted, true);
		control_receive(&initiator[0], times, 2 * sizeof(*times));
	}
	atomic_store(&board->over, true);
	for (unsigned pair = 0; pair < arrangement->pairs; pair++)
		peers_part(&initiator[pair]);
	for (unsigned pair = 0; pair < arrangement->pairs; pair++)
		peers_finish(&initiator[pair]);
	return time;
}

enum { COLUMN_WHAT, COLUMN_TIME, COLUMN_P10, COLUMN_P90, COLUMN_RATIO, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_WHAT] = {"Arrangement", "arrangement", -34},
	[COLUMN_TIME] = {"us/message", "message_us", 3},
	[COLUMN_P10] = {"p10", "p10", 3},
	[COLUMN_P90] = {"p90", "p90", 3},
	[COLUMN_RATIO] = {"ratio", "ratio", 2},
};

static void print_arrangement(const struct session *session, const struct arrangement *arrangement,
			      struct samples *times, struct samples *ratios)
{
	struct summary time = samples_summary(times), ratio = samples_summary(ratios);
	static struct stage_times stages[2];

	stage_times_none(&stages[INITIATOR]);
	stage_times_none(&stages[TARGET]);
	if (session->load.nic_timing && arrangement->player == OURS)
		measure_once(session->options, arrangement, stages);
	const union cell cells[COLUMN_COUNT] = {
		[COLUMN_WHAT] = {.text = arrangement->name},
		[COLUMN_TIME] = {time.median},
		[COLUMN_P10] = {time.p10},
		[COLUMN_P90] = {time.p90},
		[COLUMN_RATIO] = {ratio.median},
	};

	stage_row_with(session, cells, &timed_run, stages);
	samples_free(times);
	samples_free(ratios);
}

/* `before`: times of the rows before it. */
static double time_of(const struct options *options, const struct arrangement *arrangement, const double *before)
{
	if (arrangement->player == BEST_BARE)
		return fmin(before[-1], before[-2]);
	return arrangement->player == MPI ? pairs_mpi_time(arrangement->pairs)
					  : measure_once(options, arrangement, NULL);
}

static void play_round(const struct options *options, struct samples *times, struct samples *ratios)
{
	double time[ARRANGEMENTS] = {0};

	for (size_t i = 0; i < ARRANGEMENTS; i++) {
		time[i] = time_of(options, &arrangements[i], &time[i]);
		samples_add(&times[i], time[i]);
		samples_add(&ratios[i], time[i] / time[0]);
	}
}

static void facts(void)
{
	machine_facts();
	output_fact("us/message", "time that passes for each %d-byte put that any of the processes sends",
		    MESSAGE_SIZE);
	output_fact("ratio", "to the first row, in the same round; median");
	output_fact("bare", "the whole path by hand, through shared memory whatever the transport; a waiter yields, or "
			    "sleeps, after a short while");
	output_fact("MPI", "%s%s",
		    pairs_mpi_missing() ? "missing: " : "within a node, by processes that stay for all rounds: ",
		    pairs_mpi_missing() ? pairs_mpi_missing() : pairs_mpi_text());
}

int pairs(const struct options *options)
{
	const struct session session = {.options = options, .load = options->load};
	struct samples times[ARRANGEMENTS] = {{0}}, ratios[ARRANGEMENTS] = {{0}};

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		fail("no memory to share: %s", strerror(errno));
	fflush(stdout); /* or what is forked would print it again */
	pairs_mpi_start();
	facts();
	stage_rows_open(&session, columns, COLUMN_COUNT);
	for (uint32_t round = 0; round < options->load.repeat; round++)
		play_round(options, times, ratios);
	pairs_mpi_end();
	for (size_t i = 0; i < ARRANGEMENTS; i++)
		print_arrangement(&session, &arrangements[i], &times[i], &ratios[i]);
	stage_rows_close(&session);
	return 0;
}
