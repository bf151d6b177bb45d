/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many programs in exact mode.  They run in batches in child processes, so that a crash, a hang or a leak is a finding
 * like any other: the seed and the steps so far are in memory shared with the parent.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/model/exact.h"
#include "tests/model/model.h"
#include "tests/model/shrink.h"

#define BATCH          500 /* programs a process runs at most */
#define PROGRAM_LIMIT  60  /* seconds after which a program hangs */
#define SHRINK_SECONDS 40
#define PROGRESS       30

static struct shared {
	struct program program; /* the one that runs, or ran last */
	struct verdict verdict; /* of all programs of this process */
	uint64_t programs;
} * shared;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- one process --- */

static int finish(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) != child)
		;
	return status;
}

/* Runs a program in a process of its own.  True: it fails there. */
static bool fails_alone(const struct program *program, bool quiet)
{
	memset(&shared->verdict, 0, sizeof(shared->verdict));
	if (program != &shared->program)
		shared->program = *program;
	pid_t child = fork();

	if (child == 0) {
		if (quiet && !freopen("/dev/null", "w", stderr))
			_exit(0);
		alarm(PROGRAM_LIMIT);
		exact_run(&shared->program, NULL, &shared->verdict);
		exit(0);
	}
	return finish(child) != 0;
}

static bool fails_quietly(const struct program *program)
{
	return fails_alone(program, true);
}

static void run_seed(uint64_t seed)
{
	struct generator generator;

	alarm(PROGRAM_LIMIT);
	generator_begin(&generator, &shared->program, seed);
	exact_run(&shared->program, &generator, &shared->verdict);
	shared->programs++;
}

/* From the first of the seeds on, until it is time or enough.  Returns how the process ended. */
static int run_batch(uint64_t first, uint64_t count, uint64_t operations, double deadline)
{
	memset(&shared->verdict, 0, sizeof(shared->verdict));
	shared->programs = 0;
	fflush(NULL);
	pid_t child = fork();

	if (child == 0) {
		for (uint64_t i = 0; i < count && now() < deadline; i++) {
			run_seed(first + i);
			if (operations && shared->verdict.steps >= operations)
				break;
		}
		exit(0); /* with the sanitizer's look for leaks */
	}
	return finish(child);
}

/* --- findings --- */

static void print_finding(int status)
{
	if (shared->verdict.disagreed)
		printf("exact: disagreement at step %u: %s\n", shared->verdict.at, shared->verdict.what);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		printf("exact: a program does not come to its end\n");
	else if (WIFSIGNALED(status))
		printf("exact: a program died of signal %d\n", WTERMSIG(status));
	else
		printf("exact: a program ended with exit code %d\n", WEXITSTATUS(status));
	fflush(stdout);
}

static void report(int status)
{
	struct program program = shared->program;

	printf("exact: seed %" PRIu64 " fails; --exact --seed %" PRIu64 " replays it\n", program.seed, program.seed);
	print_finding(status);
	if (!fails_alone(&program, false)) {
		printf("exact: it does not fail alone\n");
		return;
	}
	shrink(&program, fails_quietly, SHRINK_SECONDS);
	fails_quietly(&program);
	printf("exact: the same in %u steps:\n", program.count);
	if (shared->verdict.disagreed)
		print_finding(0);
	program_print(stdout, &program);
	fflush(stdout);
}

/* A leak is found at the end of a batch: which of its programs was it? */
static bool find_leak(uint64_t first, uint64_t programs)
{
	for (uint64_t seed = first; seed < first + programs; seed++) {
		int status = run_batch(seed, 1, 0, now() + PROGRAM_LIMIT);

		if (status) {
			report(status);
			return true;
		}
	}
	return false;
}

static uint64_t first_seed(const struct model_options *options)
{
	uint32_t seed = 1;

	if (options->seed_given)
		return options->seed;
	return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? (uint64_t)seed << 20 : 1;
}

static bool map_shared(void)
{
	void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	shared = memory;
	return true;
}

int exact_mode(const struct model_options *options)
{
	uint64_t seed = first_seed(options), operations = 0, programs = 0;
	double deadline = now() + options->seconds, progress = now() + PROGRESS;
	unsigned disagreements = 0;

	if (!map_shared())
		return 77;
	printf("exact: programs from seed %" PRIu64 " on\n", seed);
	do {
		uint64_t left = options->operations ? options->operations - operations : 0;
		int status = run_batch(seed, options->once ? 1 : BATCH, left, deadline);

		operations += shared->verdict.steps;
		programs += shared->programs;
		if (status) {
			bool at_exit = shared->programs > 0 && !shared->verdict.disagreed && !WIFSIGNALED(status);

			disagreements++;
			if (!at_exit || !find_leak(seed, shared->programs))
				report(status);
		}
		seed += BATCH;
		if (now() > progress) {
			printf("exact: %" PRIu64 " operations in %" PRIu64 " programs so far\n", operations, programs);
			fflush(stdout);
			progress = now() + PROGRESS;
		}
	} while (!disagreements && !options->once && now() < deadline &&
		 (!options->operations || operations < options->operations));
	printf("exact: %" PRIu64 " operations in %" PRIu64 " programs, %u disagreements\n", operations, programs,
	       disagreements);
	return disagreements > 0;
}
