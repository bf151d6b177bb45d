/* SPDX-License-Identifier: BSD-3-Clause */
#include "goals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"

char *goals_run(const char *command)
{
	char whole[512];
	struct child_end end;

	/* One that hangs must not use up the time of all. */
	snprintf(whole, sizeof(whole), "%s --format csv --timeout 290", command);
	child_run(whole, false, &end);
	free(end.err);
	return end.out;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* Which column is called so, or -1. */
static int column_index(const char *titles, const char *key)
{
	size_t length = strlen(key);

	for (int index = 0;; index++) {
		size_t title = strcspn(titles, ",\n");
		if (title == length && !memcmp(titles, key, length))
			return index;
		if (titles[title] != ',')
			return -1;
		titles += title + 1;
	}
}

static double cell(const char *line, int index)
{
	while (index--) {
		line += strcspn(line, ",\n");
		if (*line++ != ',')
			return NAN;
	}
	char *end;
	double number = strtod(line, &end);
	return end == line ? NAN : number;
}

double goals_figure(const char *csv, const char *row, const char *key)
{
	while (*csv == '#')
		csv = next_line(csv);
	int index = column_index(csv, key);
	for (const char *line = next_line(csv); index >= 0 && *line; line = next_line(line))
		if (*line != '#' && !strncmp(line, row, strlen(row)))
			return cell(line, index);
	return NAN;
}
