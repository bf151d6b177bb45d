/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the host spends on a message, and what is left of it (microbenchmarks for cluster interconnects, 2.2.4): the time of
 * posting a put and of taking its events, without waiting; and the bandwidth of both directions that is left while the
 * host computes for a growing share of its time.
 */
#include "tests.h"

#include <math.h>

#include "fail.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

static struct {
	struct samples post, take;
} spent;

static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

static void host_prepare(struct session *session, const struct run *run)
{
	source_md = session_bind_silent(session, session->source, run->size);
	entry = session_attach_sink(session, run->size);
}

/* Calls of PtlEQGet that find nothing are waiting; the one that finds the event is not. */
static void take_timed(struct session *session)
{
	int code;
	uint64_t before;

	do {
		before = monotonic_ns();
		code = PtlEQGet(session->eq, &session->event);
	} while (code == PTL_EQ_EMPTY);
	uint64_t after = monotonic_ns();
	PTL(code);
	if (session->event.ni_fail_type != PTL_NI_OK)
		fail("%s says %s", PtlEventKindStr(session->event.type),
		     PtlNIFailStr(session->ni, session->event.ni_fail_type));
	session->seen[session->event.type]++;
	samples_add(&spent.take, (double)(after - before));
}

static void host_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	uint64_t start = monotonic_ns();
	session_put(session, source_md, BITS_DATA);
	samples_add(&spent.post, (double)(monotonic_ns() - start));
	while (session->seen[PTL_EVENT_PUT_END] <= iteration)
		take_timed(session);
	payload_check(session, session->sink, run->size, iteration);
}

static void host_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	payload_check(session, session->sink, run->size, iteration);
	payload_fill(session, session->source, run->size, iteration);
	session_put(session, source_md, BITS_DATA);
}

static void host_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, source_md);
}

const struct exchange host_overhead_exchange = {host_prepare, host_initiate, host_serve, host_finish};

static const struct column overhead_columns[] = {
	{"Size", "bytes", 0},        {"post (us)", "post_us", 3},         {"take (us)", "take_us", 3},
	{"host (us)", "host_us", 3}, {"half trip (us)", "latency_us", 3},
};

static double median_us(struct samples *samples)
{
	double median = samples_summary(samples).median / 1e3;

	samples_free(samples);
	return median;
}

int host_overhead(struct session *session)
{
	const struct workload *load = &session->load;
	uint64_t sizes[SIZES_MAX];
	size_t count = sizes_choose(load, sizes, 0, 0);

	output_fact("post", "PtlPut, without START and SEND events");
	output_fact("take",
		    "the call of PtlEQGet that finds the PUT_END of the answer; what it costs includes a clock");
	stage_rows_open(session, overhead_columns, sizeof(overhead_columns) / sizeof(overhead_columns[0]));
	for (size_t i = 0; i < count; i++) {
		struct series series = {.run = {.exchange = EXCHANGE_HOST_OVERHEAD, .size = sizes[i]}};
		measure_row(session, &series, 1);
		double post = median_us(&spent.post), take = median_us(&spent.take);
		stage_row(session,
			  (union cell[]){
				  {(double)sizes[i]}, {post}, {take}, {post + take}, {median_us(&series.samples) / 2}},
			  &(struct run){.exchange = EXCHANGE_HOST_OVERHEAD, .size = sizes[i]});
		samples_free(&spent.post);
		samples_free(&spent.take);
	}
	stage_rows_close(session);
	return 0;
}

static const struct column availability_columns[] = {
	{"Size", "bytes", 0},
	{"computing (us)", "compute_us", 1},
	{"available %", "available_percent", 1},
	{"MB/s", "megabytes_per_second", 1},
	{"of all %", "of_undisturbed_percent", 1},
};

/* A window both ways, with so much computing in it, us. */
static struct run window_run(const struct session *session, uint64_t size, double compute)
{
	return (struct run){.exchange = EXCHANGE_BOTH_WINDOW,
			    .size = size,
			    .window = session_window(&session->load, size),
			    .depth = (uint32_t)fmin(compute * 1e3, UINT32_MAX)};
}

static double window_us(struct session *session, const struct run *run)
{
	struct series series = {.run = *run};

	measure_row(session, &series, 1);
	return median_us(&series.samples);
}

int availability(struct session *session)
{
	static const double shares[] = {0.25, 0.5, 0.75, 1, 1.5, 2, 4, 8};
	uint64_t sizes[SIZES_MAX] = {4096, 65536, 1 << 20};
	size_t count = sizes_choose(&session->load, sizes, 3, 1);

	output_fact("computing", "of both hosts between the posting of a window and waiting for the other's");
	output_fact("available", "share of the time that the host computed; MB/s: both directions, MB = 10^6 bytes");
	stage_rows_open(session, availability_columns, sizeof(availability_columns) / sizeof(availability_columns[0]));
	for (size_t i = 0; i < count; i++) {
		double bytes = 2.0 * (double)sizes[i] * session_window(&session->load, sizes[i]);
		struct run run = window_run(session, sizes[i], 0);
		double alone = window_us(session, &run);
		stage_row(session, (union cell[]){{(double)sizes[i]}, {0}, {0}, {bytes / alone}, {100}}, &run);
		for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s += session->load.quick ? 3 : 1) {
			double compute = shares[s] * alone;
			run = window_run(session, sizes[i], compute);
			double us = window_us(session, &run);
			stage_row(session,
				  (union cell[]){{(double)sizes[i]},
						 {compute},
						 {100 * compute / us},
						 {bytes / us},
						 {100 * alone / us}},
				  &run);
		}
	}
	stage_rows_close(session);
	return 0;
}
