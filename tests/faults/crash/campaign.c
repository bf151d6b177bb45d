/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The campaign: one run after the other, each with a process that is killed or stopped at one of the points of points.h.
 * A run is made from its seed; what fails says how to repeat it.
 */
#include "tests/faults/crash/crash.h"
#include "tests/faults/crash/points.h"
#include "tests/support/tuning.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>

struct plan plan;
struct stage *stage;

static struct point {
	const char *name;
	unsigned traits, runs, kills, stops; /* runs: in how many it was to be reached; the others: was */
} points[] = {
#define POINT(name, traits) {name, traits, 0, 0, 0},
	CRASH_POINTS(POINT)
#undef POINT
};
#define POINTS (sizeof(points) / sizeof(points[0]))

enum { MOST_TRIES = 5, MOST_RUNS_MORE = 300 };

static unsigned attempts, lost; /* of all runs */

/* --- a run --- */

/* What must be gone when all processes are. */
static bool leaves_something(char *text, size_t size)
{
	char line[512], name[64];
	FILE *sockets = fopen("/proc/net/unix", "r");
	bool found = false;

	while (sockets && !found && fgets(line, sizeof(line), sockets)) {
		for (unsigned i = 0; i < ROLES && !found; i++) {
			snprintf(name, sizeof(name), "portals3/node/%08x/%u\n", stage->ids[i].nid, stage->ids[i].pid);
			found = strstr(line, name) != NULL;
		}
	}
	if (sockets)
		fclose(sockets);
	if (found)
		snprintf(text, size, "a name is left: %.*s", (int)strcspn(line, "\n"), line);
	else if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		snprintf(text, size, "a process is left");
	else
		return false;
	return true;
}

static enum test_outcome run(char *text, size_t size)
{
	static const struct test test = {.name = "crash", .run = play, .processes = PROCESSES};
	static const struct test *const tables[] = {&test, NULL};
	const struct harness harness = {.tables = tables};

	enum test_outcome outcome = LOST_RACE;

	peers_choose("node", plan.mode);
	tuning_choose(plan.stage ? "staged" : plan.traits & POINT_SPLITS ? "split" : NULL);
	for (int i = 0; outcome == LOST_RACE && i < MOST_TRIES; i++) {
		memset(stage, 0, sizeof(*stage));
		outcome = harness_attempt(&harness, &test, text, size);
		attempts++;
		lost += outcome == LOST_RACE;
	}
	if (outcome == PASSED && leaves_something(text, size))
		outcome = FAILED;
	return outcome;
}

/* --- many --- */

static void choose_circumstances(struct point *point, uint64_t *random)
{
	static const char *const modes[] = {"shared", "shared", "shared", "shared", "host", "dedicated"};
	/* How often a run may pass the point. */
	uint64_t most = UINT64_C(1) << next_number(random) % (point->traits & ~(unsigned)POINT_BLOCKS ? 4 : 8);

	plan.point = point->name;
	plan.traits = point->traits;
	plan.passage = 1 + (unsigned)(next_number(random) % most);
	plan.kill = next_number(random) % 2;
	plan.refuse = next_number(random) % 4 == 0;
	plan.stage = next_number(random) % 4 == 0;
	if (point->traits & POINT_PULLS) {
		plan.stage = next_number(random) % 2;
		plan.refuse = !plan.stage;
	}
	if (point->traits & (POINT_SPLITS | POINT_COPIES))
		plan.refuse = plan.stage = false;
	plan.mode = modes[next_number(random) % (sizeof(modes) / sizeof(modes[0]))];
}

/* Everything about a run follows from its seed; its point from where it stands in the campaign. */
static void choose(uint64_t seed)
{
	uint64_t random = seed;

	plan = (struct plan){.seed = seed};
	choose_circumstances(&points[seed % POINTS], &random);
}

static void say(FILE *to)
{
	fprintf(to, "seed %" PRIu64 ": %s at %s, passage %u, mode %s%s%s\n", plan.seed,
		plan.kill ? "SIGKILL" : "SIGSTOP", plan.point, plan.passage, plan.mode,
		plan.refuse ? ", no cross-memory attach" : "", plan.stage ? ", staged" : "");
}

