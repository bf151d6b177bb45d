/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of results in memory: what a test has printed, or what was read from its JSON. */
#ifndef PTLBENCH_TABLE_H
#define PTLBENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

struct table_cell {
	double number; /* NaN: no value, or text */
	char *text;    /* NULL: a number */
};

struct table {
	size_t column_count, row_count, rows_room;
	char **keys; /* "a.b": the member b of the object a */
	struct table_cell *cells;
};

/* Keys are copied. */
void table_add_column(struct table *table, const char *key);

/* A row of cells without values, to be filled.  Columns are added before rows. */
struct table_cell *table_add_row(struct table *table);

void table_set_text(struct table_cell *cell, const char *text);

/* Of "rows" of what a test prints: the columns are those of the first row. */
void table_read(struct table *table, const struct json *rows);
void table_free(struct table *table);

/* Its place, or -1. */
int table_column(const struct table *table, const char *key);

const struct table_cell *table_cell(const struct table *table, size_t row, int column);

/* What a table of text shows: the text, or the number in its shortest form; "" without a value. */
const char *table_cell_text(const struct table_cell *cell, char *room, size_t size);

/*
 * Whether the row is one of those meant by `where`: conditions "key=value", separated by blanks, all of which hold.  A value
 * is a text, in which '_' stands for a blank, a number, or "max": the greatest in its column.
 */
bool table_row_meets(const struct table *table, size_t row, const char *where);

#endif
