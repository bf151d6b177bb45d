/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests that ptlbench offers.  Each prints its table and returns the exit status. */
#ifndef PTLBENCH_TESTS_H
#define PTLBENCH_TESTS_H

struct session;
struct options;

/* Of two processes; run in the initiator. */
int put_latency(struct session *session);
int get_latency(struct session *session);
int put_bandwidth(struct session *session);
int get_bandwidth(struct session *session);
int match_depth(struct session *session);
int bypass(struct session *session);
int idle(struct session *session);
int wake(struct session *session);

/* Of this machine alone. */
int machine_floor(const struct options *options);
int info(const struct options *options);
int self_latency(const struct options *options);
int open_close(const struct options *options);

/* Of more than two processes, which they fork. */
int pairs(const struct options *options);
int memory(const struct options *options);
int recovery(const struct options *options);

/* Of all that other tests measure. */
int goals(const struct options *options);

#endif
