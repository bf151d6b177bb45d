/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart two cores are at the moment: a bare cache line bounced between them.  What runs a virtual machine may move
 * its processors about, so the same pair can be near now and distant in a second.
 */
#ifndef PTLBENCH_GAUGE_H
#define PTLBENCH_GAUGE_H

#include "slots.h"
#include "stats.h"

/*
 * What two processes share for it.  Odd numbers ask, even ones answer, and no number is used twice.  One of them asks, while
 * the other one answers until it is over.  A side that gets no answer gives up.
 */
struct gauge_line {
	struct word line, over;
	uint64_t turn; /* the next that asks; of the asking side */
};

/* Before the other side begins to answer. */
void gauge_reset(struct gauge_line *shared);

/* One way, ns: the least of several short batches; NaN if the other side does not answer, as others keep the cores. */
double gauge_ask(struct gauge_line *shared);
void gauge_answer(struct gauge_line *shared);

struct gauge;

/* Forks the partner, which sleeps unless it is needed.  NULL: there is only one core, and no distance. */
struct gauge *gauge_open(void);
void gauge_close(struct gauge *gauge);

/* Pins the caller to the first core; to be called when all have been started that must not be. */
void gauge_pin(const struct gauge *gauge);

/* One way, ns: the least of several short batches.  NaN without a gauge, or if others keep the cores. */
double gauge_distance(struct gauge *gauge);

#endif
