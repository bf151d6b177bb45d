/* SPDX-License-Identifier: BSD-3-Clause */
/* Events, and the descriptors that operations begin and end on: thresholds, activity, unlinking. */
#include <stdlib.h>

#include "tests/model/reference_state.h"

int reference_eq_alloc(struct reference *reference, unsigned ni, uint64_t count, unsigned *number)
{
	if (count == 0) {
		*number = REFERENCE_NO_QUEUE;
		return PTL_OK;
	}
	struct queue *queue = add(reference, REFERENCE_QUEUE, ni, sizeof(*queue));

	queue->size = 2;
	while (queue->size < count)
		queue->size *= 2;
	queue->slots = zeroed(queue->size * sizeof(*queue->slots));
	*number = queue->object.number;
	return PTL_OK;
}

/* Descriptors that refer to it go on without one. */
int reference_eq_free(struct reference *reference, unsigned number)
{
	struct queue *queue = (struct queue *)find(reference, REFERENCE_QUEUE, number);

	if (!queue)
		return PTL_EQ_INVALID;
	for (struct terms *terms = reference->terms; terms; terms = terms->next)
		if (terms->queue == queue)
			terms->queue = NULL;
	queue->object.live = false;
	return PTL_OK;
}

/* The oldest events are overwritten when there is no room. */
static void post(struct queue *queue, const ptl_event_t *event)
{
	if (queue->awaited) {
		queue->direct = *event;
		queue->direct.sequence = (ptl_seq_t)++queue->posted;
		queue->taken = queue->posted;
		queue->awaited = false;
		queue->handed = true;
		return;
	}
	ptl_event_t *slot = &queue->slots[queue->posted % queue->size];

	*slot = *event;
	slot->sequence = (ptl_seq_t)++queue->posted;
}

void reference_eq_await(struct reference *reference, unsigned number)
{
	struct queue *queue = (struct queue *)find(reference, REFERENCE_QUEUE, number);

	if (queue)
		queue->awaited = queue->posted == queue->taken;
}

int reference_eq_get(struct reference *reference, unsigned number, ptl_event_t *event)
{
	struct queue *queue = (struct queue *)find(reference, REFERENCE_QUEUE, number);

	if (!queue)
		return PTL_EQ_INVALID;
	queue->awaited = false;
	if (queue->handed) {
		*event = queue->direct;
		queue->handed = false;
		return PTL_OK;
	}
	if (queue->posted == queue->taken)
		return PTL_EQ_EMPTY;
	bool lost = queue->posted - queue->taken > queue->size;

	if (lost)
		queue->taken = queue->posted - queue->size;
	*event = queue->slots[queue->taken++ % queue->size];
	return lost ? PTL_EQ_DROPPED : PTL_OK;
}

bool is_quiet(const struct queue *queue)
{
	return queue->posted == queue->taken && queue->underway == 0;
}

static bool is_start(ptl_event_kind_t kind)
{
	return kind == PTL_EVENT_GET_START || kind == PTL_EVENT_PUT_START || kind == PTL_EVENT_GETPUT_START ||
	       kind == PTL_EVENT_REPLY_START || kind == PTL_EVENT_SEND_START;
}

static bool is_disabled(const struct terms *terms, ptl_event_kind_t kind)
{
	if (kind == PTL_EVENT_ACK || kind == PTL_EVENT_UNLINK)
		return false;
	return terms->stated.options & (is_start(kind) ? PTL_MD_EVENT_START_DISABLE : PTL_MD_EVENT_END_DISABLE);
}

static void log_event(const struct terms *terms, int threshold, ptl_event_kind_t kind, const ptl_event_t *facts,
		      ptl_ni_fail_t failure)
{
	ptl_event_t event = *facts;

	if (!terms->queue || is_disabled(terms, kind))
		return;
	event.type = kind;
	event.md_handle = terms->md->object.number;
	event.md = terms->stated;
	event.md.threshold = threshold;
	event.ni_fail_type = failure;
	post(terms->queue, &event);
}

void log_part(const struct part *part, ptl_event_kind_t kind, ptl_ni_fail_t failure)
{
	log_event(part->terms, part->left, kind, &part->facts, failure);
}

/* max_size means nothing to a descriptor whose offsets come with the requests. */
static bool is_too_full(const struct terms *terms)
{
	return terms->stated.options & PTL_MD_MAX_SIZE && !(terms->stated.options & PTL_MD_MANAGE_REMOTE) &&
	       terms->length - terms->local_offset < terms->stated.max_size;
}

void begin(struct part *part, struct terms *terms, const ptl_event_t *facts, bool served)
{
	struct md *md = terms->md;

	*part = (struct part){.terms = terms, .facts = *facts, .pending = true};
	md->pending++;
	if (terms->queue)
		terms->queue->underway++;
	if (terms->stated.threshold != PTL_MD_THRESH_INF)
		terms->stated.threshold--;
	part->left = terms->stated.threshold;
	if (served && !(terms->stated.options & PTL_MD_MANAGE_REMOTE))
		terms->local_offset += facts->mlength;
	if (terms->stated.threshold == 0 || (served && is_too_full(terms))) {
		terms->active = false;
		md->unlink_due = md->auto_unlink;
		md->cause = *facts;
	}
}

void end(struct part *part, ptl_event_kind_t kind, ptl_ni_fail_t failure)
{
	struct md *md = part->terms->md;

	part->pending = false;
	md->pending--;
	if (part->terms->queue)
		part->terms->queue->underway--;
	log_part(part, kind, failure);
	if (md->pending == 0 && md->unlink_due) {
		log_event(md->terms, md->terms->stated.threshold, PTL_EVENT_UNLINK, &md->cause, PTL_NI_OK);
		unlink_md(md, false);
	}
}

bool responds(const struct md *md)
{
	return md->object.live && md->terms->active;
}
