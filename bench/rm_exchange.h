/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs of remote memory (examples/remote_memory) do: run.variant; run.depth is the length of a fragment, 0: the usual one. */
#ifndef PTLBENCH_RM_EXCHANGE_H
#define PTLBENCH_RM_EXCHANGE_H

#include "measure.h"

/* How a message gets into the other process's memory. */
enum rm_manner {
	RM_MANNER_MESSAGE, /* to a handler */
	RM_MANNER_KNOWN,   /* a write to a place that is known */
	RM_MANNER_LOOK_UP, /* the same, and its place is asked for each time */
	RM_MANNER_ASK,     /* only that; nothing is written */
	RM_MANNER_RECEIVE, /* send and receive, both acknowledged */
	RM_MANNER_PUT,     /* between registered buffers */
	RM_MANNER_SHORT,   /* a message, which is copied to the buffer */
	RM_MANNER_LONG,    /* a message that asks for it, and a get */
	RM_MANNER_BURST, /* run.window messages, and then as many back; run.depth: ns until the first of these is taken */
	RM_MANNERS
};

/* `injection`: of enum rm_injection. */
static inline uint32_t rm_variant(enum rm_manner manner, unsigned injection)
{
	return manner + RM_MANNERS * injection;
}

/* A run of messages of so many bytes there and back. */
struct run rm_run(uint64_t size, enum rm_manner manner, unsigned injection, uint64_t fragment);

/* Median of what was measured, us, of each of `parts` parts.  Frees the samples. */
double rm_median_us(struct series *series, double parts);

#endif
