/* SPDX-License-Identifier: BSD-3-Clause */
#include "fetch.h"

#include "envelope.h"
#include "slots.h"

static ptl_handle_md_t nothing; /* what calls and GETs without bytes are made with */
static unsigned fetching;       /* GETs under way */
static void (*tell_end)(MPI_Request, ptl_ni_fail_t);

void fetch_open(void (*end)(MPI_Request, ptl_ni_fail_t))
{
	tell_end = end;
	PORTALS(PtlMDBind(job.ni, (ptl_md_t){.threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE}, PTL_RETAIN,
			  &nothing));
}

static bool is_long(const struct minimpi_message *message)
{
	return message->bits & ENVELOPE_LONG;
}

void fetch_header(struct minimpi_message *message, bool counted)
{
	struct peer *peer = message->peer;
	if (counted || peer->dead || peer->held < job.most_held) {
		peer->held++;
		return;
	}
	message->kept = true;
	PORTALS(PtlGetRegion(nothing, 0, 0, peer->id, INDEX_LONG, 0,
			     FETCH_KEEPS | (is_long(message) ? message->where : SLOTS_BITS),
			     is_long(message) ? 0 : message->where));
}

/* ---- with a GET ---- */

static void hear_fetched(struct listener *self, const ptl_event_t *event)
{
	MPI_Request request = (MPI_Request)self;
	if (event->type != PTL_EVENT_UNLINK) {
		request->failure = event->ni_fail_type;
		return;
	}
	fetching--;
	tell_end(request, request->failure);
}

static void get(MPI_Request request, const struct minimpi_message *message)
{
	const size_t length = message->length < request->length ? message->length : request->length;
	const uint64_t slot_bits = SLOTS_BITS | (message->kept ? FETCH_CALLED : 0);
	fetching++;
	request->listener.hear = hear_fetched;
	request->failure = PTL_NI_OK;
	PORTALS(PtlMDBind(job.ni,
			  (ptl_md_t){.start = request->bytes,
				     .length = length,
				     .threshold = 1,
				     .options = PTL_MD_EVENT_START_DISABLE,
				     .user_ptr = request,
				     .eq_handle = progress_done},
			  PTL_UNLINK, &request->md));
	PORTALS(PtlGet(request->md, message->peer->id, INDEX_LONG, 0, is_long(message) ? message->where : slot_bits,
		       is_long(message) ? 0 : message->where));
}

/* ---- with a call ---- */

static void call(MPI_Request request);

static void hear_called(struct listener *self, const ptl_event_t *event)
{
	MPI_Request request = (MPI_Request)self;
	struct peer *peer = request->peer;
	if (event->type != PTL_EVENT_UNLINK) {
		request->failure = event->ni_fail_type;
		return;
	}
	peer->calls--;
	request->peer = NULL;
	tell_end(request, request->failure);
	MPI_Request next = peer->first_call;
	if (!next)
		return;
	peer->first_call = next->next;
	request_under_way(next);
	call(next);
}

static void call(MPI_Request request)
{
	struct peer *peer = request->peer;
	peer->calls++;
	request->listener.hear = hear_called;
	request->failure = PTL_NI_OK;
	PORTALS(PtlMEMDAttach(job.ni, INDEX_LONG, peer->id, FETCH_CALLED | request->where, 0, PTL_UNLINK, PTL_INS_AFTER,
			      (ptl_md_t){.start = request->bytes,
					 .length = request->length,
					 .threshold = 1,
					 .options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE,
					 .user_ptr = request,
					 .eq_handle = progress_done},
			      PTL_UNLINK, &request->me, &request->md));
	PORTALS(PtlPut(nothing, PTL_NO_ACK_REQ, peer->id, INDEX_CALLS, 0, 0, 0, request->where));
}

static void call_later(MPI_Request request)
{
	struct peer *peer = request->peer;
	request_not_under_way(request);
	request->next = NULL;
	*(peer->first_call ? &peer->last_call->next : &peer->first_call) = request;
	peer->last_call = request;
}

/* ---- either ---- */

void fetch_start(MPI_Request request, const struct minimpi_message *message)
{
	struct peer *peer = message->peer;
	if (!message->kept)
		peer->held--;
	if (peer->dead) {
		tell_end(request, PTL_NI_PEER_DIED);
	} else if (!message->kept || !is_long(message)) {
		get(request, message);
	} else {
		request->peer = peer;
		request->where = message->where;
		if (peer->calls == job.most_calls)
			call_later(request);
		else
			call(request);
	}
}

void fetch_make_room(void)
{
	while (fetching >= JOB_SENT)
		progress_wait();
}

void fetch_fail(struct peer *peer)
{
	MPI_Request request, next;
	while ((request = peer->first_call)) {
		peer->first_call = request->next;
		request_under_way(request);
		request->peer = NULL;
		tell_end(request, PTL_NI_PEER_DIED);
	}
	for (request = request_first_under_way; request; request = next) {
		next = request->next;
		if (request->kind != REQUEST_RECEIVE || request->peer != peer || PtlMEUnlink(request->me) != PTL_OK)
			continue;
		request->peer = NULL;
		tell_end(request, PTL_NI_PEER_DIED);
	}
}
