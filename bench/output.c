/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

/* Sections of the document, in their order; JSON needs to know where it is to place brackets and commas. */
enum section { SECTION_FACTS, SECTION_ROWS, SECTION_NOTES };

static struct {
	enum output_format format;
	enum section section;
	bool separate; /* the next JSON element follows another one */
	const struct column *columns;
	size_t count;
	struct table *kept;
	char emulated[64];     /* parts, for rows; "": none */
	char emulated_as[256]; /* with their names, for the note */
} out;

/* Starts the next element of the current JSON object or array. */
static void json_next(void)
{
	printf(out.separate ? ",\n    " : "\n    ");
	out.separate = true;
}

static void go_to(enum section section)
{
	static const char *const opening[] = {
		[SECTION_ROWS] = "\n  },\n  \"rows\": [",
		[SECTION_NOTES] = "\n  ],\n  \"notes\": {",
	};

	while (out.section < section) {
		out.section++;
		out.separate = false;
		if (out.format == FORMAT_JSON)
			printf("%s", opening[out.section]);
		else if (out.format == FORMAT_MARKDOWN)
			putchar('\n'); /* what begins without one goes on with what is before */
	}
}

void output_open(enum output_format format, const char *test)
{
	out.format = format;
	if (format == FORMAT_JSON)
		printf("{\n  \"test\": \"%s\",\n  \"environment\": {", test);
	else
		printf(format == FORMAT_MARKDOWN ? "## ptlbench %s\n\n" : "# ptlbench %s\n", test);
}

static void print_pair(const char *name, const char *format, va_list arguments)
{
	char value[512];

	vsnprintf(value, sizeof(value), format, arguments);
	if (out.format != FORMAT_JSON) {
		printf(out.format == FORMAT_MARKDOWN ? "- %s: %s\n" : "# %s: %s\n", name, value);
		return;
	}
	json_next();
	json_write_text(stdout, name);
	printf(": ");
	json_write_text(stdout, value);
}

void output_fact(const char *name, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_pair(name, format, arguments);
	va_end(arguments);
}

void output_note(const char *name, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	go_to(SECTION_NOTES);
	print_pair(name, format, arguments);
	va_end(arguments);
}

void output_emulated(const char *part, const char *name)
{
	char fact[64];

	snprintf(fact, sizeof(fact), "emulated %s", part);
	output_fact(fact, "%s", name);
	size_t used = strlen(out.emulated), used_as = strlen(out.emulated_as);

	snprintf(out.emulated + used, sizeof(out.emulated) - used, "%s%s", used ? ", " : "", part);
	snprintf(out.emulated_as + used_as, sizeof(out.emulated_as) - used_as, "%s%s (%s)", used ? ", " : "", part,
		 name);
}

static void print_line(const char *line, bool first)
{
	if (out.format == FORMAT_JSON) {
		printf(first ? "\n      " : ",\n      ");
		json_write_text(stdout, line);
	} else {
		printf(out.format == FORMAT_MARKDOWN ? "%s\n" : "# %s\n", line);
	}
}

void output_block(const char *name, const char *lines)
{
	go_to(SECTION_NOTES);
	if (out.format == FORMAT_JSON) {
		json_next();
		json_write_text(stdout, name);
		printf(": [");
	} else {
		printf(out.format == FORMAT_MARKDOWN ? "\n%s:\n```\n" : "#\n# %s\n", name);
	}
	for (bool first = true; *lines; first = false) {
		char line[512];
		size_t length = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, lines);
		print_line(line, first);
		lines += length + (lines[length] != '\0');
	}
	if (out.format == FORMAT_JSON)
		printf("]");
	else if (out.format == FORMAT_MARKDOWN)
		printf("```\n");
}

static int column_width(const struct column *column)
{
	int least = column->decimals < 0 ? -column->decimals : 9;
	int title = (int)strlen(column->title);

	return title > least ? title : least;
}

/* Text to the left, numbers to the right; in a line of titles the first gives a place to '#'. */
static void print_field(size_t index, const char *text, bool title)
{
	const struct column *column = &out.columns[index];
	int width = column_width(column);

	if (index)
		printf("  ");
	else if (title)
		putchar('#'), width--;
	if (column->decimals >= 0)
		printf("%*s", width, text);
	else
		printf("%-*s", index + 1 < out.count ? width : 0, text);
}

/* The line below a table's titles: text to the left, numbers to the right. */
static void print_rule(void)
{
	printf("|\n");
	for (size_t i = 0; i < out.count; i++)
		if (out.columns[i].title)
			printf(out.columns[i].decimals < 0 ? "|---" : "|---:");
	putchar('|');
}

