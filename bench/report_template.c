/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_template.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "html.h"
#include "picture.h"
#include "sequence_svg.h"

#define FIELDS_MAX 10
#define LINE_MAX_  2048

static const struct {
	const char *name, *text;
} files[] = {
#include "template.h"
};

#define FILES (sizeof(files) / sizeof(files[0]))

/* Where in an exhibit the page is. */
enum place { OUTSIDE, IN_HEAD, IN_SOURCE, IN_OURS };

struct page {
	FILE *out;
	const struct results *results;
	enum place place;
	struct table source; /* the table of the document that is being read */
};

struct fields {
	size_t count;
	const char *field[FIELDS_MAX]; /* those that are missing are "" */
	char line[LINE_MAX_];
};

const char *template_file(const char *name)
{
	for (size_t i = 0; i < FILES; i++)
		if (!strcmp(files[i].name, name))
			return files[i].text;
	return NULL;
}

/* Without the blanks around it. */
static char *trim(char *text)
{
	text += strspn(text, " ");
	for (size_t length = strlen(text); length && text[length - 1] == ' '; length--)
		text[length - 1] = '\0';
	return text;
}

static void split(const char *text, struct fields *fields)
{
	char *rest = fields->line;

	snprintf(fields->line, sizeof(fields->line), "%s", text);
	fields->count = 0;
	for (size_t i = 0; i < FIELDS_MAX; i++) {
		char *own = rest ? strsep(&rest, "|") : NULL;
		fields->field[i] = own ? trim(own) : "";
		fields->count += own != NULL;
	}
}

static void write_figure(FILE *out, double figure)
{
	if (isnan(figure))
		fprintf(out, "<em>(not measured)</em>");
	else
		fprintf(out, fabs(figure) >= 1000 ? "<b>%.0f</b>" : "<b>%.3g</b>", figure);
}

/* What braces enclose. */
static void write_reference(FILE *out, const struct results *results, char *reference)
{
	char *by = strstr(reference, " / ");

	if (by)
		*by = '\0';
	double figure = bench_results_figure(results, reference);
	write_figure(out, by ? figure / bench_results_figure(results, by + 3) : figure);
}

static void write_text(FILE *out, const struct results *results, const char *text)
{
	char part[LINE_MAX_];

	while (*text) {
		size_t plain = strcspn(text, "{"), reference = strcspn(text + plain, "}");
		snprintf(part, sizeof(part), "%.*s", (int)plain, text);
		html_text(out, part);
		text += plain;
		if (!*text)
			return;
		snprintf(part, sizeof(part), "%.*s", (int)reference - 1, text + 1);
		write_reference(out, results, part);
		text += reference + (text[reference] == '}');
	}
}

void template_write_table(FILE *out, const struct table *table)
{
	char room[32];

	fprintf(out, "<div class=\"scroll\"><table><thead><tr>");
	for (size_t column = 0; column < table->column_count; column++) {
		fprintf(out, "<th>");
		html_text(out, table->keys[column]);
		fprintf(out, "</th>");
	}
	fprintf(out, "</tr></thead><tbody>\n");
	for (size_t row = 0; row < table->row_count; row++) {
		fprintf(out, "<tr>");
		for (size_t column = 0; column < table->column_count; column++) {
			const struct table_cell *cell = table_cell(table, row, (int)column);
			const char *text = table_cell_text(cell, room, sizeof(room));
			bool figure = !cell->text || isdigit((unsigned char)*text);
			fprintf(out, figure ? "<td class=\"n\">" : "<td>");
			html_text(out, *text ? text : "-");
			fprintf(out, "</td>");
		}
		fprintf(out, "</tr>\n");
	}
	fprintf(out, "</tbody></table></div>\n");
}

/* The document's table is whole when something else follows. */
static void end_source(struct page *page)
{
	if (page->place != IN_SOURCE)
		return;
	template_write_table(page->out, &page->source);
	table_free(&page->source);
	fprintf(page->out, "</div>\n");
	page->place = IN_HEAD;
}

static void begin_ours(struct page *page)
{
	end_source(page);
	if (page->place != IN_HEAD)
		return;
	fprintf(page->out, "<div class=\"ours\"><h4>measured here</h4>\n");
	page->place = IN_OURS;
}

static void end_exhibit(struct page *page)
{
	end_source(page);
	if (page->place == IN_OURS)
		fprintf(page->out, "</div>\n");
	if (page->place != OUTSIDE)
		fprintf(page->out, "</div></article>\n");
	page->place = OUTSIDE;
}

