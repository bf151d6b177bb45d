/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers used again, or not (microbenchmarks for cluster interconnects, 2.2.7): what caches of translations,
 * registrations and data are worth.  Both sides use as many buffers as there are in one descriptor, in the order that the
 * scheme says.  Scheme 1: a working set of W buffers in turn.  Scheme 2: of all messages a share R uses buffer 0, evenly
 * spread, and each of the others the next buffer of all.
 */
#include "tests.h"

#include <string.h>
#include <sys/mman.h>

#include "fail.h"
#include "measure.h"
#include "output.h"
#include "sizes.h"
#include "stage_rows.h"

#define BUFFER_BYTES ((uint64_t)64 << 20) /* bytes of all buffers of a side, unless one is longer */
#define BUFFERS      1024u                /* at most */

static char *buffer_memory[2]; /* source, sink */
static size_t buffer_memory_size;
static ptl_handle_md_t source_md;
static ptl_handle_me_t entry;

/* Buffers in use: run.depth.  Share of messages that use the first one, percent: run.variant; 0: scheme 1. */
static uint64_t buffer_offset(const struct run *run, uint32_t message)
{
	uint32_t before = (uint32_t)((uint64_t)message * run->variant / 100); /* uses of buffer 0 */
	uint32_t after = (uint32_t)((uint64_t)(message + 1) * run->variant / 100);
	uint32_t index = after > before ? 0 : (message - before) % run->depth;

	return index * run->size;
}

/* With --check: what is sent tells the buffers of the source apart. */
static void fill_buffers(const struct session *session, const struct run *run)
{
	for (uint32_t index = 0; index < run->depth; index++)
		payload_fill(session, buffer_memory[0] + index * run->size, run->size, index);
}

static void reuse_prepare(struct session *session, const struct run *run)
{
	buffer_memory_size = run->depth * run->size;
	for (int i = 0; i < 2; i++) {
		buffer_memory[i] = mmap(NULL, buffer_memory_size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (buffer_memory[i] == MAP_FAILED)
			fail("no memory for %u buffers of %llu bytes", run->depth, (unsigned long long)run->size);
	}
	fill_buffers(session, run);
	source_md = session_bind(session, session_md(session, buffer_memory[0], buffer_memory_size, 0), PTL_RETAIN);
	entry = session_attach(
		session, BITS_DATA,
		session_md(session, buffer_memory[1], buffer_memory_size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE),
		PTL_RETAIN);
}

/* What these messages brought; then it is gone, so that the next ones have to bring it again. */
static void check_buffers(const struct session *session, const struct run *run, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		payload_check(session, buffer_memory[1] + buffer_offset(run, first + i), run->size,
			      buffer_offset(run, first + i) / run->size);
	for (uint32_t i = 0; session->load.check && i < count; i++)
		memset(buffer_memory[1] + buffer_offset(run, first + i), 0, run->size);
}

static void put_buffer(const struct session *session, const struct run *run, uint32_t message)
{
	uint64_t offset = buffer_offset(run, message);

	PTL(PtlPutRegion(source_md, offset, run->size, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA,
			 offset, 0));
}

static void reuse_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	put_buffer(session, run, iteration);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	check_buffers(session, run, iteration, 1);
}

static void reuse_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	check_buffers(session, run, iteration, 1);
	put_buffer(session, run, iteration);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
}

/* A window of messages one way, and an empty one back. */
static void reuse_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	for (uint32_t slot = 0; slot < run->window; slot++)
		put_buffer(session, run, iteration * run->window + slot);
	session_wait(session, PTL_EVENT_SEND_END, (uint64_t)(iteration + 1) * run->window);
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
}

static void reuse_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, (uint64_t)(iteration + 1) * run->window);
	check_buffers(session, run, iteration * run->window, run->window);
	PTL(PtlPutRegion(source_md, 0, 0, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0, 0));
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
}

static void reuse_finish(struct session *session, const struct run *run)
{
	(void)run;
	session_detach(session, entry);
	session_release(session, source_md);
	for (int i = 0; i < 2; i++)
		munmap(buffer_memory[i], buffer_memory_size);
}

const struct exchange reuse_exchange = {reuse_prepare, reuse_initiate, reuse_serve, reuse_finish};
const struct exchange reuse_window_exchange = {reuse_prepare, reuse_window_initiate, reuse_window_serve, reuse_finish};

static const struct column columns[] = {
	{"Size", "bytes", 0},
	{"scheme", "scheme", 0},
	{"buffers", "buffers", 0},
	{"reuse %", "reuse_percent", 0},
	{"Latency (us)", "latency_us", 3},
	{"MB/s", "megabytes_per_second", 1},
};

static void measure_scheme(struct session *session, uint64_t size, uint32_t buffers, uint32_t percent)
{
	const uint32_t window = session_window(&session->load, size);
	struct series all_series[] = {
		{.run = {.exchange = EXCHANGE_REUSE, .size = size, .depth = buffers, .variant = percent}},
		{.run = {.exchange = EXCHANGE_REUSE_WINDOW,
			 .size = size,
			 .depth = buffers,
			 .variant = percent,
			 .window = window}},
	};

	measure_row(session, all_series, 2);
	double latency = samples_summary(&all_series[0].samples).median / 2000;
	double bandwidth = window * (double)size * 1e3 / samples_summary(&all_series[1].samples).median;
	stage_row(session,
		  (union cell[]){{(double)size}, {percent ? 2 : 1}, {buffers}, {percent}, {latency}, {bandwidth}},
		  &(struct run){.exchange = EXCHANGE_REUSE, .size = size, .depth = buffers, .variant = percent});
	samples_free(&all_series[0].samples);
	samples_free(&all_series[1].samples);
}

int buffer_reuse(struct session *session)
{
	static const uint32_t percents[] = {100, 75, 50, 25, 1};
	uint64_t sizes[SIZES_MAX] = {64, 4096, 65536};
	size_t count = sizes_choose(&session->load, sizes, 3, 1);

	output_fact("scheme 1", "both sides use so many buffers in turn");
	output_fact("scheme 2", "so many of a hundred messages use one buffer, each of the others another one of all");
	stage_rows_open(session, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		uint64_t fit = BUFFER_BYTES / sizes[i];
		uint32_t most = fit < 1 ? 1 : fit > BUFFERS ? BUFFERS : (uint32_t)fit;
		for (uint32_t buffers = 1; buffers <= most; buffers *= session->load.quick ? 32 : 4)
			measure_scheme(session, sizes[i], buffers, 0);
		for (size_t p = 0; p < sizeof(percents) / sizeof(percents[0]); p += session->load.quick ? 2 : 1)
			measure_scheme(session, sizes[i], most, percents[p]);
	}
	stage_rows_close(session);
	return 0;
}
