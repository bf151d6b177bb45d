/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/batches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void batches_forget(struct batches *batches)
{
	atomic_store_explicit(&batches->known, 0, memory_order_relaxed);
	batches->longest = 0;
	batches->lot = 1; /* any but 0 */
}

static bool is_way(const struct batch_way *way, const struct batches *batches)
{
	if (atomic_load_explicit(&way->laps, memory_order_relaxed) != batches->laps)
		return false;
	for (uint32_t i = 0; i < batches->laps; i++)
		if (atomic_load_explicit(&way->stages[i], memory_order_relaxed) != batches->stages[i])
			return false;
	return true;
}

/* NULL: there is no room for another. */
static struct batch_way *find_way(struct batches *batches)
{
	uint32_t known = atomic_load_explicit(&batches->known, memory_order_relaxed);
	struct batch_way *way = batches->ways;

	for (; way < batches->ways + known; way++)
		if (is_way(way, batches))
			return way;
	if (known == BATCH_WAYS)
		return NULL;
	for (uint32_t i = 0; i < batches->laps; i++)
		atomic_store_explicit(&way->stages[i], batches->stages[i], memory_order_relaxed);
	atomic_store_explicit(&way->laps, batches->laps, memory_order_relaxed);
	atomic_store_explicit(&way->messages, 0, memory_order_relaxed);
	for (uint32_t i = 0; i <= BATCH_LAPS; i++)
		atomic_store_explicit(&way->taken[i], 0, memory_order_relaxed);
	/* Pairs with the acquire in batches_read(). */
	atomic_store_explicit(&batches->known, known + 1, memory_order_release);
	return way;
}

static void add_sample(struct batch_way *way, uint32_t laps, uint64_t ticks)
{
	uint32_t taken = atomic_load_explicit(&way->taken[laps], memory_order_relaxed);

	atomic_store_explicit(&way->ticks[laps][taken % BATCH_SAMPLES],
			      ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX, memory_order_relaxed);
	/* Beyond the first round the count only has to tell where the next one goes. */
	atomic_store_explicit(&way->taken[laps], taken + 1 < 2 * BATCH_SAMPLES ? taken + 1 : BATCH_SAMPLES,
			      memory_order_relaxed);
}

void batches_keep(struct batches *batches)
{
	struct batch_way *way = batches->laps <= BATCH_LAPS ? find_way(batches) : NULL;

	if (!way)
		return;
	if (batches->laps > batches->longest)
		batches->longest = batches->laps;
	atomic_store_explicit(&way->messages, atomic_load_explicit(&way->messages, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (batches->wanted <= batches->laps)
		add_sample(way, batches->wanted, batches->ticks);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Mean of the middle eight tenths; negative: there is none yet. */
static double mean_of(const struct batch_way *way, uint32_t laps)
{
	uint32_t ticks[BATCH_SAMPLES] = {0}, count = atomic_load_explicit(&way->taken[laps], memory_order_relaxed);
	double sum = 0;

	if (count == 0)
		return -1;
	if (count > BATCH_SAMPLES)
		count = BATCH_SAMPLES;
	for (uint32_t i = 0; i < count; i++)
		ticks[i] = atomic_load_explicit(&way->ticks[laps][i], memory_order_relaxed);
	qsort(ticks, count, sizeof(*ticks), compare);
	const uint32_t first = count / 10, last = count - first;

	for (uint32_t i = first; i < last; i++)
		sum += ticks[i];
	return sum / (last - first);
}

static void read_way(const struct batch_way *way, struct batch_sums *sums)
{
	const uint64_t messages = atomic_load_explicit(&way->messages, memory_order_relaxed);
	const uint32_t laps = atomic_load_explicit(&way->laps, memory_order_relaxed);
	double means[BATCH_LAPS + 1];

	for (uint32_t i = 0; i <= laps; i++)
		if ((means[i] = mean_of(way, i)) < 0)
			return; /* too few messages to tell */
	for (uint32_t i = 0; i < laps; i++) {
		const uint8_t stage = atomic_load_explicit(&way->stages[i], memory_order_relaxed);

		sums->count[stage] += messages;
		sums->ticks[stage] += (double)messages * (means[i + 1] - means[i]);
	}
	sums->messages += messages;
}

void batches_read(const struct batches *batches, struct batch_sums *sums)
{
	/* Acquire pairs with the release in find_way(). */
	uint32_t known = atomic_load_explicit(&batches->known, memory_order_acquire);

	memset(sums, 0, sizeof(*sums));
	for (uint32_t i = 0; i < known; i++)
		read_way(&batches->ways[i], sums);
}
