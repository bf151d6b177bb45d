/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Server-directed I/O: the client has opened windows, and the server decides when their data moves.  A get pulls what is to be stored, a
 * put pushes what was asked for, and its acknowledgement says that the client has it.
 */
#include <errno.h>

#include "points.h"
#include "server.h"

static int bind(const struct worker *worker, void *bytes, size_t length, ptl_handle_md_t *handle)
{
	ptl_md_t md = {.start = bytes,
		       .length = length,
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_EVENT_START_DISABLE,
		       .eq_handle = worker->eq};
	return PtlMDBind(worker->server->ni, md, PTL_RETAIN, handle) == PTL_OK ? 0 : -EIO;
}

/* Waits for the end of the descriptor's operation.  Events of earlier ones, which were given up, are passed over. */
static int await(struct worker *worker, ptl_handle_md_t md, ptl_event_kind_t kind, size_t length)
{
	for (;;) {
		ptl_event_t event;
		int which, rc = PtlEQPoll(&worker->eq, 1, worker->server->patience, &event, &which);
		if (rc == PTL_EQ_EMPTY)
			return -ETIMEDOUT; /* the client lives, but has closed its window or stands still */
		if (rc != PTL_OK && rc != PTL_EQ_DROPPED)
			return -EIO;
		if (event.md_handle != md)
			continue;
		if (event.ni_fail_type != PTL_NI_OK)
			return -EHOSTDOWN;
		if (event.type == kind)
			return event.mlength == length ? 0 : -EPROTO;
	}
}

/* The memory is ours again when it returns; an operation that was given up may hold it until the client is given up too. */
static void release(struct worker *worker, ptl_handle_md_t md)
{
	ptl_event_t event;
	int which;
	while (PtlMDUnlink(md) == PTL_MD_IN_USE)
		PtlEQPoll(&worker->eq, 1, 10, &event, &which);
}

int move_pull(struct worker *worker, const struct work *work, uint64_t offset, size_t length)
{
	ptl_handle_md_t md;
	int rc = bind(worker, worker->chunk, length, &md);
	if (rc)
		return rc;
	rc = PtlGet(md, work->from, OBJECT_BULK, OBJECT_CLIENT_ENTRY, work->request.key, offset) == PTL_OK ? 0 : -EIO;
	if (rc == 0)
		rc = await(worker, md, PTL_EVENT_REPLY_END, length);
	release(worker, md);
	object_point("pulled");
	return rc;
}

static int put(struct worker *worker, const struct work *work, ptl_pt_index_t index, void *bytes, size_t length,
	       uint64_t offset, ptl_event_kind_t until)
{
	ptl_handle_md_t md;
	int rc = bind(worker, bytes, length, &md);
	if (rc)
		return rc;
	ptl_ack_req_t ack = until == PTL_EVENT_ACK ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
	rc = PtlPut(md, ack, work->from, index, OBJECT_CLIENT_ENTRY, work->request.key, offset, 0) == PTL_OK ? 0 : -EIO;
	if (rc == 0)
		rc = await(worker, md, until, length);
	release(worker, md);
	return rc;
}

int move_push(struct worker *worker, const struct work *work, void *bytes, uint64_t offset, size_t length)
{
	return put(worker, work, OBJECT_BULK, bytes, length, offset, PTL_EVENT_ACK);
}

/* Not acknowledged: a client that has no reply asks again. */
int move_reply(struct worker *worker, const struct work *work, struct object_reply *reply)
{
	return put(worker, work, OBJECT_CONTROL, reply, sizeof(*reply), 0, PTL_EVENT_SEND_END);
}
