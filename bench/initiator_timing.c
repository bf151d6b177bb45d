/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the initiator's time goes in each iteration of a ping-pong (Portals on QsNet, table 1): posting the receive for the
 * pong, sending the ping, waiting for its end, waiting for the pong.  Each call is timed by itself, so the total has the time of the clock
 * in it once for each of them.
 */
#include "tests.h"

#include <math.h>

#include "base/arch.h"
#include "histogram.h"
#include "measure.h"
#include "output.h"
#include "pingpong.h"
#include "raw.h"
#include "sizes.h"
#include "stage_rows.h"

enum step { POST, SEND, WAIT_SENT, WAIT_PONG, TOTAL, STEPS };

static const char *const names[STEPS] = {
	[POST] = "Post receive for pong",        [SEND] = "Send ping", [WAIT_SENT] = "Wait for send to complete",
	[WAIT_PONG] = "Wait for pong to arrive", [TOTAL] = "Total",
};

/* run.variant: the receive is posted by PtlMEAttach and PtlMDAttach, or by one call. */
enum way { TWO_CALLS, ONE_CALL, RAW, WAYS };

static struct samples samples[WAYS][STEPS];
static ptl_handle_md_t source_md;

/* Times of one iteration; the first ones, which are not measured, are not kept. */
struct stopwatch {
	uint64_t at[STEPS];
};

static void add_samples(const struct stopwatch *watch, enum way way, const struct run *run, uint32_t iteration)
{
	if (iteration < run->lead)
		return;
	for (enum step step = POST; step < TOTAL; step++)
		samples_add(&samples[way][step], (double)(watch->at[step + 1] - watch->at[step]));
	samples_add(&samples[way][TOTAL], (double)(watch->at[TOTAL] - watch->at[POST]));
}

static void timed_prepare(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET)
		put_prepare(session, run);
	else
		source_md = session_bind(session, session_md(session, session->source, run->size, 0), PTL_RETAIN);
}

static void post_receive(struct session *session, const struct run *run)
{
	ptl_md_t md = session_md(session, session->sink, run->size, PTL_MD_OP_PUT);
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	md.threshold = 1;
	if (run->variant == ONE_CALL)
		PTL(PtlMEMDAttach(session->ni, BENCH_PT_INDEX, session->other, BITS_DATA, 0, PTL_UNLINK, PTL_INS_AFTER,
				  md, PTL_UNLINK, &me, &handle));
	else
		session_attach(session, BITS_DATA, md, PTL_UNLINK);
}

static void timed_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct stopwatch watch;

	payload_fill(session, session->source, run->size, iteration);
	watch.at[POST] = monotonic_ns();
	post_receive(session, run);
	watch.at[SEND] = monotonic_ns();
	session_put(session, source_md, BITS_DATA);
	watch.at[WAIT_SENT] = monotonic_ns();
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
	watch.at[WAIT_PONG] = monotonic_ns();
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	watch.at[TOTAL] = monotonic_ns();
	add_samples(&watch, run->variant, run, iteration);
	payload_check(session, session->sink, run->size, iteration);
}

static void timed_finish(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET) {
		put_finish(session, run);
		return;
	}
	session_wait(session, PTL_EVENT_UNLINK, run_iterations(run));
	session_release(session, source_md);
}

const struct exchange timed_exchange = {timed_prepare, timed_initiate, put_serve, timed_finish};

static void raw_timed_prepare(struct session *session, const struct run *run)
{
	raw_put_exchange.prepare(session, run);
}

static void raw_timed_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);
	const size_t size = raw_put_size(session, run);
	struct stopwatch watch;

	watch.at[POST] = monotonic_ns();
	raw_post(endpoint, session->sink, size);
	watch.at[SEND] = monotonic_ns();
	raw_send(endpoint, session->source, size);
	watch.at[WAIT_SENT] = monotonic_ns();
	raw_flush(endpoint);
	watch.at[WAIT_PONG] = monotonic_ns();
	raw_wait(endpoint, iteration + 1);
	watch.at[TOTAL] = monotonic_ns();
	add_samples(&watch, RAW, run, iteration);
}

