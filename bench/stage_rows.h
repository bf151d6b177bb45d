/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table whose rows have, with --nic-timing, the stages of both sides: a run of its own for each row, after what is measured with the
 * clocks off.  Without --nic-timing the table is as it is.
 */
#ifndef PTLBENCH_STAGE_ROWS_H
#define PTLBENCH_STAGE_ROWS_H

#include "measure.h"
#include "output.h"

void stage_rows_open(const struct session *session, const struct column *columns, size_t count);

/* `run` is what the row was measured by; its iterations are chosen here unless `batches` says how many.  NULL: a row without stages. */
void stage_row(struct session *session, const union cell *cells, const struct run *run);

/* The same with stages of `run` that have been measured elsewhere; of the session only load and options are used. */
void stage_row_with(const struct session *session, const union cell *cells, const struct run *run,
		    const struct stage_times times[2]);

/* For people the stages are tables behind the rows; programs have the columns. */
void stage_rows_close(const struct session *session);

#endif
