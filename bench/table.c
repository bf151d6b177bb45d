/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define KEY_MAX 96 /* of the names of objects within each other */

void table_add_column(struct table *table, const char *key)
{
	table->keys = realloc(table->keys, (table->column_count + 1) * sizeof(*table->keys));
	char *copy = strdup(key);

	if (!table->keys || !copy)
		fail("no memory for a column");
	table->keys[table->column_count++] = copy;
}

struct table_cell *table_add_row(struct table *table)
{
	if (table->row_count == table->rows_room) {
		table->rows_room = table->rows_room ? 2 * table->rows_room : 16;
		table->cells =
			realloc(table->cells, table->rows_room * (table->column_count + 1) * sizeof(*table->cells));
		if (!table->cells)
			fail("no memory for %zu rows", table->rows_room);
	}
	struct table_cell *cells = &table->cells[table->row_count++ * table->column_count];
	for (size_t column = 0; column < table->column_count; column++)
		cells[column] = (struct table_cell){.number = NAN};
	return cells;
}

void table_set_text(struct table_cell *cell, const char *text)
{
	cell->text = strdup(text);
	if (!cell->text)
		fail("no memory for a cell");
}

/* The name of a value within objects; cut where there is no room, which the tests' names do not need. */
static void nested_key(char key[KEY_MAX], const char *outer, const char *name)
{
	snprintf(key, KEY_MAX, "%s%s%s", outer, *outer ? "." : "", name);
}

static void read_columns(struct table *table, const struct json *object, const char *outer)
{
	char key[KEY_MAX];

	for (const struct json *member = object->first; member; member = member->next) {
		nested_key(key, outer, member->name);
		if (member->kind == JSON_OBJECT)
			read_columns(table, member, key);
		else
			table_add_column(table, key);
	}
}

static void read_row(const struct table *table, struct table_cell *cells, const struct json *object, const char *outer)
{
	char key[KEY_MAX];

	for (const struct json *member = object->first; member; member = member->next) {
		nested_key(key, outer, member->name);
		if (member->kind == JSON_OBJECT) {
			read_row(table, cells, member, key);
			continue;
		}
		int column = table_column(table, key);
		if (column >= 0 && member->kind == JSON_STRING)
			table_set_text(&cells[column], member->text);
		else if (column >= 0 && member->kind == JSON_NUMBER)
			cells[column].number = member->number;
	}
}

void table_read(struct table *table, const struct json *rows)
{
	if (!rows || rows->kind != JSON_ARRAY || !rows->first || rows->first->kind != JSON_OBJECT)
		return;
	read_columns(table, rows->first, "");
	for (const struct json *row = rows->first; row; row = row->next)
		if (row->kind == JSON_OBJECT)
			read_row(table, table_add_row(table), row, "");
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->row_count * table->column_count; i++)
		free(table->cells[i].text);
	for (size_t i = 0; i < table->column_count; i++)
		free(table->keys[i]);
	free(table->cells);
	free(table->keys);
	*table = (struct table){0};
}

int table_column(const struct table *table, const char *key)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (!strcmp(table->keys[i], key))
			return (int)i;
	return -1;
}

const struct table_cell *table_cell(const struct table *table, size_t row, int column)
{
	return &table->cells[row * table->column_count + (size_t)column];
}

const char *table_cell_text(const struct table_cell *cell, char *room, size_t size)
{
	if (cell->text)
		return cell->text;
	if (isnan(cell->number))
		return "";
	double whole = fabs(cell->number);
	snprintf(room, size, whole >= 1000 || cell->number == round(cell->number) ? "%.0f" : "%.4g", cell->number);
	return room;
}

static double greatest(const struct table *table, int column)
{
	double most = NAN;

	for (size_t row = 0; row < table->row_count; row++)
		most = fmax(most, table_cell(table, row, column)->number);
	return most;
}

static bool is_same_text(const char *text, const char *wanted, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] != wanted[i] && !(text[i] == ' ' && wanted[i] == '_'))
			return false;
	return !text[length];
}

/* One condition, of `length` characters. */
static bool meets(const struct table *table, size_t row, const char *condition, size_t length)
{
	char key[KEY_MAX];
	size_t name = strcspn(condition, "=");

	if (name >= length || name >= sizeof(key))
		return false;
	memcpy(key, condition, name);
	key[name] = '\0';
	int column = table_column(table, key);
	if (column < 0)
		return false;
	const struct table_cell *cell = table_cell(table, row, column);
	const char *value = condition + name + 1;
	if (cell->text)
		return is_same_text(cell->text, value, length - name - 1);
	return cell->number == (strncmp(value, "max", 3) ? strtod(value, NULL) : greatest(table, column));
}

bool table_row_meets(const struct table *table, size_t row, const char *where)
{
	for (where += strspn(where, " "); *where; where += strspn(where, " ")) {
		size_t length = strcspn(where, " ");
		if (!meets(table, row, where, length))
			return false;
		where += length;
	}
	return true;
}
