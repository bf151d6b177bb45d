/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_SPLITC_CHECK_H
#define EXAMPLES_SPLITC_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "splitc.h"

/* A number of a sequence that is the same everywhere: splitmix64. */
static inline uint64_t random_of(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Collective: `sums[0..1]` become those of all processes; `all` is 2 words a process of the segment. */
static inline bool sum_of_all(uint64_t sums[2], uint64_t *all)
{
	for (unsigned process = 0; process < sc_size(); process++)
		if (sc_bulk_put(sc_at(process, all + 2 * sc_rank()), sums, 16))
			return false;
	if (sc_sync() || sc_barrier())
		return false;
	sums[0] = sums[1] = 0;
	for (unsigned process = 0; process < sc_size(); process++) {
		sums[0] += all[2 * process];
		sums[1] += all[2 * process + 1];
	}
	return sc_barrier() == 0;
}

#endif
