/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of ptlbench. */
#ifndef PTLBENCH_OPTIONS_H
#define PTLBENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SIZE_LIMIT   ((uint64_t)1 << 30) /* largest message, bytes */
#define WINDOW_LIMIT 4096u
#define DEPTHS_MAX   16

enum raw_kind { RAW_NONE, RAW_MSG, RAW_TAGGED, RAW_RMA, RAW_SLOTS };
enum wait_call { WAIT_EQWAIT, WAIT_EQGET };
enum output_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

/* What both sides of a run must agree on: the initiator sends it to the target as it is. */
struct workload {
	uint64_t size_min, size_max; /* bytes */
	uint32_t iterations;         /* per row of the table; 0: what fits the time */
	uint32_t row_ms;             /* time for a row of the table; 0: the usual */
	uint32_t warmup;             /* iterations */
	uint32_t window;             /* operations in flight; 0: depends on the size */
	uint32_t repeat;             /* how often the contestants of a row take turns */
	uint32_t depth_count;
	uint32_t depths[DEPTHS_MAX]; /* match entries in front of the one that matches */
	uint32_t raw;                /* enum raw_kind */
	uint32_t wait;               /* enum wait_call */
	bool sizes_given;            /* by --sizes */
	bool check, persistent, start_events, nic_timing, quick, raw_sleepable;
};

struct options {
	const char *test;
	struct workload load;
	const char *transport, *mode, *iface; /* NULL: what the environment says */
	enum output_format format;
	bool help, unpinned;
	bool listen, connect;
	uint32_t listen_pid;               /* 0: the usual one */
	uint32_t connect_nid, connect_pid; /* of the process that listens */
	uint32_t timeout;                  /* seconds */
};

/*
 * Fills `options` from the arguments.  0, or -EINVAL with one line in `error` that names the argument and says what was
 * expected.  The strings stay in argv.
 */
int options_parse(int argc, char *const argv[], struct options *options, char *error, size_t error_size);

/* The option table, for --help. */
void options_print(FILE *out);

/* "64", "4K", "1M", "1G" as bytes.  False unless the whole text is such a number, at most SIZE_LIMIT. */
bool parse_size(const char *text, uint64_t *bytes);

/* "tcp", "net", ... of a transport written ofi:PROVIDER; NULL if it names no provider. */
const char *transport_provider(const char *transport);

#endif
