/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of put and get with messages of libfabric: one there and one back, or a request and its answer. */
#include "raw.h"

/* Bytes of a message that stands for one of ours.  A tagged one needs no header, but a request must be something. */
static size_t message_size(const struct session *session, size_t header, uint64_t payload)
{
	return session->load.raw == RAW_TAGGED ? payload : header + payload;
}

size_t raw_put_size(const struct session *session, const struct run *run)
{
	return message_size(session, RAW_PUT_HEADER, run->size);
}

static size_t request_size(const struct session *session)
{
	return message_size(session, RAW_GET_HEADER, 0);
}

static size_t reply_size(const struct session *session, const struct run *run)
{
	return message_size(session, RAW_REPLY_HEADER, run->size);
}

struct raw_endpoint *raw_endpoint_for(struct session *session, const struct run *run)
{
	if (session->load.raw == RAW_TAGGED)
		return &session->raw->endpoint[HABIT_TAGGED];
	return &session->raw->endpoint[raw_put_size(session, run) <= RAW_SHARED_MAX ? HABIT_SHARED : HABIT_PLACED];
}

/* The target expects the first message before the initiator sends it. */
static void raw_put_prepare(struct session *session, const struct run *run)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_forget(endpoint);
	if (session->peers.role == TARGET)
		raw_post(endpoint, session->sink, raw_put_size(session, run));
}

static void raw_put_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_post(endpoint, session->sink, raw_put_size(session, run));
	raw_send(endpoint, session->source, raw_put_size(session, run));
	raw_flush(endpoint);
	raw_wait(endpoint, iteration + 1);
}

static void raw_put_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_wait(endpoint, iteration + 1);
	if (iteration + 1 < run_iterations(run))
		raw_post(endpoint, session->sink, raw_put_size(session, run));
	raw_send(endpoint, session->source, raw_put_size(session, run));
	raw_flush(endpoint);
}

const struct exchange raw_put_exchange = {raw_put_prepare, raw_put_initiate, raw_put_serve, NULL};

static void raw_get_prepare(struct session *session, const struct run *run)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_forget(endpoint);
	if (session->peers.role == TARGET)
		raw_post(endpoint, session->sink, request_size(session));
}

static void raw_get_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_post(endpoint, session->sink, reply_size(session, run));
	raw_send(endpoint, session->source, request_size(session));
	raw_flush(endpoint);
	raw_wait(endpoint, iteration + 1);
}

static void raw_get_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_wait(endpoint, iteration + 1);
	if (iteration + 1 < run_iterations(run))
		raw_post(endpoint, session->sink, request_size(session));
	raw_send(endpoint, session->source, reply_size(session, run));
	raw_flush(endpoint);
}

const struct exchange raw_get_exchange = {raw_get_prepare, raw_get_initiate, raw_get_serve, NULL};

static void post_window(struct session *session, const struct run *run, size_t size)
{
	for (uint32_t slot = 0; slot < run->window; slot++)
		raw_post(raw_endpoint_for(session, run), session->sink, size);
}

static void send_window(struct session *session, const struct run *run, size_t size)
{
	for (uint32_t slot = 0; slot < run->window; slot++)
		raw_send(raw_endpoint_for(session, run), session->source, size);
}

static void raw_put_window_prepare(struct session *session, const struct run *run)
{
	raw_forget(raw_endpoint_for(session, run));
	if (session->peers.role == TARGET)
		post_window(session, run, raw_put_size(session, run));
}

/* As with puts: the window is over when the target says with an empty message that it has all of it. */
static void raw_put_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_post(endpoint, session->sink, RAW_PUT_HEADER);
	send_window(session, run, raw_put_size(session, run));
	raw_flush(endpoint);
	raw_wait(endpoint, iteration + 1);
}

static void raw_put_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	raw_wait(endpoint, (uint64_t)(iteration + 1) * run->window);
	if (iteration + 1 < run_iterations(run))
		post_window(session, run, raw_put_size(session, run));
	raw_send(endpoint, session->source, message_size(session, RAW_PUT_HEADER, 0));
	raw_flush(endpoint);
}

const struct exchange raw_put_window_exchange = {raw_put_window_prepare, raw_put_window_initiate, raw_put_window_serve,
						 NULL};

static void raw_get_window_prepare(struct session *session, const struct run *run)
{
	raw_forget(raw_endpoint_for(session, run));
	if (session->peers.role == TARGET)
		post_window(session, run, request_size(session));
}

static void raw_get_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);

	post_window(session, run, reply_size(session, run));
	send_window(session, run, request_size(session));
	raw_flush(endpoint);
	raw_wait(endpoint, (uint64_t)(iteration + 1) * run->window);
}

/* Answers each request as it comes.  The receives of the next window are there before this one's last answer. */
static void raw_get_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	struct raw_endpoint *endpoint = raw_endpoint_for(session, run);
	bool last = iteration + 1 == run_iterations(run);

	for (uint64_t slot = 0; slot < run->window; slot++) {
		raw_wait(endpoint, (uint64_t)iteration * run->window + slot + 1);
		if (!last)
			raw_post(endpoint, session->sink, request_size(session));
		raw_send(endpoint, session->source, reply_size(session, run));
	}
	raw_flush(endpoint);
}

const struct exchange raw_get_window_exchange = {raw_get_window_prepare, raw_get_window_initiate, raw_get_window_serve,
						 NULL};
