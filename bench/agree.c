/* SPDX-License-Identifier: BSD-3-Clause */
#include "agree.h"

#include <stdio.h>
#include <string.h>

#include "agreement.h"
#include "busy.h"
#include "fail.h"
#include "results.h"

#define OTHERS_PERCENT 5 /* of a processor: more than a machine that does nothing needs for itself */

static int usage(FILE *out)
{
	fputs("usage: ptlbench agree DIR DIR\n\n"
	      "Compares what ptlbench all --out DIR has left of two runs: in how many rows their medians differ by at\n"
	      "most p10 to p90 (the mean of both runs').  Status 1 if that is fewer than nine rows of ten.  Tests "
	      "whose\n"
	      "rows have no p10 and p90, and rows that one run lacks, are not counted.\n",
	      out);
	return out == stdout ? 0 : 2;
}

static void print_line(const char *name, const char *transport, struct agreement agreement)
{
	printf("%-26s %-10s %5zu of %5zu  %5.1f %%\n", name, transport, agreement.agreed, agreement.compared,
	       100.0 * (double)agreement.agreed / (double)agreement.compared);
}

static struct agreement compare_all(const struct results *one, const struct results *other)
{
	struct agreement all = {0};

	for (size_t i = 0; i < one->count; i++) {
		const struct result *result = &one->result[i],
				    *twin = bench_results_find(other, result->name, result->transport);
		if (!twin)
			continue;
		struct agreement agreement = agreement_of_tables(&result->table, &twin->table);
		if (!agreement.compared)
			continue;
		print_line(result->name, result->transport, agreement);
		all.compared += agreement.compared;
		all.agreed += agreement.agreed;
	}
	return all;
}

/* What is not known (NaN) is no reason. */
static bool was_busy(const struct result *result)
{
	const struct json *load = json_member(result->json, "load");

	return json_number(load, "others_cpu_percent") > OTHERS_PERCENT ||
	       json_number(load, "stolen_percent") > BUSY_STOLEN_PERCENT;
}

/* That of a run is in its files; what runs here now is no matter. */
static void warn_if_busy(const struct results *results, const char *directory)
{
	size_t busy = 0;

	for (size_t i = 0; i < results->count; i++)
		busy += was_busy(&results->result[i]);
	if (busy)
		fprintf(stderr,
			"ptlbench: warning: %s: the machine was busy in %zu of %zu tests (others had more than %d %% "
			"of a "
			"processor, or its host took more than %d %%)\n",
			directory, busy, results->count, OTHERS_PERCENT, BUSY_STOLEN_PERCENT);
}

int agree_runs(int argc, char **argv)
{
	struct results one = {0}, other = {0};

	if (argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
		return usage(stdout);
	if (argc != 2 || argv[0][0] == '-' || argv[1][0] == '-')
		return usage(stderr);
	bench_results_read(&one, argv[0]);
	bench_results_read(&other, argv[1]);
	struct agreement all = compare_all(&one, &other);
	warn_if_busy(&one, argv[0]);
	warn_if_busy(&other, argv[1]);
	bench_results_free(&one);
	bench_results_free(&other);
	if (!all.compared)
		fail("%s and %s have no row in common that has a spread", argv[0], argv[1]);
	print_line("all", "", all);
	return all.agreed * 10 >= all.compared * 9 ? 0 : 1;
}
