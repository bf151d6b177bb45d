/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ours, the bare limits of this machine, MPI, UCX and raw libfabric on the same work in one run.  All candidates are
 * started first; then they take turns, row by row and turn by turn, so that changes of the machine's speed affect them
 * alike.  A candidate that has no turn sleeps, which is checked by its CPU time.  The distance of the two cores is gauged before and
 * after each turn, and turns at different distances are never put together.
 */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fail.h"
#include "gauge.h"
#include "machine.h"
#include "options.h"
#include "output.h"
#include "peers.h"
#include "tests.h"

#define TURNS       9
#define TURNS_QUICK 3
#define TURN_MS     25
#define QUICK_MS    8
#define LONG_NS     20e3 /* iterations as long as this are timed one by one */
#define BATCH       10
#define LOADED_TIME 4 /* turns under load are longer: others' slices are milliseconds */
#define BUSY_TRIALS 3
#define RESTLESS    1.0 /* percent of a CPU; one that takes more disturbs the others */

static struct candidate_process candidates[CANDIDATES];
static bool wanted[CANDIDATES];
static double iteration_ns[COMPARE_COLUMNS]; /* of the row at work; as long as it took lately */
static struct gauge *gauge;
static pid_t hogs[2];

/* Computes on one core, whenever it is not stopped. */
static pid_t start_hog(struct peers place, enum role role)
{
	pid_t parent = getpid(), hog = fork();

	if (hog < 0)
		fail("cannot fork: %s", strerror(errno));
	if (hog) {
		kill(hog, SIGSTOP);
		return hog;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	place.role = role;
	peers_pin(&place);
	while (getppid() == parent)
		candidate_compute(CANDIDATE_COMPUTE_NS);
	_exit(0);
}

static void start_hogs(void)
{
	struct peers place;

	peers_prepare(&place);
	for (int role = INITIATOR; role <= TARGET; role++)
		hogs[role] = start_hog(place, (enum role)role);
}

static void set_hogs(int signal_number)
{
	for (int role = INITIATOR; role <= TARGET; role++)
		kill(hogs[role], signal_number);
}

static void end_hogs(void)
{
	set_hogs(SIGKILL);
	for (int role = INITIATOR; role <= TARGET; role++)
		waitpid(hogs[role], NULL, 0);
}

static bool is_chosen(const struct options *options, const struct compare_row *row)
{
	size_t length = strlen(row->test);

	if (options->load.quick && !row->quick)
		return false;
	if (!options->rows)
		return true;
	for (const char *name = options->rows; name; name = strchr(name, ',')) {
		name += *name == ',';
		if (!strncmp(name, row->test, length) && (name[length] == ',' || !name[length]))
			return true;
	}
	return false;
}

static void start_candidates(const struct options *options)
{
	for (size_t i = 0; i < compare_row_count; i++)
		for (unsigned column = 0; column < COMPARE_COLUMNS; column++) {
			const struct entrant *entrant = compare_entrant(&compare_rows[i], column);
			if (entrant && is_chosen(options, &compare_rows[i]))
				wanted[entrant->candidate] = true;
		}
	wanted[CANDIDATE_OTHER_BUILD] = wanted[CANDIDATE_OTHER_BUILD] && options->against;
	candidate_folder_make();
	for (enum candidate_id id = 0; id < CANDIDATES; id++)
		if (wanted[id])
			candidate_start(&candidates[id], &candidate_kinds[id],
					id == CANDIDATE_OTHER_BUILD ? options->against : NULL);
	candidate_folder_remove();
}

static struct candidate_order new_order(const struct compare_row *row, const struct entrant *entrant)
{
	return (struct candidate_order){
		.kind = row->kind,
		.variant = entrant->variant,
		.window = row->window,
		.depth = row->depth,
		.size = row->size,
		.lead = 1,
		.batch = 1,
	};
}

static void plan(struct candidate_order *order, const struct compare_row *row, double iteration, double turn_ns)
{
	double budget = row->loaded ? LOADED_TIME * turn_ns : turn_ns;

	order->batch = row->window || iteration > LONG_NS ? 1 : BATCH;
	order->lead = (order->batch + 4) / 5;
	double batches = fmin(CANDIDATE_VALUES, fmax(BUSY_TRIALS, budget / (iteration * order->batch)));
	order->batches = row->kind == CANDIDATE_BUSY ? BUSY_TRIALS : (uint32_t)batches;
}

/* A candidate's turn, or nothing if it is missing. */
static void take_turn(const struct compare_row *row, unsigned column, struct candidate_order *order, struct turn *turn)
{
	struct candidate_process *candidate = &candidates[compare_entrant(row, column)->candidate];

	turn->before = gauge_distance(gauge);
	if (row->loaded)
		set_hogs(SIGCONT);
	turn->cpu_ns = candidate_ask(candidate, order, &turn->samples);
	if (row->loaded)
		set_hogs(SIGSTOP);
	turn->after = gauge_distance(gauge);
	turn->iterations = candidate_iterations(order);
	if (turn->samples.count)
		iteration_ns[column] = samples_summary(&turn->samples).median;
}

static bool takes_part(const struct compare_row *row, unsigned column)
{
	const struct entrant *entrant = compare_entrant(row, column);

	return entrant && wanted[entrant->candidate] && !*candidates[entrant->candidate].missing;
}

/* The first trial makes connections and pages, and says how long an iteration is. */
static void warm_up(const struct compare_row *row, unsigned column)
{
	struct candidate_order order = new_order(row, compare_entrant(row, column));
	struct turn turn = {0};

	order.batches = row->kind == CANDIDATE_BUSY ? 1 : 5;
	take_turn(row, column, &order, &turn);
	samples_free(&turn.samples);
}

static void measure_row(const struct compare_row *row, struct turn *turns, uint32_t repeat, double turn_ns)
{
	for (unsigned column = 0; column < COMPARE_COLUMNS; column++)
		if (takes_part(row, column))
			warm_up(row, column);
	for (uint32_t turn = 0; turn < repeat; turn++)
		for (unsigned column = 0; column < COMPARE_COLUMNS; column++) {
			if (!takes_part(row, column))
				continue;
			struct candidate_order order = new_order(row, compare_entrant(row, column));
			plan(&order, row, iteration_ns[column], turn_ns);
			take_turn(row, column, &order, &turns[column * repeat + turn]);
		}
}

static void show_progress(const struct compare_row *row)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s %llu\r", row ? row->test : "", row ? (unsigned long long)row->size : 0);
}

