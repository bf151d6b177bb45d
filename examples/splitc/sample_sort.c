/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "programs.h"

#define SAMPLES 64 /* a process */

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
	return a < b ? -1 : a > b;
}

static void sort(uint64_t *keys, size_t count)
{
	qsort(keys, count, sizeof(*keys), compare);
}

struct run {
	size_t count,
		place; /* keys of this process, and where those of each process go at a target: room for all of them */
	uint64_t *keys, *samples, *incoming, *lengths, *sums;
};

/* All processes know all samples, so all find the same splitters. */
static bool share_samples(const struct run *run)
{
	uint64_t mine[SAMPLES];
	for (unsigned i = 0; i < SAMPLES; i++)
		mine[i] = run->keys[i * run->count / SAMPLES];
	for (unsigned process = 0; process < sc_size(); process++)
		if (sc_bulk_store(sc_at(process, run->samples + (size_t)sc_rank() * SAMPLES), mine, sizeof(mine)))
			return false;
	if (sc_all_store_sync())
		return false;
	sort(run->samples, (size_t)SAMPLES * sc_size());
	return true;
}

/* Keys are sorted: those of one target lie together. */
static bool distribute(const struct run *run)
{
	size_t first = 0;
	for (unsigned process = 0; process < sc_size(); process++) {
		size_t end = first;
		while (end < run->count &&
		       (process + 1 == sc_size() || run->keys[end] < run->samples[(size_t)(process + 1) * SAMPLES]))
			end++;
		if (sc_store(sc_at(process, run->lengths + sc_rank()), end - first) ||
		    (end > first && sc_bulk_store(sc_at(process, run->incoming + sc_rank() * run->place),
						  run->keys + first, (end - first) * sizeof(*run->keys))))
			return false;
		first = end;
	}
	return sc_all_store_sync() == 0;
}

/* Puts what came from each process together and sorts it; returns how many. */
static size_t collect(const struct run *run)
{
	size_t count = 0;
	for (unsigned process = 0; process < sc_size(); process++) {
		memmove(run->incoming + count, run->incoming + process * run->place,
			run->lengths[process] * sizeof(*run->incoming));
		count += run->lengths[process];
	}
	sort(run->incoming, count);
	return count;
}

/* Nothing is lost, and every key is at least the splitter in front of it and less than the one behind. */
static bool right(const struct run *run, size_t count, uint64_t before)
{
	uint64_t sums[2] = {0, count};
	bool in_range = true;
	for (size_t i = 0; i < count; i++) {
		sums[0] += run->incoming[i];
		in_range &= (sc_rank() == 0 || run->incoming[i] >= run->samples[(size_t)sc_rank() * SAMPLES]) &&
			    (sc_rank() + 1 == sc_size() ||
			     run->incoming[i] < run->samples[(size_t)(sc_rank() + 1) * SAMPLES]);
	}
	sums[0] -= before; /* all together: 0 */
	return sum_of_all(sums, run->sums) && sums[0] == 0 && sums[1] == run->count * sc_size() && in_range;
}

bool sample_sort(size_t keys, unsigned seed)
{
	uint64_t state = (uint64_t)seed << 32 | sc_rank(), before = 0;
	struct run run = {.count = keys,
			  .place = keys,
			  .keys = malloc(keys * sizeof(uint64_t)),
			  .samples = sc_alloc((size_t)SAMPLES * sc_size() * sizeof(uint64_t)),
			  .incoming = sc_alloc(keys * sc_size() * sizeof(uint64_t)),
			  .lengths = sc_alloc(sc_size() * sizeof(uint64_t)),
			  .sums = sc_alloc(2 * sc_size() * sizeof(uint64_t))};
	if (!run.keys || !run.samples || !run.incoming || !run.lengths || !run.sums || sc_barrier()) {
		free(run.keys);
		return false;
	}
	for (size_t i = 0; i < keys; i++)
		before += run.keys[i] = random_of(&state);
	sort(run.keys, keys);
	bool good = share_samples(&run) && distribute(&run) && right(&run, collect(&run), before);
	free(run.keys);
	return good;
}
