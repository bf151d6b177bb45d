/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "programs.h"

#define DIGITS 256

struct run {
	size_t count;
	uint64_t *keys, *next; /* of the segment: this pass's and the next one's */
	uint64_t *histograms;  /* DIGITS of each process */
	uint64_t *sums;
};

static unsigned digit(uint64_t key, unsigned pass)
{
	return key >> 8 * pass & 0xff;
}

/* Where the first key of each digit of this process goes, counted over all processes. */
static bool find_places(const struct run *run, unsigned pass, uint64_t *places)
{
	uint64_t mine[DIGITS] = {0}, place = 0;
	for (size_t i = 0; i < run->count; i++)
		mine[digit(run->keys[i], pass)]++;
	for (unsigned process = 0; process < sc_size(); process++)
		if (sc_bulk_put(sc_at(process, run->histograms + (size_t)sc_rank() * DIGITS), mine, sizeof(mine)))
			return false;
	if (sc_sync() || sc_barrier())
		return false;
	for (unsigned value = 0; value < DIGITS; value++)
		for (unsigned process = 0; process < sc_size(); process++) {
			if (process == sc_rank())
				places[value] = place;
			place += run->histograms[(size_t)process * DIGITS + value];
		}
	return true;
}

static bool sort_by(struct run *run, unsigned pass)
{
	uint64_t places[DIGITS], *keys = run->keys;
	if (!find_places(run, pass, places))
		return false;
	for (size_t i = 0; i < run->count; i++) {
		uint64_t place = places[digit(keys[i], pass)]++;
		if (sc_store(sc_at((unsigned)(place / run->count), run->next + place % run->count), keys[i]))
			return false;
	}
	run->keys = run->next;
	run->next = keys;
	return sc_all_store_sync() == 0;
}

/* In order here, not before the last key of the process in front, and none lost. */
static bool right(const struct run *run, uint64_t before)
{
	uint64_t sums[2] = {0, 0}, last = 0;
	if (sc_rank() > 0 && sc_read(&last, sc_at(sc_rank() - 1, run->keys + run->count - 1)))
		return false;
	for (size_t i = 0; i < run->count; i++) {
		sums[0] += run->keys[i];
		sums[1] += run->keys[i] < last;
		last = run->keys[i];
	}
	sums[0] -= before;
	return sum_of_all(sums, run->sums) && sums[0] == 0 && sums[1] == 0;
}

bool radix_sort(size_t keys, unsigned seed)
{
	uint64_t state = (uint64_t)seed << 32 | (sc_rank() + 1000), before = 0;
	struct run run = {.count = keys,
			  .keys = sc_alloc(keys * sizeof(uint64_t)),
			  .next = sc_alloc(keys * sizeof(uint64_t)),
			  .histograms = sc_alloc((size_t)DIGITS * sc_size() * sizeof(uint64_t)),
			  .sums = sc_alloc(2 * sc_size() * sizeof(uint64_t))};
	if (!run.keys || !run.next || !run.histograms || !run.sums)
		return false;
	for (size_t i = 0; i < keys; i++)
		before += run.keys[i] = (uint32_t)random_of(&state);
	if (sc_barrier())
		return false;
	for (unsigned pass = 0; pass < 4; pass++)
		if (!sort_by(&run, pass))
			return false;
	return right(&run, before);
}
