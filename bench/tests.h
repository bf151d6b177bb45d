/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests that ptlbench offers.  Each prints its table and returns the exit status. */
#ifndef PTLBENCH_TESTS_H
#define PTLBENCH_TESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct session;
struct options;

/* A test of two processes, or one of this machine alone. */
struct bench_test {
	const char *name;
	int (*initiate)(struct session *);
	int (*alone)(const struct options *);
	uint64_t size;  /* greatest message, if it is not --sizes that says so */
	uint64_t takes; /* OPTION_BIT() of what makes a difference to it: all else is refused */
	const char *text;
};

/* Name and text of each. */
void tests_print(FILE *out);

/* Ends the process with the nearest name if there is none of this one. */
const struct bench_test *tests_find(const char *name);

/* Whether the test, which exists, takes any of these options. */
bool tests_take(const char *name, uint64_t options);

/* Of two processes; run in the initiator. */
int put_latency(struct session *session);
int get_latency(struct session *session);
int put_bandwidth(struct session *session);
int get_bandwidth(struct session *session);
int message_rate(struct session *session);
int match_depth(struct session *session);
int unexpected_depth(struct session *session);
int bypass(struct session *session);
int idle(struct session *session);
int wake(struct session *session);
int bidirectional_latency(struct session *session);
int bidirectional_bandwidth(struct session *session);
int initiator_timing(struct session *session);
int nic_timing(struct session *session);
int fragments(struct session *session);
int logp(struct session *session);
int operations(struct session *session);
int host_overhead(struct session *session);
int availability(struct session *session);
int completion(struct session *session);
int buffer_reuse(struct session *session);
int segments(struct session *session);
int am(struct session *session);
int splitc(struct session *session);
int breakdown(struct session *session);
int grim(struct session *session);
int driver(struct session *session);

/* Of this machine alone. */
int machine_limits(const struct options *options);
int info(const struct options *options);
int self_latency(const struct options *options);
int open_close(const struct options *options);
int attach(const struct options *options);

/* Of more than two processes, which they fork. */
int pairs(const struct options *options);
int memory(const struct options *options);
int sequence(const struct options *options);
int blocking(const struct options *options);
int crossover(const struct options *options);
int injection(const struct options *options);
int hot_spot(const struct options *options);
int contacted_peers(const struct options *options);
int recovery(const struct options *options);

/* Ours beside others. */
int compare(const struct options *options);
int candidate(const struct options *options);

/* Of all that other tests measure. */
int goals(const struct options *options);
int all(const struct options *options);

#endif
