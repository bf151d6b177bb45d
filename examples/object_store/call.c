/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request and its reply.  Both windows are open before the request leaves, and only the server may use them, so what it does
 * cannot come too early.  They stay open while the request is repeated: to the server it is the same one.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "points.h"

struct call {
	object_client *client;
	struct object_reply arriving; /* the window; a request that was repeated may be answered twice */
	struct object_reply reply;    /* the first one that was right */
	uint64_t moved, size;         /* of the data */
	ptl_handle_md_t request, incoming;
	int done; /* the reply is here */
	int lost; /* the request has not arrived */
};

static uint64_t milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The events that it takes are of operations for which nothing waits any more. */
void object_wait_a_moment(const object_client *client)
{
	ptl_handle_eq_t eq = client->eq;
	ptl_event_t event;
	int which;
	PtlEQPoll(&eq, 1, 10, &event, &which);
}

void object_unlink_entry(const object_client *client, ptl_handle_me_t entry)
{
	while (PtlMEUnlink(entry) == PTL_ME_IN_USE)
		object_wait_a_moment(client);
}

int object_attach_last(object_client *client)
{
	ptl_handle_md_t handle;
	const ptl_md_t nothing = {.threshold = PTL_MD_THRESH_INF,
				  .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE,
				  .eq_handle = PTL_EQ_NONE};
	int rc = PtlMEMDAttach(client->ni, OBJECT_BULK, client->server, 0, ~0ULL, PTL_UNLINK, PTL_INS_AFTER, nothing,
			       PTL_RETAIN, &client->last, &handle);
	return rc == PTL_OK ? 0 : -EIO;
}

static int attach(const object_client *client, ptl_pt_index_t index, uint64_t key, struct object_window window,
		  ptl_handle_me_t *me, ptl_handle_md_t *handle)
{
	ptl_md_t md = {.start = window.start,
		       .length = window.length,
		       .threshold = PTL_MD_THRESH_INF,
		       .options = window.access | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
		       .eq_handle = client->eq};
	/* Before the last entry, which would take all. */
	int rc = PtlMEMDAttach(client->ni, index, client->server, key, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_RETAIN,
			       me, handle);
	return rc == PTL_OK ? 0 : -EIO;
}

static void take_reply(struct call *call, const ptl_event_t *event, const struct object_id *id)
{
	call->reply = call->arriving;
	call->done = event->mlength == sizeof(call->reply) && call->reply.magic == OBJECT_MAGIC &&
		     memcmp(&call->reply.id, id, sizeof(*id)) == 0;
}

static void handle(struct call *call, const ptl_event_t *event, const struct object_id *id)
{
	const struct object_options *options = &call->client->options;
	if (event->md_handle == call->request)
		call->lost |= event->ni_fail_type != PTL_NI_OK;
	else if (event->ni_fail_type != PTL_NI_OK)
		return; /* of the data: the server will say so, or die */
	else if (event->md_handle == call->incoming)
		take_reply(call, event, id);
	else if (event->type == PTL_EVENT_GET_END || event->type == PTL_EVENT_PUT_END) {
		object_point(OBJECT_CLIENT_POINT);
		call->moved = event->offset + event->mlength;
		if (options->progress && call->moved <= call->size)
			options->progress(options->context, call->moved, call->size);
	}
}

/* Until the reply is here, the request is lost, or nothing has happened for a while.  1 if something did happen. */
static int listen_for(struct call *call, const struct object_id *id)
{
	int heard = 0, which;
	ptl_event_t event;
	while (!call->done && !call->lost) {
		int rc = PtlEQPoll(&call->client->eq, 1, call->client->options.repeat, &event, &which);
		if (rc == PTL_EQ_EMPTY)
			return heard;
		if (rc != PTL_OK && rc != PTL_EQ_DROPPED)
			return -EIO;
		handle(call, &event, id);
		heard |= event.ni_fail_type == PTL_NI_OK && event.md_handle != call->request;
	}
	return heard;
}

/* Once.  1 if the server has moved something meanwhile, or answered. */
static int ask_once(struct call *call, const struct object_request *request)
{
	const object_client *client = call->client;
	call->lost = 0;
	if (PtlPut(call->request, PTL_ACK_REQ, client->server, OBJECT_CONTROL, client->entry, 0, 0, 0) != PTL_OK)
		return -EIO;
	return listen_for(call, &request->id);
}

/*
 * Until the request is answered.  Before each repetition the door tells whether the server is there; if it was started anew, our
 * entry may have become another one.
 */
static int ask(struct call *call, const struct object_request *request)
{
	object_client *client = call->client;
	uint64_t silent_since = milliseconds();
	while (milliseconds() - silent_since <= client->options.timeout) {
		int rc = client->met ? 0 : object_read_door(client);
		if (rc == 0) {
			int heard = ask_once(call, request);
			if (heard < 0 || call->done)
				return heard < 0 ? heard : 0;
			if (heard)
				silent_since = milliseconds();
		} else if (rc == -EHOSTUNREACH)
			object_wait_a_moment(client); /* it may be starting */
		else if (rc != -ETIMEDOUT)
			return rc;
		client->met = 0;
	}
	return -EHOSTUNREACH;
}

static int ask_with_request(struct call *call, struct object_request *request)
{
	object_client *client = call->client;
	ptl_md_t md = {.start = request,
		       .length = sizeof(*request),
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_EVENT_START_DISABLE,
		       .eq_handle = client->eq};
	if (PtlMDBind(client->ni, md, PTL_RETAIN, &call->request) != PTL_OK)
		return -EIO;
	int rc = ask(call, request);
	while (PtlMDUnlink(call->request) == PTL_MD_IN_USE)
		object_wait_a_moment(client);
	return rc ? rc : call->reply.status;
}

int object_call(object_client *client, struct object_request *request, struct object_window window,
		struct object_reply *reply)
{
	struct call call = {.client = client, .size = window.length};
	struct object_window incoming = {&call.arriving, sizeof(call.arriving), PTL_MD_OP_PUT};
	ptl_handle_me_t reply_entry, data_entry;
	ptl_handle_md_t data;
	int rc = attach(client, OBJECT_CONTROL, request->key, incoming, &reply_entry, &call.incoming);
	if (rc)
		return rc;
	if (window.access)
		rc = attach(client, OBJECT_BULK, request->key, window, &data_entry, &data);
	if (rc == 0) {
		rc = ask_with_request(&call, request);
		if (window.access)
			object_unlink_entry(client, data_entry);
	}
	object_unlink_entry(client, reply_entry);
	*reply = call.reply;
	return rc;
}
