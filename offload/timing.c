/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/timing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/batches.h"
#include "offload/timeline.h"

static struct {
	pthread_once_t once;
	double ns_per_tick, cost, lap, batched_lap;
} clock_facts = {PTHREAD_ONCE_INIT, 1, 0, 0, 0};

/* Both clocks at one instant: the tightest of a few tries, because the thread may be preempted between the readings. */
void timing_now(uint64_t *ns, uint64_t *ticks)
{
	uint64_t tightest = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t before = cycle_clock(), now = monotonic_ns(), after = cycle_clock();

		if (after - before < tightest) {
			tightest = after - before;
			*ns = now;
			*ticks = before + (after - before) / 2;
		}
	}
}

/* The quickest of a few batches, for the same reason. */
static double ticks_of_a_reading(void)
{
	enum { BATCHES = 16, READINGS = 64 };
	uint64_t quickest = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = cycle_clock(), end = begin;

		for (int i = 0; i < READINGS; i++)
			end = cycle_clock();
		if (end - begin < quickest)
			quickest = end - begin;
	}
	return (double)quickest / READINGS;
}

static void calibrate(void);

double timing_ns_per_tick(void)
{
	pthread_once(&clock_facts.once, calibrate);
	return clock_facts.ns_per_tick;
}

double timing_clock_cost(void)
{
	pthread_once(&clock_facts.once, calibrate);
	return clock_facts.cost;
}

const char *timing_clock_name(void)
{
	return CYCLE_CLOCK_NAME;
}

/* Values below TIMING_STEPS have a bucket each; above, the bits behind the leading one choose the step. */
static unsigned bucket_of(uint64_t ticks)
{
	if (ticks < TIMING_STEPS)
		return (unsigned)ticks;
	unsigned shift = 63 - (unsigned)__builtin_clzll(ticks) - TIMING_STEPS_LOG;
	unsigned bucket = (shift + 1) * TIMING_STEPS + (unsigned)(ticks >> shift & (TIMING_STEPS - 1));

	return bucket < TIMING_BUCKETS ? bucket : TIMING_BUCKETS - 1;
}

/* The middle of the values of a bucket, in ticks. */
static double bucket_middle(unsigned bucket)
{
	if (bucket < TIMING_STEPS)
		return bucket;
	unsigned shift = bucket / TIMING_STEPS - 1;
	uint64_t width = UINT64_C(1) << shift;

	return (double)((TIMING_STEPS + bucket % TIMING_STEPS) * width) + (double)(width - 1) / 2;
}

/* `alone`: only the owner of the engine adds there, so that no locked instruction is needed. */
static inline void add(_Atomic uint64_t *sum, uint64_t value, bool alone)
{
	if (alone)
		atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + value,
				      memory_order_relaxed);
	else
		atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static inline void record(struct timing *timing, ptl_stage_t stage, uint64_t ticks, bool alone)
{
	struct stage_clock *clock = &timing->stages[stage];
	/* Acquire pairs with the release in timing_set(): the buckets are empty. */
	struct timing_histograms *histograms = atomic_load_explicit(&timing->histograms, memory_order_acquire);

	if (!histograms)
		return; /* switched on, but seen too early */
	add(&clock->count, 1, alone);
	add(&clock->ticks, ticks, alone);
	add(&histograms->buckets[stage][bucket_of(ticks)], 1, alone);
	if (ticks > atomic_load_explicit(&clock->greatest, memory_order_relaxed))
		atomic_store_explicit(&clock->greatest, ticks, memory_order_relaxed);
	if (ticks < atomic_load_explicit(&clock->least, memory_order_relaxed))
		atomic_store_explicit(&clock->least, ticks, memory_order_relaxed);
}

void timing_add_outside(struct timing *timing, uint64_t ticks)
{
	add(&timing->outside, ticks, true);
}

void timing_record(struct timing *timing, ptl_stage_t stage, uint64_t ticks)
{
	record(timing, stage, ticks, false);
}

void timing_record_span(struct timing *timing, ptl_stage_t stage, uint64_t start, uint64_t end)
{
	timing_record(timing, stage, end - start);
	if (timing->timeline)
		timeline_stage(timing->timeline, stage, start, end);
}

/* NULL: laps are timed one by one. */
static inline struct batches *batches_of(const struct timing *timing)
{
	return unlikely(atomic_load_explicit(&timing->in_batches, memory_order_relaxed))
		       ? atomic_load_explicit(&timing->batches, memory_order_relaxed)
		       : NULL;
}

