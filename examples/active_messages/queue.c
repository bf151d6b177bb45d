/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

void am_queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
}

void am_queue_put(struct queue *queue, struct arrival *arrival)
{
	arrival->next = NULL;
	*queue->end = arrival;
	queue->end = &arrival->next;
}

static struct arrival *take_at(struct queue *queue, struct arrival **place)
{
	struct arrival *arrival = *place;
	*place = arrival->next;
	if (queue->end == &arrival->next)
		queue->end = place;
	return arrival;
}

struct arrival *am_queue_take(struct queue *queue)
{
	return queue->first ? take_at(queue, &queue->first) : NULL;
}

/* A bulk message and its data have the same sender and the same header. */
static bool belong_together(const struct arrival *one, const struct arrival *other)
{
	return one->endpoint == other->endpoint && one->is_reply == other->is_reply &&
	       one->from.nid == other->from.nid && one->from.pid == other->from.pid &&
	       one->from_number == other->from_number && am_pack(&one->header) == am_pack(&other->header);
}

struct arrival *am_queue_partner(struct queue *queue, const struct arrival *other)
{
	for (struct arrival **place = &queue->first; *place; place = &(*place)->next)
		if (belong_together(*place, other))
			return take_at(queue, place);
	return NULL;
}

void am_queue_clear(struct queue *queue)
{
	for (struct arrival *arrival; (arrival = am_queue_take(queue));) {
		free(arrival->fetched);
		free(arrival);
	}
}
