/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of put and get as lines of a queue in common memory (--raw slots): no library, no system. */
#include "slots.h"

#include "common.h"
#include "measure.h"

static uint64_t position, head_seen; /* of what we read, and in the queue we write */

static void slots_prepare(struct session *session, const struct run *run)
{
	(void)run;
	memset(&session->common->queue[session->peers.role], 0, sizeof(session->common->queue[0]));
	position = head_seen = 0;
}

static void send_line(struct session *session)
{
	slot_send(&session->common->queue[!session->peers.role], session->source, &head_seen);
}

static void receive_line(struct session *session)
{
	slot_receive(&session->common->queue[session->peers.role], position++, session->sink);
}

static void slots_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	(void)iteration;
	send_line(session);
	receive_line(session);
}

static void slots_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)run;
	(void)iteration;
	receive_line(session);
	send_line(session);
}

const struct exchange slots_exchange = {slots_prepare, slots_initiate, slots_serve, NULL};

static void slots_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	for (uint32_t slot = 0; slot < run->window; slot++)
		send_line(session);
	receive_line(session);
}

static void slots_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	for (uint32_t slot = 0; slot < run->window; slot++)
		receive_line(session);
	send_line(session);
}

const struct exchange slots_window_exchange = {slots_prepare, slots_window_initiate, slots_window_serve, NULL};
