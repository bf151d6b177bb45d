/* SPDX-License-Identifier: BSD-3-Clause */
/* A read of a peer's exposed memory, from its beginning to its end.  The invariants are in node_copy.c, which works at it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_list.h"
#include "transports/node/node_process.h"
#include "transports/node/node_read.h"
#include "transports/node/node_split.h"

#define PAGE         4096u
#define CHUNK_MEDIUM (128u * 1024)
#define LONG_MESSAGE (1024u * 1024)

/*
 * Of a message that is split: half of it, so that both ends have one to copy; then what takes some 20 us at most.  By
 * measurement.
 */
static uint64_t chunk_size(uint64_t length)
{
	if (length < NODE_SPLIT_MIN)
		return length;
	if (length <= NODE_CHUNK_MAX)
		return (length / 2 + PAGE - 1) / PAGE * PAGE;
	return length <= LONG_MESSAGE ? CHUNK_MEDIUM : NODE_CHUNK_MAX;
}

/* 0: *read can be begun, and is not alive yet; -ECONNRESET; -EAGAIN. */
static int find_read(const struct node *node, const struct node_peer *peer, struct node_read **read)
{
	struct node_copies *copies = node->copies;

	if (!peer->segment)
		return -ECONNRESET;
	if (copies->read_count == NODE_READS)
		return -EAGAIN;
	*read = &copies->reads[copies->order[copies->read_count]];
	return 0;
}

static void cut(struct node_read *read, uint64_t chunk)
{
	read->chunk = chunk;
	read->total = read->length ? (read->length - 1) / chunk + 1 : 0;
}

static void prepare(struct node_read *read, struct node_peer *peer, uint64_t length, void *context)
{
	*read = (struct node_read){.peer = peer,
				   .length = length,
				   .context = context,
				   .generation = read->generation + 1,
				   .claim_generation = read->claim_generation,
				   .pieces = read->pieces,
				   .piece_room = read->piece_room,
				   .state = READ_READY};
	cut(read, chunk_size(length));
}

static void begin(struct node *node, struct node_read *read)
{
	node->copies->read_count++;
	node_choose(node, read);
	read->split = read->way == NODE_SPLIT && node_split_open(node, read);
	if (!read->split) /* as much at a time as may hold up others: each has the price of a system call */
		cut(read, NODE_CHUNK_MAX);
}

int node_read(struct transport *transport, const struct transport_read *wanted)
{
	struct node *node = node_of(transport);
	struct node_peer *peer = node->peers[wanted->peer];
	struct node_read *read;
	int rc = find_read(node, peer, &read);

	if (rc)
		return rc;
	prepare(read, peer, wanted->length, wanted->context);
	read->one[0] = (struct transport_segment){.address = (uintptr_t)wanted->local, .length = wanted->length};
	read->one[1] = (struct transport_segment){wanted->remote, wanted->key, wanted->length};
	read->local = &read->one[0];
	read->remote = &read->one[1];
	begin(node, read);
	return 0;
}

int node_read_list(struct transport *transport, const struct transport_read_list *wanted)
{
	struct node *node = node_of(transport);
	struct node_peer *peer = node->peers[wanted->peer];
	struct node_read *read;
	int rc = find_read(node, peer, &read);

	if (rc)
		return rc;
	prepare(read, peer, wanted->length, wanted->context);
	rc = node_read_pieces(read, wanted);
	if (rc)
		read->state = READ_FREE;
	else
		begin(node, read);
	return rc;
}

static void reap_ghost(const struct node_peer *ghost)
{
	UNCANCELLED;

	if (ghost->pidfd >= 0)
		close(ghost->pidfd);
}

void node_read_end(struct node *node, struct node_read *read, int status)
{
	struct node_copies *copies = node->copies;
	uint8_t index = (uint8_t)(read - copies->reads);
	uint8_t *place = memchr(copies->order, index, copies->read_count);

	if (read->noted && !read->orphan) /* else its pair is forgotten, and another may have the number */
		node_choice_ended(node, read, status);
	copies->read_count--;
	memmove(place, place + 1, (size_t)(copies->order + copies->read_count - place));
	copies->order[copies->read_count] = index;
	read->state = READ_FREE;
	read->generation++; /* pieces that still come are belated, not malformed */
	if (read->orphan)
		reap_ghost(read->peer);
	node->sink->rdma_done(node->owner, read->context, status);
}

bool node_read_settle(struct node *node, struct node_read *read)
{
	uint64_t failed = read->total;
	int rc = node_split_result(read, &failed);

	if (rc == -EAGAIN && !(read->orphan && node_proven_gone(node, read->peer)))
		return false;
	if (rc == 0 && failed < read->total && read->status == 0 && !read->mended) {
		read->mended = true;
		node_read_chunk(read, failed);
		return true;
	}
	node_read_end(node, read, read->status ? read->status : rc);
	return true;
}

void node_read_finish(struct node *node, struct node_read *read, int status)
{
	if (!read->split) {
		node_read_end(node, read, status);
		return;
	}
	node_split_close(read);
	read->status = status;
	read->state = READ_SETTLING;
	node_read_settle(node, read);
}

void node_read_alone(struct node *node, struct node_read *read)
{
	node_choice_missed(node, read);
	read->generation++; /* what the source still sends is ignored */
	read->way = NODE_ALONE;
	read->state = READ_READY;
	read->blocked = false;
	read->end = read->at;
}
