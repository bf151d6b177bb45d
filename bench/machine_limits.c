/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine can do at best between two cores of one node: a cache line, a message queue, memory copies, another
 * process's memory, a sleeper woken.  Nothing here uses Portals; everything is measured.
 */
#include "machine_limits.h"

#include "machine.h"
#include "options.h"
#include "output.h"
#include "tests.h"

enum { COLUMN_WHAT, COLUMN_MEDIAN, COLUMN_P10, COLUMN_P90, COLUMN_UNIT, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_WHAT] = {"What", "what", -42}, [COLUMN_MEDIAN] = {"median", "median", 2},
	[COLUMN_P10] = {"p10", "p10", 2},      [COLUMN_P90] = {"p90", "p90", 2},
	[COLUMN_UNIT] = {"unit", "unit", -5},
};

void limits_row(const char *what, struct samples *samples, double unit, const char *unit_name)
{
	struct summary summary = samples_summary(samples);

	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_WHAT] = {.text = what},
		[COLUMN_MEDIAN] = {summary.median / unit},
		[COLUMN_P10] = {summary.p10 / unit},
		[COLUMN_P90] = {summary.p90 / unit},
		[COLUMN_UNIT] = {.text = unit_name},
	});
	samples_free(samples);
}

int machine_limits(const struct options *options)
{
	struct peers place;

	(void)options;
	peers_prepare(&place);
	peers_pin(&place);
	machine_facts();
	output_fact("pinning", "threads on CPU %d and CPU %d", place.cpu[INITIATOR], place.cpu[TARGET]);
	output_table(columns, COLUMN_COUNT);
	limits_ping_pongs(&place);
	limits_copies(&place);
	return 0;
}