static void facts(const struct peers *place, uint32_t repeat, double turn_ns)
{
	machine_facts();
	machine_warn_if_busy();
	output_fact("pinning", "of every candidate: initiator on CPU %d, target on CPU %d", place->cpu[INITIATOR],
		    place->cpu[TARGET]);
	output_fact("put latency",
		    "half a round trip of a ping-pong, both sides waiting in PtlEQWait; get: all of it, and the peers "
		    "may read memory that both sides map");
	output_fact("turns", "%u of each candidate and row, about %.0f ms each, taken alternately", repeat,
		    turn_ns / 1e6);
	output_fact("figures",
		    "medians over batches of %d iterations, of one where they are long; bandwidth and rate of "
		    "windows; p99, p99.9 and CPU time of both sides a message, in text of ours only",
		    BATCH);
	output_fact("-", "does not take part in the row, or is missing; p99 of at least 100 batches, p99.9 of 1000");
	output_fact("unexpected", "a receiver with so many messages that were not asked for; above Portals they are "
				  "the caller's, behind its list");
	output_fact("rewritten", "put latency with a new payload each time, which both sides write before they send");
	output_fact("overlap",
		    "until the sender knows that its message has arrived at a process that computes for %d ms",
		    (int)(CANDIDATE_COMPUTE_NS / 1000000));
	output_fact("loaded", "while a process computes on each core; bare: one line, a waiter sleeps after 100 us");
	output_fact("dedicated",
		    "bare: a futex wake on one core; self: a put to oneself with two events, bare: one way");
	for (enum candidate_id id = 0; id < CANDIDATES; id++)
		if (wanted[id] && !*candidates[id].missing)
			output_fact(candidate_kinds[id].name, "%s", candidates[id].text);
		else if (wanted[id])
			output_fact(candidate_kinds[id].name, "missing: %s", candidates[id].missing);
}