void timing_record_begin(struct timing *timing)
{
	struct batches *batches = batches_of(timing);

	timing->started = timing->lap = batches ? batches_begin(batches) : cycle_clock();
}

/* Recording is inside the next lap, see ticks_of_a_lap(). */
void timing_record_lap(struct timing *timing, ptl_stage_t stage)
{
	struct batches *batches = batches_of(timing);

	if (batches) {
		batches_lap(batches, stage);
		return;
	}
	uint64_t now = cycle_clock();

	record(timing, stage, now - timing->lap, true);
	if (timing->timeline)
		timeline_stage(timing->timeline, stage, timing->lap, now);
	timing->lap = now;
}

void timing_record_message(struct timing *timing)
{
	uint64_t outside = atomic_load_explicit(&timing->outside, memory_order_relaxed);
	struct batches *batches = batches_of(timing);

	if (batches)
		batches_keep(batches);
	else
		record(timing, PTL_STAGE_MESSAGE, timing->lap - timing->started + outside, true);
	if (timing->timeline)
		timeline_stage(timing->timeline, PTL_STAGE_MESSAGE, timing->started, timing->lap);
	atomic_store_explicit(&timing->outside, 0, memory_order_relaxed);
	timing->lap = 0;
	add(&timing->messages, 1, true);
}

/* An empty lap: the reading at its end, and the recording of the one before. */
static double ticks_of_a_lap(void)
{
	enum { BATCHES = 16, LAPS = 64 };
	struct timing *timing = calloc(1, sizeof(*timing));
	struct timing_histograms *histograms = calloc(1, sizeof(*histograms));
	uint64_t quickest = UINT64_MAX;

	if (timing && histograms) {
		atomic_store_explicit(&timing->histograms, histograms, memory_order_relaxed);
		for (int batch = 0; batch < BATCHES; batch++) {
			uint64_t begin = timing->lap = cycle_clock();

			for (int lap = 0; lap < LAPS; lap++)
				timing_record_lap(timing, PTL_STAGE_MATCH);
			if (timing->lap - begin < quickest)
				quickest = timing->lap - begin;
		}
	}
	free(histograms);
	free(timing);
	return quickest == UINT64_MAX ? ticks_of_a_reading() : (double)quickest / LAPS;
}

/* A lap at whose end no clock is read. */
static double ticks_of_a_batched_lap(void)
{
	enum { MESSAGES = 64 };
	struct timing *timing = calloc(1, sizeof(*timing));
	struct batches *batches = calloc(1, sizeof(*batches));
	uint64_t quickest = UINT64_MAX;

	if (timing && batches) {
		atomic_store_explicit(&timing->batches, batches, memory_order_relaxed);
		atomic_store_explicit(&timing->in_batches, true, memory_order_relaxed);
		for (int message = 0; message < MESSAGES; message++) {
			timing_record_begin(timing);
			uint64_t begin = cycle_clock();

			for (int lap = 0; lap < BATCH_LAPS; lap++)
				timing_record_lap(timing, PTL_STAGE_MATCH);
			begin = cycle_clock() - begin;
			if (begin < quickest)
				quickest = begin;
		}
	}
	free(batches);
	free(timing);
	double laps = (double)quickest - ticks_of_a_reading();

	return quickest == UINT64_MAX || laps < 0 ? 0 : laps / BATCH_LAPS;
}

/* Compares the cycle clock with the system's over 2 ms: an error of some 20 ns at both ends, a few 0.001 %. */
static void calibrate(void)
{
	uint64_t ns = 0, ticks = 0, ns_end = 0, ticks_end = 0;

	timing_now(&ns, &ticks);
	while (monotonic_ns() - ns < 2000000)
		cpu_pause();
	timing_now(&ns_end, &ticks_end);
	clock_facts.ns_per_tick = (double)(ns_end - ns) / (double)(ticks_end - ticks);
	clock_facts.cost = ticks_of_a_reading() * clock_facts.ns_per_tick;
	clock_facts.lap = ticks_of_a_lap() * clock_facts.ns_per_tick;
	clock_facts.batched_lap = ticks_of_a_batched_lap() * clock_facts.ns_per_tick;
}

