/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that wait for a worker or that one is serving, the oldest first. */
#include <stdlib.h>
#include <string.h>

#include "server.h"

void queue_init(struct queue *queue)
{
	*queue = (struct queue){.first = NULL};
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->filled, NULL);
}

/* The end of the list, or NULL if the request is in it: what is being served need not be served a second time. */
static struct work **end_without(struct queue *queue, const struct object_id *id)
{
	struct work **link = &queue->first;
	for (; *link; link = &(*link)->next)
		if (memcmp(&(*link)->request.id, id, sizeof(*id)) == 0)
			return NULL;
	return link;
}

void queue_put(struct queue *queue, const struct work *work)
{
	pthread_mutex_lock(&queue->lock);
	struct work **end = end_without(queue, &work->request.id);
	struct work *copy = end && queue->count < QUEUE_LIMIT ? malloc(sizeof(*copy)) : NULL;
	if (copy) {
		*copy = *work;
		copy->taken = false;
		copy->next = NULL;
		*end = copy;
		queue->count++;
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
}

static struct work *first_waiting(const struct queue *queue)
{
	struct work *work = queue->first;
	while (work && work->taken)
		work = work->next;
	return work;
}

struct work *queue_take(struct queue *queue)
{
	struct work *work = NULL;
	pthread_mutex_lock(&queue->lock);
	while (!queue->ended && !(work = first_waiting(queue)))
		pthread_cond_wait(&queue->filled, &queue->lock);
	if (work)
		work->taken = true;
	pthread_mutex_unlock(&queue->lock);
	return work;
}

void queue_done(struct queue *queue, struct work *work)
{
	pthread_mutex_lock(&queue->lock);
	struct work **link = &queue->first;
	while (*link != work)
		link = &(*link)->next;
	*link = work->next;
	queue->count--;
	pthread_mutex_unlock(&queue->lock);
	free(work);
}

void queue_end(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->ended = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

void queue_destroy(struct queue *queue)
{
	for (struct work *work = queue->first, *next; work; work = next) {
		next = work->next;
		free(work);
	}
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->lock);
}
