/* SPDX-License-Identifier: BSD-3-Clause */
#include "bare_matcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "fail.h"

#define MESSAGES 64 /* of a batch: headers, entries and events of them stay in the cache, as those of a busy NIC do */
#define BATCHES  200
#define TAG      5

struct tag_entry {
	struct tag_entry *next, *previous;
	uint64_t tag, must_match;
	char *start;
	uint64_t length, offset;
	uint32_t threshold;
};

struct tag_header {
	uint64_t operation, source, tag, length, serial;
};

struct tag_event {
	uint64_t kind, source, tag, length, offset, serial;
	_Atomic uint64_t sequence;
};

/* An entry in front has a tag that no message has. */
struct matcher {
	struct tag_entry *in_front, receive[MESSAGES];
	struct tag_entry *head, *tail;
	struct tag_header header[MESSAGES], inspected[MESSAGES];
	struct tag_entry *found[MESSAGES];
	struct tag_event event[MESSAGES];
	uint32_t depth;
	uint64_t size;
	const char *from;
	char *to;
};

static void append(struct matcher *matcher, struct tag_entry *entry)
{
	entry->next = NULL;
	entry->previous = matcher->tail;
	*(matcher->tail ? &matcher->tail->next : &matcher->head) = entry;
	matcher->tail = entry;
}

static void inspect(struct matcher *matcher, unsigned message)
{
	const struct tag_header *header = &matcher->header[message];

	if (header->operation != 1 || header->length > matcher->size)
		fail("the bare matcher has lost a message");
	matcher->inspected[message] = *header;
}

static void match(struct matcher *matcher, unsigned message)
{
	const struct tag_header *header = &matcher->inspected[message];
	struct tag_entry *entry = matcher->head;

	while (entry && ((header->tag ^ entry->tag) & entry->must_match) != 0)
		entry = entry->next;
	if (!entry)
		fail("the bare matcher has lost an entry");
	matcher->found[message] = entry;
}

static void keep_house(struct matcher *matcher, unsigned message)
{
	struct tag_entry *entry = matcher->found[message];

	entry->threshold--;
	entry->offset += matcher->inspected[message].length;
}

static void copy(struct matcher *matcher, unsigned message)
{
	const struct tag_entry *entry = matcher->found[message];

	memcpy(entry->start, matcher->from, matcher->inspected[message].length);
	__asm__ volatile("" : : "r"(entry->start) : "memory"); /* the copy is wanted */
}

static void write_event(struct matcher *matcher, unsigned message)
{
	const struct tag_header *header = &matcher->inspected[message];
	struct tag_event *event = &matcher->event[message];

	event->kind = 1;
	event->source = header->source;
	event->tag = header->tag;
	event->length = header->length;
	event->offset = matcher->found[message]->offset;
	event->serial = header->serial;
	atomic_store_explicit(&event->sequence, header->serial, memory_order_release);
}

/* Of the receives in the order in which they were posted, which is that of the list. */
static void unlink_entry(struct matcher *matcher, unsigned message)
{
	struct tag_entry *entry = matcher->found[message];

	*(entry->previous ? &entry->previous->next : &matcher->head) = entry->next;
	*(entry->next ? &entry->next->previous : &matcher->tail) = entry->previous;
}

static const struct step {
	ptl_stage_t stage;
	void (*run)(struct matcher *, unsigned message);
} steps[] = {{PTL_STAGE_INSPECT, inspect}, {PTL_STAGE_MATCH, match},       {PTL_STAGE_HOUSEKEEPING, keep_house},
	     {PTL_STAGE_COPY, copy},       {PTL_STAGE_EVENT, write_event}, {PTL_STAGE_UNLINK, unlink_entry}};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static void post_receives(struct matcher *matcher)
{
	matcher->head = matcher->tail = NULL;
	for (uint32_t i = 0; i < matcher->depth; i++)
		append(matcher, &matcher->in_front[i]);
	for (unsigned i = 0; i < MESSAGES; i++) {
		matcher->receive[i] = (struct tag_entry){.tag = TAG,
							 .must_match = ~UINT64_C(0),
							 .start = matcher->to,
							 .length = matcher->size,
							 .threshold = 1};
		append(matcher, &matcher->receive[i]);
	}
}

/* Each step for all messages before the next step: every message finds the first receive, and unlinks one of its own. */
static void measure_steps(struct matcher *matcher, struct bare_stages *stages)
{
	post_receives(matcher);
	for (const struct step *step = steps; step < steps + STEPS; step++) {
		uint64_t start = monotonic_ns();

		for (unsigned message = 0; message < MESSAGES; message++)
			step->run(matcher, message);
		samples_add(&stages->stage[step->stage], (double)(monotonic_ns() - start) / MESSAGES);
		if (step->stage == PTL_STAGE_MATCH)
			for (unsigned message = 0; message < MESSAGES; message++)
				matcher->found[message] = &matcher->receive[message];
	}
}

/* All steps of a message before the next message. */
static void measure_messages(struct matcher *matcher, struct bare_stages *stages)
{
	post_receives(matcher);
	uint64_t start = monotonic_ns();

	for (unsigned message = 0; message < MESSAGES; message++)
		for (const struct step *step = steps; step < steps + STEPS; step++)
			step->run(matcher, message);
	samples_add(&stages->stage[PTL_STAGE_MESSAGE], (double)(monotonic_ns() - start) / MESSAGES);
}

void bare_matcher_measure(struct bare_stages *stages, uint32_t depth, uint64_t size, const char *from, char *to)
{
	struct matcher *matcher = calloc(1, sizeof(*matcher));
	struct tag_entry *in_front = calloc(depth + 1, sizeof(*in_front));

	if (!matcher || !in_front)
		fail("no memory for a bare matcher with %u entries", depth);
	*matcher = (struct matcher){.in_front = in_front, .depth = depth, .size = size, .from = from};
	matcher->to = to;
	for (uint32_t i = 0; i < depth; i++)
		in_front[i] =
			(struct tag_entry){.tag = UINT64_C(1) << 63 | (uint64_t)i << 8, .must_match = ~UINT64_C(0)};
	for (unsigned i = 0; i < MESSAGES; i++)
		matcher->header[i] =
			(struct tag_header){.operation = 1, .source = 1, .tag = TAG, .length = size, .serial = i + 1};
	for (int batch = 0; batch < BATCHES; batch++) {
		measure_steps(matcher, stages);
		measure_messages(matcher, stages);
	}
	free(in_front);
	free(matcher);
}

void bare_matcher_free(struct bare_stages *stages)
{
	for (int stage = 0; stage < PTL_STAGE_COUNT; stage++)
		samples_free(&stages->stage[stage]);
}
