/* SPDX-License-Identifier: BSD-3-Clause */
/* ptlbench: how fast PtlPut and PtlGet are here, and which thread does the work. */
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "clocked.h"
#include "compare.h"
#include "emulated.h"
#include "fail.h"
#include "histogram.h"
#include "job.h"
#include "machine.h"
#include "measure.h"
#include "output.h"
#include "picture.h"
#include "plan.h"
#include "report.h"
#include "reproduces.h"
#include "tests.h"
#include "trace_merge.h"

#define TIMEOUT_OF_ALL   900   /* seconds, for what compares builds: compare and goals */
#define TIMEOUT_OF_TESTS 86400 /* of all: its tests have one each */

/* What is no test, and has a help of its own. */
static const struct {
	const char *name, *usage, *text;
	int (*run)(int argc, char **argv); /* arguments behind the name */
} commands[] = {
	{"trace-merge", "trace-merge FILE...", "the timelines of several processes (PTL_TRACE) as one", trace_merge},
	{"report", "report DIR", "DIR/index.html: what ptlbench all --out DIR has measured, as a page", report_page},
	{"agree", "agree DIR DIR", "in how many rows two runs of ptlbench all agree", agree_runs},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_tests(void)
{
	printf("usage: ptlbench TEST [options]\n\nTests:\n");
	tests_print(stdout);
	printf("\nNo test, with a help of its own:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-20s %s\n", commands[i].usage, commands[i].text);
}

static int help(const struct bench_test *test)
{
	if (test) {
		printf("usage: ptlbench %s [options]\n\n%s:\n  %s\n", test->name, test->name, test->text);
		clocked_print(stdout, test->name);
		reproduces_print(stdout, test->name);
	} else {
		print_tests();
	}
	printf("\nOptions:\n");
	options_print(stdout, test ? test->takes : UINT64_MAX);
	printf("\nEnvironment:\n");
	PtlNicSettingsPrint(stdout);
	return 0;
}

static int version(void)
{
	printf("ptlbench %s, libfabric %u.%u\n", PTLBENCH_VERSION, FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	return 0;
}

static void check_listener(const struct options *options)
{
	const char *refused = options_refused(options, OPTIONS_LISTENER);

	if (options->test)
		fail_usage("--listen takes no test: the one that connects says %s", options->test);
	if (refused)
		fail_usage("--listen does not take %s: the one that connects says what is to be done", refused);
}

static void check_usage(const struct bench_test *test, const struct options *options)
{
	const char *refused = options_refused(options, test->takes);

	if (refused)
		fail_usage("%s does not take %s; ptlbench %s --help shows what it takes", test->name, refused,
			   test->name);
	const char *expected = options->rows ? compare_refuses(options->rows) : NULL;

	if (expected)
		fail_usage("--rows %s: expected %s", options->rows, expected);
	expected = options->tests ? plan_unknown(options->tests) : NULL;
	if (expected)
		fail_usage("--tests %.*s: not one of what all runs", (int)strcspn(expected, ","), expected);
	if ((test->takes & OPTION_BIT(OUT)) && !options->out)
		fail_usage("%s needs --out DIR, a folder for the results", test->name);
	const char *transport = options->transport ? options->transport : getenv("PTL_TRANSPORT");

	if (test->initiate && transport && !strcmp(transport, "self"))
		fail_usage("transport self: %s needs two processes", test->name);
	if (options->load.raw == RAW_SLOTS && options->connect)
		fail_usage("--raw slots: shared memory needs a target on this machine: leave out --connect");
}

/* Whether ranks 0 and 1 of a launched job can be its two processes: what forks has memory in common. */
static bool spans_ranks(const struct bench_test *test, const struct options *options)
{
	return (test->takes & OPTION_BIT(CONNECT)) && options->load.raw != RAW_SLOTS;
}

/* What a launcher has started several times is done once.  False: this process has no part in it. */
static bool find_part(const struct bench_test *test, struct options *options)
{
	if (options->connect || !job_find(&options->rank, &options->ranks))
		return true;
	bool spans = spans_ranks(test, options);

	if (options->rank > spans) {
		fprintf(stderr, "ptlbench: rank %u of %u has nothing to do: %s\n", options->rank, options->ranks,
			spans ? "ranks 0 and 1 are the pair" : "this is done by rank 0 alone");
		if (spans)
			session_visit(options);
		return false;
	}
	options->launched = spans;
	if (!spans)
		job_leave();
	return true;
}

/* The one that connects says what is to be done. */
static int run_listener(const struct options *options)
{
	struct session session;

	session_open(&session, options);
	measure_serve(&session);
	session_close(&session);
	return 0;
}

static struct table drawn;

static void open_results(const struct bench_test *test, const struct options *options)
{
	if (options->hist)
		histogram_open(options->hist);
	if (options->plot)
		output_keep(&drawn);
	output_open(options->format, test->name);
	emulated_mark(options);
}

static void close_results(const struct bench_test *test, const struct options *options)
{
	output_close();
	histogram_close();
	if (options->plot)
		picture_save(test->name, &drawn, options->plot);
	table_free(&drawn);
}

static int run_pair(const struct bench_test *test, const struct options *options)
{
	struct session session;
	int status = 0;

	session_open(&session, options);
	if (session.peers.role == TARGET) {
		measure_serve(&session);
	} else {
		open_results(test, options);
		machine_facts();
		session_facts(&session);
		status = test->initiate(&session);
		distance_note(&session.distance);
		measure_end(&session);
		close_results(test, options);
	}
	session_close(&session);
	return status;
}

static int run_alone(const struct bench_test *test, const struct options *options)
{
	open_results(test, options);
	int status = test->alone(options);
	close_results(test, options);
	return status;
}

static void choose_timeout(const struct bench_test *test, struct options *options)
{
	if (options->given & OPTION_BIT(TIMEOUT))
		return;
	if (test->takes & OPTION_BIT(AGAINST))
		options->timeout = TIMEOUT_OF_ALL;
	if (test->takes & OPTION_BIT(OUT))
		options->timeout = TIMEOUT_OF_TESTS;
}

int main(int argc, char **argv)
{
	struct options options;
	char error[256];

	machine_count_cpus();
	for (size_t i = 0; argc > 1 && i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 2, argv + 2);
	if (options_parse(argc, argv, &options, error, sizeof(error)))
		fail_usage("%s", error);
	if (options.version)
		return version();
	if (options.help)
		return help(options.test ? tests_find(options.test) : NULL);
	if (options.listen) {
		check_listener(&options);
		if (options.dry_run)
			return 0;
		watchdog_start(options.timeout);
		return run_listener(&options);
	}
	if (!options.test)
		fail_usage("no test named (ptlbench --help lists them)");
	const struct bench_test *test = tests_find(options.test);
	check_usage(test, &options);
	if (options.dry_run || !find_part(test, &options))
		return 0;
	if (test->size && !options.load.sizes_given)
		options.load.size_max = test->size;
	if (options.plot)
		picture_check(options.plot);
	choose_timeout(test, &options);
	watchdog_start(options.timeout);
	return test->alone ? run_alone(test, &options) : run_pair(test, &options);
}