static void begin_document(struct page *page, const struct fields *fields)
{
	end_exhibit(page);
	fprintf(page->out, "</section>\n<section id=\"");
	html_text(page->out, fields->field[0]);
	fprintf(page->out, "\"><h2>");
	html_text(page->out, fields->field[0]);
	fprintf(page->out, "</h2><p class=\"work\">");
	html_text(page->out, fields->field[1]);
	fprintf(page->out, "</p>\n");
}

static void write_setting(struct page *page, const struct fields *fields)
{
	fprintf(page->out, "<p class=\"work\">Measured there: ");
	html_text(page->out, fields->field[0]);
	fprintf(page->out, "</p>\n");
}

static void begin_exhibit(struct page *page, const struct fields *fields)
{
	end_exhibit(page);
	fprintf(page->out, "<article><h3>");
	html_text(page->out, fields->field[0]);
	fprintf(page->out, *fields->field[0] && *fields->field[1] ? ": " : "");
	html_text(page->out, fields->field[1]);
	fprintf(page->out, "</h3><div class=\"beside\">\n");
	page->place = IN_HEAD;
}

static void begin_source(struct page *page, const struct fields *fields)
{
	end_source(page);
	fprintf(page->out, "<div class=\"source\"><h4>printed there</h4>\n");
	page->place = IN_SOURCE;
	for (size_t i = 0; i < fields->count; i++)
		table_add_column(&page->source, fields->field[i]);
}

static void add_source_row(struct page *page, const struct fields *fields)
{
	struct table_cell *cells = table_add_row(&page->source);

	for (size_t i = 0; i < page->source.column_count && i < FIELDS_MAX; i++)
		table_set_text(&cells[i], fields->field[i]);
}

static void say_given(struct page *page, const struct fields *fields)
{
	(void)fields;
	end_source(page);
	fprintf(page->out,
		"<p class=\"given\">Printed there as curves: their numbers are not given in the text.</p>\n");
}

static void write_paragraph(struct page *page, const char *text)
{
	end_source(page);
	fprintf(page->out, page->place == IN_HEAD ? "<p class=\"given\">" : "<p>");
	write_text(page->out, page->results, text);
	fprintf(page->out, "</p>\n");
}

/* The command of a result, why there are no figures if there are none, and what they are of if it is no hardware. */
static void write_command(FILE *out, const struct result *result)
{
	fprintf(out, "<p class=\"command\"><code>");
	html_text(out, result->command);
	fprintf(out, "</code>");
	if (*result->reason) {
		fprintf(out, " <strong>failed: ");
		html_text(out, result->reason);
		fprintf(out, "</strong>");
	}
	if (*result->emulated) {
		fprintf(out, " <strong>emulated: ");
		html_text(out, result->emulated);
		fprintf(out, "</strong>");
	}
	fprintf(out, "</p>\n");
}

/* The commands of all results of a name, or that there are none. */
static void write_commands(struct page *page, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < page->results->count; i++)
		if (!strcmp(page->results->result[i].name, name)) {
			write_command(page->out, &page->results->result[i]);
			any = true;
		}
	if (!any)
		fprintf(page->out, "<p class=\"missing\">Not measured in this run.</p>\n");
}

/* The row of a table whose first cell is this number; a new one behind those that are less. */
static struct table_cell *row_of(struct table *table, double x)
{
	size_t row = 0;

	while (row < table->row_count && table_cell(table, row, 0)->number < x)
		row++;
	if (row < table->row_count && table_cell(table, row, 0)->number == x)
		return &table->cells[row * table->column_count];
	table_add_row(table);
	struct table_cell *cells = &table->cells[row * table->column_count];
	memmove(cells + table->column_count, cells,
		(table->row_count - 1 - row) * table->column_count * sizeof(*cells));
	for (size_t column = 0; column < table->column_count; column++)
		cells[column] = (struct table_cell){.number = column ? NAN : x};
	return cells;
}

/* The points of a chart: a row for each x, a column for each curve. */
static void write_points(FILE *out, const struct chart *chart)
{
	struct table table = {0};

	table_add_column(&table, chart->x_title);
	for (size_t i = 0; i < chart->count; i++)
		table_add_column(&table, chart->curves[i].name);
	for (size_t i = 0; i < chart->count; i++)
		for (size_t at = 0; at < chart->curves[i].count; at++)
			row_of(&table, chart->curves[i].points[at].x)[i + 1].number = chart->curves[i].points[at].y;
	template_write_table(out, &table);
	table_free(&table);
}

