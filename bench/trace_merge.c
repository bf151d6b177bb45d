/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of the library have one event a line, so lines are copied.  Changed on the way: "pid", which becomes the number of the
 * file, because processes of different nodes may have the same; "ts", for nodes whose clocks began elsewhere; and arrows
 * whose other end is in none of the files, or was overwritten there, are left out.
 */
#include "trace_merge.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define HEADER "{\"otherData\":{\"portals3\":"
#define EVENT  "{\"ph\":\""

struct arrow_end {
	uint64_t id;
	bool starts;
};

struct merge {
	struct arrow_end *ends;
	size_t count, room;
	uint64_t written, paired, single, dropped;
	uint32_t first_nid;
	int64_t first_ahead;
};

struct timeline_file {
	const char *path;
	FILE *in;
	uint32_t nid;
	int64_t shift; /* ns, to the clock of the first file */
	char *line;
	size_t room;
};

/* The number behind the name, or 0. */
static long long number(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static bool next_line(struct timeline_file *file)
{
	return getline(&file->line, &file->room, file->in) > 0;
}

static void open_timeline(struct merge *merge, struct timeline_file *file, const char *path, bool first)
{
	*file = (struct timeline_file){.path = path, .in = fopen(path, "re")};
	if (!file->in)
		fail("%s cannot be opened", path);
	if (!next_line(file) || strncmp(file->line, HEADER, strlen(HEADER)) != 0)
		fail("%s was not written by PTL_TRACE", path);
	int64_t ahead = number(file->line, "\"day_ahead_ns\":");

	file->nid = (uint32_t)number(file->line, "\"nid\":");
	merge->dropped += (uint64_t)number(file->line, "\"dropped\":");
	if (first) {
		merge->first_nid = file->nid;
		merge->first_ahead = ahead;
	}
	/* Processes of one node share a clock, and the clock of the day may have been set between their ends. */
	file->shift = file->nid == merge->first_nid ? 0 : ahead - merge->first_ahead;
}

static void close_timeline(struct timeline_file *file)
{
	free(file->line);
	fclose(file->in);
}

static bool is_arrow(const char *line, struct arrow_end *end)
{
	const char *id = strstr(line, "\"id\":\"0x");

	if (strncmp(line, EVENT, strlen(EVENT)) != 0 || !id)
		return false;
	char phase = line[strlen(EVENT)];

	*end = (struct arrow_end){.id = strtoull(id + strlen("\"id\":\""), NULL, 16), .starts = phase == 's'};
	return phase == 's' || phase == 'f';
}

static void collect_arrows(struct merge *merge, struct timeline_file *file)
{
	struct arrow_end end;

	while (next_line(file)) {
		if (!is_arrow(file->line, &end))
			continue;
		if (merge->count == merge->room) {
			merge->room = merge->room ? 2 * merge->room : 4096;
			merge->ends = realloc(merge->ends, merge->room * sizeof(*merge->ends));
			if (!merge->ends)
				fail("no memory for %zu arrows", merge->room);
		}
		merge->ends[merge->count++] = end;
	}
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct arrow_end *)a)->id, y = ((const struct arrow_end *)b)->id;

	return x < y ? -1 : x > y;
}

/* One start and one end have that name. */
static bool is_paired(const struct merge *merge, uint64_t id)
{
	const struct arrow_end key = {.id = id};
	const struct arrow_end *found =
		merge->count ? bsearch(&key, merge->ends, merge->count, sizeof(*merge->ends), by_id) : NULL;
	size_t at = found ? (size_t)(found - merge->ends) : 0, last = at;
	unsigned starts = 0;

	if (!found)
		return false;
	while (at > 0 && merge->ends[at - 1].id == id)
		at--;
	while (last + 1 < merge->count && merge->ends[last + 1].id == id)
		last++;
	for (size_t i = at; i <= last; i++)
		starts += merge->ends[i].starts;
	return last - at == 1 && starts == 1;
}

/* Copies up to behind `name`, and skips the number there.  Returns where the line goes on. */
static const char *copy_to(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	if (!at)
		return NULL;
	at += strlen(name);
	fwrite(line, 1, (size_t)(at - line), stdout);
	return at + strspn(at, "0123456789.");
}

static void write_event(const struct timeline_file *file, unsigned index, char *line)
{
	const char *stamp = strstr(line, "\"ts\":"), *rest = copy_to(line, "\"pid\":");

	if (!rest)
		fail("%s: a line is not as PTL_TRACE writes it: %s", file->path, line);
	printf("%u", index);
	if (stamp) {
		char *fraction;
		int64_t us = strtoll(stamp + strlen("\"ts\":"), &fraction, 10);
		int64_t at = us * 1000 + (*fraction == '.' ? strtoll(fraction + 1, NULL, 10) : 0) + file->shift;

		rest = copy_to(rest, "\"ts\":");
		printf("%" PRId64 ".%03d", at / 1000, (int)(at % 1000));
	}
	fputs(rest, stdout);
}

static void write_file(struct merge *merge, struct timeline_file *file, unsigned index)
{
	struct arrow_end end;

	while (next_line(file)) {
		size_t length = strlen(file->line);

		if (strncmp(file->line, EVENT, strlen(EVENT)) != 0)
			continue;
		while (length > 0 && strchr(",\n", file->line[length - 1]))
			file->line[--length] = '\0';
		if (is_arrow(file->line, &end)) {
			bool paired = is_paired(merge, end.id);

			*(paired ? &merge->paired : &merge->single) += 1;
			if (!paired)
				continue;
		}
		fputs(merge->written++ ? ",\n" : "", stdout);
		write_event(file, index, file->line);
	}
}

static int usage(FILE *out)
{
	fputs("usage: ptlbench trace-merge FILE...\n\n"
	      "Writes the timelines that PTL_TRACE had several processes write as one, to stdout, for ui.perfetto.dev "
	      "or\n"
	      "chrome://tracing: a process each, an arrow from where a message was sent to where it was handled (a "
	      "put: to its\n"
	      "PUT_END).  Arrows without their other end are left out and counted.  Clocks of different nodes are "
	      "taken to\n"
	      "agree about the time of the day.\n",
	      out);
	return out == stdout ? 0 : 2;
}

int trace_merge(int argc, char **argv)
{
	struct merge merge = {0};
	struct timeline_file file;

	if (argc < 1)
		return usage(stderr);
	if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		return usage(stdout);
	for (int i = 0; i < argc; i++) {
		open_timeline(&merge, &file, argv[i], i == 0);
		collect_arrows(&merge, &file);
		close_timeline(&file);
	}
	if (merge.count)
		qsort(merge.ends, merge.count, sizeof(*merge.ends), by_id);
	puts("{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
	merge.dropped = 0;
	for (int i = 0; i < argc; i++) {
		open_timeline(&merge, &file, argv[i], i == 0);
		write_file(&merge, &file, (unsigned)i + 1);
		close_timeline(&file);
	}
	puts("\n]}");
	fprintf(stderr,
		"%d timelines, %" PRIu64 " arrows; %" PRIu64 " ends without the other; %" PRIu64
		" entries dropped before\n",
		argc, merge.paired / 2, merge.single, merge.dropped);
	free(merge.ends);
	return fflush(stdout) ? 1 : 0;
}
