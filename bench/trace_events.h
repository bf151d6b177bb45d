/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of a timeline that PTL_TRACE has had written. */
#ifndef PTLBENCH_TRACE_EVENTS_H
#define PTLBENCH_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

enum trace_kind { TRACE_SLICE, TRACE_SENT, TRACE_ARRIVED };

/* What overlaps others of its thread (its phases are "b" and "e") is a slice like the others. */
struct trace_event {
	enum trace_kind kind;
	double us, lasts_us; /* since the clock's beginning; of slices how long */
	char name[32], category[16], id[24];
	bool nic_thread;
};

struct trace_events {
	struct trace_event *event;
	size_t count, room;
};

/* Ends the process with the reason if the file cannot be read. */
void trace_events_read(struct trace_events *events, const char *path);
void trace_events_free(struct trace_events *events);

#endif
