/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/timing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/timeline.h"

static struct {
	pthread_once_t once;
	double ns_per_tick, cost, lap;
} clock_facts = {PTHREAD_ONCE_INIT, 1, 0, 0};

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

/* Recording is inside the next lap, see lap_cost(). */
void timing_record_lap(struct timing *timing, ptl_stage_t stage)
{
	uint64_t now = cycle_clock();

	record(timing, stage, now - timing->lap, true);
	if (timing->timeline)
		timeline_stage(timing->timeline, stage, timing->lap, now);
	timing->lap = now;
}

void timing_record_message(struct timing *timing)
{
	uint64_t outside = atomic_load_explicit(&timing->outside, memory_order_relaxed);

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

int timing_set(struct timing *timing, bool on)
{
	atomic_store_explicit(&timing->on, false, memory_order_relaxed);
	if (!on)
		return 0;
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

/* What comes after another lap of its message has the recording of that one in it. */
static bool follows_a_lap(unsigned stage)
{
	return stage_names[stage].group == PTL_STAGE_NIC && stage != PTL_STAGE_OWN && stage != PTL_STAGE_INSPECT &&
	       stage != PTL_STAGE_RELEASE;
}

static void share_clock(ptl_nic_timing_t *out)
{
	ptl_stage_times_t *message = &out->stage[PTL_STAGE_MESSAGE];
	double sum = 0;

	out->clock_cost = timing_clock_cost();
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++) {
		ptl_stage_times_t *times = &out->stage[stage];

		if (times->count)
			times->clock = follows_a_lap(stage) ? clock_facts.lap : clock_facts.cost;
		if (times->group == PTL_STAGE_NIC)
			sum += times->clock * (double)times->count;
	}
	if (message->count)
		message->clock = sum / (double)message->count;
}

void timing_read(const struct timing *timing, ptl_nic_timing_t *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++) {
		out->stage[stage].name = stage_names[stage].name;
		out->stage[stage].group = stage_names[stage].group;
		read_stage(timing, stage, &out->stage[stage]);
	}
	share_clock(out);
	out->messages = atomic_load_explicit(&timing->messages, memory_order_relaxed);
	out->entries_walked = atomic_load_explicit(&timing->walked, memory_order_relaxed);
	out->clock = timing_clock_name();
}

static const char *const groups[] = {"host", "NIC", "", "between", "transport"};

static void print_stage(const ptl_stage_times_t *stage, double whole, FILE *out)
{
	if (stage->count == 0)
		return;
	fprintf(out, "  %-9s %-18s %10llu %9.1f %9.1f %9.1f %9.1f %6.1f", groups[stage->group], stage->name,
		(unsigned long long)stage->count, stage->mean, stage->trimmed_mean, stage->p50, stage->p99,
		stage->clock);
	if ((stage->group == PTL_STAGE_NIC || stage->group == PTL_STAGE_TOTAL) && whole > 0)
		fprintf(out, " %6.1f %%", 100 * stage->total / whole);
	fputc('\n', out);
}

void timing_print(const ptl_nic_timing_t *timing, FILE *out)
{
	double whole = timing->stage[PTL_STAGE_MESSAGE].total;

	if (!PORTALS_TIMING) {
		fputs("  the stage clocks are not compiled in (build option `timing`)\n", out);
		return;
	}

	fprintf(out, "  %-9s %-18s %10s %9s %9s %9s %9s %6s %8s\n", "who", "stage (ns)", "count", "mean", "trimmed",
		"p50", "p99", "clock", "share");
	for (unsigned stage = 0; stage < PTL_STAGE_COUNT; stage++)
		print_stage(&timing->stage[stage], whole, out);
	fprintf(out,
		"  clock: %s, %.1f ns a reading, of each stage in column clock with what recording costs; match "
		"entries walked: "
		"%.2f a message\n",
		timing->clock, timing->clock_cost,
		timing->messages ? (double)timing->entries_walked / (double)timing->messages : 0.0);
}

void timing_write(const ptl_nic_timing_t *timing, FILE *out)
{
	const char *separator = "";

	fprintf(out, " \"clock\": \"%s\", \"clock_cost_ns\": %.1f, \"messages\": %llu, \"entries_walked\": %llu,\n",
		timing->clock, timing->clock_cost, (unsigned long long)timing->messages,
		(unsigned long long)timing->entries_walked);
	fputs(" \"stages\": [", out);
	for (unsigned i = 0; i < PTL_STAGE_COUNT; i++) {
		const ptl_stage_times_t *stage = &timing->stage[i];

		if (stage->count == 0)
			continue;
		fprintf(out,
			"%s\n  {\"stage\": \"%s\", \"who\": \"%s\", \"count\": %llu, \"total_ns\": %.0f, \"mean_ns\": "
			"%.1f, \"trimmed_mean_ns\": %.1f, \"p50_ns\": %.1f, \"p99_ns\": %.1f, \"min_ns\": %.1f, "
			"\"max_ns\": "
			"%.1f, \"clock_ns\": %.1f}",
			separator, stage->name, groups[stage->group], (unsigned long long)stage->count, stage->total,
			stage->mean, stage->trimmed_mean, stage->p50, stage->p99, stage->min, stage->max, stage->clock);
		separator = ",";
	}
	fputs("\n ]\n", out);
}