static void raw_timed_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	raw_put_exchange.serve(session, run, iteration);
}

const struct exchange raw_timed_exchange = {raw_timed_prepare, raw_timed_initiate, raw_timed_serve, NULL};

static double clock_ns(void)
{
	enum { READS = 1000 };
	uint64_t start = monotonic_ns(), end = start;

	for (int i = 0; i < READS; i++)
		end = monotonic_ns();
	return (double)(end - start) / READS;
}

/* Mean of the middle eight tenths: what a preemption spoils is not in it. */
static double trimmed_mean(const struct samples *sorted)
{
	size_t cut = sorted->count / 10, kept = sorted->count - 2 * cut;
	double sum = 0;

	for (size_t i = cut; i < cut + kept; i++)
		sum += sorted->value[i];
	return kept ? sum / (double)kept : NAN;
}

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"Operation", "operation", -26},
	{"mean (us)", "trimmed_mean_us", 3},
	{"median", "median_us", 3},
	{"p99", "p99_us", 3},
	{"one call", "one_call_us", 3},
	{"raw", "raw_us", 3},
	{"raw p99", "raw_p99_us", 3},
};

/* With --nic-timing the stages are in the row of the total: those of put-latency's ping-pong, which makes the same calls. */
static void print_steps(struct session *session, uint64_t size)
{
	const struct run ping_pong = {.exchange = EXCHANGE_PUT, .size = size};

	for (enum step step = POST; step < STEPS; step++) {
		struct summary summary[WAYS];
		for (enum way way = TWO_CALLS; way < WAYS; way++)
			summary[way] = samples_summary(&samples[way][step]);
		histogram_add_samples(&ping_pong, &samples[TWO_CALLS][step]);
		stage_row(session,
			  (union cell[]){{(double)size},
					 {.text = names[step]},
					 {trimmed_mean(&samples[TWO_CALLS][step]) / 1e3},
					 {summary[TWO_CALLS].median / 1e3},
					 {summary[TWO_CALLS].p99 / 1e3},
					 {summary[ONE_CALL].median / 1e3},
					 {summary[RAW].median / 1e3},
					 {summary[RAW].p99 / 1e3}},
			  step == TOTAL ? &ping_pong : NULL);
		for (enum way way = TWO_CALLS; way < WAYS; way++)
			samples_free(&samples[way][step]);
	}
}

/* In turns, as the machine's moods change. */
static void measure_size(struct session *session, uint64_t size)
{
	const bool raw = session->raw && session->load.raw != RAW_RMA;
	struct run run = {.size = size, .lead = 100, .batch = 1};

	for (uint32_t turn = 0; turn < session->load.repeat; turn++)
		for (enum way way = TWO_CALLS; way < (raw ? WAYS : RAW); way++) {
			run.exchange = way == RAW ? EXCHANGE_RAW_TIMED : EXCHANGE_TIMED;
			run.variant = way;
			run.batches =
				(session->load.iterations ? session->load.iterations : 5000) / session->load.repeat + 1;
			measure_run(session, &run, NULL);
		}
	print_steps(session, size);
}

int initiator_timing(struct session *session)
{
	uint64_t sizes[SIZES_MAX] = {0, 8};
	size_t count = sizes_choose(&session->load, sizes, 2, 0);

	output_fact("Operation", "of the initiator, in each iteration of a ping-pong; %.0f ns of each are the clock's",
		    clock_ns());
	output_fact("mean", "of the middle eight tenths; one call: the median where PtlMEMDAttach posts the receive");
	raw_fact(session);
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	measure_connect(session);
	for (size_t i = 0; i < count; i++)
		measure_size(session, sizes[i]);
	stage_rows_close(session);
	return 0;
}
