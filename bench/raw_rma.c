/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchanges of put and get with RDMA of libfabric.  A write leaves no trace at its target but its data, so the
 * ping-pong looks at the last byte, as others' benchmarks do; windows end with a message that follows the writes.
 */
#include "raw.h"

static struct raw_endpoint *endpoint_of(struct session *session)
{
	return &session->raw->endpoint[HABIT_SHARED];
}

/* Never 0, and not what the iteration before had. */
static char mark(uint32_t iteration)
{
	return (char)(1 + iteration % 127);
}

static void wait_for_mark(struct session *session, const struct run *run, uint32_t iteration)
{
	const volatile char *last = session->sink + run->size - 1;

	while (*last != mark(iteration))
		raw_progress(endpoint_of(session));
}

static void write_marked(struct session *session, const struct run *run, uint32_t iteration)
{
	session->source[run->size - 1] = mark(iteration);
	raw_write(endpoint_of(session), session->source, run->size);
	raw_flush(endpoint_of(session));
}

static void rma_prepare(struct session *session, const struct run *run)
{
	raw_forget(endpoint_of(session));
	session->sink[run->size - 1] = 0;
}

static void rma_put_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	write_marked(session, run, iteration);
	wait_for_mark(session, run, iteration);
}

static void rma_put_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	wait_for_mark(session, run, iteration);
	write_marked(session, run, iteration);
}

const struct exchange rma_put_exchange = {rma_prepare, rma_put_initiate, rma_put_serve, NULL};

static void notify(struct session *session)
{
	raw_send(endpoint_of(session), session->source, RAW_PUT_HEADER);
	raw_flush(endpoint_of(session));
}

/* The target of reads only lets its provider work until it hears that this is over. */
static void rma_get_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	raw_read(endpoint_of(session), session->sink, run->size);
	raw_flush(endpoint_of(session));
}

static void rma_get_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	if (iteration + 1 == run_iterations(run))
		raw_wait(endpoint_of(session), 1);
}

static void rma_get_finish(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == INITIATOR)
		notify(session);
}

const struct exchange rma_get_exchange = {rma_prepare, rma_get_initiate, rma_get_serve, rma_get_finish};

static void rma_put_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	for (uint32_t slot = 0; slot < run->window; slot++)
		raw_write(endpoint_of(session), session->source, run->size);
	notify(session);
	raw_wait(endpoint_of(session), iteration + 1);
}

static void rma_put_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	raw_wait(endpoint_of(session), iteration + 1);
	notify(session);
}

const struct exchange rma_put_window_exchange = {rma_prepare, rma_put_window_initiate, rma_put_window_serve, NULL};

static void rma_get_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	for (uint32_t slot = 0; slot < run->window; slot++)
		raw_read(endpoint_of(session), session->sink, run->size);
	raw_flush(endpoint_of(session));
}

const struct exchange rma_get_window_exchange = {rma_prepare, rma_get_window_initiate, rma_get_serve, rma_get_finish};
