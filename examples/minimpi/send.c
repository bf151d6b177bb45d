/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends.  Both kinds leave the data where the receiver can fetch it until it is known that it need not:
 *
 *     short   copied into a slot and put from there (slots.h); complete at once.  If no block has room, the receiver fetches it
 *             from the slot
 *     long    put from the program's memory.  If a receive was posted, the data goes there and the ACK ends the send.  If
 *             not, only the header arrives, without an ACK, and the receiver fetches the data by that same descriptor: a GET
 *             ends the send.  Its threshold is 2: the put, and one of these two.  Or the receiver keeps the header,
 *             and calls for the data when it has a receive (fetch.h)
 *
 * A synchronous send is a long one of any length: it ends when its receive has met it.  So is a short one when all slots
 * are taken.  To a peer that owes `job.window` answers nothing more is sent until it has given one; messages of collective
 * operations have a window of their own.
 */
#include "send.h"

#include "envelope.h"
#include "fetch.h"
#include "place.h"
#include "slots.h"
#include "unexpected.h"

static unsigned kept; /* long sends of which receivers have kept the header, and which have not ended */

static void send_one(MPI_Request request);

static enum lane_of lane_of(const struct minimpi_request *request)
{
	return request->context == request->comm->context ? LANE_PROGRAM : LANE_COLLECTIVE;
}

static void answered(struct peer *peer, enum lane_of which)
{
	struct lane *lane = &peer->lanes[which];
	if (peer->dead)
		return;
	lane->unanswered--;
	while (lane->first && lane->unanswered < job.window[which]) {
		MPI_Request request = lane->first;
		lane->first = request->next;
		send_one(request);
	}
}

/* ---- long ---- */

static void end_long(MPI_Request request, ptl_ni_fail_t failure)
{
	struct peer *peer = request->peer;
	const enum lane_of lane = lane_of(request);
	const bool was_kept = request->kept;
	request_not_under_way(request);
	place_leave(request->where);
	request_complete(request, failure == PTL_NI_OK ? MPI_SUCCESS : MPI_ERR_OTHER);
	if (was_kept)
		kept--;
	else
		answered(peer, lane);
}

/* The receiver wants it now, and has an entry for it. */
static void send_called(MPI_Request request)
{
	PORTALS(PtlMDBind(job.ni,
			  (ptl_md_t){.start = request->bytes,
				     .length = request->length,
				     .threshold = 2,
				     .options = PTL_MD_EVENT_START_DISABLE,
				     .user_ptr = request,
				     .eq_handle = progress_done},
			  PTL_UNLINK, &request->md));
	PORTALS(PtlPut(request->md, PTL_ACK_REQ, request->peer->id, INDEX_LONG, 0, FETCH_CALLED | request->where, 0,
		       0));
}

/* The receiver has the header and has used up the entry: it is as good as answered, to all but the program. */
static void keep(MPI_Request request)
{
	request->kept = true;
	kept++;
	if (request->called)
		send_called(request);
	answered(request->peer, lane_of(request));
}

/* A call may come before the END of the GET that has kept the header. */
static void hear_call(struct listener *self, const ptl_event_t *event)
{
	(void)self;
	MPI_Request request = place_find(event->hdr_data);
	if (!request || request->called || request->peer->id.nid != event->initiator.nid ||
	    request->peer->id.pid != event->initiator.pid)
		return;
	request->called = true;
	if (request->kept)
		send_called(request);
}

/* False: an event of it is still to come. */
static bool give_up(MPI_Request request)
{
	if (!request->kept)
		return PtlMEUnlink(request->me) == PTL_OK;
	return !request->called || PtlMDUnlink(request->md) == PTL_OK;
}

