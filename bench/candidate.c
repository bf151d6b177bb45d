/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptlbench itself as a candidate of ptlbench compare: Portals over one transport, raw libfabric (--raw msg), or nothing
 * but shared memory (--raw slots).  The initiator obeys compare, the target obeys the initiator.
 */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "candidates/protocol.h"
#include "fail.h"
#include "measure.h"
#include "raw.h"
#include "slots.h"

/*
 * What a kind means without Portals: raw libfabric has the counterparts of the usual exchanges, shared memory its own.
 */
static int bare_exchange_of(const struct session *session, const struct candidate_order *order)
{
	static const enum exchange_id usual[] = {
		[CANDIDATE_PUT] = EXCHANGE_PUT,
		[CANDIDATE_GET] = EXCHANGE_GET,
		[CANDIDATE_PUT_WINDOW] = EXCHANGE_PUT_WINDOW,
		[CANDIDATE_GET_WINDOW] = EXCHANGE_GET_WINDOW,
	};
	static const int by_hand[] = {
		[CANDIDATE_PUT] = EXCHANGE_BARE,
		[CANDIDATE_GET] = -1,
		[CANDIDATE_PUT_WINDOW] = EXCHANGE_BARE_WINDOW,
		[CANDIDATE_GET_WINDOW] = -1,
	};

	if (order->kind > CANDIDATE_GET_WINDOW)
		return -1;
	if (session->raw)
		return raw_counterpart(session, usual[order->kind], order->size);
	if (order->kind == CANDIDATE_PUT_WINDOW && order->size <= sizeof(((struct slot *)0)->payload))
		return EXCHANGE_SLOTS_WINDOW;
	return by_hand[order->kind];
}

static int exchange_of(const struct session *session, const struct candidate_order *order)
{
	static const enum exchange_id ours[CANDIDATE_KINDS] = {
		[CANDIDATE_PUT] = EXCHANGE_PUT,
		[CANDIDATE_GET] = EXCHANGE_GET,
		[CANDIDATE_PUT_WINDOW] = EXCHANGE_PUT_WINDOW,
		[CANDIDATE_GET_WINDOW] = EXCHANGE_GET_WINDOW,
		[CANDIDATE_DEPTH] = EXCHANGE_PUT_BEHIND,
		[CANDIDATE_UNEXPECTED] = EXCHANGE_PUT_UNEXPECTED,
		[CANDIDATE_REWRITTEN] = EXCHANGE_PUT_REWRITTEN,
		[CANDIDATE_BUSY] = EXCHANGE_PUT_TO_BUSY,
	};

	if (order->kind >= CANDIDATE_KINDS || order->size > session->load.size_max)
		return -1;
	return session->load.raw ? bare_exchange_of(session, order) : (int)ours[order->kind];
}

/* Windows are of the size that is asked for; a busy target's rows are times to completion, not of the whole iteration. */
static void obey(struct session *session, const struct candidate_order *order, struct samples *samples)
{
	struct run run = {
		.exchange = (uint32_t)exchange_of(session, order),
		.window = order->window,
		.size = order->size,
		.depth = order->depth,
		.variant = order->variant,
		.lead = order->lead,
		.batch = order->batch,
		.batches = order->batches,
	};
	bool busy = order->kind == CANDIDATE_BUSY;

	measure_run(session, &run, busy ? NULL : samples);
	if (!busy)
		return;
	samples_free(samples);
	bypass_take(samples);
	for (size_t i = 0; i < samples->count; i++)
		samples->value[i] *= 1e3;
}

static void answer(struct session *session, int fd, const struct candidate_order *order)
{
	struct candidate_answer answer = {0};
	struct samples samples = {0};

	if (exchange_of(session, order) < 0)
		snprintf(answer.problem, sizeof(answer.problem), "no exchange of kind %u with %llu bytes", order->kind,
			 (unsigned long long)order->size);
	else
		obey(session, order, &samples);
	answer.count = (uint32_t)samples.count;
	candidate_write(fd, &answer, sizeof(answer));
	candidate_write(fd, samples.value, samples.count * sizeof(*samples.value));
	samples_free(&samples);
}

/* One line about what is at work. */
static void describe(const struct session *session, char *text, size_t size)
{
	const char *transport = session->options->transport ? session->options->transport : "?";
	char mode[32] = "?";

	info_line(session->info, "mode", mode, sizeof(mode));
	if (session->raw)
		snprintf(text, size, "libfabric %u.%u, %s, polled queue", FI_MAJOR(fi_version()),
			 FI_MINOR(fi_version()), session->raw->info->fabric_attr->prov_name);
	else if (session->load.raw)
		snprintf(text, size, "by hand in shared memory");
	else
		snprintf(text, size, "ptlbench %s, %s, mode %.*s", PTLBENCH_VERSION, transport,
			 (int)strcspn(mode, " ,"), mode);
}

static void live(struct session *session)
{
	char text[240];
	struct candidate_order order;

	describe(session, text, sizeof(text));
	int fd = candidate_connect(0, getpid(), session->peers.child, text);
	if (fd < 0)
		fail("no process listens at %s=%s: only ptlbench compare starts this", CANDIDATE_SOCKET,
		     getenv(CANDIDATE_SOCKET) ? getenv(CANDIDATE_SOCKET) : "");
	while (candidate_read(fd, &order, sizeof(order)))
		answer(session, fd, &order);
}

static bool is_alone(const struct options *options)
{
	return options->transport && !strcmp(options->transport, "self");
}

static void open_session(struct session *session, const struct options *options)
{
	if (is_alone(options)) {
		session_place_nic_thread(options);
		session_open_alone(session, options, PTL_PID_ANY);
	} else if (options->load.raw) {
		session_open_bare(session, options);
	} else {
		session_open(session, options);
	}
}

static void close_session(struct session *session)
{
	if (is_alone(session->options))
		PtlFini();
	else if (session->options->load.raw)
		session_close_bare(session);
	else
		session_close(session);
}

int candidate(const struct options *options)
{
	struct options own = *options;
	struct session session;

	own.load.persistent = true;
	open_session(&session, &own);
	if (session.peers.role == TARGET) {
		measure_serve(&session);
	} else {
		live(&session);
		if (!is_alone(&own))
			measure_end(&session);
	}
	close_session(&session);
	return 0;
}
