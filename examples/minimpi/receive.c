/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives.  One that finds no message in the list is posted: a match entry for one message, in front of the marker, over
 * the program's memory.  The NIC does the rest.  END tells how it went and ends the request; UNLINK comes behind it, when the
 * request may stand for something else already.  So what hears of both is not the request but the entry, which is free after
 * UNLINK.
 *
 * Between the look into the list and the posting a message could arrive, go into a block, and be overtaken by the next.  So
 * both are one step: PtlMEMDPost posts only if the queue of unexpected messages is empty.
 *
 * Of more receives than there are entries the youngest wait in a list.  All that are posted are older, so a message that
 * meets none of them is for the first in that list that it fits.
 */
#include "receive.h"

#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "fetch.h"
#include "slots.h"

/* A match entry of a receive. */
struct posted {
	struct listener listener;
	MPI_Request request; /* until its END */
	struct posted *next; /* of the spare ones */
};

static struct posted *entries, *spare;           /* all, and those that no receive has */
static MPI_Request first_waiting, *last_waiting; /* the younger ones, which have none */

static const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};

static void end(MPI_Request request, ptl_ni_fail_t failure)
{
	int error = failure == PTL_NI_OK ? MPI_SUCCESS : MPI_ERR_OTHER;
	if (error == MPI_SUCCESS && (size_t)request->status.minimpi_bytes > request->length) {
		error = MPI_ERR_TRUNCATE;
		request->status.minimpi_bytes = (MPI_Count)request->length;
	}
	request_not_under_way(request);
	request_complete(request, error);
}

static void set_status(MPI_Request request, uint64_t bits, size_t length)
{
	request->status.MPI_SOURCE = envelope_source(bits);
	request->status.MPI_TAG = envelope_tag(bits);
	request->status.minimpi_bytes = (MPI_Count)length;
}

/* ---- the message came first ---- */

/* The message is whole, or a header. */
static void deliver(struct minimpi_message *message)
{
	MPI_Request request = message->wanted;
	const size_t length = message->length < request->length ? message->length : request->length;
	request->message = NULL;
	if (message->block) {
		if (length > 0 && !message->failed)
			memcpy(request->bytes, message->bytes, length);
		end(request, message->failed ? PTL_NI_PEER_DIED : PTL_NI_OK);
	} else {
		fetch_start(request, message);
	}
	unexpected_free(message);
}

void receive_message(MPI_Request request, struct minimpi_message *message)
{
	set_status(request, message->bits, message->length);
	message->wanted = request;
	request->message = message;
	request_under_way(request);
	if (message->whole)
		deliver(message);
}

/* ---- the receive came first ---- */

static void leave_entry(struct posted *entry)
{
	entry->next = spare;
	spare = entry;
}

static void hear_posted(struct listener *self, const ptl_event_t *event)
{
	struct posted *entry = (struct posted *)self;
	MPI_Request request = entry->request;
	if (event->type == PTL_EVENT_UNLINK) {
		leave_entry(entry);
		return;
	}
	request->posted = NULL;
	set_status(request, event->match_bits, event->rlength);
	slots_learn(event->hdr_data);
	slots_count(event->hdr_data);
	end(request, event->ni_fail_type);
}

/* False if something has arrived meanwhile: it may be the message. */
static bool post(MPI_Request request)
{
	struct posted *entry = spare;
	const int code = PtlMEMDPost(job.ni, unexpected_marker, anyone, request->bits, request->ignore, PTL_UNLINK,
				     PTL_INS_BEFORE,
				     (ptl_md_t){.start = request->bytes,
						.length = request->length,
						.threshold = 1,
						.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE,
						.user_ptr = entry,
						.eq_handle = progress_done},
				     PTL_UNLINK, &request->me, &request->md, progress_unexpected);
	if (code == PTL_MD_NO_UPDATE)
		return false;
	PORTALS(code);
	spare = entry->next;
	entry->request = request;
	request->posted = entry;
	request_under_way(request);
	return true;
}

