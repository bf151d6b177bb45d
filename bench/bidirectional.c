/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ways at once (microbenchmarks for cluster interconnects, 2.2.3): both sides put at the same moment, and each waits
 * for what the other has put.  A side is at most one iteration ahead of the other one: with --check messages take turns
 * between two places, so that none is overwritten before it was looked at.
 */
#include "tests.h"

#include <time.h>

#include "base/arch.h"
#include "measure.h"
#include "output.h"
#include "size_table.h"

static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

static uint64_t place(const struct session *session, const struct run *run, uint32_t iteration)
{
	return session->load.check && iteration % 2 ? run->size : 0;
}

static void both_prepare(struct session *session, const struct run *run)
{
	ptl_md_t source = session_md(session, session->source, run->size, 0);

	if (run->window)
		source.eq_handle = PTL_EQ_NONE;
	source_md = session_bind(session, source, PTL_RETAIN);
	entry = session_attach_sink(session, run->size + place(session, run, 1));
}

static void both_once(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	PTL(PtlPut(source_md, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA,
		   place(session, run, iteration), 0));
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	payload_check(session, session->sink + place(session, run, iteration), run->size, iteration);
}

/* By the processor time of this thread: what others take from it meanwhile is not computing. */
static uint64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void compute_ns(uint64_t nanoseconds)
{
	if (nanoseconds)
		for (uint64_t end = thread_ns() + nanoseconds; thread_ns() < end;)
			cpu_pause();
}

/*
 * A window each way, then an empty put each way that says that the other's window is there: no iteration is shorter because
 * the other side was ahead of us, and nothing comes between the last message of a window and the look at it, nor is the
 * source filled anew while it is still read.  run.depth: so many nanoseconds the host computes when it has posted its window.
 */
static void both_window_once(struct session *session, const struct run *run, uint32_t iteration)
{
	const uint64_t before = (uint64_t)iteration * (run->window + 1);

	payload_fill(session, session->source, run->size, iteration);
	for (uint32_t slot = 0; slot < run->window; slot++)
		session_put(session, source_md, BITS_DATA);
	compute_ns(run->depth);
	session_wait(session, PTL_EVENT_PUT_END, before + run->window);
	payload_check(session, session->sink, run->size, iteration);
	PTL(PtlPutRegion(source_md, 0, 0, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
	session_wait(session, PTL_EVENT_PUT_END, before + run->window + 1);
}

static void both_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, source_md);
}

const struct exchange both_put_exchange = {both_prepare, both_once, both_once, both_finish};
const struct exchange both_window_exchange = {both_prepare, both_window_once, both_window_once, both_finish};

static double whole(double nanoseconds, const struct run *run)
{
	(void)run;
	return nanoseconds / 1000;
}

/* 10^6 bytes a second, of both directions. */
static double megabytes(double nanoseconds, const struct run *run)
{
	return 2.0 * (double)run->window * (double)run->size * 1e3 / nanoseconds;
}

int bidirectional_latency(struct session *session)
{
	static const struct quantity latency = {"Latency (us)", "latency_us", whole, false, 2, false};

	output_fact("latency", "both sides put at once; from PtlPut until the other's message has arrived");
	size_table(session, EXCHANGE_BOTH_PUT, &latency);
	return 0;
}

int bidirectional_bandwidth(struct session *session)
{
	static const struct quantity megabytes_per_second = {"MB/s", "megabytes_per_second", megabytes, true, 2, false};

	output_fact("bandwidth", "both sides put a window of messages at once and wait for the other's; sum of both "
				 "directions; MB = 10^6 bytes");
	size_table(session, EXCHANGE_BOTH_WINDOW, &megabytes_per_second);
	return 0;
}