static bool run_seed(uint64_t seed, bool aloud)
{
	char text[2048] = "";

	choose(seed);
	if (aloud)
		say(stdout);
	struct point *point = &points[seed % POINTS];
	enum test_outcome outcome = run(text, sizeof(text));

	point->runs++;
	point->kills += plan.kill && atomic_load(&stage->died);
	point->stops += !plan.kill && atomic_load(&stage->reached);
	if (outcome == PASSED)
		return true;
	printf("FAIL %s\n  --seed %" PRIu64 " repeats ", text, seed);
	say(stdout);
	fflush(stdout);
	return false;
}

/* Some points are rarely passed where the machine is busy: processes without a core each do not split their copies. */
static unsigned run_missed(uint64_t seed, bool aloud)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < POINTS; i++) {
		uint64_t next = seed + (i + POINTS - seed % POINTS) % POINTS;

		for (int k = 0; points[i].kills + points[i].stops == 0 && k < MOST_RUNS_MORE; k++, next += POINTS)
			failed += !run_seed(next, aloud);
	}
	return failed;
}

/* A point that no process has passed tests nothing. */
static unsigned count_missed(bool enough, unsigned *passages)
{
	unsigned missed = 0, runs = 0, kills = 0, stops = 0;

	printf("%-24s %6s %6s %6s\n", "point", "runs", "killed", "stopped");
	for (unsigned i = 0; i < POINTS; i++) {
		const struct point *point = &points[i];
		bool missing = enough && point->kills + point->stops == 0;

		printf("%-24s %6u %6u %6u%s\n", point->name, point->runs, point->kills, point->stops,
		       missing ? "  FAIL: never passed" : "");
		missed += missing;
		runs += point->runs;
		kills += point->kills;
		stops += point->stops;
	}
	printf("%-24s %6u %6u %6u\n", "all", runs, kills, stops);
	*passages = kills + stops;
	return missed;
}

static int usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [--seconds N] [--runs N] [--seed N] [--point NAME] [--loud]\n"
		"without --seconds and --runs: the run of that seed, once\n",
		program);
	return 2;
}

static bool is_point(const char *name)
{
	for (unsigned i = 0; i < POINTS; i++)
		if (strcmp(points[i].name, name) == 0)
			return true;
	return false;
}

struct request {
	uint64_t seed, runs, seconds;
	const char *point; /* only this one; NULL: all in turn */
	bool loud;
};

static bool parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"seconds", required_argument, NULL, 't'}, {"runs", required_argument, NULL, 'r'},
		{"point", required_argument, NULL, 'p'},   {"seed", required_argument, NULL, 's'},
		{"loud", no_argument, NULL, 'l'},          {NULL, 0, NULL, 0}};
	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (option) {
		case 't':
			request->seconds = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			request->runs = strtoull(optarg, NULL, 10);
			break;
		case 's':
			request->seed = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			request->point = optarg;
			break;
		case 'l':
			request->loud = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc && (!request->point || is_point(request->point));
}

static int campaign(const struct request *request)
{
	uint64_t seed = request->seed, deadline = now_ns() + request->seconds * 1000000000ull;
	unsigned failed = 0, runs = 0, missed, passages;

	printf("seeds from %" PRIu64 " on\n", seed);
	fflush(stdout);
	for (; (request->runs == 0 || runs < request->runs) && (request->seconds == 0 || now_ns() < deadline); seed++) {
		if (request->point && strcmp(points[seed % POINTS].name, request->point) != 0)
			continue;
		failed += !run_seed(seed, request->loud);
		runs++;
	}
	bool enough = !request->point && runs >= 12 * POINTS;

	if (enough)
		failed += run_missed(seed, request->loud);
	missed = count_missed(enough, &passages);
	if (lost > 4 + attempts / 4) {
		printf("FAIL %u of %u attempts: two who lived did not meet in time\n", lost, attempts);
		failed++;
	}
	/* A run that did not come to its point proves nothing. */
	printf("%u passed, %u failed, 0 skipped\n", passages > failed ? passages - failed : 0, failed + missed);
	return failed + missed > 0;
}

int main(int argc, char **argv)
{
	uint32_t seed = 1;
	struct request request;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = 1;
	request = (struct request){.seed = seed};
	if (!parse(argc, argv, &request))
		return usage(argv[0]);
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return 77;
	if (request.seconds == 0 && request.runs == 0)
		return run_seed(request.seed, true) ? 0 : 1;
	return campaign(&request);
}