static void write_chart(struct page *page, struct chart *chart, const char *title)
{
	if (!chart->count)
		return;
	snprintf(chart->title, sizeof(chart->title), "%s, %s", title, chart->y_title);
	fprintf(page->out, "<figure><figcaption>");
	html_text(page->out, chart->title);
	fprintf(page->out, "</figcaption>\n");
	if (chart_shows(chart))
		chart_write_svg(chart, page->out, false);
	write_points(page->out, chart);
	fprintf(page->out, "</figure>\n");
	chart_free(chart);
}

static void write_picture(struct page *page, const struct fields *fields, bool each)
{
	const char *const *field = fields->field;
	const struct picture picture = {field[1], field[2], field[3], field[4], field[5], field[6]};
	struct chart chart = {0};
	char title[96];

	begin_ours(page);
	for (size_t i = 0; i < page->results->count; i++) {
		const struct result *result = &page->results->result[i];
		if (strcmp(result->name, field[0]) != 0)
			continue;
		picture_draw(&picture, &result->table, each ? "" : result->transport, &chart);
		snprintf(title, sizeof(title), "%s over %s", result->name, result->transport);
		if (each)
			write_chart(page, &chart, title);
	}
	write_chart(page, &chart, field[0]);
	write_commands(page, field[0]);
}

static void draw_all(struct page *page, const struct fields *fields)
{
	write_picture(page, fields, false);
}

static void draw_each(struct page *page, const struct fields *fields)
{
	write_picture(page, fields, true);
}

static void draw_bars(struct page *page, const struct fields *fields)
{
	const char *const *field = fields->field;
	const struct picture picture = {.y = field[1], .unit = field[2], .where = field[3], .by = field[4]};

	begin_ours(page);
	for (size_t i = 0; i < page->results->count; i++) {
		const struct result *result = &page->results->result[i];
		struct bars bars = {0};
		if (strcmp(result->name, field[0]) != 0)
			continue;
		picture_draw_bars(&picture, &result->table, &bars);
		if (!bars.count)
			continue;
		snprintf(bars.title, sizeof(bars.title), "%s over %s", result->name, result->transport);
		fprintf(page->out, "<figure>");
		bars_write_svg(&bars, page->out, false);
		fprintf(page->out, "</figure>\n");
		bars_free(&bars);
	}
	write_commands(page, field[0]);
}

static void draw_sequence(struct page *page, const struct fields *fields)
{
	begin_ours(page);
	for (size_t i = 0; i < page->results->count; i++) {
		const struct result *result = &page->results->result[i];
		if (strcmp(result->name, fields->field[0]) != 0 || !result->table.row_count)
			continue;
		fprintf(page->out, "<figure><figcaption>");
		html_text(page->out, fields->field[1]);
		fprintf(page->out, " over ");
		html_text(page->out, result->transport);
		fprintf(page->out, "</figcaption>\n");
		sequence_write_svg(&result->table, fields->field[1], page->out, false);
		fprintf(page->out, "</figure>\n");
	}
	write_commands(page, fields->field[0]);
}

/* Takes a word of a list, "key" or "key:title"; returns what follows, or NULL if there was none. */
static const char *take_key(const char *list, char *key, char *title, size_t size)
{
	list += strspn(list, " ");
	if (!*list)
		return NULL;
	size_t word = strcspn(list, " "), length = strcspn(list, " :");
	snprintf(key, size, "%.*s", (int)length, list);
	snprintf(title, size, "%.*s", (int)(length < word ? word - length - 1 : length),
		 length < word ? list + length + 1 : list);
	for (char *at = title; *at; at++)
		if (*at == '_')
			*at = ' ';
	return list + word;
}

/* The texts of a row that name it, as one. */
static void label_of(const struct table *table, size_t row, const char *labels, char *label, size_t size)
{
	char key[64], title[64], room[32];
	size_t length = 0;

	*label = '\0';
	while (length < size && (labels = take_key(labels, key, title, sizeof(key)))) {
		int column = table_column(table, key);
		const char *text =
			column < 0 ? "" : table_cell_text(table_cell(table, row, column), room, sizeof(room));
		if (*text)
			length += (size_t)snprintf(label + length, size - length, "%s%s", length ? ", " : "", text);
	}
}

/* "bytes initiator" as "bytes, initiator". */
static void label_of_columns(const char *labels, char *whole, size_t size)
{
	char key[64], title[64];
	size_t length = 0;

	*whole = '\0';
	while (length < size && (labels = take_key(labels, key, title, sizeof(key))))
		length += (size_t)snprintf(whole + length, size - length, "%s%s", length ? ", " : "", title);
}

