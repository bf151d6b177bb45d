/* SPDX-License-Identifier: BSD-3-Clause */
#include "results.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "plan.h"

#define TRANSPORTS_FIRST "self", "node", "ofi:tcp", "ofi:net"

static char *read_file(const char *path)
{
	char *text = NULL, part[4096];
	size_t length, got;
	FILE *file = fopen(path, "re"), *memory = open_memstream(&text, &length);

	if (!memory)
		fail("no memory for %s", path);
	while (file && (got = fread(part, 1, sizeof(part), file)) > 0)
		fwrite(part, 1, got, memory);
	if (file)
		fclose(file);
	if (fclose(memory))
		fail("no memory for %s", path);
	return text;
}

static void add_result(struct results *results, struct json *json)
{
	results->result = realloc(results->result, (results->count + 1) * sizeof(*results->result));
	if (!results->result)
		fail("no memory for results");
	struct result *result = &results->result[results->count++];
	*result = (struct result){
		.json = json,
		.name = json_text(json, "name"),
		.transport = json_text(json, "transport"),
		.command = json_text(json, "command"),
		.reason = json_text(json, "reason"),
		.emulated = json_text(json, "emulated"),
	};
	table_read(&result->table, json_member(json_member(json, "result"), "rows"));
}

static size_t place_of_name(const char *name)
{
	size_t place = 0;

	while (place < plan_count && strcmp(plan[place].name, name) != 0)
		place++;
	return place;
}

static size_t place_of_transport(const char *transport)
{
	static const char *const first[] = {TRANSPORTS_FIRST};
	size_t place = 0;

	while (place < sizeof(first) / sizeof(first[0]) && strcmp(first[place], transport) != 0)
		place++;
	return place;
}

static int compare_results(const void *a, const void *b)
{
	const struct result *one = a, *other = b;
	size_t name = place_of_name(one->name), other_name = place_of_name(other->name);

	if (name != other_name)
		return name < other_name ? -1 : 1;
	size_t transport = place_of_transport(one->transport), other_transport = place_of_transport(other->transport);
	if (transport != other_transport)
		return transport < other_transport ? -1 : 1;
	int names = strcmp(one->name, other->name);
	return names ? names : strcmp(one->transport, other->transport);
}

static void read_result(struct results *results, const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	char *text = read_file(path);
	struct json *json = json_parse(text);
	free(text);
	if (*json_text(json, "name") && *json_text(json, "command")) {
		add_result(results, json);
		return;
	}
	fprintf(stderr, "ptlbench: %s holds no results of ptlbench all: left out\n", path);
	json_free(json);
}

void bench_results_read(struct results *results, const char *directory)
{
	DIR *folder = opendir(directory);
	const struct dirent *entry;

	if (!folder)
		fail("cannot read %s: %s", directory, strerror(errno));
	while ((entry = readdir(folder))) {
		const char *dot = strrchr(entry->d_name, '.');
		if (dot && !strcmp(dot, ".json"))
			read_result(results, directory, entry->d_name);
	}
	closedir(folder);
	if (results->count)
		qsort(results->result, results->count, sizeof(*results->result), compare_results);
}

void bench_results_free(struct results *results)
{
	for (size_t i = 0; i < results->count; i++) {
		table_free(&results->result[i].table);
		json_free(results->result[i].json);
	}
	free(results->result);
	*results = (struct results){0};
}

const struct result *bench_results_find(const struct results *results, const char *name, const char *transport)
{
	for (size_t i = 0; i < results->count; i++)
		if (!strcmp(results->result[i].name, name) && !strcmp(results->result[i].transport, transport))
			return &results->result[i];
	return NULL;
}

const struct json *result_section(const struct result *result, const char *section)
{
	return json_member(json_member(result->json, "result"), section);
}

double bench_results_figure(const struct results *results, const char *reference)
{
	char name[64], transport[64], where[128], key[96];

	if (sscanf(reference, "%63s %63s %127s %95s", name, transport, where, key) != 4)
		return NAN;
	for (char *at = where; *at; at++)
		if (*at == '&')
			*at = ' ';
	const struct result *result = bench_results_find(results, name, strcmp(transport, "-") ? transport : "");
	int column = result ? table_column(&result->table, key) : -1;
	for (size_t row = 0; column >= 0 && row < result->table.row_count; row++)
		if (!strcmp(where, "-") || table_row_meets(&result->table, row, where))
			return table_cell(&result->table, row, column)->number;
	return NAN;
}