static void print_titles(void)
{
	for (size_t i = 0; i < out.count; i++)
		if (out.format == FORMAT_CSV)
			printf("%s%s", i ? "," : "", out.columns[i].key);
		else if (out.columns[i].title && out.format == FORMAT_MARKDOWN)
			printf("| %s ", out.columns[i].title);
		else if (out.columns[i].title)
			print_field(i, out.columns[i].title, true);
	if (out.format == FORMAT_CSV)
		printf(",emulated"); /* everywhere: columns are the same on all machines */
	if (out.format == FORMAT_MARKDOWN)
		print_rule();
	putchar('\n');
}

void output_keep(struct table *table)
{
	out.kept = table;
}

void output_table(const struct column *columns, size_t count)
{
	out.columns = columns;
	out.count = count;
	for (size_t i = 0; out.kept && i < count; i++)
		table_add_column(out.kept, columns[i].key);
	go_to(SECTION_ROWS);
	if (out.format != FORMAT_JSON)
		print_titles();
}

static void text_cell(size_t index, union cell cell)
{
	const struct column *column = &out.columns[index];
	char text[32];

	if (!column->title)
		return;
	if (column->decimals < 0)
		print_field(index, cell.text, false);
	else if (isnan(cell.number))
		print_field(index, "-", false);
	else if (snprintf(text, sizeof(text), "%.*f", column->decimals, cell.number))
		print_field(index, text, false);
}

static void markdown_cell(size_t index, union cell cell)
{
	const struct column *column = &out.columns[index];

	if (!column->title)
		return;
	if (column->decimals < 0)
		printf("| %s ", cell.text);
	else if (isnan(cell.number))
		printf("| ");
	else
		printf("| %.*f ", column->decimals, cell.number);
}

static void csv_cell(size_t index, union cell cell)
{
	const struct column *column = &out.columns[index];

	printf(index ? "," : "");
	if (column->decimals < 0)
		printf("\"%s\"", cell.text);
	else if (!isnan(cell.number))
		printf("%.*f", column->decimals, cell.number);
}

/* Length of what the keys of neighbours name both, up to and with the last dot. */
static size_t shared_objects(const char *key, const char *other)
{
	size_t shared = 0;

	for (size_t i = 0; key[i] && key[i] == other[i]; i++)
		if (key[i] == '.')
			shared = i + 1;
	return shared;
}

static void close_objects(const char *key)
{
	while ((key = strchr(key, '.'))) {
		putchar('}');
		key++;
	}
}

/* Opens what the key names, and leaves its last part. */
static const char *open_objects(const char *key)
{
	for (const char *dot; (dot = strchr(key, '.')); key = dot + 1)
		printf("\"%.*s\": {", (int)(dot - key), key);
	return key;
}

static void json_cell(size_t index, union cell cell)
{
	const struct column *column = &out.columns[index];
	const char *before = index ? out.columns[index - 1].key : "";
	size_t shared = shared_objects(column->key, before);

	close_objects(before + shared);
	printf("%s", index ? ", " : "");
	printf("\"%s\": ", open_objects(column->key + shared));
	if (column->decimals < 0)
		json_write_text(stdout, cell.text);
	else if (isnan(cell.number))
		printf("null");
	else
		printf("%.*f", column->decimals, cell.number);
}

static void keep_row(const union cell *cells)
{
	struct table_cell *row = table_add_row(out.kept);

	for (size_t i = 0; i < out.count; i++)
		if (out.columns[i].decimals < 0)
			table_set_text(&row[i], cells[i].text);
		else
			row[i].number = cells[i].number;
}

void output_row(const union cell *cells)
{
	static void (*const print_cell[])(size_t, union cell) = {[FORMAT_TEXT] = text_cell,
								 [FORMAT_CSV] = csv_cell,
								 [FORMAT_JSON] = json_cell,
								 [FORMAT_MARKDOWN] = markdown_cell};
	if (out.kept)
		keep_row(cells);
	if (out.format == FORMAT_JSON) {
		json_next();
		putchar('{');
	}
	for (size_t i = 0; i < out.count; i++)
		print_cell[out.format](i, cells[i]);
	if (out.format == FORMAT_JSON)
		close_objects(out.columns[out.count - 1].key);
	if (*out.emulated && out.format == FORMAT_JSON)
		printf(", \"emulated\": \"%s\"", out.emulated);
	if (out.format == FORMAT_CSV)
		printf(",\"%s\"", out.emulated);
	printf("%s", out.format == FORMAT_JSON ? "}" : out.format == FORMAT_MARKDOWN ? "|\n" : "\n");
	fflush(stdout);
}

void output_close(void)
{
	go_to(SECTION_NOTES);
	if (*out.emulated)
		output_note("emulated", "%s: these are not figures of hardware", out.emulated_as);
	if (out.format == FORMAT_JSON)
		printf("\n  }\n}\n");
	fflush(stdout);
}