static struct table_cell *row_called(struct table *table, const char *label)
{
	for (size_t row = 0; row < table->row_count; row++)
		if (!strcmp(table_cell(table, row, 0)->text, label))
			return &table->cells[row * table->column_count];
	struct table_cell *cells = table_add_row(table);
	table_set_text(cells, label);
	return cells;
}

/* Columns of one result, as "median, node"; those it has not are left out. */
static void add_columns(struct table *listing, const struct result *result, const char *keys)
{
	char key[64], title[64], whole[140];

	while ((keys = take_key(keys, key, title, sizeof(key))))
		if (table_column(&result->table, key) >= 0) {
			snprintf(whole, sizeof(whole), "%s%s%s", title, *result->transport ? ", " : "",
				 result->transport);
			table_add_column(listing, whole);
		}
}

/* Returns the place behind its last column. */
static size_t add_rows(struct table *listing, const struct result *result, const struct fields *fields, size_t first)
{
	char key[64], title[64], label[160], room[32];
	size_t place = first;

	for (size_t row = 0; row < result->table.row_count; row++) {
		const char *keys = fields->field[2];
		if (!table_row_meets(&result->table, row, fields->field[3]))
			continue;
		label_of(&result->table, row, fields->field[1], label, sizeof(label));
		struct table_cell *cells = row_called(listing, label);
		place = first;
		while ((keys = take_key(keys, key, title, sizeof(key)))) {
			int column = table_column(&result->table, key);
			if (column < 0)
				continue;
			const struct table_cell *from = table_cell(&result->table, row, column);
			if (from->text && !cells[place].text)
				table_set_text(&cells[place], table_cell_text(from, room, sizeof(room)));
			else
				cells[place].number = from->number;
			place++;
		}
	}
	return place;
}

static void list(struct page *page, const struct fields *fields)
{
	struct table listing = {0};
	char title[96];
	size_t place = 1;

	begin_ours(page);
	label_of_columns(fields->field[1], title, sizeof(title));
	table_add_column(&listing, title);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < page->results->count; i++) {
			const struct result *result = &page->results->result[i];
			if (strcmp(result->name, fields->field[0]) != 0 || !result->table.row_count)
				continue;
			if (pass)
				place = add_rows(&listing, result, fields, place);
			else
				add_columns(&listing, result, fields->field[2]);
		}
	if (listing.row_count)
		template_write_table(page->out, &listing);
	table_free(&listing);
	write_commands(page, fields->field[0]);
}

static const struct {
	const char *word;
	void (*write)(struct page *, const struct fields *);
} words[] = {
	{"document", begin_document}, {"setting", write_setting},  {"exhibit", begin_exhibit},
	{"source", begin_source},     {"row", add_source_row},     {"given", say_given},
	{"picture", draw_all},        {"pictures", draw_each},     {"listing", list},
	{"bars", draw_bars},          {"sequence", draw_sequence},
};

static void write_line(struct page *page, const char *line)
{
	size_t length = strcspn(line, " ");
	struct fields fields = {0};

	if (!*line || *line == '#')
		return;
	const char *rest = line[length] ? line + length + 1 : "";
	if (length == 4 && !memcmp(line, "text", 4)) {
		write_paragraph(page, rest);
		return;
	}
	split(rest, &fields);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == length && !memcmp(words[i].word, line, length)) {
			words[i].write(page, &fields);
			return;
		}
	fail("the template has a line that is none: %s", line);
}

void template_each_line(void (*handle)(void *, const char *), void *with)
{
	char line[LINE_MAX_];

	for (size_t i = 0; i < FILES; i++) {
		if (!strstr(files[i].name, ".txt"))
			continue;
		for (const char *at = files[i].text; *at; at += *at == '\n') {
			size_t length = strcspn(at, "\n");
			snprintf(line, sizeof(line), "%.*s", (int)length, at);
			handle(with, line);
			at += length;
		}
	}
}

static void handle_line(void *page, const char *line)
{
	write_line(page, line);
}

void template_write(FILE *out, const struct results *results)
{
	struct page page = {.out = out, .results = results};

	fprintf(out, "<section>\n");
	template_each_line(handle_line, &page);
	end_exhibit(&page);
	fprintf(out, "</section>\n");
}

static void link_line(void *out, const char *line)
{
	struct fields fields = {0};

	if (strncmp(line, "document ", 9) != 0)
		return;
	split(line + 9, &fields);
	fprintf(out, "<a href=\"#");
	html_text(out, fields.field[0]);
	fprintf(out, "\">");
	html_text(out, fields.field[0]);
	fprintf(out, "</a>\n");
}

void template_write_links(FILE *out)
{
	template_each_line(link_line, out);
}
