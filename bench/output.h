/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ptlbench prints: facts about the environment, one table whose rows appear as they are measured, notes.  Text for
 * people ('#' in front of all but the rows), CSV with the facts as comments, one JSON object, or a section in Markdown.
 */
#ifndef PTLBENCH_OUTPUT_H
#define PTLBENCH_OUTPUT_H

#include <stddef.h>

#include "options.h"
#include "table.h"

struct column {
	const char *title; /* in text; NULL: not shown there */
	const char *key;   /* in CSV and JSON; there "a.b" is b of the object a, which such columns in a row share */
	int decimals;      /* negative: cells are text, about so wide */
};

union cell {
	double number; /* NaN: no value */
	const char *text;
};

void output_open(enum output_format format, const char *test);

/* Facts come before the table, notes after it; each is a name and a value. */
void output_fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_note(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What is printed is that of an emulated `part` ("network"), which is `name`: a fact, "emulated" in each row of CSV and JSON, and a
 * note.  Before output_table().
 */
void output_emulated(const char *part, const char *name);

/* Lines of text that belong together, after the table; in JSON an array of strings. */
void output_block(const char *name, const char *lines);

/* The table is put into `table`, too; before output_table(). */
void output_keep(struct table *table);

/* The columns must live until output_close(). */
void output_table(const struct column *columns, size_t count);
void output_row(const union cell *cells);

void output_close(void);

#endif