static void forget_stage(struct timing *timing, struct timing_histograms *histograms, unsigned stage)
{
	struct stage_clock *clock = &timing->stages[stage];

	atomic_store_explicit(&clock->count, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->ticks, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->greatest, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->least, UINT64_MAX, memory_order_relaxed);
	for (unsigned i = 0; i < TIMING_BUCKETS;
	     i++) /* also where nothing is yet: recording shall meet no page fault */
		atomic_store_explicit(&histograms->buckets[stage][i], 0, memory_order_relaxed);
}

/* A timeline needs each lap's end. */
static int set_batches(struct timing *timing, bool wanted)
{
	struct batches *batches = atomic_load_explicit(&timing->batches, memory_order_relaxed);
	bool possible = wanted && !timing->timeline;

	if (possible && !batches && !(batches = calloc(1, sizeof(*batches))))
		return -ENOMEM;
	if (batches)
		batches_forget(batches);
	/* Release pairs with the acquire in read_batches(). */
	atomic_store_explicit(&timing->batches, batches, memory_order_release);
	atomic_store_explicit(&timing->in_batches, possible, memory_order_relaxed);
	return 0;
}

int timing_set(struct timing *timing, int how)
{
	atomic_store_explicit(&timing->on, false, memory_order_relaxed);
	if (how == PTL_NIC_TIMING_OFF)
		return 0;
	if (set_batches(timing, how == PTL_NIC_TIMING_BATCHES))
		return -ENOMEM;
	struct timing_histograms *histograms = atomic_load_explicit(&timing->histograms, memory_order_relaxed);

	if (!histograms && !(histograms = calloc(1, sizeof(*histograms))))
		return -ENOMEM;
	timing_ns_per_tick();
	atomic_store_explicit(&timing->outside, 0, memory_order_relaxed);
	atomic_store_explicit(&timing->messages, 0, memory_order_relaxed);
	atomic_store_explicit(&timing->walked, 0, memory_order_relaxed);
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++)
		forget_stage(timing, histograms, stage);
	/* Release pairs with the acquire in record() and read_stage(). */
	atomic_store_explicit(&timing->histograms, histograms, memory_order_release);
	atomic_store_explicit(&timing->since, cycle_clock(), memory_order_relaxed);
	atomic_store_explicit(&timing->on, true, memory_order_relaxed);
	return 0;
}

void timing_free(struct timing *timing)
{
	free(atomic_load_explicit(&timing->histograms, memory_order_relaxed));
	free(atomic_load_explicit(&timing->batches, memory_order_relaxed));
}

static double percentile(const struct timing *timing, unsigned stage, uint64_t count, double part)
{
	const _Atomic uint64_t *buckets =
		atomic_load_explicit(&timing->histograms, memory_order_acquire)->buckets[stage];
	uint64_t wanted = (uint64_t)((double)count * part), seen = 0;

	for (unsigned bucket = 0; bucket < TIMING_BUCKETS; bucket++) {
		seen += atomic_load_explicit(&buckets[bucket], memory_order_relaxed);
		if (seen > wanted)
			return bucket_middle(bucket);
	}
	return (double)atomic_load_explicit(&timing->stages[stage].greatest, memory_order_relaxed);
}

/* Mean of the middle eight tenths. */
static double trimmed_mean(const struct timing *timing, unsigned stage, uint64_t count)
{
	const _Atomic uint64_t *buckets =
		atomic_load_explicit(&timing->histograms, memory_order_acquire)->buckets[stage];
	uint64_t first = count / 10, last = count - first, seen = 0, kept = 0;
	double sum = 0;

	for (unsigned bucket = 0; bucket < TIMING_BUCKETS; bucket++) {
		uint64_t before = seen;

		seen += atomic_load_explicit(&buckets[bucket], memory_order_relaxed);
		if (seen <= first || before >= last)
			continue;
		uint64_t part = (seen < last ? seen : last) - (before > first ? before : first);

		sum += (double)part * bucket_middle(bucket);
		kept += part;
	}
	return kept ? sum / (double)kept : 0;
}

static const struct {
	const char *name;
	ptl_stage_group_t group;
} stage_names[] = {
#define STAGE_ROW(name, text, group) {text, group},
	PTL_NIC_STAGES(STAGE_ROW)
#undef STAGE_ROW
};