/* Of a put that failed no answer comes: what is left of the threshold has to be given up. */
static void hear_long(struct listener *self, const ptl_event_t *event)
{
	MPI_Request request = (MPI_Request)self;
	if (event->ni_fail_type != PTL_NI_OK)
		request->failure = event->ni_fail_type;
	if (event->type == PTL_EVENT_GET_END && (event->match_bits & FETCH_KEEPS))
		request->keeping = true;
	const bool failed = event->type == PTL_EVENT_SEND_END && request->failure != PTL_NI_OK;
	if (event->type == PTL_EVENT_UNLINK && request->keeping && !request->kept && request->failure == PTL_NI_OK)
		keep(request);
	else if (event->type == PTL_EVENT_UNLINK || (failed && give_up(request)))
		end_long(request, request->failure);
}

static void send_long(MPI_Request request)
{
	request->where = place_take(request);
	request->keeping = request->kept = request->called = false;
	request->listener.hear = hear_long;
	request->failure = PTL_NI_OK;
	if (!request->bytes)
		request_stage(request);
	request_under_way(request);
	PORTALS(PtlMEMDAttach(job.ni, INDEX_LONG, request->peer->id, request->where, FETCH_KEEPS, PTL_UNLINK,
			      PTL_INS_AFTER,
			      (ptl_md_t){.start = request->bytes,
					 .length = request->length,
					 .threshold = 2,
					 .options = PTL_MD_OP_GET | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE,
					 .user_ptr = request,
					 .eq_handle = progress_done},
			      PTL_UNLINK, &request->me, &request->md));
	PORTALS(PtlPut(request->md, PTL_ACK_REQ, request->peer->id, INDEX_MESSAGES, 0, request->bits | ENVELOPE_LONG, 0,
		       slots_header(request->peer, request->where)));
}

/* ---- both ---- */

static void send_one(MPI_Request request)
{
	const enum lane_of lane = lane_of(request);
	const bool is_short = request->length <= UNEXPECTED_SHORT && request->kind == REQUEST_SEND;
	if (is_short && slots_send_counted(request))
		return;
	request->peer->lanes[lane].unanswered++;
	if (!is_short || !slots_send(request, lane))
		send_long(request);
}

void send_start(MPI_Request request)
{
	const enum lane_of which = lane_of(request);
	struct lane *lane = &request->peer->lanes[which];
	if (request->peer->dead) {
		request_complete(request, MPI_ERR_OTHER);
	} else if (lane->first || lane->unanswered == job.window[which]) {
		request->next = NULL;
		*(lane->first ? &lane->last->next : &lane->first) = request;
		lane->last = request;
	} else {
		send_one(request);
	}
}

static void fail_waiting(struct lane *lane)
{
	MPI_Request next;
	for (MPI_Request request = lane->first; request; request = next) {
		next = request->next;
		request_complete(request, MPI_ERR_OTHER);
	}
	lane->first = NULL;
}

void send_fail(struct peer *peer)
{
	MPI_Request request, next;
	peer->dead = true;
	for (int i = 0; i < LANES; i++)
		fail_waiting(&peer->lanes[i]);
	slots_fail(peer);
	for (request = request_first_under_way; request; request = next) {
		next = request->next;
		if (request->kind != REQUEST_RECEIVE && request->peer == peer && give_up(request))
			end_long(request, PTL_NI_PEER_DIED);
	}
}

bool send_idle(void)
{
	for (int i = 0; i < job.size; i++)
		for (int k = 0; k < LANES && !job.peers[i].dead; k++)
			if (job.peers[i].lanes[k].unanswered > 0) /* if any waits, a whole window is unanswered */
				return false;
	return kept == 0;
}

void send_open(void)
{
	static struct listener listener = {hear_call};
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	slots_open(answered);
	PORTALS(PtlMEMDAttach(job.ni, INDEX_CALLS, anyone, 0, ~UINT64_C(0), PTL_RETAIN, PTL_INS_AFTER,
			      (ptl_md_t){.threshold = PTL_MD_THRESH_INF,
					 .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE,
					 .user_ptr = &listener,
					 .eq_handle = progress_done},
			      PTL_RETAIN, &me, &md));
}

void send_close(void)
{
	slots_close();
	place_close();
}
