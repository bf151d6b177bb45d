/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The body of the report, from the templates in bench/report: a line each, a word that says what it is and its fields,
 * separated by bars.
 *
 *   document NAME | FULL NAME         begins a section
 *   setting TEXT                      the machines and the way of measuring of the document
 *   text TEXT                         a paragraph
 *   exhibit NUMBER | WHAT             begins a table or figure of the document
 *   source HEADING | ...              what the document prints: the headings of a table,
 *   row CELL | ...                    and its rows
 *   given                             it prints curves, and no numbers
 *   picture NAME | X | TITLE OF X | Y | UNIT | WHERE | BY     of all results of that name, as struct picture has it
 *   pictures ...                      the same, a picture for each transport
 *   listing NAME | LABELS | Y | WHERE     rows of results, named by the columns LABELS; Y as in a picture
 *   bars NAME | Y | UNIT | WHERE | BY     a picture of bars for each transport, as struct picture has them
 *   sequence NAME | PROTOCOL          what ptlbench sequence has drawn of it, for each transport
 *
 * A text may have "{NAME TRANSPORT WHERE KEY}", the figure that bench_results_figure() finds, and two of them, "{... / ...}": the
 * first divided by the second.
 */
#ifndef PTLBENCH_REPORT_TEMPLATE_H
#define PTLBENCH_REPORT_TEMPLATE_H

#include <stdio.h>

#include "results.h"

/* The text of a file that is part of the program, or NULL. */
const char *template_file(const char *name);

/* Writes what all templates say of the results, and what leads to each section, for the head of the page. */
void template_write(FILE *out, const struct results *results);
void template_write_links(FILE *out);

/* Lines of all templates, in their order. */
void template_each_line(void (*handle)(void *, const char *), void *with);

/* A table of HTML; "-" where there is no value. */
void template_write_table(FILE *out, const struct table *table);

#endif
