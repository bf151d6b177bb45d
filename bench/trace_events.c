/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "json.h"

#define NIC_THREAD "portals-nic"

static struct trace_event *add(struct trace_events *events)
{
	if (events->count == events->room) {
		events->room = events->room ? 2 * events->room : 1024;
		events->event = realloc(events->event, events->room * sizeof(*events->event));
		if (!events->event)
			fail("no memory for a timeline of %zu events", events->room);
	}
	struct trace_event *event = &events->event[events->count++];
	memset(event, 0, sizeof(*event));
	return event;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		fail("no timeline %s (are the stage clocks compiled in?): %s", path, strerror(errno));
	if (getdelim(&text, &size, '\0', file) < 0)
		fail("%s is empty", path);
	fclose(file);
	return text;
}

/* The number of the thread that is called so, or NaN. */
static double thread_called(const struct json *list, const char *name)
{
	for (const struct json *item = list; item; item = item->next)
		if (!strcmp(json_text(item, "name"), "thread_name") &&
		    !strcmp(json_text(json_member(item, "args"), "name"), name))
			return json_number(item, "tid");
	return json_number(NULL, "");
}

/* The slice that began with this name, and has had no end yet. */
static void end_slice(struct trace_events *events, const struct json *item)
{
	for (size_t i = events->count; i-- > 0;) {
		struct trace_event *event = &events->event[i];

		if (*event->id && !strcmp(event->id, json_text(item, "id")) &&
		    !strcmp(event->name, json_text(item, "name"))) {
			event->lasts_us = json_number(item, "ts") - event->us;
			return;
		}
	}
}

static void take(struct trace_events *events, const struct json *item, double nic_thread)
{
	static const char phases[] = "Xbsf";
	static const enum trace_kind kinds[] = {TRACE_SLICE, TRACE_SLICE, TRACE_SENT, TRACE_ARRIVED};
	const char *phase = json_text(item, "ph"), *at = *phase ? strchr(phases, *phase) : NULL;

	if (*phase == 'e')
		end_slice(events, item);
	if (!at)
		return;
	struct trace_event *event = add(events);
	event->kind = kinds[at - phases];
	event->us = json_number(item, "ts");
	event->lasts_us = *phase == 'X' ? json_number(item, "dur") : 0;
	event->nic_thread = json_number(item, "tid") == nic_thread;
	snprintf(event->name, sizeof(event->name), "%s", json_text(item, "name"));
	snprintf(event->category, sizeof(event->category), "%s", json_text(item, "cat"));
	snprintf(event->id, sizeof(event->id), "%s", json_text(item, "id"));
}

void trace_events_read(struct trace_events *events, const char *path)
{
	char *text = read_file(path);
	struct json *document = json_parse(text);
	const struct json *list = json_member(document, "traceEvents");

	if (!list || list->kind != JSON_ARRAY)
		fail("%s was not written by PTL_TRACE", path);
	double nic_thread = thread_called(list->first, NIC_THREAD);
	for (const struct json *item = list->first; item; item = item->next)
		take(events, item, nic_thread);
	json_free(document);
	free(text);
}

void trace_events_free(struct trace_events *events)
{
	free(events->event);
	*events = (struct trace_events){0};
}
