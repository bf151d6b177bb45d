/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model-based tester: random programs, and what Portals 3.3 says must come of them.
 *
 *   exact mode  a few interfaces of one process over a scripted transport, where the program decides every delivery,
 *               completion, failure and engine step; everything that can be observed must be as the reference model says
 *   free mode   real processes on real transports, checked against what the order of section 4 leaves free
 */
#ifndef PORTALS_TESTS_MODEL_H
#define PORTALS_TESTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model_options {
	uint64_t seed;
	bool seed_given;     /* begin with this one */
	bool once;           /* and do nothing else: a replay */
	double seconds;      /* stop after so long */
	uint64_t operations; /* or after so many operations; 0: no limit */
};

/* Each prints the seed of what failed and one summary line.  0: no disagreement, 1: at least one, 77: cannot run. */
int exact_mode(const struct model_options *);
int free_mode(const struct model_options *);

#endif
