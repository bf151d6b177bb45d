/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The staged copy, for peers that must not read each other's memory, or that have found this to be the quicker way: the reader
 * asks for a stretch of exposed memory (NODE_PULL), the source's process copies it piece by piece into slabs of its own
 * (NODE_PULLED), out of which the reader copies it to where it belongs, while the next piece is on its way.
 *
 * The reader waits for at most NODE_PEER_PULLS requests of NODE_PULL_MAX bytes each with a peer, but it may have given up others
 * that the source has not even seen.  So the source keeps one for each read that a peer can have, NODE_READS: a newer one
 * of the same read says that the one before is waited for no longer, and takes its place.  Of its slabs at most
 * NODE_SLABS_AHEAD hold pieces that a peer has not consumed, and at most half of the peer's share, so that short messages
 * find others, and so that the pieces are in its caches still when they are copied again.
 *
 * OWNER OF A SLAB.  Its process, as its sender, until the record that names it is published; then it is the reader's to
 * read, until the reader's head has passed the record: that is said after each piece, once it is copied.  The source never
 * waits for that (send_piece() finds no slab: another poll), and a reader that has died or stands still keeps NODE_SLABS_AHEAD of
 * them until it goes on or is known to be dead (node_peer_lost()).
 *
 * WRITERS OF THE MESSAGE'S MEMORY.  The reader alone, whichever way it goes; so it may at any time read by itself
 * what has not come yet (node_read_alone()), where it can.  Then the read's generation moves on, and whatever the
 * source still sends is dropped unread: nothing is written after rdma_done().  It does so
 *   - when the source says that no host waits there (EAGAIN): its processor is for the application;
 *   - when the source has no room for the request, or nothing has come for `patience` (node_choice.c): it computes, it
 *     stands still, or it is dead.  No process sleeps meanwhile: a read that may lose its patience counts as pending.
 * The key is looked up anew for each piece, under the source's ownership: what is deregistered is not copied, and none
 * of its bytes are in a slab that the source still fills.
 *
 * WHAT A MISBEHAVING SOURCE CAN DO.  Its record is copied before it is checked, and the slab it names lies in its
 * segment: it may change the bytes while they are copied, as it could have sent others.  It cannot make a piece longer
 * than what was asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/report.h"
#include "transports/memory.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_expose.h"
#include "transports/node/node_list.h"
#include "transports/node/node_pull.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_read.h"

struct pull_record {
	uint64_t key, source, length, token;
	uint64_t optional; /* 1: or say EAGAIN, if no host waits there */
};

/* What a NODE_PULLED says, behind the place of its slab. */
struct pulled_record {
	uint64_t token, status; /* 0, or a positive errno value: then there is nothing more */
};

/* --- the reader --- */

static uint32_t unanswered(const struct node_copies *copies, const struct node_peer *peer)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		const struct node_read *read = &copies->reads[copies->order[i]];

		count += read->peer == peer && read->state == READ_PULLING;
	}
	return count;
}

static bool sink_writable(const struct node_read *read, uint64_t length)
{
	struct iovec iov[TRANSPORT_PIECES_MAX];

	return memory_pieces_writable(iov, node_walk_iovec((struct node_walk){read->local, read->at, length}, iov));
}

int node_pull_ask(struct node *node, struct node_read *read)
{
	uint64_t left = (read->split ? read->end : read->length) - read->at;
	struct node_walk walk = {read->remote, read->at, left < NODE_PULL_MAX ? left : NODE_PULL_MAX};
	struct transport_segment source = {0}; /* of many pieces one at a time */
	node_walk_next(&walk, &source);
	const uint64_t length = source.length;
	const struct pull_record record = {.key = source.key,
					   .source = source.address,
					   .length = length,
					   .token = (uint64_t)read->generation << 32 |
						    (uint32_t)(read - node->copies->reads),
					   .optional = read->peer->cross_memory};

	if (read->peer->meeting != NODE_OPEN || unanswered(node->copies, read->peer) >= NODE_PEER_PULLS)
		return -EAGAIN;
	if (node_append(node, read->peer, NODE_PULL, &record, sizeof(record), NULL, 0))
		return -ENOBUFS;
	read->pulled_until = read->at + length;
	if (!read->split)
		read->end = read->pulled_until;
	FAULT_POINT("pull-asked");
	read->state = READ_PULLING;
	read->late_at = cycle_clock() + read->patience;
	/* While the source copies the first piece.  If it is not, the pieces find a read that has ended. */
	return sink_writable(read, length) ? 0 : -EFAULT;
}

/* Nothing more comes for this read from its source. */
static void refused(struct node *node, struct node_read *read, uint64_t error)
{
	if (error == EAGAIN && read->way == NODE_STAGED)
		node_read_alone(node, read);
	else
		node_read_finish(node, read, -EACCES);
}

/* Is it for what that read was before, which did not wait for its source?  Then it is no lie. */
static bool belated(const struct node_read *read, uint64_t token)
{
	return (int32_t)(read->generation - (uint32_t)(token >> 32)) > 0;
}

/* Copies what a slab holds to where it belongs. */
static void scatter(struct node_read *read, const uint8_t *slab, uint64_t length)
{
	struct node_walk walk = {read->local, read->at, length};
	struct transport_segment part;

	for (; node_walk_next(&walk, &part); slab += part.length)
		memcpy((void *)(uintptr_t)part.address, slab, part.length);
	read->at += length;
}

