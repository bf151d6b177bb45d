/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Split-C's operations between the two processes of a run (examples/splitc): so many of one kind, and then sc_sync().  The target
 * does nothing, or the same where the operation is collective; it waits in the barrier at the end, and counts stores there.
 */
#include "splitc_exchange.h"

#include <string.h>

#include "examples/splitc/splitc.h"
#include "fail.h"
#include "layer_clock.h"
#include "pingpong.h"

static sc_global there;
static char *here; /* the same memory of this process */

static void require(int rc, const char *what)
{
	if (rc < 0)
		fail("Split-C: %s: %s (%s)", what, strerror(-rc), PtlNicErrorText());
}

/* What is read from the target, and what is not to be taken for it. */
enum { THERE = 0, ELSE = 1 };

static bool reads(const struct run *run)
{
	return run->variant == SPLITC_READ || run->variant == SPLITC_GET || run->variant == SPLITC_BULK_READ ||
	       run->variant == SPLITC_BULK_GET;
}

/* Before an iteration of the initiator: what it writes, or something in the place of what it reads. */
static void fill(const struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, reads(run) ? ELSE : iteration);
}

static void check_read(const struct session *session, const struct run *run)
{
	if (reads(run))
		payload_check(session, session->source, run->size, THERE);
}

static void splitc_prepare(struct session *session, const struct run *run)
{
	const unsigned rank = session->peers.role == INITIATOR ? 0 : 1;
	const ptl_process_id_t ids[] = {rank ? session->other : session->self, rank ? session->self : session->other};
	const size_t bytes = run->size < sizeof(uint64_t) ? sizeof(uint64_t) : run->size;

	require(sc_init(session->ni, rank, 2, ids, bytes + CACHE_LINE), "begin");
	here = sc_alloc(bytes);
	there = sc_at(1 - rank, here);
	payload_fill(session, here, run->size, THERE);
	if (session->load.check)
		control_meet(&session->peers); /* or it would be read before */
}

/* The target cannot tell one write from the next: the last one is looked at. */
static void splitc_finish(struct session *session, const struct run *run)
{
	if (session->load.check)
		require(sc_all_store_sync(), "last stores");
	require(sc_barrier(), "last barrier");
	if (session->peers.role == TARGET && !reads(run))
		payload_check(session, here, run->size, run_iterations(run) - 1);
	sc_end();
}

static int do_one(const struct session *session, const struct run *run)
{
	uint64_t *value = (uint64_t *)(void *)session->source;

	switch ((enum splitc_operation)run->variant) {
	case SPLITC_READ:
		return sc_read(value, there);
	case SPLITC_WRITE:
		return sc_write(there, *value);
	case SPLITC_GET:
		return sc_get(value, there);
	case SPLITC_PUT:
		return sc_put(there, *value);
	case SPLITC_STORE:
		return sc_store(there, *value);
	case SPLITC_BULK_READ:
		return sc_bulk_read(session->source, there, run->size);
	case SPLITC_BULK_WRITE:
		return sc_bulk_write(there, session->source, run->size);
	case SPLITC_BULK_GET:
		return sc_bulk_get(session->source, there, run->size);
	case SPLITC_BULK_PUT:
		return sc_bulk_put(there, session->source, run->size);
	case SPLITC_BULK_STORE:
		return sc_bulk_store(there, session->source, run->size);
	case SPLITC_ALL_STORE_SYNC:
		return sc_all_store_sync();
	default:
		return sc_barrier();
	}
}

static void splitc_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	fill(session, run, iteration);
	for (uint32_t i = 0; i < run->window; i++)
		require(do_one(session, run), "operation");
	require(sc_sync(), "sc_sync");
	check_read(session, run);
}

static void splitc_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	for (uint32_t i = 0; i < run->window && run->variant >= SPLITC_ALL_STORE_SYNC; i++)
		require(do_one(session, run), "operation");
}

/* Nothing drives the target but its NIC thread: a burst that found it asleep would consist of waking it. */
static void wake_target(const struct session *session)
{
	const bool on = layer_clock.on;

	layer_clock.on = false;
	require(sc_read((uint64_t *)(void *)session->source, there), "read");
	layer_clock.on = on;
}

/* What is asked for has arrived when we begin to take it: run.depth says how long we keep from Portals meanwhile, ns. */
static void overhead_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	uint64_t began;

	wake_target(session); /* by a read of what is filled next */
	fill(session, run, iteration);
	for (uint32_t i = 0; i < run->window; i++) {
		began = layer_clock_now();
		require(do_one(session, run), "operation");
		layer_clock_add(LAYER_SEND, began);
	}
	for (uint64_t end = monotonic_ns() + run->depth; monotonic_ns() < end;)
		cpu_pause();
	began = layer_clock_now();
	require(sc_sync(), "sc_sync");
	layer_clock_add(LAYER_RECEIVE, began);
	layer_clock_burst(run->window);
	check_read(session, run);
}

/* What Portals takes for puts and stores: windows of puts until all are acknowledged, or until all have left. */
static ptl_handle_md_t source_md;
static ptl_handle_me_t sink_me;

static void puts_prepare(struct session *session, const struct run *run)
{
	ptl_md_t sink = session_md(session, session->sink, run->size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE);
	ptl_md_t done = session_md(session, NULL, 0, PTL_MD_OP_PUT);

	if (session->peers.role == INITIATOR) {
		source_md = session_bind(session, session_md(session, session->source, run->size, 0), PTL_RETAIN);
		return;
	}
	sink.eq_handle = PTL_EQ_NONE;
	done.threshold = 1;
	sink_me = session_attach(session, BITS_DATA, sink, PTL_RETAIN);
	session_attach(session, BITS_DONE, done, PTL_UNLINK);
}

static void puts_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	const bool acknowledged = run->variant == SPLITC_PUTS_ACKNOWLEDGED;
	const uint64_t count = (uint64_t)(iteration + 1) * run->window;

	payload_fill(session, session->source, run->size, iteration);
	for (uint32_t i = 0; i < run->window; i++)
		PTL(PtlPut(source_md, acknowledged ? PTL_ACK_REQ : PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0,
			   BITS_DATA, 0, 0));
	session_wait(session, PTL_EVENT_SEND_END, count);
	if (acknowledged)
		session_wait(session, PTL_EVENT_ACK, count);
}

static void puts_finish(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET) {
		session_detach(session, sink_me);
		payload_check(session, session->sink, run->size, run_iterations(run) - 1);
		return;
	}
	get_say_done(session);
	session_release(session, source_md);
}

const struct exchange splitc_exchange = {splitc_prepare, splitc_initiate, splitc_serve, splitc_finish};
const struct exchange splitc_puts_exchange = {puts_prepare, puts_initiate, get_target_serve, puts_finish};
const struct exchange splitc_overhead_exchange = {splitc_prepare, overhead_initiate, splitc_serve, splitc_finish};
