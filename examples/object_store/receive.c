/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two receive blocks take the requests of all clients, one behind the other.  A block that is full is unlinked by itself; its
 * requests have been copied into the queue when its UNLINK event is read, so it is posted again at once.  What finds both full
 * is dropped, and repeated by its client.
 */
#include <errno.h>
#include <stdlib.h>

#include "server.h"

#define BLOCKS         2
#define BLOCK_REQUESTS 512

/*
 * An END for each request, however short, and an UNLINK for each block, which is posted again when that is read: the queue cannot
 * overflow.
 */
#define EVENTS (BLOCKS * (BLOCK_REQUESTS + 1))

static int post(const struct receiver *receiver, struct object_request *block)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_md_t handle;
	ptl_handle_me_t me;
	ptl_md_t md = {.start = block,
		       .length = sizeof(*block) * BLOCK_REQUESTS,
		       .threshold = BLOCK_REQUESTS,
		       .max_size = sizeof(*block),
		       .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE,
		       .user_ptr = block,
		       .eq_handle = receiver->eq};
	int rc = PtlMEMDAttach(receiver->ni, OBJECT_CONTROL, anyone, 0, 0, PTL_UNLINK, PTL_INS_AFTER, md, PTL_UNLINK,
			       &me, &handle);
	return rc == PTL_OK ? 0 : -EIO;
}

static bool makes_sense(const struct object_request *request)
{
	bool named = request->operation != OBJECT_LIST;
	return request->magic == OBJECT_MAGIC && request->operation < OBJECT_OPERATIONS &&
	       request->name_length <= OBJECT_NAME_MAX && (request->name_length > 0) == named &&
	       request->size <= INT64_MAX;
}

static void take(struct server *server, const ptl_event_t *event)
{
	const struct object_request *request = (const void *)((const char *)event->md.start + event->offset);
	struct work work = {.from = event->initiator, .uid = event->uid};
	if (event->ni_fail_type != PTL_NI_OK || event->mlength != sizeof(*request))
		return;
	work.request = *request;
	if (makes_sense(&work.request))
		queue_put(&server->queue, &work);
}

int receive_open(struct receiver *receiver, ptl_handle_ni_t ni)
{
	receiver->ni = ni;
	receiver->blocks = calloc(BLOCKS * BLOCK_REQUESTS, sizeof(*receiver->blocks));
	if (!receiver->blocks)
		return -ENOMEM;
	int rc = PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &receiver->eq) == PTL_OK ? 0 : -EIO;
	for (int i = 0; rc == 0 && i < BLOCKS; i++)
		rc = post(receiver, receiver->blocks + i * BLOCK_REQUESTS);
	return rc;
}

int receive_requests(struct receiver *receiver, struct server *server, const volatile sig_atomic_t *stop)
{
	int rc = 0, which;
	ptl_event_t event;
	while (rc == 0 && !*stop) {
		int got = PtlEQPoll(&receiver->eq, 1, 100, &event, &which); /* signals do not end it */
		if (got == PTL_EQ_EMPTY)
			continue;
		if (got != PTL_OK && got != PTL_EQ_DROPPED)
			rc = -EIO;
		else if (event.type == PTL_EVENT_PUT_END)
			take(server, &event);
		else if (event.type == PTL_EVENT_UNLINK)
			rc = post(receiver, event.md.user_ptr);
	}
	return rc;
}
