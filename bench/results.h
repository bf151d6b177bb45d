/* SPDX-License-Identifier: BSD-3-Clause */
/* What ptlbench all has left in a folder. */
#ifndef PTLBENCH_RESULTS_H
#define PTLBENCH_RESULTS_H

#include "json.h"
#include "table.h"

struct result {
	struct json *json; /* the whole file */
	const char *name, *transport, *command, *reason;
	const char *emulated; /* which parts of the machine; "": none */
	struct table table;
};

struct results {
	size_t count;
	struct result *result; /* in the order of the plan */
};

/* Of files that are no such results, nothing; says on stderr which. */
void bench_results_read(struct results *results, const char *directory);
void bench_results_free(struct results *results);

/* NULL if there is none.  `length`: of the name; a transport may be "". */
const struct result *bench_results_find(const struct results *results, const char *name, const char *transport);

/* What the test has printed of its environment, or of notes ("environment", "notes"); NULL if it printed nothing. */
const struct json *result_section(const struct result *result, const char *section);

/*
 * The number that "NAME TRANSPORT WHERE KEY" names (a transport or conditions may be "-"); conditions are separated by
 * "&" instead of blanks.  NaN if there is none.  The first row that meets them counts.
 */
double bench_results_figure(const struct results *results, const char *reference);

#endif