bool node_pulled_piece(struct node *node, struct node_peer *peer, const uint8_t *bytes, size_t length)
{
	struct node_slab_place place;
	struct pulled_record pulled;

	if (length != sizeof(place) + sizeof(pulled))
		return false;
	memcpy(&place, bytes, sizeof(place));
	memcpy(&pulled, bytes + sizeof(place), sizeof(pulled));
	if ((uint32_t)pulled.token >= NODE_READS)
		return false;
	struct node_read *read = &node->copies->reads[(uint32_t)pulled.token];

	if (belated(read, pulled.token))
		return true;
	if (read->state != READ_PULLING || read->peer != peer || read->generation != pulled.token >> 32)
		return false;
	if (pulled.status) {
		refused(node, read, pulled.status);
		return true;
	}
	if (place.slab >= NODE_SLABS || place.length == 0 || place.length > NODE_PIECE_MAX ||
	    place.length > read->pulled_until - read->at)
		return false;
	FAULT_POINT("pull-before-copy");
	scatter(read, peer->segment->slabs[place.slab], place.length);
	if (read->at == read->pulled_until)
		read->state = READ_READY;
	else if (read->patience)
		read->late_at = cycle_clock() + read->patience;
	if (read->at == read->length && !read->split)
		node_read_finish(node, read, 0);
	return true;
}

/* --- the source --- */

static int make_room(struct node_copies *copies)
{
	uint32_t room = copies->pull_room ? copies->pull_room * 2 : NODE_PEER_PULLS * 4;
	struct node_pull *grown = realloc(copies->pulls, room * sizeof(*grown));

	if (!grown)
		return report_error(-ENOMEM, "no memory for %u requests for exposed memory", room);
	copies->pulls = grown;
	copies->pull_room = room;
	return 0;
}

/* The peer's request for the same read, which it does not wait for any more.  NULL: there is none. */
static struct node_pull *given_up(struct node_copies *copies, const struct node_peer *peer, uint64_t token)
{
	for (uint32_t i = 0; i < copies->pull_count; i++)
		if (copies->pulls[i].peer == peer && (uint32_t)copies->pulls[i].token == (uint32_t)token)
			return &copies->pulls[i];
	return NULL;
}

void node_pull_asked(struct node *node, struct node_peer *peer, const uint8_t *bytes, size_t length)
{
	struct node_copies *copies = node->copies;
	struct pull_record record = {0};

	if (length == sizeof(record))
		memcpy(&record, bytes, sizeof(record));
	if (length != sizeof(record) || record.length == 0 || record.length > NODE_PULL_MAX || record.optional > 1 ||
	    (uint32_t)record.token >= NODE_READS) {
		node->counters.malformed++;
		return;
	}
	struct node_pull *place = given_up(copies, peer, record.token);

	if (!place && copies->pull_count == copies->pull_room && make_room(copies))
		return;
	if (!place)
		place = &copies->pulls[copies->pull_count++];
	*place = (struct node_pull){.peer = peer,
				    .key = record.key,
				    .source = record.source,
				    .length = record.length,
				    .token = record.token,
				    .optional = record.optional};
}

/* There is nothing to be had, or no more. */
static int send_refusal(struct node *node, struct node_pull *pull, int error)
{
	const struct pulled_record pulled = {.token = pull->token, .status = (uint64_t)error};
	const struct node_slab_place nowhere = {0};

	return node_append(node, pull->peer, NODE_PULLED, &nowhere, sizeof(nowhere),
			   &(struct iovec){(void *)&pulled, sizeof(pulled)}, 1);
}

/* 1: there is more to come; 0: that was all; negative: not now. */
static int send_piece(struct node *node, struct node_pull *pull)
{
	const uint8_t *source = node_exposed(node->copies, pull->key, pull->source, pull->length);
	const struct pulled_record pulled = {.token = pull->token};
	uint64_t left = pull->length - pull->sent;

	if (pull->peer->meeting != NODE_OPEN)
		return -EAGAIN;
	if (!source)
		return send_refusal(node, pull, EACCES);
	/* A process that computes has no time for what the peer can do as well. */
	if (pull->optional && !node->sink->host_waits(node->owner))
		return send_refusal(node, pull, EAGAIN);
	struct iovec piece = {(void *)(uintptr_t)(source + pull->sent), left < NODE_PIECE_MAX ? left : NODE_PIECE_MAX};
	if (!memory_readable(piece.iov_base, piece.iov_len))
		return send_refusal(node, pull, EFAULT);
	FAULT_POINT("pull-before-piece");
	int rc = node_append_slab(node, pull->peer, NODE_PULLED, &pulled, sizeof(pulled), &piece, 1);

	if (rc)
		return rc;
	pull->sent += piece.iov_len;
	return pull->sent < pull->length;
}

/* One request after the other gets a piece. */
int node_pull_step(struct node *node)
{
	struct node_copies *copies = node->copies;

	if (likely(copies->pull_count == 0))
		return 0;
	uint32_t turn = copies->pull_turn++ % copies->pull_count;
	struct node_pull *pull = &copies->pulls[turn];
	int rc = send_piece(node, pull);

	pull->blocked = rc < 0;
	if (rc == 0)
		*pull = copies->pulls[--copies->pull_count];
	return rc >= 0;
}
