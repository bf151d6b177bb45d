/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage times as a table for people, and as JSON. */
#include "offload/timing.h"

static const char *const groups[] = {"host", "NIC", "", "between", "transport"};

static bool is_part(const ptl_stage_times_t *stage)
{
	return stage->group == PTL_STAGE_NIC || stage->group == PTL_STAGE_TOTAL;
}

/* Batches have no times of single messages. */
static bool has_percentiles(const ptl_nic_timing_t *timing, const ptl_stage_times_t *stage)
{
	return !timing->messages_in_batches || !is_part(stage);
}

static void print_stage(const ptl_nic_timing_t *timing, const ptl_stage_times_t *stage, FILE *out)
{
	const double whole = timing->stage[PTL_STAGE_MESSAGE].total;

	if (stage->count == 0)
		return;
	fprintf(out, "  %-9s %-18s %10llu %9.1f %9.1f", groups[stage->group], stage->name,
		(unsigned long long)stage->count, stage->mean, stage->trimmed_mean);
	if (has_percentiles(timing, stage))
		fprintf(out, " %9.1f %9.1f", stage->p50, stage->p99);
	else
		fprintf(out, " %9s %9s", "-", "-");
	fprintf(out, " %6.1f", stage->clock);
	if (is_part(stage) && whole > 0)
		fprintf(out, " %6.1f %%", 100 * stage->total / whole);
	fputc('\n', out);
}

void timing_print(const ptl_nic_timing_t *timing, FILE *out)
{
	if (!PORTALS_TIMING) {
		fputs("  the stage clocks are not compiled in (build option `timing`)\n", out);
		return;
	}

	fprintf(out, "  %-9s %-18s %10s %9s %9s %9s %9s %6s %8s\n", "who", "stage (ns)", "count", "mean", "trimmed",
		"p50", "p99", "clock", "share");
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++)
		print_stage(timing, &timing->stage[stage], out);
	fprintf(out, "  clock: %s, %.1f ns a reading, %s; match entries walked: %.2f a message\n", timing->clock,
		timing->clock_cost,
		timing->messages_in_batches
			? "in no NIC stage, which batches tell apart: in column clock what counting costs"
			: "of each stage in column clock with what recording costs",
		timing->messages ? (double)timing->entries_walked / (double)timing->messages : 0.0);
}

static void write_stage(const ptl_nic_timing_t *timing, const ptl_stage_times_t *stage, FILE *out)
{
	fprintf(out,
		"\n  {\"stage\": \"%s\", \"who\": \"%s\", \"count\": %llu, \"total_ns\": %.0f, \"mean_ns\": %.1f, "
		"\"trimmed_mean_ns\": %.1f",
		stage->name, groups[stage->group], (unsigned long long)stage->count, stage->total, stage->mean,
		stage->trimmed_mean);
	if (has_percentiles(timing, stage))
		fprintf(out, ", \"p50_ns\": %.1f, \"p99_ns\": %.1f, \"min_ns\": %.1f, \"max_ns\": %.1f", stage->p50,
			stage->p99, stage->min, stage->max);
	fprintf(out, ", \"clock_ns\": %.1f}", stage->clock);
}

void timing_write(const ptl_nic_timing_t *timing, FILE *out)
{
	const char *separator = "";

	fprintf(out, " \"clock\": \"%s\", \"clock_cost_ns\": %.1f, \"messages\": %llu, \"entries_walked\": %llu,\n",
		timing->clock, timing->clock_cost, (unsigned long long)timing->messages,
		(unsigned long long)timing->entries_walked);
	if (timing->messages_in_batches)
		fprintf(out, " \"messages_in_batches\": %llu,\n", (unsigned long long)timing->messages_in_batches);
	fputs(" \"stages\": [", out);
	for (unsigned i = 0; i < PTL_STAGE_COUNT; i++) {
		if (timing->stage[i].count == 0)
			continue;
		fputs(separator, out);
		write_stage(timing, &timing->stage[i], out);
		separator = ",";
	}
	fputs("\n ]\n", out);
}
