/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote memory between the two processes of a run (examples/remote_memory): messages there and back, by each of its ways to move
 * bytes.  As in the documents, a process that has nothing to wait for but the answer asks for no acknowledgement.
 */
#include "rm_exchange.h"

#include <string.h>

#include "examples/remote_memory/rm.h"
#include "fail.h"
#include "layer_clock.h"

enum { SOURCE = 1, SINK }; /* tags */
enum { TAKE = 1 };         /* handler */

static rm_domain *domain;
static struct rm_notice incoming, outgoing;
static struct rm_place sink_place;
static uint64_t sink_address; /* the other's */
static uint64_t handled;
static char *copy_to;                   /* where the handler puts a message's bytes; NULL: nowhere */
static const struct session *looked_at; /* where the handler checks a message's bytes; NULL: nowhere */

struct run rm_run(uint64_t size, enum rm_manner manner, unsigned injection, uint64_t fragment)
{
	return (struct run){.exchange = EXCHANGE_RM,
			    .size = size,
			    .depth = (uint32_t)fragment,
			    .variant = rm_variant(manner, injection)};
}

double rm_median_us(struct series *series, double parts)
{
	double median = samples_summary(&series->samples).median / parts / 1e3;

	samples_free(&series->samples);
	return median;
}

static void require(int rc, const char *what)
{
	if (rc < 0)
		fail("remote memory: %s: %s (%s)", what, strerror(-rc), PtlNicErrorText());
}

static enum rm_manner manner_of(const struct run *run)
{
	return (enum rm_manner)(run->variant % RM_MANNERS);
}

static void take(rm_domain *of, ptl_process_id_t from, void *data, size_t length)
{
	uint64_t began = layer_clock_now();

	(void)of;
	(void)from;
	if (looked_at)
		payload_check(looked_at, data, length, handled);
	if (copy_to)
		memcpy(copy_to, data, length);
	handled++;
	layer_clock_add(LAYER_HANDLER, began);
}

static void await(const struct rm_notice *notice)
{
	while (notice->status == RM_PENDING)
		require(rm_poll(domain), "poll");
	require(notice->status, "operation");
}

static void await_handled(uint64_t wanted)
{
	while (handled < wanted)
		require(rm_poll(domain), "poll");
}

/* Something is always waited for that the other side has not been told to send yet. */
static void expect(const struct session *session, const struct run *run)
{
	const enum rm_manner manner = manner_of(run);

	if (manner == RM_MANNER_RECEIVE)
		require(rm_receive(domain, session->other, session->sink, run->size, &incoming), "receive");
	else if (manner == RM_MANNER_KNOWN || manner == RM_MANNER_LOOK_UP || manner == RM_MANNER_PUT)
		require(rm_notify(domain, SINK, RM_INCOMING, &incoming), "notice");
}

static void rm_prepare(struct session *session, const struct run *run)
{
	struct rm_options options = rm_defaults;
	const uint64_t address = (uintptr_t)session->sink;

	options.injection = (enum rm_injection)(run->variant / RM_MANNERS);
	if (run->depth && manner_of(run) != RM_MANNER_BURST)
		options.fragment = (run->depth + 7) & ~(size_t)7;
	require(rm_open(session->ni, &options, &domain), "open");
	require(rm_register(domain, SOURCE, session->source, session->source_size), "source");
	require(rm_register(domain, SINK, session->sink, session->sink_size), "sink");
	require(rm_handler_set(domain, TAKE, take), "handler");
	handled = 0;
	copy_to = manner_of(run) == RM_MANNER_SHORT ? session->sink : NULL;
	looked_at = manner_of(run) == RM_MANNER_SHORT || manner_of(run) == RM_MANNER_MESSAGE ? session : NULL;
	control_send(&session->peers, &address, sizeof(address));
	control_receive(&session->peers, &sink_address, sizeof(sink_address));
	sink_place = (struct rm_place){SINK, 0};
	if (session->peers.role == TARGET)
		expect(session, run);
}

static void look_up(const struct session *session, const struct run *run)
{
	require(rm_translate(domain, session->other, sink_address, run->size, 60000, &sink_place), "translation");
}

