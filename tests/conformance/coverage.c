/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of contents: which tests prove which sentence, where they run, and which mutants they are known to kill. */
#include <stdio.h>
#include <string.h>

#include "tests/conformance/conformance.h"

struct coverage {
	int rows, covered, errors, mutants, killed;
};

static bool proves(const struct test *test, const char *number)
{
	const size_t length = strlen(number);
	for (const char *at = test->proves; at && (at = strstr(at, number)); at += length)
		if ((at == test->proves || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
			return true;
	return false;
}

static bool has_row(const struct chapter *chapter, const char *number, size_t length)
{
	for (const struct row *row = chapter->rows; row->number; row++)
		if (strlen(row->number) == length && strncmp(row->number, number, length) == 0)
			return true;
	return false;
}

/* "c3_6_" and "3.6/2": the name must cite the section that it proves something about. */
static bool cites(const char *name, const char *number)
{
	if (*name++ != 'c')
		return false;
	for (; *number != '/' && *number; name++, number++)
		if (*name != (*number == '.' ? '_' : *number))
			return false;
	return *name == '_';
}

static const struct chapter *find_row(const struct chapter *const *chapters, const char *number, size_t length)
{
	while (*chapters && !has_row(*chapters, number, length))
		chapters++;
	return *chapters;
}

static int check_test(const struct chapter *const *chapters, const struct test *test)
{
	int errors = 0;
	bool cited = false;
	for (const char *number = test->proves; number && *number; number += strspn(number, " ")) {
		size_t length = strcspn(number, " ");
		if (!find_row(chapters, number, length)) {
			printf("%s proves row %.*s, which does not exist\n", test->name, (int)length, number);
			errors++;
		}
		cited |= cites(test->name, number);
		number += length;
	}
	if (!cited) {
		printf("%s proves no row of the section in its name\n", test->name);
		errors++;
	}
	return errors;
}

/* "self: all, ofi:tcp: shared dedicated" */
static void print_places(const struct test *test)
{
	for (const char *const *transport = transports; *transport; transport++) {
		char modes[128] = "";
		bool all = true, none = true;
		for (const char *const *mode = nic_modes; *mode; mode++) {
			size_t used = strlen(modes);
			if (unfit_for(test, *transport, *mode)) {
				all = false;
				continue;
			}
			none = false;
			snprintf(modes + used, sizeof(modes) - used, " %s", *mode);
		}
		printf("%s%s:%s", transport == transports ? "" : "; ", *transport,
		       none  ? " -"
		       : all ? " all modes"
			     : modes);
	}
}

static void list_row(const struct chapter *const *chapters, const struct row *row, struct coverage *coverage)
{
	bool covered = false;
	printf("%-7s %s\n", row->number, row->sentence);
	for (; *chapters; chapters++) {
		for (const struct test *test = (*chapters)->tests; test->name; test++) {
			if (!proves(test, row->number))
				continue;
			covered = true;
			printf("          %s [", test->name);
			print_places(test);
			printf("]\n");
		}
	}
	coverage->rows++;
	coverage->covered += covered;
	if (!covered)
		printf("          NO TEST\n");
}

/* ---- Mutants: what tests/model/mutants/run.py --record has left in killed.txt ("TITLE: what killed it") ---- */

#define ALL_MUTANTS (MUTANTS "/mutants.txt")
#define KILLED      (MUTANTS "/killed.txt")

/* Does a line of the file begin with this title and go on like that? */
static bool has_line(const char *path, const char *title, size_t length, const char *then)
{
	char line[512];
	bool found = false;
	FILE *file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strncmp(line, title, length) == 0 && strncmp(line + length, then, strlen(then)) == 0;
	if (file)
		fclose(file);
	return found;
}

/* A record of what is no mutant any more, or not by this title, is an error. */
static void check_record(struct coverage *coverage)
{
	char line[512];
	FILE *file = fopen(KILLED, "r");
	while (file && fgets(line, sizeof(line), file)) {
		const char *end = strstr(line, ": ");
		if (*line == '#' || (end && has_line(ALL_MUTANTS, line, (size_t)(end - line), "\n")))
			continue;
		printf("killed.txt is stale: there is no mutant of this title: %s", line);
		coverage->errors++;
	}
	if (file)
		fclose(file);
}

/* A title stands behind an empty line or a comment.  A mutant without a record counts as alive. */
static void list_mutants(struct coverage *coverage)
{
	char line[512];
	bool titled = true;
	FILE *file = fopen(ALL_MUTANTS, "r");
	while (file && fgets(line, sizeof(line), file)) {
		const size_t length = strcspn(line, "\n");
		const bool text = length > 0 && *line != '#';
		if (text && titled) {
			const bool killed = has_line(KILLED, line, length, ": ");
			coverage->mutants++;
			coverage->killed += killed;
			if (!killed)
				printf("not on record as killed: %s", line);
		}
		titled = !text;
	}
	if (file)
		fclose(file);
}

int coverage_list(const struct chapter *const *chapters)
{
	struct coverage coverage = {0};
	for (const struct chapter *const *chapter = chapters; *chapter; chapter++) {
		printf("\n%s\n", (*chapter)->title);
		for (const struct row *row = (*chapter)->rows; row->number; row++)
			list_row(chapters, row, &coverage);
	}
	printf("\n");
	for (const struct chapter *const *chapter = chapters; *chapter; chapter++)
		for (const struct test *test = (*chapter)->tests; test->name; test++)
			coverage.errors += check_test(chapters, test);
	check_record(&coverage);
	list_mutants(&coverage);
	printf("rows %d/%d, mutants %d/%d\n", coverage.covered, coverage.rows, coverage.killed, coverage.mutants);
	return coverage.errors || coverage.covered < coverage.rows;
}
