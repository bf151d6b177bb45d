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
#define WINDOWS_MAX  16

enum raw_kind { RAW_NONE, RAW_MSG, RAW_TAGGED, RAW_RMA, RAW_SLOTS };
enum wait_call { WAIT_EQWAIT, WAIT_EQGET };
enum output_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_MARKDOWN };

/* What both sides of a run must agree on: the initiator sends it to the target as it is. */
struct workload {
	uint64_t size_min, size_max; /* bytes */
	uint32_t iterations;         /* per row of the table; 0: what fits the time */
	uint32_t row_ms;             /* time for a row of the table; 0: the usual */
	uint32_t warmup;             /* iterations */
	uint32_t window;             /* operations in flight; 0: depends on the size */
	uint32_t window_count;       /* of --window LIST; `window` is the greatest while no row is measured */
	uint32_t windows[WINDOWS_MAX];
	uint32_t repeat; /* how often the series of a row take turns */
	uint32_t depth_count;
	uint32_t depths[DEPTHS_MAX]; /* match entries in front of the one that matches, or unexpected messages */
	uint32_t raw;                /* enum raw_kind */
	uint32_t wait;               /* enum wait_call */
	bool sizes_given;            /* by --sizes */
	bool check, persistent, start_events, nic_timing, quick, raw_sleepable;
};

struct setting {
	const char *variable, *value;
};

/* In the order of --help. */
enum option_id {
	OPTION_TRANSPORT,
	OPTION_MODE,
	OPTION_IFACE,
	OPTION_SIZES,
	OPTION_ITERATIONS,
	OPTION_ROW_TIME,
	OPTION_WARMUP,
	OPTION_WINDOW,
	OPTION_WINDOW_LIST, /* set by --window, too */
	OPTION_DEPTHS,
	OPTION_REPEAT,
	OPTION_RAW,
	OPTION_RAW_SLEEPABLE,
	OPTION_PERSISTENT,
	OPTION_START_EVENTS,
	OPTION_WAIT,
	OPTION_CHECK,
	OPTION_NIC_TIMING,
	OPTION_UNPINNED,
	OPTION_ROWS,
	OPTION_AGAINST,
	OPTION_STRICT,
	OPTION_QUICK,
	OPTION_PLOT,
	OPTION_HIST,
	OPTION_SAVE,
	OPTION_WIRE,
	OPTION_OUT,
	OPTION_TESTS,
	OPTION_LISTEN,
	OPTION_CONNECT,
	OPTION_FORMAT,
	OPTION_TIMEOUT,
	OPTION_DRY_RUN,
	OPTION_VERSION,
	OPTION_HELP,
	OPTION_COUNT
};

#define OPTION_BIT(name) (UINT64_C(1) << OPTION_##name)
#define OPTIONS_ALWAYS                                                                                                 \
	(OPTION_BIT(FORMAT) | OPTION_BIT(TIMEOUT) | OPTION_BIT(DRY_RUN) | OPTION_BIT(VERSION) | OPTION_BIT(HELP))
#define OPTIONS_LISTENER                                                                                               \
	(OPTIONS_ALWAYS | OPTION_BIT(LISTEN) | OPTION_BIT(TRANSPORT) | OPTION_BIT(MODE) | OPTION_BIT(IFACE) |          \
	 OPTION_BIT(UNPINNED))

struct options {
	const char *test;
	uint64_t given; /* OPTION_BIT() of each that the command line has */
	struct workload load;
	const char *transport, *mode, *iface; /* NULL: what the environment says */
	const char *rows, *against;           /* NULL: all rows; no other build */
	const char *plot, *hist, *save;       /* files to be written, or NULL */
	const char *out, *tests;              /* of all: where to, and which; NULL: all of them */
	enum output_format format;
	bool help, version, dry_run, unpinned, strict, wire;
	bool listen, connect;
	uint32_t listen_pid;               /* 0: the usual one */
	uint32_t connect_nid, connect_pid; /* of the process that listens */
	uint32_t timeout;                  /* seconds */
	bool launched;                     /* rank 0 is the initiator, rank 1 the target; not an option, see job.h */
	const struct setting *settings;    /* environment of each role's process; not an option, see setups.h */
	uint32_t rank, ranks;              /* the launcher's, 0 of 0 without one */
};

/*
 * Fills `options` from the arguments.  0, or -EINVAL with one line in `error` that names the argument and says what was
 * expected.  The strings stay in argv.
 */
int options_parse(int argc, char *const argv[], struct options *options, char *error, size_t error_size);

/* The rows of the option table that `takes` has bits of, for --help. */
void options_print(FILE *out, uint64_t takes);

/* The first option that was given and is not in `takes`, or NULL. */
const char *options_refused(const struct options *options, uint64_t takes);

/* "64", "4K", "1M", "1G" as bytes.  False unless the whole text is such a number, at most SIZE_LIMIT. */
bool parse_size(const char *text, uint64_t *bytes);

/* "tcp", "net", ... of a transport written ofi:PROVIDER; NULL if it names no provider. */
const char *transport_provider(const char *transport);

#endif