static void send(const struct session *session, const struct run *run, uint32_t iteration)
{
	const uint64_t request[] = {SOURCE, run->size};

	payload_fill(session, session->source, run->size, iteration);
	switch (manner_of(run)) {
	case RM_MANNER_MESSAGE:
	case RM_MANNER_SHORT:
		require(rm_message(domain, session->other, TAKE, session->source, run->size), "message");
		break;
	case RM_MANNER_LOOK_UP:
		look_up(session, run);
		/* fall through */
	case RM_MANNER_KNOWN:
		require(rm_write(domain, session->other, sink_place, session->source, run->size, NULL), "write");
		break;
	case RM_MANNER_RECEIVE:
		require(rm_send(domain, session->other, session->source, run->size, &outgoing), "send");
		await(&outgoing);
		break;
	case RM_MANNER_PUT:
		require(rm_put(domain, session->other, SOURCE, SINK, run->size, NULL), "put");
		break;
	default:
		require(rm_message(domain, session->other, TAKE, request, sizeof(request)), "request");
	}
}

static void receive(const struct session *session, const struct run *run, uint32_t iteration)
{
	switch (manner_of(run)) {
	case RM_MANNER_MESSAGE:
	case RM_MANNER_SHORT:
		await_handled((uint64_t)iteration + 1);
		break;
	case RM_MANNER_LONG:
		await_handled((uint64_t)iteration + 1);
		require(rm_get(domain, session->other, SINK, SOURCE, run->size, &incoming), "get");
		await(&incoming);
		break;
	default:
		await(&incoming);
	}
	if (!looked_at)
		payload_check(session, session->sink, run->size, iteration);
}

/* Questions are answered by the interface: the last one's message says that there are no more. */
static bool is_last(const struct run *run, uint32_t iteration)
{
	return iteration + 1 == run_iterations(run);
}

static void ask(const struct session *session, const struct run *run, uint32_t iteration)
{
	look_up(session, run);
	if (is_last(run, iteration))
		require(rm_message(domain, session->other, TAKE, NULL, 0), "message");
}

static void send_burst(const struct session *session, const struct run *run)
{
	for (uint32_t i = 0; i < run->window; i++) {
		uint64_t began = layer_clock_now();

		require(rm_message(domain, session->other, TAKE, session->source, run->size), "message");
		layer_clock_add(LAYER_SEND, began);
	}
}

static void take_burst(const struct run *run, uint32_t iteration)
{
	uint64_t began = layer_clock_now();

	await_handled((uint64_t)(iteration + 1) * run->window);
	layer_clock_add(LAYER_RECEIVE, began);
}

static void rm_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	if (manner_of(run) == RM_MANNER_ASK) {
		ask(session, run, iteration);
		return;
	}
	if (manner_of(run) == RM_MANNER_BURST) {
		send_burst(session, run);
		for (uint64_t end = monotonic_ns() + run->depth; monotonic_ns() < end;)
			cpu_pause();
		take_burst(run, iteration);
		layer_clock_burst(run->window);
		return;
	}
	expect(session, run);
	send(session, run, iteration);
	receive(session, run, iteration);
}

/* The next message of the other side comes after the answer.  A get of the last one needs an interface that is driven. */
static void rm_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	const enum rm_manner manner = manner_of(run);

	if (manner == RM_MANNER_ASK) {
		if (is_last(run, iteration))
			await_handled(1);
		return;
	}
	if (manner == RM_MANNER_BURST) {
		take_burst(run, iteration);
		send_burst(session, run);
		return;
	}
	receive(session, run, iteration);
	expect(session, run);
	if (manner == RM_MANNER_LONG)
		require(rm_notify(domain, SOURCE, RM_OUTGOING, &outgoing), "notice");
	send(session, run, iteration);
	if (manner == RM_MANNER_LONG)
		await(&outgoing);
}

/*
 * Messages are over when they have been accepted, which the other side's interface says while there is a domain.  The target's last one
 * may have found no room, and only its sender's polls send it again, while the initiator waits for it.
 */
static void rm_finish(struct session *session, const struct run *run)
{
	(void)run;
	if (session->peers.role == TARGET)
		require(rm_flush(domain, session->other), "end");
	control_meet(&session->peers);
	require(rm_flush(domain, session->other), "end");
	control_meet(&session->peers);
	rm_close(domain);
}

const struct exchange rm_exchange = {rm_prepare, rm_initiate, rm_serve, rm_finish};