/* Whether they slept. */
static void sleepers(void)
{
	for (enum candidate_id id = 0; id < CANDIDATES; id++) {
		if (!wanted[id])
			continue;
		if (*candidates[id].missing) {
			output_note(candidate_kinds[id].name, "missing: %s", candidates[id].missing);
			continue;
		}
		double percent = candidate_restlessness(&candidates[id]);
		output_note(candidate_kinds[id].name, "CPU time while others measured: %.3f %%%s", percent,
			    percent > RESTLESS ? ": it disturbed them" : "");
	}
}

static void collect_distances(const struct compare_result *results, size_t count, uint32_t repeat,
			      struct samples *distances)
{
	for (size_t i = 0; i < count; i++)
		for (size_t at = 0; at < (size_t)COMPARE_COLUMNS * repeat; at++) {
			const struct turn *turn = &results[i].turns[at];
			if (turn->samples.count && !isnan(turn->before + turn->after)) {
				samples_add(distances, turn->before);
				samples_add(distances, turn->after);
			}
		}
}

static size_t measure_rows(const struct options *options, struct compare_result *results, uint32_t repeat,
			   double turn_ns)
{
	size_t count = 0;

	for (const struct compare_row *row = compare_rows; row < compare_rows + compare_row_count; row++) {
		if (!is_chosen(options, row))
			continue;
		show_progress(row);
		results[count] =
			(struct compare_result){row, calloc((size_t)COMPARE_COLUMNS * repeat, sizeof(struct turn))};
		if (!results[count].turns)
			fail("no memory for the turns of a row");
		measure_row(row, results[count++].turns, repeat, turn_ns);
	}
	show_progress(NULL);
	return count;
}

static void free_results(struct compare_result *results, size_t count, uint32_t repeat)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t turn = 0; turn < (size_t)COMPARE_COLUMNS * repeat; turn++)
			samples_free(&results[i].turns[turn].samples);
		free(results[i].turns);
	}
	free(results);
}

int compare(const struct options *options)
{
	const struct workload *load = &options->load;
	uint32_t repeat = options->given & OPTION_BIT(REPEAT) ? load->repeat : load->quick ? TURNS_QUICK : TURNS;
	double turn_ns = load->row_ms ? load->row_ms * 1e6 / repeat : 1e6 * (load->quick ? QUICK_MS : TURN_MS);
	struct compare_result *results = calloc(compare_row_count, sizeof(*results));
	struct samples distances = {0};
	struct peers place;

	if (!results)
		fail("no memory for the rows");
	peers_prepare(&place); /* before it is pinned itself */
	fflush(stdout);        /* or what is forked would print it again */
	signal(SIGPIPE, SIG_IGN);
	gauge = gauge_open();
	start_hogs();
	start_candidates(options);
	gauge_pin(gauge);
	facts(&place, repeat, turn_ns);
	size_t count = measure_rows(options, results, repeat, turn_ns);
	collect_distances(results, count, repeat, &distances);
	compare_table(results, count, repeat, &distances);
	sleepers();
	for (enum candidate_id id = 0; id < CANDIDATES; id++)
		if (wanted[id])
			candidate_end(&candidates[id]);
	end_hogs();
	gauge_close(gauge);
	samples_free(&distances);
	free_results(results, count, repeat);
	return 0;
}
