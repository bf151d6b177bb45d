/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage_times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "session.h"

static const char *const figure_names[STAGE_FIGURES] = {
	[STAGE_COUNTED] = "count",    [STAGE_MEAN] = "mean_ns", [STAGE_TRIMMED_MEAN] = "trimmed_mean_ns",
	[STAGE_P50] = "p50_ns",       [STAGE_P99] = "p99_ns",   [STAGE_TOTAL_NS] = "total_ns",
	[STAGE_CLOCK_NS] = "clock_ns"};

static const char *const stage_names[PTL_STAGE_COUNT] = {
#define STAGE_NAME(name, text, group) text,
	PTL_NIC_STAGES(STAGE_NAME)
#undef STAGE_NAME
};

void stage_times_take(ptl_handle_ni_t ni, struct stage_times *times)
{
	FILE *memory = fmemopen(times->text, sizeof(times->text), "w");
	ptl_nic_timing_t timing;

	memset(times, 0, sizeof(*times));
	if (!memory)
		fail("no memory for the NIC timing table");
	PTL(PtlNicTimingGet(ni, &timing));
	PTL(PtlNicTimingPrint(ni, memory));
	fclose(memory);
	PTL(PtlNicTimingSet(ni, 0));
	times->messages = (double)timing.messages;
	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		const ptl_stage_times_t *stage = &timing.stage[i];
		const double figures[STAGE_FIGURES] = {[STAGE_COUNTED] = (double)stage->count,
						       [STAGE_MEAN] = stage->mean,
						       [STAGE_TRIMMED_MEAN] = stage->trimmed_mean,
						       [STAGE_P50] = stage->p50,
						       [STAGE_P99] = stage->p99,
						       [STAGE_TOTAL_NS] = stage->total,
						       [STAGE_CLOCK_NS] = stage->clock};

		memcpy(times->figures[i], figures, sizeof(figures));
		/* What never happened took no time, not none. */
		for (int figure = STAGE_COUNTED + 1; stage->count == 0 && figure < STAGE_FIGURES; figure++)
			times->figures[i][figure] = NAN;
	}
}

void stage_times_none(struct stage_times *times)
{
	memset(times, 0, sizeof(*times));
	times->messages = NAN;
	for (int i = 0; i < PTL_STAGE_COUNT; i++)
		for (int figure = 0; figure < STAGE_FIGURES; figure++)
			times->figures[i][figure] = NAN;
}

static const char *key(const char *side, const char *stage, const char *figure)
{
	char *text;

	if (asprintf(&text, "%s.%s%s%s", side, stage, *stage ? "." : "", figure) < 0)
		fail("no memory for the names of columns");
	for (char *at = text; *at; at++)
		if (strchr(" -", *at))
			*at = '_';
	return text;
}

void stage_columns(const char *side, struct column columns[STAGE_COLUMNS])
{
	*columns++ = (struct column){NULL, key(side, "", "messages"), 0};
	for (int i = 0; i < PTL_STAGE_COUNT; i++)
		for (int figure = 0; figure < STAGE_FIGURES; figure++)
			*columns++ = (struct column){NULL, key(side, stage_names[i], figure_names[figure]),
						     figure == STAGE_COUNTED ? 0 : 1};
}

void stage_cells(const struct stage_times *times, union cell cells[STAGE_COLUMNS])
{
	(cells++)->number = times->messages;
	for (int i = 0; i < PTL_STAGE_COUNT; i++)
		for (int figure = 0; figure < STAGE_FIGURES; figure++)
			(cells++)->number = times->figures[i][figure];
}
