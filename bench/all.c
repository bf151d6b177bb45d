/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything: runs the plan, each test in a process of its own, one after the other, and leaves a file of each, which says
 * what was run, when, how busy the machine was meanwhile with anything else, and what came of it or why nothing did.  A
 * test that fails does not keep the others from being run.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "fail.h"
#include "json.h"
#include "machine.h"
#include "output.h"
#include "plan.h"
#include "tests.h"

#define QUICK_ROW_MS  100 /* what a row of a quick run may take */
#define TIMEOUT_S     "290"
#define TRANSPORT_MAX 32

/* One test over one transport. */
struct job {
	const struct planned *planned;
	char transport[TRANSPORT_MAX]; /* "": it takes none */
	char command[256];
};

struct record {
	struct machine_load begin, end;
	char began[32]; /* UTC */
	struct child_end child;
	char reason[256];   /* "": it has ended well */
	char emulated[256]; /* what it says of that, or "" */
	bool whole;         /* what it printed is JSON */
};

enum {
	COLUMN_NAME,
	COLUMN_TRANSPORT,
	COLUMN_SECONDS,
	COLUMN_AVERAGE,
	COLUMN_OTHERS,
	COLUMN_STOLEN,
	COLUMN_LEFT,
	COLUMN_RESULT,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_NAME] = {"Test", "name", -24},
	[COLUMN_TRANSPORT] = {"transport", "transport", -9},
	[COLUMN_SECONDS] = {"s", "seconds", 1},
	[COLUMN_AVERAGE] = {"load", "load_average", 2},
	[COLUMN_OTHERS] = {"others %", "others_cpu_percent", 1},
	[COLUMN_STOLEN] = {"stolen %", "stolen_percent", 1},
	[COLUMN_LEFT] = {"left (s)", "left_seconds", 0},
	[COLUMN_RESULT] = {"result", "result", -6},
};

/* Of one processor, while the test ran: what was spent by none of its processes. */
static double others_percent(const struct record *record)
{
	double busy = record->end.busy_s - record->begin.busy_s - record->child.cpu_s;

	return fmax(0, 100 * busy / (record->end.clock_s - record->begin.clock_s));
}

static double stolen_percent(const struct record *record)
{
	return 100 * (record->end.stolen_s - record->begin.stolen_s) / (record->end.clock_s - record->begin.clock_s);
}

/* Where results of the job are: DIR/NAME.TRANSPORT.json, without a colon. */
static void job_path(const struct job *job, const char *directory, char *path, size_t size)
{
	int length = snprintf(path, size, "%s/%s%s", directory, job->planned->name, *job->transport ? "." : "");

	if (length < 0 || (size_t)length + sizeof(job->transport) + sizeof(".json") > size)
		fail("--out %s: the path is too long", directory);
	char *transport = path + length;
	snprintf(transport, size - (size_t)length, "%s.json", job->transport);
	for (; *transport; transport++)
		if (*transport == ':')
			*transport = '-';
}

static void make_command(struct job *job, const struct options *options)
{
	char test[32];
	bool quick = options->load.quick;

	plan_test(job->planned, test, sizeof(test));
	int length = snprintf(job->command, sizeof(job->command), "%s%s%s", job->planned->command,
			      *job->transport ? " --transport " : "", job->transport);
	if (quick && tests_take(test, OPTION_BIT(QUICK)))
		length += snprintf(job->command + length, sizeof(job->command) - (size_t)length, " --quick");
	if (quick && tests_take(test, OPTION_BIT(ROW_TIME)) && strcmp(test, "compare") != 0)
		snprintf(job->command + length, sizeof(job->command) - (size_t)length, " --row-time %d", QUICK_ROW_MS);
}

/* Whether words, separated by blanks, have this one among them. */
static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (; *words; words += strspn(words, " ")) {
		size_t end = strcspn(words, " ");
		if (end == length && !memcmp(words, word, length))
			return true;
		words += end;
	}
	return false;
}

