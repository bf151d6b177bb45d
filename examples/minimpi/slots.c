/* SPDX-License-Identifier: BSD-3-Clause */
#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "fetch.h"
#include "type.h"
#include "unexpected.h"

#define SLOTS 1024 /* for messages that ask for an ACK; behind them job.most_counted for each rank */

static struct slots {
	struct listener put, get; /* of the two descriptors over `bytes` */
	ptl_handle_md_t md;
	unsigned free[SLOTS], free_count; /* the last freed first: its memory is in the cache */
	struct peer *peer[SLOTS];
	enum lane_of lane[SLOTS];
	unsigned char kept
		[SLOTS]; /* of its message's GETs, if the receiver has kept the header: KEPT_*, those that have come */
	char (*bytes)[UNEXPECTED_SHORT];
} slots;

/* They end in any order. */
enum { KEPT_TOLD = 1, KEPT_FETCHED = 2 };

static void (*tell_answered)(struct peer *, enum lane_of);

/* ---- counted messages ---- */

static void told(struct peer *peer, unsigned count)
{
	peer->told += count;
	if (peer->told == peer->counted)
		peer->told = peer->counted = 0;
}

ptl_hdr_data_t slots_header(struct peer *peer, uint64_t where)
{
	const ptl_hdr_data_t has = peer->has;
	peer->has = 0;
	return has << 57 | (ptl_hdr_data_t)(unsigned)job.rank << HEADER_WHERE_BITS | where;
}

struct peer *slots_sender(ptl_hdr_data_t header)
{
	return &job.peers[header >> HEADER_WHERE_BITS & (ENVELOPE_SOURCES - 1)];
}

void slots_learn(ptl_hdr_data_t header)
{
	const unsigned count = (unsigned)(header >> 57);
	if (count > 0)
		told(slots_sender(header), count);
}

void slots_count(ptl_hdr_data_t header)
{
	if (header & HEADER_COUNTED)
		slots_sender(header)->has++;
}

/* ---- slots ---- */

/* A message of length 0 has a slot too, and so its offset: a rank that sends without waiting must not be able to send for ever. */
static void free_slot(uint64_t offset)
{
	const unsigned slot = (unsigned)(offset / UNEXPECTED_SHORT);
	if (slot >= SLOTS) {
		told(&job.peers[(slot - SLOTS) / job.most_counted], 1);
		return;
	}
	struct peer *peer = slots.peer[slot];
	if (!peer)
		return; /* its peer has died */
	slots.peer[slot] = NULL;
	slots.free[slots.free_count++] = slot;
	tell_answered(peer, slots.lane[slot]);
}

/* The receiver has kept the header, or fetches what it has kept the header of. */
static void take_from_kept(uint64_t offset, unsigned char what)
{
	const unsigned slot = (unsigned)(offset / UNEXPECTED_SHORT);
	if (slot >= SLOTS || !slots.peer[slot])
		return; /* its peer has died */
	slots.kept[slot] |= what;
	if (what == KEPT_TOLD)
		tell_answered(slots.peer[slot], slots.lane[slot]);
	if (slots.kept[slot] != (KEPT_TOLD | KEPT_FETCHED))
		return;
	slots.peer[slot] = NULL;
	slots.free[slots.free_count++] = slot;
}

static void hear_put(struct listener *self, const ptl_event_t *event)
{
	(void)self;
	if (event->type == PTL_EVENT_ACK && event->ni_fail_type == PTL_NI_OK)
		free_slot(event->offset);
}

static void hear_get(struct listener *self, const ptl_event_t *event)
{
	(void)self;
	if (event->type != PTL_EVENT_GET_END)
		return;
	if (event->match_bits & FETCH_KEEPS)
		take_from_kept(event->offset, KEPT_TOLD);
	else if (event->match_bits & FETCH_CALLED)
		take_from_kept(event->offset, KEPT_FETCHED);
	else
		free_slot(event->offset);
}

static void send_from(MPI_Request request, unsigned slot, ptl_hdr_data_t counted)
{
	const ptl_size_t offset = (ptl_size_t)slot * UNEXPECTED_SHORT;
	if (request->bytes)
		memcpy(slots.bytes[slot], request->bytes, request->length);
	else
		type_pack(request->type, request->buffer, request->count, slots.bytes[slot]);
	PORTALS(PtlPutRegion(slots.md, offset, request->length, counted ? PTL_NO_ACK_REQ : PTL_ACK_REQ,
			     request->peer->id, INDEX_MESSAGES, 0, request->bits, 0,
			     slots_header(request->peer, offset) | counted));
	request_complete(request, MPI_SUCCESS);
}

bool slots_send_counted(MPI_Request request)
{
	struct peer *peer = request->peer;
	if (peer->counted == job.most_counted)
		return false;
	send_from(request, SLOTS + (unsigned)(peer - job.peers) * job.most_counted + peer->counted++, HEADER_COUNTED);
	return true;
}

bool slots_send(MPI_Request request, enum lane_of lane)
{
	if (slots.free_count == 0)
		return false;
	const unsigned slot = slots.free[--slots.free_count];
	slots.peer[slot] = request->peer;
	slots.lane[slot] = lane;
	slots.kept[slot] = 0;
	send_from(request, slot, 0);
	return true;
}

void slots_fail(const struct peer *peer)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		if (slots.peer[slot] != peer)
			continue;
		slots.peer[slot] = NULL;
		slots.free[slots.free_count++] = slot;
	}
}

void slots_open(void (*answered)(struct peer *, enum lane_of))
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	const size_t count = SLOTS + (size_t)job.size * job.most_counted;
	ptl_handle_me_t me;
	ptl_handle_md_t fetched;
	tell_answered = answered;
	slots.put.hear = hear_put;
	slots.get.hear = hear_get;
	slots.bytes = job_memory(count * UNEXPECTED_SHORT);
	slots.free_count = 0;
	for (unsigned i = SLOTS; i-- > 0;)
		slots.free[slots.free_count++] = i;
	ptl_md_t md = {.start = slots.bytes,
		       .length = count * UNEXPECTED_SHORT,
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, /* leaves ACKs */
		       .user_ptr = &slots.put,
		       .eq_handle = progress_done};
	PORTALS(PtlMDBind(job.ni, md, PTL_RETAIN, &slots.md));
	md.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE;
	md.user_ptr = &slots.get;
	PORTALS(PtlMEAttach(job.ni, INDEX_LONG, anyone, SLOTS_BITS, FETCH_KEEPS | FETCH_CALLED, PTL_RETAIN,
			    PTL_INS_AFTER, &me));
	PORTALS(PtlMDAttach(me, md, PTL_RETAIN, &fetched));
}

void slots_close(void)
{
	free(slots.bytes);
}
