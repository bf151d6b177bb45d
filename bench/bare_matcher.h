/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a NIC does with a message, done by a tag matcher in plain C: one list of tags with masks, no descriptors' options, no access
 * control, no ownership, no other threads.  Each step in batches, so that the clock is not in it.
 */
#ifndef PTLBENCH_BARE_MATCHER_H
#define PTLBENCH_BARE_MATCHER_H

#include <portals3_nic.h>

#include "stats.h"

/* Nanoseconds for a message, a sample each batch, by stage; none of stages that a tag matcher has not. */
struct bare_stages {
	struct samples stage[PTL_STAGE_COUNT];
};

/* With so many entries in front of the one that matches, and messages of `size` bytes from `from` to `to`. */
void bare_matcher_measure(struct bare_stages *stages, uint32_t depth, uint64_t size, const char *from, char *to);
void bare_matcher_free(struct bare_stages *stages);

#endif
