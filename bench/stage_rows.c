/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* The stages of a row, kept until the table is complete. */
struct timed_row {
	struct run run;
	struct stage_times times[2];
};

static struct {
	struct column *columns;
	union cell *cells;
	size_t own; /* columns of the table itself; those of both sides follow */
	struct timed_row *rows;
	size_t count;
} table;

static void *grow(void *memory, size_t size)
{
	memory = realloc(memory, size);
	if (!memory)
		fail("no memory for a table of stages");
	return memory;
}

void stage_rows_open(const struct session *session, const struct column *columns, size_t count)
{
	size_t stages = session->load.nic_timing ? 2 * STAGE_COLUMNS : 0;

	table.own = count;
	table.columns = grow(table.columns, (count + stages) * sizeof(*table.columns));
	table.cells = grow(table.cells, (count + stages) * sizeof(*table.cells));
	memcpy(table.columns, columns, count * sizeof(*columns));
	if (stages) {
		stage_columns("initiator", &table.columns[count]);
		stage_columns("target", &table.columns[count + STAGE_COLUMNS]);
	}
	output_table(table.columns, count + stages);
}

static struct timed_row *time_row(struct session *session, struct run run)
{
	static struct timed_row timed;

	run.lead = 0;
	if (!run.batches) {
		run.batch = run.window ? 1 : 10;
		run.batches = 100;
	}
	timed.run = run;
	measure_nic_timing(session, &run, timed.times);
	return &timed;
}

static void keep_row(const struct run *run, const struct stage_times times[2])
{
	table.rows = grow(table.rows, (table.count + 1) * sizeof(*table.rows));
	struct timed_row *row = &table.rows[table.count++];

	*row = (struct timed_row){.times = {times[INITIATOR], times[TARGET]}};
	if (run)
		row->run = *run;
}

void stage_row_with(const struct session *session, const union cell *cells, const struct run *run,
		    const struct stage_times times[2])
{
	memcpy(table.cells, cells, table.own * sizeof(*cells));
	if (session->load.nic_timing) {
		keep_row(run, times);
		stage_cells(&times[INITIATOR], &table.cells[table.own]);
		stage_cells(&times[TARGET], &table.cells[table.own + STAGE_COLUMNS]);
	}
	output_row(table.cells);
}

void stage_row(struct session *session, const union cell *cells, const struct run *run)
{
	static struct stage_times none[2];
	const struct stage_times *times = none;

	stage_times_none(&none[INITIATOR]);
	stage_times_none(&none[TARGET]);
	if (session->load.nic_timing && run) {
		const struct timed_row *timed = time_row(session, *run);

		run = &timed->run;
		times = timed->times;
	}
	stage_row_with(session, cells, run, times);
}

static void print_row(const struct timed_row *row, size_t number)
{
	static const char *const roles[] = {"initiator", "target"};
	char name[128];

	for (int role = INITIATOR; role <= TARGET; role++) {
		snprintf(name, sizeof(name), "NIC timing of the %s, row %zu: %u iterations of %llu bytes", roles[role],
			 number, run_iterations(&row->run), (unsigned long long)row->run.size);
		if (*row->times[role].text)
			output_block(name, row->times[role].text);
	}
}

void stage_rows_close(const struct session *session)
{
	for (size_t i = 0; session->options->format == FORMAT_TEXT && i < table.count; i++)
		print_row(&table.rows[i], i + 1);
	free(table.rows);
	table.rows = NULL;
	table.count = 0;
}