static void read_stage(const struct timing *timing, unsigned stage, ptl_stage_times_t *times)
{
	const struct stage_clock *clock = &timing->stages[stage];
	uint64_t ticks = atomic_load_explicit(&clock->ticks, memory_order_relaxed);
	double ns = timing_ns_per_tick();

	/* First: a thread that does not own the engine might see a count before the histograms that it is of. */
	if (!atomic_load_explicit(&timing->histograms, memory_order_acquire))
		return;
	times->count = atomic_load_explicit(&clock->count, memory_order_relaxed);
	if (times->count == 0)
		return;
	/* What is outside waits for the next message, so that its stages have it already. */
	times->total = ns * (double)(ticks + (stage == PTL_STAGE_MESSAGE
						      ? atomic_load_explicit(&timing->outside, memory_order_relaxed)
						      : 0));
	times->mean = times->total / (double)times->count;
	times->p50 = ns * percentile(timing, stage, times->count, 0.50);
	times->p99 = ns * percentile(timing, stage, times->count, 0.99);
	times->trimmed_mean = ns * trimmed_mean(timing, stage, times->count);
	times->min = ns * (double)atomic_load_explicit(&clock->least, memory_order_relaxed);
	times->max = ns * (double)atomic_load_explicit(&clock->greatest, memory_order_relaxed);
}

static bool is_lap(unsigned stage)
{
	return stage_names[stage].group == PTL_STAGE_NIC && stage != PTL_STAGE_OWN && stage != PTL_STAGE_RELEASE;
}

/* What a stage has of the instrument.  What comes after another lap of its message has the recording of that one in it. */
static double clock_of(const struct timing *timing, unsigned stage)
{
	if (atomic_load_explicit(&timing->in_batches, memory_order_relaxed) &&
	    stage_names[stage].group == PTL_STAGE_NIC)
		return is_lap(stage) ? clock_facts.batched_lap : 0;
	return is_lap(stage) && stage != PTL_STAGE_INSPECT ? clock_facts.lap : clock_facts.cost;
}

static void share_clock(const struct timing *timing, ptl_nic_timing_t *out)
{
	ptl_stage_times_t *message = &out->stage[PTL_STAGE_MESSAGE];
	double sum = 0;

	out->clock_cost = timing_clock_cost();
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++) {
		ptl_stage_times_t *times = &out->stage[stage];

		if (times->count)
			times->clock = clock_of(timing, stage);
		if (times->group == PTL_STAGE_NIC)
			sum += times->clock * (double)times->count;
	}
	if (message->count)
		message->clock = sum / (double)message->count;
}

/* Single messages have no stages here, only their means. */
static void set_mean(ptl_stage_times_t *times, uint64_t count, double total)
{
	times->count = count;
	times->total = total;
	times->mean = times->trimmed_mean = count ? total / (double)count : 0;
	times->p50 = times->p99 = times->min = times->max = 0;
}

static void read_batches(const struct timing *timing, ptl_nic_timing_t *out)
{
	/* Acquire pairs with the release in set_batches(). */
	const struct batches *batches = atomic_load_explicit(&timing->batches, memory_order_acquire);
	struct batch_sums sums;
	const uint64_t all = atomic_load_explicit(&timing->messages, memory_order_relaxed);
	double total = 0;

	if (!batches || !atomic_load_explicit(&timing->in_batches, memory_order_relaxed))
		return;
	batches_read(batches, &sums);
	/* Not all messages are in batches that tell something. */
	const double counted = all > sums.messages ? (double)sums.messages / (double)all : 1;

	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++) {
		ptl_stage_times_t *times = &out->stage[stage];

		if (times->group != PTL_STAGE_NIC)
			continue;
		if (is_lap(stage))
			set_mean(times, sums.count[stage], timing_ns_per_tick() * sums.ticks[stage]);
		else /* between two readings of its own, one of which is in it */
			set_mean(times, times->count,
				 (double)times->count * (times->trimmed_mean - timing_clock_cost()));
		total += is_lap(stage) ? times->total : counted * times->total;
	}
	set_mean(&out->stage[PTL_STAGE_MESSAGE], sums.messages, total);
	out->messages_in_batches = sums.messages;
}

void timing_read(const struct timing *timing, ptl_nic_timing_t *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++) {
		out->stage[stage].name = stage_names[stage].name;
		out->stage[stage].group = stage_names[stage].group;
		read_stage(timing, stage, &out->stage[stage]);
	}
	read_batches(timing, out);
	share_clock(timing, out);
	out->messages = atomic_load_explicit(&timing->messages, memory_order_relaxed);
	out->entries_walked = atomic_load_explicit(&timing->walked, memory_order_relaxed);
	out->clock = timing_clock_name();
}
