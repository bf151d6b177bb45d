/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first message after a second of silence: both processes are idle, the target sleeps in Portals.  Its counterpart is
 * the bare wake: the target sleeps on a futex.  One way, by the clock that both processes share.
 */
#include "tests.h"

#include <linux/futex.h>
#include <math.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "stage_rows.h"

#define SILENCE_S    1
#define MESSAGE_SIZE 8

static struct samples one_way; /* at the initiator, ns */
static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

static void keep_silence(void)
{
	struct timespec left = {.tv_sec = SILENCE_S};

	while (nanosleep(&left, &left))
		;
}

/* Waits outside Portals, so that what the message needs to arrive it gets from the NIC. */
static void sample_wake(struct common *common, uint64_t start)
{
	uint64_t awake;

	while (!(awake = atomic_load_explicit(&common->awake_at_ns, memory_order_acquire)))
		cpu_pause();
	atomic_store_explicit(&common->awake_at_ns, 0, memory_order_relaxed);
	samples_add(&one_way, (double)(awake - start));
}

/* Pairs with the acquire load in sample_wake(). */
static void say_awake(struct common *common)
{
	atomic_store_explicit(&common->awake_at_ns, monotonic_ns(), memory_order_release);
}

static void wake_put_prepare(struct session *session, const struct run *run)
{
	ptl_md_t source = session_md(session, session->source, run->size, 0);
	ptl_md_t sink = session_md(session, session->sink, run->size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);

	source.eq_handle = PTL_EQ_NONE;
	if (session->peers.role == INITIATOR)
		source_md = session_bind(session, source, PTL_RETAIN);
	else
		entry = session_attach(session, BITS_DATA, sink, PTL_RETAIN);
}

static void wake_put_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	keep_silence();
	uint64_t start = monotonic_ns();
	session_put(session, source_md, BITS_DATA);
	sample_wake(session->common, start);
}

static void wake_put_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	say_awake(session->common);
	payload_check(session, session->sink, run->size, iteration);
}

static void wake_put_finish(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == INITIATOR)
		session_release(session, source_md);
	else
		session_detach(session, entry);
}

const struct exchange wake_put_exchange = {wake_put_prepare, wake_put_initiate, wake_put_serve, wake_put_finish};

static void wake_futex_prepare(struct session *session, const struct run *run)
{
	(void)run;
	atomic_store(&session->common->doorbell, 0);
}

static void wake_futex_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	_Atomic uint32_t *doorbell = &session->common->doorbell;

	(void)run;
	keep_silence();
	uint64_t start = monotonic_ns();
	atomic_store(doorbell, iteration + 1);
	syscall(SYS_futex, doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	sample_wake(session->common, start);
}

static void wake_futex_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	_Atomic uint32_t *doorbell = &session->common->doorbell;

	(void)run;
	while (atomic_load(doorbell) != iteration + 1)
		syscall(SYS_futex, doorbell, FUTEX_WAIT, iteration, NULL, NULL, 0);
	say_awake(session->common);
}

const struct exchange wake_futex_exchange = {wake_futex_prepare, wake_futex_initiate, wake_futex_serve, NULL};

/* What a wake-up is made of: the sender hands over and wakes, the system runs the sleeper, which polls and handles the message. */
enum part { PART_DOORBELL, PART_WAKE, PART_POLL, PARTS };

static const struct column columns[] = {
	{"Bytes", "bytes", 0},
	{"Latency (us)", "latency_us", 2},
	{"p10", "p10", 2},
	{"p90", "p90", 2},
	{"doorbell", "doorbell_us", 2},
	{"wake", "wake_us", 2},
	{"first poll", "poll_us", 2},
	{"futex (us)", "futex_us", 2},
	{"ours/futex", "ratio", 3},
};

static void keep_parts(const struct stage_times times[2], double whole, struct samples parts[PARTS])
{
	double doorbell = times[INITIATOR].figures[PTL_STAGE_SEND][STAGE_TOTAL_NS];
	double poll = times[TARGET].figures[PTL_STAGE_POLL][STAGE_TOTAL_NS];

	if (isnan(doorbell) || isnan(poll) || doorbell + poll > whole)
		return; /* without stage clocks, or not the polling of one message */
	samples_add(&parts[PART_DOORBELL], doorbell);
	samples_add(&parts[PART_POLL], poll);
	samples_add(&parts[PART_WAKE], whole - doorbell - poll);
}

static double median_us(struct samples *samples)
{
	double median = samples_summary(samples).median / 1e3;

	samples_free(samples);
	return median;
}

static double measure_futex(struct session *session)
{
	struct run run = {.exchange = EXCHANGE_WAKE_FUTEX, .size = MESSAGE_SIZE, .batch = 1, .batches = 1};

	measure_run(session, &run, NULL);
	return median_us(&one_way) * 1e3;
}

/* Without the stage clocks, which a cold processor pays for dearly, and a futex has none. */
static double measure_put(struct session *session)
{
	struct run run = {.exchange = EXCHANGE_WAKE_PUT, .size = MESSAGE_SIZE, .batch = 1, .batches = 1};

	measure_run(session, &run, NULL);
	return median_us(&one_way) * 1e3;
}

/* Of another message: the clocks say what it is made of. */
static void measure_parts(struct session *session, struct samples parts[PARTS])
{
	struct run run = {.exchange = EXCHANGE_WAKE_PUT, .size = MESSAGE_SIZE, .batch = 1, .batches = 1};
	struct stage_times times[2];

	measure_nic_timing(session, &run, times);
	keep_parts(times, median_us(&one_way) * 1e3, parts);
}

/* One trial at a time, in turns, as the machine's moods change. */
int wake(struct session *session)
{
	uint32_t trials = session->load.iterations ? session->load.iterations : session->load.quick ? 2 : 5;
	struct samples put = {0}, futex = {0}, parts[PARTS] = {{0}};

	output_fact("latency", "one way, from PtlPut to the return of PtlEQWait, after %d s of silence", SILENCE_S);
	output_fact(
		"doorbell, wake, first poll",
		"of another message, with stage clocks on: handing over to the transport and waking the target; from "
		"then to the target's first poll and from that to the caller; that poll, which handles the message");
	output_fact("futex", "the same with a sleeper on a futex");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	measure_connect(session);
	for (uint32_t trial = 0; trial < trials; trial++) {
		samples_add(&put, measure_put(session));
		samples_add(&futex, measure_futex(session));
		measure_parts(session, parts);
	}
	struct summary ours = samples_summary(&put), bare = samples_summary(&futex);
	stage_row(session,
		  (union cell[]){{MESSAGE_SIZE},
				 {ours.median / 1e3},
				 {ours.p10 / 1e3},
				 {ours.p90 / 1e3},
				 {median_us(&parts[PART_DOORBELL])},
				 {median_us(&parts[PART_WAKE])},
				 {median_us(&parts[PART_POLL])},
				 {bare.median / 1e3},
				 {ours.median / bare.median}},
		  &(struct run){.exchange = EXCHANGE_WAKE_PUT, .size = MESSAGE_SIZE, .batch = 1, .batches = trials});
	stage_rows_close(session);
	samples_free(&one_way);
	samples_free(&put);
	samples_free(&futex);
	return 0;
}
