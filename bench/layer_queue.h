/* SPDX-License-Identifier: BSD-3-Clause */
/* In front of the files of active messages that use its queues, not of the one that defines them: times them. */
#ifndef PTLBENCH_LAYER_QUEUE_H
#define PTLBENCH_LAYER_QUEUE_H

#include "examples/active_messages/internal.h"
#include "layer_calls.h"

static inline void layer_queue_put(struct queue *queue, struct arrival *arrival)
{
	uint64_t began = layer_clock_now();
	am_queue_put(queue, arrival);
	layer_clock_add(LAYER_QUEUE, began);
}

static inline struct arrival *layer_queue_take(struct queue *queue)
{
	uint64_t began = layer_clock_now();
	struct arrival *arrival = am_queue_take(queue);
	layer_clock_add(LAYER_QUEUE, began);
	return arrival;
}

#define am_queue_put  layer_queue_put
#define am_queue_take layer_queue_take

#endif