/* One that the plan does not name is measured as another provider of libfabric is. */
static bool takes_place_of(const char *transports, const char *transport)
{
	bool named = false;

	for (size_t i = 0; i < plan_count; i++)
		named = named || has_word(plan[i].transports, transport);
	return has_word(transports, named || strncmp(transport, "ofi", 3) != 0 ? transport : "ofi:tcp");
}

static void add_job(struct job *jobs, size_t *count, const struct planned *planned, const char *transport,
		    size_t length, const struct options *options)
{
	struct job *job = &jobs[(*count)++];

	*job = (struct job){.planned = planned};
	snprintf(job->transport, sizeof(job->transport), "%.*s", (int)length, transport);
	make_command(job, options);
}

static size_t make_jobs(const struct options *options, struct job *jobs)
{
	size_t count = 0;

	for (const struct planned *planned = plan; planned < plan + plan_count; planned++) {
		const char *transports = planned->transports;
		if (!plan_is_chosen(planned, options->tests) || (planned->thorough && options->load.quick))
			continue;
		if (options->transport) {
			if (takes_place_of(transports, options->transport))
				add_job(jobs, &count, planned, options->transport, strlen(options->transport), options);
			continue;
		}
		do {
			size_t length = strcspn(transports, " ");
			add_job(jobs, &count, planned, transports, length, options);
			transports += length + strspn(transports + length, " ");
		} while (*transports);
	}
	return count;
}

/* The last line of what it complained of, or how it ended. */
static void find_reason(struct record *record)
{
	char *err = record->child.err;
	size_t length = strlen(err);

	if (!record->child.status && record->whole)
		return;
	while (length && err[length - 1] == '\n')
		length--;
	size_t start = length;
	while (start && err[start - 1] != '\n')
		start--;
	if (length > start)
		snprintf(record->reason, sizeof(record->reason), "%.*s", (int)(length - start), err + start);
	else if (record->child.status < 0)
		snprintf(record->reason, sizeof(record->reason), "ended by signal %d", -record->child.status);
	else
		snprintf(record->reason, sizeof(record->reason), "ended with status %d%s", record->child.status,
			 record->whole ? "" : ", in the middle of its results");
}

static void run(const struct job *job, struct record *record)
{
	char command[512];
	time_t now = time(NULL);
	struct tm utc;

	*record = (struct record){0};
	strftime(record->began, sizeof(record->began), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	snprintf(command, sizeof(command), "%s --format json --timeout " TIMEOUT_S, job->command);
	machine_load(&record->begin);
	child_run(command, true, &record->child);
	machine_load(&record->end);
	struct json *json = json_parse(record->child.out);
	record->whole = json != NULL;
	snprintf(record->emulated, sizeof(record->emulated), "%s", json_text(json_member(json, "notes"), "emulated"));
	json_free(json);
	find_reason(record);
}

static void write_text(FILE *file, const char *name, const char *text)
{
	fprintf(file, "  \"%s\": ", name);
	json_write_text(file, text);
	fprintf(file, ",\n");
}

/* JSON has no NaN. */
static void write_number(FILE *file, const char *name, double number, const char *behind)
{
	if (isnan(number))
		fprintf(file, "\"%s\": null%s", name, behind);
	else
		fprintf(file, "\"%s\": %.2f%s", name, number, behind);
}

static void write_load(FILE *file, const char *name, const struct machine_load *load)
{
	fprintf(file, "    \"%s\": {", name);
	write_number(file, "average", load->average, ", ");
	fprintf(file, "\"runnable\": %u},\n", load->runnable);
}

static void write_record(const struct job *job, const struct record *record, const char *path)
{
	char test[32], command[320];
	FILE *file = fopen(path, "we");

	if (!file)
		fail("cannot write %s: %s", path, strerror(errno));
	plan_test(job->planned, test, sizeof(test));
	snprintf(command, sizeof(command), "ptlbench %s", job->command);
	fprintf(file, "{\n");
	write_text(file, "ptlbench", PTLBENCH_VERSION);
	write_text(file, "name", job->planned->name);
	write_text(file, "test", test);
	write_text(file, "transport", job->transport);
	write_text(file, "command", command);
	write_text(file, "began", record->began);
	fprintf(file, "  ");
	write_number(file, "seconds", record->end.clock_s - record->begin.clock_s, ",\n  \"load\": {\n");
	write_load(file, "begin", &record->begin);
	write_load(file, "end", &record->end);
	write_number(file, "others_cpu_percent", others_percent(record), ", ");
	write_number(file, "stolen_percent", stolen_percent(record), "\n  },\n");
	fprintf(file, "  \"status\": %d,\n", record->child.status);
	write_text(file, "reason", record->reason);
	write_text(file, "emulated", record->emulated);
	fprintf(file, "  \"result\": %s\n}\n", record->whole ? record->child.out : "null");
	if (fclose(file))
		fail("cannot write %s: %s", path, strerror(errno));
}

static void show_progress(size_t done, size_t count, const struct job *job, double left_s)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K");
	if (job && done)
		fprintf(stderr, "%zu of %zu, about %.0f s left: %s\r", done + 1, count, left_s, job->command);
	else if (job)
		fprintf(stderr, "1 of %zu: %s\r", count, job->command);
}

