/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many programs in exact mode.  They run in batches in child processes, so that a crash, a hang or a leak is a finding
 * like any other: the seed and the steps so far are in memory shared with the parent, as is what the child says on its
 * stderr.
 */
#include <ctype.h>
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
#include "tests/support/harness.h"

#define BATCH          500             /* programs a process runs at most */
#define PROGRAM_LIMIT  (20 * SLOWNESS) /* seconds after which a program hangs */
#define SHRINK_SECONDS 40
#define PROGRESS       30
#define SAID           8192 /* bytes of the end of stderr in which its last words are looked for */

static struct shared {
	struct program program; /* the one that runs, or ran last */
	struct outcome outcome; /* of all programs of this process */
	uint64_t programs;
} * shared;

/* A file in memory: the children's stderr. */
static int said;

/* How a process ended.  Two failures are of one class if they end alike and their words differ only in numbers. */
struct ending {
	int status;
	char words[400]; /* the disagreement; else the line that names a sanitizer's finding, or the last line said */
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- one process --- */

static pid_t begin_child(void)
{
	memset(&shared->outcome, 0, sizeof(shared->outcome));
	shared->programs = 0;
	fflush(NULL);
	if (ftruncate(said, 0) || lseek(said, 0, SEEK_SET))
		_exit(2);
	pid_t child = fork();

	if (child == 0)
		dup2(said, STDERR_FILENO);
	return child;
}

/* The end of what was said, without its last line break. */
static void read_said(char text[SAID])
{
	off_t size = lseek(said, 0, SEEK_END), from = size > SAID - 1 ? size - (SAID - 1) : 0;
	ssize_t got = pread(said, text, (size_t)(size - from), from);

	while (got > 0 && isspace((unsigned char)text[got - 1]))
		got--;
	text[got > 0 ? got : 0] = 0;
}

/* The line that says most: behind a sanitizer's there are stacks, sources and shadow bytes. */
static const char *telling_line(const char *text)
{
	const char *telling = strstr(text, "SUMMARY: ");

	if (!telling)
		telling = strstr(text, "runtime error: ");
	if (!telling)
		telling = text + strlen(text);
	while (telling > text && telling[-1] != '\n')
		telling--;
	return telling;
}

static void find_words(struct ending *ending)
{
	char text[SAID];

	read_said(text);
	const char *words = shared->outcome.disagreed ? shared->outcome.what : telling_line(text);

	snprintf(ending->words, sizeof(ending->words), "%.*s", (int)strcspn(words, "\n"), words);
}

static struct ending finish(pid_t child)
{
	struct ending ending = {0};

	while (waitpid(child, &ending.status, 0) != child)
		;
	if (ending.status)
		find_words(&ending);
	return ending;
}

static struct ending run_alone(const struct program *program)
{
	if (program != &shared->program)
		shared->program = *program;
	pid_t child = begin_child();

	if (child == 0) {
		alarm(PROGRAM_LIMIT);
		exact_run(&shared->program, NULL, &shared->outcome);
		exit(0);
	}
	return finish(child);
}

static void run_seed(uint64_t seed)
{
	struct generator generator;

	alarm(PROGRAM_LIMIT);
	generator_begin(&generator, &shared->program, seed);
	exact_run(&shared->program, &generator, &shared->outcome);
	shared->programs++;
}

/* From the first of the seeds on, until it is time or enough. */
static struct ending run_batch(uint64_t first, uint64_t count, uint64_t operations, double deadline)
{
	pid_t child = begin_child();

	if (child == 0) {
		for (uint64_t i = 0; i < count && now() < deadline; i++) {
			run_seed(first + i);
			if (operations && shared->outcome.steps >= operations)
				break;
		}
		exit(0); /* with the sanitizer's look for leaks */
	}
	return finish(child);
}

/* --- findings --- */

static const char *past_number(const char *text)
{
	const char *digits = text + (*text == '-');

	return isdigit((unsigned char)*digits) ? digits + strspn(digits, "0123456789abcdefx") : text;
}

static bool are_same_words(const char *one, const char *other)
{
	while (*one && *other) {
		const char *one_end = past_number(one), *other_end = past_number(other);

		if (one_end > one && other_end > other) {
			one = one_end;
			other = other_end;
		} else if (*one++ != *other++) {
			return false;
		}
	}
	return *one == *other;
}

static bool are_alike(const struct ending *one, const struct ending *other)
{
	if (WIFSIGNALED(one->status) != WIFSIGNALED(other->status))
		return false;
	if (WIFSIGNALED(one->status) ? WTERMSIG(one->status) != WTERMSIG(other->status)
				     : WEXITSTATUS(one->status) != WEXITSTATUS(other->status))
		return false;
	return are_same_words(one->words, other->words);
}

static struct ending original; /* of the program that is made shorter */

static bool fails_alike(const struct program *program)
{
	const struct ending ending = run_alone(program);

	return ending.status && are_alike(&ending, &original);
}

static void print_finding(const struct ending *ending)
{
	if (shared->outcome.disagreed)
		printf("exact: disagreement at step %u: %s\n", shared->outcome.at, shared->outcome.what);
	else if (WIFSIGNALED(ending->status) && WTERMSIG(ending->status) == SIGALRM)
		printf("exact: a program does not come to its end\n");
	else if (WIFSIGNALED(ending->status))
		printf("exact: a program died of signal %d: %s\n", WTERMSIG(ending->status), ending->words);
	else
		printf("exact: a program ended with exit code %d: %s\n", WEXITSTATUS(ending->status), ending->words);
	fflush(stdout);
}

static void print_said(void)
{
	char text[SAID];
	ssize_t got;

	for (off_t at = 0; (got = pread(said, text, sizeof(text), at)) > 0; at += got)
		fwrite(text, 1, (size_t)got, stderr);
}

static void report(const struct ending *found)
{
	struct program program = shared->program;

	printf("exact: seed %" PRIu64 " fails; --exact --seed %" PRIu64 " replays it\n", program.seed, program.seed);
	print_finding(found);
	print_said();
	original = *found;
	if (!fails_alike(&program)) {
		printf("exact: it does not fail so alone\n");
		return;
	}
	shrink(&program, fails_alike, SHRINK_SECONDS);
	const struct ending last = run_alone(&program);

	printf("exact: the same in %u steps:\n", program.count);
	print_finding(&last);
	program_print(stdout, &program);
	fflush(stdout);
}

/* A leak is found at the end of a batch: which of its programs was it? */
static bool find_leak(uint64_t first, uint64_t programs)
{
	for (uint64_t seed = first; seed < first + programs; seed++) {
		const struct ending ending = run_batch(seed, 1, 0, now() + PROGRAM_LIMIT);

		if (ending.status) {
			report(&ending);
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
	said = memfd_create("said", MFD_CLOEXEC);
	return said >= 0;
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
		const struct ending ending = run_batch(seed, options->once ? 1 : BATCH, left, deadline);

		operations += shared->outcome.steps;
		programs += shared->programs;
		if (ending.status) {
			bool at_exit =
				shared->programs > 0 && !shared->outcome.disagreed && !WIFSIGNALED(ending.status);

			disagreements++;
			if (!at_exit || !find_leak(seed, shared->programs))
				report(&ending);
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
