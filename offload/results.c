/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/results.h"

#include <errno.h>
#include <p3utils.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/private_file.h"
#include "base/report.h"
#include "offload/timeline_file.h"

static bool wants_timeline(const struct nic *nic)
{
	if (!*nic->settings->timeline || private_file_forbidden("PTL_TRACE"))
		return false;
	if (!PORTALS_TIMING)
		report(LOG_WARN, "PTL_TRACE is ignored: the stage clocks are not compiled in (build option `timing`)");
	return PORTALS_TIMING;
}

static bool is_word(const char *timing, const char *word)
{
	return timing && strcmp(timing, word) == 0;
}

static int wanted_clocks(const struct nic *nic)
{
	int how = nic->settings->timing || nic->timing.timeline ? PTL_NIC_TIMING_ON : PTL_NIC_TIMING_OFF;

	return is_word(nic->settings->timing, "batches") ? PTL_NIC_TIMING_BATCHES : how;
}

void results_begin(struct nic *nic)
{
	uint64_t ns, ticks;

	timing_now(&ns, &ticks);
	if (wants_timeline(nic) && !(nic->timing.timeline = timeline_open(ns, ticks)))
		report(LOG_WARN, "PTL_TRACE is ignored: no memory for the timeline of interface %u", nic->index);
	if (timing_set(&nic->timing, wanted_clocks(nic)))
		report(LOG_WARN, "no memory for the stage clocks of interface %u", nic->index);
	nic->results_due = true;
}

/* In one piece: the tables of several processes do not mix. */
static void print_timing(const struct nic *nic)
{
	FILE *out = p3_out ? p3_out : stderr;
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	ptl_nic_timing_t timing;

	if (!memory)
		return;
	timing_read(&nic->timing, &timing);
	fprintf(memory, "portals3: interface %u, " ID_TEXT ": where its NIC's time went\n", nic->index,
		ID_PARTS(nic->self.id));
	timing_print(&timing, memory);
	if (fclose(memory) == 0) {
		fputs(text, out);
		fflush(out);
	}
	free(text);
}

/* Of its own for each interface. */
static bool open_file(const struct identity *self, struct private_file *file, const char *variable, const char *wish)
{
	char path[PATH_MAX];

	return private_file_name(path, wish, self->id.nid, self->id.pid) &&
	       private_file_open(file, variable, path) == 0;
}

static void write_timing(const struct nic *nic)
{
	struct private_file file;
	ptl_nic_timing_t timing;

	if (private_file_forbidden("PTL_NIC_TIMING") ||
	    !open_file(&nic->self, &file, "PTL_NIC_TIMING", nic->settings->timing))
		return;
	timing_read(&nic->timing, &timing);
	fprintf(file.out, "{\"interface\": %u, \"nid\": %u, \"pid\": %u,\n", nic->index, nic->self.id.nid,
		nic->self.id.pid);
	timing_write(&timing, file.out);
	fputs("}\n", file.out);
	private_file_close(&file);
}

/* What of an interface its timeline is written from; of the thread that writes. */
struct trace {
	struct identity self;
	uint32_t index;
	char wish[PATH_MAX]; /* settings may change when the interface has ended */
	struct timeline_copy *copy;
	struct private_file file;
	bool recorded; /* there is a timeline */
};

/* By the owner, or the thread that ends the interface. */
static int copy_trace(struct nic *nic, void *argument)
{
	struct trace *trace = argument;

	trace->self = nic->self;
	trace->index = nic->index;
	snprintf(trace->wish, sizeof(trace->wish), "%s", nic->settings->timeline);
	if (trace->copy)
		timeline_copy_fill(trace->copy, nic);
	return 0;
}

/* 0, or a negative errno value, reported. */
static int write_trace(struct trace *trace)
{
	if (!trace->copy) {
		report(LOG_WARN, "no memory to write the timeline of interface %u", trace->index);
		return -ENOMEM;
	}
	if (!open_file(&trace->self, &trace->file, "PTL_TRACE", trace->wish))
		return -EIO;
	timeline_copy_write(trace->copy, trace->file.out);
	return private_file_close(&trace->file);
}

/* By the owner: a copy takes memory, and touches it, so it is made for an interface that has a timeline only. */
static int ask_for_timeline(struct nic *nic, void *argument)
{
	struct trace *trace = argument;

	trace->index = nic->index;
	trace->recorded = nic->timing.timeline != NULL;
	return 0;
}

void results_trace(struct nic *nic, FILE *told)
{
	struct trace trace = {0};

	if (nic_call(nic, ask_for_timeline, &trace))
		return;
	if (!trace.recorded) {
		fprintf(told, "interface %u: no timeline: the process was not started with PTL_TRACE=FILE\n",
			trace.index);
		return;
	}
	trace.copy = timeline_copy_new();
	if (nic_call(nic, copy_trace, &trace) == 0) {
		if (write_trace(&trace))
			fprintf(told, "interface %u: its timeline cannot be written; its stderr says why\n",
				trace.index);
		else
			fprintf(told, "interface %u: %s\n", trace.index, trace.file.path);
	}
	timeline_copy_free(trace.copy);
}

static void write_timeline(struct nic *nic)
{
	struct trace trace = {.copy = timeline_copy_new()};

	copy_trace(nic, &trace);
	write_trace(&trace);
	timeline_copy_free(trace.copy);
}

void results_write(struct nic *nic)
{
	UNCANCELLED;
	const char *timing = nic->settings->timing;

	if (!atomic_exchange_explicit(&nic->results_due, false, memory_order_relaxed))
		return;
	if (is_word(timing, "print") || is_word(timing, "batches"))
		print_timing(nic);
	else if (timing && *timing)
		write_timing(nic);
	if (nic->timing.timeline)
		write_timeline(nic);
}

void results_free(struct nic *nic)
{
	timeline_close(nic->timing.timeline);
	timing_free(&nic->timing);
}