static void print_record(const struct job *job, const struct record *record, double left_s)
{
	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_NAME] = {.text = job->planned->name},
		[COLUMN_TRANSPORT] = {.text = job->transport},
		[COLUMN_SECONDS] = {record->end.clock_s - record->begin.clock_s},
		[COLUMN_AVERAGE] = {record->begin.average},
		[COLUMN_OTHERS] = {others_percent(record)},
		[COLUMN_STOLEN] = {stolen_percent(record)},
		[COLUMN_LEFT] = {left_s},
		[COLUMN_RESULT] = {.text = *record->reason ? record->reason : "ok"},
	});
}

/* Returns how many have failed.  What is left is taken to go on as it has gone so far. */
static size_t run_jobs(const struct job *jobs, size_t count, const char *directory)
{
	size_t failed = 0;
	double taken_s = 0, left_s = 0;
	char path[4096];

	for (size_t i = 0; i < count; i++) {
		struct record record;
		show_progress(i, count, &jobs[i], left_s);
		run(&jobs[i], &record);
		job_path(&jobs[i], directory, path, sizeof(path));
		write_record(&jobs[i], &record, path);
		taken_s += record.end.clock_s - record.begin.clock_s;
		left_s = taken_s / (double)(i + 1) * (double)(count - i - 1);
		show_progress(i, count, NULL, 0);
		print_record(&jobs[i], &record, left_s);
		failed += *record.reason != '\0';
		child_end_free(&record.child);
	}
	return failed;
}

/* Results of an earlier run are not to be taken for those of this one. */
static void prepare_folder(const char *directory)
{
	char path[4096];

	if (mkdir(directory, 0777) && errno != EEXIST)
		fail("--out %s: %s", directory, strerror(errno));
	for (const struct planned *planned = plan; planned < plan + plan_count; planned++) {
		struct job job = {.planned = planned};
		const char *transports = planned->transports;
		do {
			size_t length = strcspn(transports, " ");
			snprintf(job.transport, sizeof(job.transport), "%.*s", (int)length, transports);
			job_path(&job, directory, path, sizeof(path));
			unlink(path);
			transports += length + strspn(transports + length, " ");
		} while (*transports);
	}
}

int all(const struct options *options)
{
	struct job *jobs = calloc(plan_count * 4, sizeof(*jobs));

	if (!jobs)
		fail("no memory for the plan");
	size_t count = make_jobs(options, jobs);
	if (!count)
		fail_usage("no test of the plan runs over %s", options->transport);
	prepare_folder(options->out);
	machine_facts();
	machine_warn_if_busy();
	output_fact("load",
		    "average when the test began; others %%, stolen %%: CPU time, of one processor, that others "
		    "spent and that a hypervisor gave away meanwhile");
	output_table(columns, COLUMN_COUNT);
	size_t failed = run_jobs(jobs, count, options->out);
	output_note("results", "%s: %zu tests, %zu of them failed; ptlbench report %s makes a page of them",
		    options->out, count, failed, options->out);
	free(jobs);
	return failed > 0;
}
