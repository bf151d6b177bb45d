/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active Messages between the two processes of a run (examples/active_messages): a round trip, where the reply is of the request's
 * kind, a stream of requests with empty replies, and bursts there and back for what the host spends.
 */
#include "am_exchange.h"

#include <string.h>

#include "examples/active_messages/am.h"
#include "fail.h"
#include "layer_clock.h"

#define NUMBER 1 /* of both endpoints */
#define TAG    0x616d

/* Handlers; 0 is told of what could not be delivered. */
enum { UNDELIVERED, ECHO, ECHOED, COUNT };

static am_bundle *bundle;
static am_endpoint *endpoint;
static unsigned arguments_of_run; /* of a short message */
static struct {                   /* --check: what is taken, requests of a stream or replies to an echo */
	const struct session *session;
	uint64_t size, alike, taken;
} checked;
static struct {
	struct samples send, receive;
} overhead;

enum am_kind am_kind_of(uint64_t size)
{
	return size <= AM_SHORT_BYTES ? AM_KIND_SHORT : size <= AM_MEDIUM ? AM_KIND_MEDIUM : AM_KIND_BULK;
}

static int require(int rc, const char *what)
{
	if (rc < 0)
		fail("active messages: %s: %s (%s)", what, strerror(-rc), PtlNicErrorText());
	return rc;
}

static void undelivered(am_token *token, const uint64_t arguments[AM_ARGUMENTS], void *data, size_t length)
{
	(void)token;
	(void)data;
	(void)length;
	fail("active messages: a request was not delivered: %s", strerror((int)arguments[1]));
}

/* Bulk data lies in the segment by now, whose beginning it goes back to. */
static void echo(am_token *token, const uint64_t arguments[AM_ARGUMENTS], void *data, size_t length)
{
	if (!data)
		require(am_reply(token, ECHOED, arguments, arguments_of_run), "reply");
	else if (length <= AM_MEDIUM)
		require(am_reply_medium(token, ECHOED, data, length, NULL, 0), "medium reply");
	else
		require(am_reply_bulk(token, ECHOED, data, length, 0, NULL, 0), "bulk reply");
}

static void take(am_token *token, const uint64_t arguments[AM_ARGUMENTS], void *data, size_t length)
{
	uint64_t began = layer_clock_now();

	(void)token;
	(void)length;
	layer_clock_add(LAYER_HANDLER, began);
	if (checked.session->load.check)
		payload_check(checked.session, data ? data : (const void *)arguments, checked.size,
			      checked.taken++ / checked.alike);
}

/* How many messages follow each other that are alike, before all of them have been answered. */
static uint32_t burst_of(const struct run *run)
{
	return run->exchange == EXCHANGE_AM_STREAM ? run->window : run->exchange == EXCHANGE_AM_OVERHEAD ? AM_BURST : 1;
}

static void am_prepare(struct session *session, const struct run *run)
{
	struct am_options options = am_defaults;

	options.flow = (enum am_flow)(run->variant % AM_FLOWS);
	options.credits = AM_BURST;
	arguments_of_run = (unsigned)(run->size + 7) / 8;
	checked.session = session;
	checked.size = run->size;
	checked.alike = burst_of(run);
	checked.taken = 0;
	require(am_bundle_create(session->ni, &options, &bundle), "bundle");
	require(am_endpoint_create(bundle, NUMBER, TAG, &endpoint), "endpoint");
	require(am_handler_set(endpoint, UNDELIVERED, undelivered), "handler");
	require(am_handler_set(endpoint, ECHO, echo), "handler");
	require(am_handler_set(endpoint, ECHOED, take), "handler");
	require(am_handler_set(endpoint, COUNT, take), "handler");
	require(am_segment_set(endpoint, session->sink, session->sink_size), "segment");
	require(am_map(endpoint, 0, session->other, NUMBER, TAG), "map");
}

static void am_finish(struct session *session, const struct run *run)
{
	(void)session;
	(void)run;
	require(am_bundle_destroy(bundle), "end");
}

static void request(struct session *session, const struct run *run, unsigned handler)
{
	uint64_t arguments[AM_ARGUMENTS] = {0};
	int rc;

	switch ((enum am_kind)(run->variant / AM_FLOWS)) {
	case AM_KIND_SHORT:
		if (session->load.check)
			memcpy(arguments, session->source, run->size);
		rc = am_request(endpoint, 0, handler, arguments, arguments_of_run);
		break;
	case AM_KIND_MEDIUM:
		rc = am_request_medium(endpoint, 0, handler, session->source, run->size, NULL, 0);
		break;
	default:
		rc = am_request_bulk(endpoint, 0, handler, session->source, run->size, 0, NULL, 0);
	}
	require(rc, "request");
}

static void poll_once(const struct session *session)
{
	require(session->load.wait == WAIT_EQGET ? am_poll(bundle) : am_wait(bundle, 1000), "poll");
}

static void await_replies(const struct session *session, uint64_t wanted)
{
	struct am_counters counters;

	for (am_bundle_counters(bundle, &counters); counters.replies < wanted; am_bundle_counters(bundle, &counters))
		poll_once(session);
}

static void await_requests(const struct session *session, uint64_t wanted)
{
	struct am_counters counters;

	for (am_bundle_counters(bundle, &counters); counters.requests < wanted; am_bundle_counters(bundle, &counters))
		poll_once(session);
}

static void round_trip_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	request(session, run, ECHO);
	await_replies(session, iteration + 1);
}

static void round_trip_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	await_requests(session, iteration + 1);
}

static void stream_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	for (uint32_t i = 0; i < run->window; i++)
		request(session, run, COUNT);
	await_replies(session, (uint64_t)(iteration + 1) * run->window);
}

static void stream_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	await_requests(session, (uint64_t)(iteration + 1) * run->window);
}

/* All replies have arrived when we begin to take them: run.depth says how long we keep from Portals meanwhile, ns. */
static void overhead_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	uint64_t start = monotonic_ns(), began;

	for (int i = 0; i < AM_BURST; i++) {
		began = layer_clock_now();
		request(session, run, ECHO);
		layer_clock_add(LAYER_SEND, began);
	}
	samples_add(&overhead.send, (double)(monotonic_ns() - start) / AM_BURST);
	for (uint64_t end = monotonic_ns() + run->depth; monotonic_ns() < end;)
		cpu_pause();
	start = monotonic_ns();
	began = layer_clock_now();
	await_replies(session, (uint64_t)(iteration + 1) * AM_BURST);
	layer_clock_add(LAYER_RECEIVE, began);
	samples_add(&overhead.receive, (double)(monotonic_ns() - start) / AM_BURST);
	layer_clock_burst(AM_BURST);
}

static void overhead_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	await_requests(session, (uint64_t)(iteration + 1) * AM_BURST);
}

void am_take_overhead(struct samples *send, struct samples *receive)
{
	*send = overhead.send;
	*receive = overhead.receive;
	overhead.send = overhead.receive = (struct samples){0};
}

const struct exchange am_exchange = {am_prepare, round_trip_initiate, round_trip_serve, am_finish};
const struct exchange am_stream_exchange = {am_prepare, stream_initiate, stream_serve, am_finish};
const struct exchange am_overhead_exchange = {am_prepare, overhead_initiate, overhead_serve, am_finish};
