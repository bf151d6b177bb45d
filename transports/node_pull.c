/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipelined copy, for peers that must not read each other's memory: the reader asks for a stretch of exposed memory
 * (NODE_PULL), the source's process copies it piece by piece into slabs of its own (NODE_PULLED), out of which the
 * reader copies it to where it belongs, while the next piece is on its way.
 *
 * The reader has at most NODE_PEER_PULLS requests of NODE_PULL_MAX bytes each with a peer, which is half of the peer's
 * slabs; the source drops what goes beyond the first number, because nobody who keeps to it sends that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/report.h"
#include "transports/node_copy.h"

struct pull_record {
	uint64_t key, source, length, token;
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

int node_pull_ask(struct node *node, struct node_read *read)
{
	uint64_t length = read->end - read->at;
	struct pull_record record = {.key = read->key, .source = read->remote + read->at};

	if (length > NODE_PULL_MAX)
		length = NODE_PULL_MAX;
	record.length = length;
	record.token = (uint64_t)read->generation << 32 | (uint32_t)(read - node->copies->reads);
	if (read->peer->meeting != NODE_OPEN || unanswered(node->copies, read->peer) >= NODE_PEER_PULLS ||
	    node_append(node, read->peer, NODE_PULL, &record, sizeof(record), NULL, 0))
		return -EAGAIN;
	read->pulled_until = read->at + length;
	FAULT_POINT("pull-asked");
	read->state = READ_PULLING;
	return 0;
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

	if (read->state != READ_PULLING || read->peer != peer || read->generation != pulled.token >> 32)
		return false;
	if (pulled.status) {
		node_read_finish(node, read, -EACCES);
		return true;
	}
	if (place.slab >= NODE_SLABS || place.length == 0 || place.length > NODE_SLAB_SIZE ||
	    place.length > read->pulled_until - read->at)
		return false;
	FAULT_POINT("pull-before-copy");
	memcpy(read->local + read->at, peer->segment->slabs[place.slab], place.length);
	read->at += place.length;
	if (read->at == read->pulled_until)
		read->state = READ_READY;
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

void node_pull_asked(struct node *node, struct node_peer *peer, const uint8_t *bytes, size_t length)
{
	struct node_copies *copies = node->copies;
	struct pull_record record;
	uint32_t of_peer = 0;

	for (uint32_t i = 0; i < copies->pull_count; i++)
		of_peer += copies->pulls[i].peer == peer;
	if (length != sizeof(record) || of_peer >= NODE_PEER_PULLS) {
		node->counters.malformed++;
		return;
	}
	memcpy(&record, bytes, sizeof(record));
	if (record.length == 0 || record.length > NODE_PULL_MAX) {
		node->counters.malformed++;
		return;
	}
	if (copies->pull_count == copies->pull_room && make_room(copies))
		return;
	copies->pulls[copies->pull_count++] = (struct node_pull){.peer = peer,
								 .key = record.key,
								 .source = record.source,
								 .length = record.length,
								 .token = record.token};
}

/* 1: there is more to come; 0: that was all; -EAGAIN. */
static int send_piece(struct node *node, struct node_pull *pull)
{
	const uint8_t *source = node_exposed(node->copies, pull->key, pull->source, pull->length);
	struct pulled_record pulled = {.token = pull->token, .status = source ? 0 : EACCES};
	const struct node_slab_place nowhere = {0};
	uint64_t left = pull->length - pull->sent;

	if (pull->peer->meeting != NODE_OPEN)
		return -EAGAIN;
	if (!source)
		return node_append(node, pull->peer, NODE_PULLED, &nowhere, sizeof(nowhere),
				   &(struct iovec){&pulled, sizeof(pulled)}, 1);
	struct iovec piece = {(void *)(uintptr_t)(source + pull->sent), left < NODE_SLAB_SIZE ? left : NODE_SLAB_SIZE};
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
