/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency, the way the QsNet paper measured it (its section 5): a ping-pong in which each side sets up the
 * descriptor for its next message inside the iteration, and always before the send that triggers that message, so that
 * nothing arrives unexpected.  A get is timed from its call to REPLY_END, its destination being set up in between too.
 */
#include "pingpong.h"

#include <string.h>

static ptl_handle_md_t source_md;
static ptl_handle_me_t persistent_me;
static ptl_handle_md_t persistent_md;

/* One message from the other side, then entry and descriptor are gone. */
static void post_receive(struct session *session, const struct run *run)
{
	ptl_md_t md = session_md(session, session->sink, run->size, PTL_MD_OP_PUT);

	md.threshold = 1;
	session_attach(session, BITS_DATA, md, PTL_UNLINK);
}

void put_prepare(struct session *session, const struct run *run)
{
	source_md = session_bind(session, session_md(session, session->source, run->size, 0), PTL_RETAIN);
	if (session->load.persistent)
		persistent_me = session_attach(
			session, BITS_DATA,
			session_md(session, session->sink, run->size, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE),
			PTL_RETAIN);
	else if (session->peers.role == TARGET)
		post_receive(session, run);
}

static void send_payload(struct session *session, const struct run *run, uint32_t iteration)
{
	payload_fill(session, session->source, run->size, iteration);
	session_put(session, source_md, BITS_DATA);
}

/* UNLINK events are taken whenever they come up: the next receive does not depend on them. */
void put_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	if (!session->load.persistent)
		post_receive(session, run);
	send_payload(session, run, iteration);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	payload_check(session, session->sink, run->size, iteration);
}

void put_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	session_wait(session, PTL_EVENT_PUT_END, iteration + 1);
	payload_check(session, session->sink, run->size, iteration);
	if (!session->load.persistent && iteration + 1 < run_iterations(run))
		post_receive(session, run);
	send_payload(session, run, iteration);
	session_wait(session, PTL_EVENT_SEND_END, iteration + 1);
}

void put_finish(struct session *session, const struct run *run)
{
	if (session->load.persistent)
		session_detach(session, persistent_me);
	else
		session_wait(session, PTL_EVENT_UNLINK, run_iterations(run));
	session_release(session, source_md);
}

const struct exchange put_exchange = {put_prepare, put_initiate, put_serve, put_finish};

/*
 * The same with a new payload each time.  What is sent again and again unchanged stays in the cache of the processor that reads
 * it; what a program has just computed does not.  A pong is written while the ping is under way.
 */
static void put_rewritten_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	memset(session->source, (int)iteration, run->size);
	put_initiate(session, run, iteration);
}

static void put_rewritten_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	memset(session->source, (int)iteration, run->size);
	put_serve(session, run, iteration);
}

const struct exchange put_rewritten_exchange = {put_prepare, put_rewritten_initiate, put_rewritten_serve, put_finish};

/*
 * Gets.  The target keeps one descriptor attached and takes no part but waiting in Portals for a put that says it is
 * over: its own count of GET_END could overflow the event queue if its NIC is faster than itself.
 */
void get_target_prepare(struct session *session, const struct run *run)
{
	ptl_md_t source = session_md(session, session->source, run->size, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
	ptl_md_t done = session_md(session, NULL, 0, PTL_MD_OP_PUT);

	source.eq_handle = PTL_EQ_NONE;
	done.threshold = 1;
	payload_fill(session, session->source, run->size, 0);
	persistent_me = session_attach(session, BITS_DATA, source, PTL_RETAIN);
	session_attach(session, BITS_DONE, done, PTL_UNLINK);
}

void get_target_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	if (iteration + 1 == run_iterations(run))
		session_wait(session, PTL_EVENT_UNLINK, 1);
}

void get_say_done(struct session *session)
{
	ptl_handle_md_t done = session_bind(session, session_md(session, NULL, 0, 0), PTL_RETAIN);

	session_put(session, done, BITS_DONE);
	session_wait(session, PTL_EVENT_SEND_END, 1);
	session_release(session, done);
}

void get_target_finish(struct session *session)
{
	session_detach(session, persistent_me);
}

static void get_prepare(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET)
		get_target_prepare(session, run);
	else if (session->load.persistent)
		persistent_md = session_bind(session, session_md(session, session->sink, run->size, 0), PTL_RETAIN);
}

static ptl_handle_md_t bind_destination(struct session *session, const struct run *run)
{
	ptl_md_t md = session_md(session, session->sink, run->size, 0);

	if (session->load.persistent)
		return persistent_md;
	md.threshold = 1;
	return session_bind(session, md, PTL_UNLINK);
}

static void get_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	ptl_handle_md_t md = bind_destination(session, run);

	payload_fill(session, session->sink, run->size, iteration + 1);
	PTL(PtlGet(md, session->other, BENCH_PT_INDEX, 0, BITS_DATA, 0));
	session_wait(session, PTL_EVENT_REPLY_END, iteration + 1);
	payload_check(session, session->sink, run->size, 0);
}

static void get_finish(struct session *session, const struct run *run)
{
	if (session->peers.role == TARGET) {
		get_target_finish(session);
		return;
	}
	get_say_done(session);
	if (session->load.persistent)
		session_release(session, persistent_md);
	else
		session_wait(session, PTL_EVENT_UNLINK, run_iterations(run));
}

const struct exchange get_exchange = {get_prepare, get_initiate, get_target_serve, get_finish};
