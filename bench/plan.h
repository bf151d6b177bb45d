/* SPDX-License-Identifier: BSD-3-Clause */
/* What ptlbench all runs. */
#ifndef PTLBENCH_PLAN_H
#define PTLBENCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A test with its options.  `name` tells apart those of one test; a file of results is called NAME.TRANSPORT.json, or
 * NAME.json where there is no transport.
 */
struct planned {
	const char *name;
	const char *command;    /* for ptlbench: words separated by blanks */
	const char *transports; /* separated by blanks; "": the test takes none, or each by itself */
	bool thorough;          /* not with --quick */
};

extern const struct planned plan[];
extern const size_t plan_count;

/* The test of a command: its first word. */
void plan_test(const struct planned *planned, char *test, size_t size);

/* Whether `list`, names of tests or of planned ones separated by commas, has this one; NULL has all. */
bool plan_is_chosen(const struct planned *planned, const char *list);

/* The first of the list that names nothing in the plan, or NULL; it ends at a comma. */
const char *plan_unknown(const char *list);

#endif
