/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "html.h"
#include "report_template.h"
#include "results.h"

static int usage(FILE *out)
{
	fputs("usage: ptlbench report DIR\n\n"
	      "Makes DIR/index.html, a page that needs no other file, of what ptlbench all --out DIR has left: the\n"
	      "machine and how busy it was, and each table and figure of the documents that this library follows, "
	      "with\n"
	      "the figures they print beside those measured here.\n",
	      out);
	return out == stdout ? 0 : 2;
}

static void write_pair(FILE *out, const char *name, const char *value)
{
	fprintf(out, "<dt>");
	html_text(out, name);
	fprintf(out, "</dt><dd>");
	html_text(out, value);
	fprintf(out, "</dd>\n");
}

/* The same for all tests: from the first one that says it. */
static void write_machine(FILE *out, const struct results *results)
{
	static const char *const facts[] = {"version", "cpu", "kernel", "libfabric", "congestion_control"};

	fprintf(out, "<dl>\n");
	write_pair(out, "measured", json_text(results->result[0].json, "began"));
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		for (size_t at = 0; at < results->count; at++) {
			const char *value = json_text(result_section(&results->result[at], "environment"), facts[i]);
			if (!*value)
				continue;
			write_pair(out, facts[i], value);
			break;
		}
	fprintf(out, "</dl>\n");
}

/* Lines that a test has printed together, such as the settings that info lists. */
static void write_block(FILE *out, const struct results *results, const char *test, const char *block)
{
	const struct result *result = bench_results_find(results, test, "");
	const struct json *lines = result ? json_member(result_section(result, "notes"), block) : NULL;

	if (!lines)
		return;
	fprintf(out, "<details><summary>");
	html_text(out, block);
	fprintf(out, "</summary><pre>");
	for (const struct json *line = lines->first; line; line = line->next) {
		html_text(out, line->kind == JSON_STRING ? line->text : "");
		fputc('\n', out);
	}
	fprintf(out, "</pre></details>\n");
}

static void load_row(struct table *table, const struct result *result)
{
	const struct json *load = json_member(result->json, "load");
	struct table_cell *cells = table_add_row(table);

	table_set_text(&cells[0], result->name);
	table_set_text(&cells[1], result->transport);
	cells[2].number = json_number(result->json, "seconds");
	cells[3].number = json_number(json_member(load, "begin"), "average");
	cells[4].number = json_number(json_member(load, "end"), "average");
	cells[5].number = json_number(load, "others_cpu_percent");
	cells[6].number = json_number(load, "stolen_percent");
	table_set_text(&cells[7], *result->reason ? result->reason : "ok");
	table_set_text(&cells[8], result->emulated);
}

static void write_load(FILE *out, const struct results *results)
{
	static const char *const titles[] = {
		"test",   "transport", "seconds", "load average, begin", "end", "others, % CPU", "taken by the host, %",
		"result", "emulated"};
	struct table table = {0};
	size_t failed = 0;

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		table_add_column(&table, titles[i]);
	for (size_t i = 0; i < results->count; i++) {
		load_row(&table, &results->result[i]);
		failed += *results->result[i].reason != '\0';
	}
	fprintf(out,
		"<p>%zu tests, %zu of them failed. What others computed meanwhile, and what a hypervisor took away, "
		"is in percent of one processor.</p>\n<details%s><summary>all tests and the load of the machine"
		"</summary>\n",
		results->count, failed, failed ? " open" : "");
	template_write_table(out, &table);
	fprintf(out, "</details>\n");
	table_free(&table);
}

static void write_page(FILE *out, const struct results *results)
{
	fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta name=\"color-scheme\" content=\"light dark\">\n"
		     "<title>Where the time goes: portals3 beside five documents</title>\n<style>\n");
	fputs(template_file("report.css"), out);
	fprintf(out,
		"</style></head>\n<body><header><h1>portals3 beside five documents</h1>\n"
		"<p>The tables and figures of five documents on network interfaces of their time, measured again on "
		"this machine with an emulated NIC. Their machines are twenty years older: what can be compared "
		"is the order of the figures within a table and the shape of a curve.</p>\n<nav>\n");
	template_write_links(out);
	fprintf(out, "</nav></header>\n<main><section><h2>This machine</h2>\n");
	write_machine(out, results);
	write_load(out, results);
	write_block(out, results, "info", "settings");
	write_block(out, results, "info", "interface");
	write_block(out, results, "info", "libfabric providers");
	fprintf(out, "</section>\n");
	template_write(out, results);
	fprintf(out, "</main></body></html>\n");
}

int report_page(int argc, char **argv)
{
	struct results results = {0};
	char path[4096];

	if (argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
		return usage(stdout);
	if (argc != 1 || argv[0][0] == '-')
		return usage(stderr);
	bench_results_read(&results, argv[0]);
	if (!results.count)
		fail("there are no results in %s: ptlbench all --out %s leaves them there", argv[0], argv[0]);
	if (snprintf(path, sizeof(path), "%s/index.html", argv[0]) >= (int)sizeof(path))
		fail("%s: the path is too long", argv[0]);
	FILE *file = fopen(path, "we");
	if (!file)
		fail("cannot write %s: %s", path, strerror(errno));
	write_page(file, &results);
	if (fclose(file))
		fail("cannot write %s: %s", path, strerror(errno));
	printf("%s\n", path);
	bench_results_free(&results);
	return 0;
}