static void wait_for_entry(MPI_Request request)
{
	request->next = NULL;
	*(first_waiting ? last_waiting : &first_waiting) = request;
	last_waiting = &request->next;
}

static void leave_waiting(MPI_Request *place)
{
	MPI_Request request = *place;
	*place = request->next;
	if (last_waiting == &request->next)
		last_waiting = place;
}

bool receive_is_orphan(MPI_Comm comm, int from)
{
	return from >= 0 && job.peers[comm->group->ranks[from]].dead;
}

/* A program may start receives without ever waiting, and the sender of what was fetched may send more. */
void receive_make_room(void)
{
	fetch_make_room();
	receive_serve_waiting();
}

void receive_start(MPI_Request request)
{
	struct minimpi_message *message;
	const struct minimpi_message *seen = NULL;
	receive_make_room();
	request_stage(request);
	for (;;) {
		receive_serve_waiting();
		message = unexpected_find(request->bits, request->ignore, &seen);
		if (message) {
			unexpected_remove(message);
			receive_message(request, message);
			return;
		}
		if (receive_is_orphan(request->comm, request->rank)) {
			if (progress_take_unexpected())
				continue;
			request_complete(request, MPI_ERR_OTHER);
			return;
		}
		if (first_waiting || !spare) {
			wait_for_entry(request);
			return;
		}
		if (post(request))
			return;
		progress_take_unexpected();
	}
}

static void offer_to_waiting(struct minimpi_message *message)
{
	for (MPI_Request *place = &first_waiting; *place; place = &(*place)->next) {
		MPI_Request request = *place;
		if (!envelope_matches(message->bits, request->bits, request->ignore))
			continue;
		leave_waiting(place);
		unexpected_remove(message);
		receive_message(request, message);
		return;
	}
}

static void offer_new(void)
{
	struct minimpi_message *message;
	while ((message = unexpected_first_new()))
		offer_to_waiting(message);
}

void receive_serve_waiting(void)
{
	for (;;) {
		offer_new();
		MPI_Request request = first_waiting;
		if (!request || !spare)
			return;
		leave_waiting(&first_waiting);
		if (post(request))
			continue;
		request->next = first_waiting;
		if (!first_waiting)
			last_waiting = &request->next;
		first_waiting = request;
		progress_take_unexpected();
	}
}

/* ---- before its time ---- */

static bool cancel_waiting(MPI_Request request)
{
	for (MPI_Request *place = &first_waiting; *place; place = &(*place)->next) {
		if (*place == request) {
			leave_waiting(place);
			return true;
		}
	}
	return false;
}

/* An entry that a message is just being written through is in use; one that has had its message is gone. */
bool receive_cancel(MPI_Request request)
{
	if (request->posted) {
		if (PtlMEUnlink(request->me) != PTL_OK)
			return false;
		leave_entry(request->posted);
		request->posted = NULL;
		request_not_under_way(request);
		return true;
	}
	return cancel_waiting(request);
}

void receive_take_arrived(void)
{
	while (progress_take_unexpected())
		;
	offer_new();
}

static void fail(MPI_Request request)
{
	request->status.MPI_SOURCE = request->rank;
	request->status.MPI_TAG = request->tag;
	request_complete(request, MPI_ERR_OTHER);
}

void receive_fail(MPI_Request request)
{
	if (receive_cancel(request))
		fail(request);
	/* else its END comes, with a reason */
}

void receive_fail_waiting(bool (*may_be_from)(MPI_Request, int), int world_rank)
{
	MPI_Request request;
	for (MPI_Request *place = &first_waiting; (request = *place);) {
		if (!may_be_from(request, world_rank)) {
			place = &request->next;
			continue;
		}
		leave_waiting(place);
		fail(request);
	}
}

void receive_open(void)
{
	entries = job_memory(JOB_POSTED * sizeof(*entries));
	spare = NULL;
	for (unsigned i = JOB_POSTED; i-- > 0;) {
		entries[i].listener.hear = hear_posted;
		leave_entry(&entries[i]);
	}
	fetch_open(end);
	unexpected_open(deliver);
}

void receive_close(void)
{
	unexpected_close();
	free(entries);
}
