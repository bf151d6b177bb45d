/* SPDX-License-Identifier: BSD-3-Clause */
/* ptlbench: how fast PtlPut and PtlGet are here, and who does the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "machine.h"
#include "measure.h"
#include "output.h"
#include "tests.h"

/* A test of two processes, or one of this machine alone. */
struct bench_test {
	const char *name;
	int (*initiate)(struct session *);
	int (*alone)(const struct options *);
	uint64_t size;                        /* greatest message, if it is not --sizes that says so */
	enum { PLAIN, HAS_RAW, FORKS } trait; /* --raw makes sense; the target must be forked here */
	const char *text;
};

static const struct bench_test tests[] = {
	{"put-latency", put_latency, NULL, 0, HAS_RAW, "half a round trip of a ping-pong of PtlPut"},
	{"get-latency", get_latency, NULL, 0, HAS_RAW, "one PtlGet, from its call to REPLY_END"},
	{"put-bandwidth", put_bandwidth, NULL, 0, HAS_RAW,
	 "windows of PtlPut: no event at the sender, a PUT_END each at the target, one empty put back a window"},
	{"get-bandwidth", get_bandwidth, NULL, 0, HAS_RAW, "windows of PtlGet, a REPLY_END each"},
	{"match-depth", match_depth, NULL, 64, PLAIN, "put-latency behind long match lists"},
	{"bypass", bypass, NULL, 1 << 20, PLAIN, "puts and gets while the target computes and never calls Portals"},
	{"idle", idle, NULL, 64, PLAIN, "CPU time of processes that do nothing; status 1 if the goal is missed"},
	{"wake", wake, NULL, 64, FORKS, "first message after a second of silence"},
	{"pairs", NULL, pairs, 64, PLAIN, "put-latency with more processes than cores"},
	{"self-latency", NULL, self_latency, 0, PLAIN, "a put to oneself, until both its events are taken"},
	{"open", NULL, open_close, 64, PLAIN, "PtlNIInit and PtlNIFini"},
	{"memory", NULL, memory, 64, PLAIN, "memory of an interface and of the peers it knows"},
	{"recovery", NULL, recovery, 0, PLAIN,
	 "from a peer's death to the event that tells, and to a successor's first ACK"},
	{"floor", NULL, machine_floor, 0, PLAIN, "limits of this machine, without Portals"},
	{"info", NULL, info, 0, PLAIN,
	 "versions, machine, limits, devices, settings, what an interface is made of, libfabric's providers"},
	{"goals", NULL, goals, 0, PLAIN,
	 "what we promise, measured over node (or --transport) by the commands shown; 75 s, 25 with --quick"},
};

#define TESTS (sizeof tests / sizeof tests[0])

static int help(void)
{
	printf("usage: ptlbench TEST [options]\n\nTests:\n");
	for (const struct bench_test *test = tests; test < tests + TESTS; test++)
		printf("  %-20s %s\n", test->name, test->text);
	printf("\nOptions:\n");
	options_print(stdout);
	printf("\nEnvironment:\n");
	PtlNicSettingsPrint(stdout);
	return 0;
}

static const struct bench_test *find_test(const char *name)
{
	for (const struct bench_test *test = tests; test < tests + TESTS; test++)
		if (!strcmp(test->name, name))
			return test;
	fail_usage("unknown test %s (ptlbench --help lists them)", name);
}

static void check_usage(const struct bench_test *test, const struct options *options)
{
	if (options->load.raw && test->trait != HAS_RAW)
		fail_usage("--raw: %s has no counterpart on libfabric", test->name);
	const char *transport = options->transport ? options->transport : getenv("PTL_TRANSPORT");

	if (test->initiate && transport && !strcmp(transport, "self"))
		fail_usage("transport self: %s needs two processes", test->name);
	if (options->load.raw == RAW_SLOTS && options->connect)
		fail_usage("--raw slots: shared memory needs a target on this machine: leave out --connect");
	if (test->trait == FORKS && options->connect)
		fail_usage("%s measures one machine: leave out --connect", test->name);
	if (test->alone && options->connect)
		fail_usage("%s needs no other process: leave out --connect", test->name);
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

static int run_pair(const struct bench_test *test, const struct options *options)
{
	struct session session;
	int status = 0;

	session_open(&session, options);
	if (session.peers.role == TARGET) {
		measure_serve(&session);
	} else {
		output_open(options->format, test->name);
		machine_facts();
		session_facts(&session);
		status = test->initiate(&session);
		measure_end(&session);
		output_close();
	}
	session_close(&session);
	return status;
}

static int run_alone(const struct bench_test *test, const struct options *options)
{
	output_open(options->format, test->name);
	int status = test->alone(options);
	output_close();
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	char error[256];

	if (options_parse(argc, argv, &options, error, sizeof error))
		fail_usage("%s", error);
	if (options.help)
		return help();
	if (options.listen) {
		watchdog_start(options.timeout);
		return run_listener(&options);
	}
	if (!options.test)
		fail_usage("no test named (ptlbench --help lists them)");
	const struct bench_test *test = find_test(options.test);
	check_usage(test, &options);
	if (test->size && !options.load.sizes_given)
		options.load.size_max = test->size;
	watchdog_start(options.timeout);
	return test->alone ? run_alone(test, &options) : run_pair(test, &options);
}
