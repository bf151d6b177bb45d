/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of peers.  An entry's index is the peer's transport_address.
 *
 * WHAT KEEPS AN ENTRY: the engine, as often as it has resolved the address and not given it back (`uses`); a segment that is
 * mapped; a process that is watched, because it has written to us; a number that the process may still believe to have.
 * An entry that nothing keeps is spare: it stays where it is, and is found there if it comes back soon (what it knows of
 * connection requests that were not answered is of use then), until a newcomer needs an entry; the longest spare one is
 * taken.  So the table is as large as the most peers at a time.
 *
 * WHAT SAYS THAT A PEER HAS GONE: its DISCONNECT, its pidfd, its segment when we write to it, its name when we
 * ask it to connect.  A process that lives on, but has closed its interface, may have sent DISCONNECT to a socket that was full,
 * and one that we cannot watch may have been killed.  Every newcomer therefore has two others looked at in turn.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/report.h"
#include "transports/node/node.h"
#include "transports/node/node_copy_life.h"
#include "transports/node/node_name.h"
#include "transports/node/node_number.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_segment.h"
#include "transports/node/node_voucher.h"

#define FIRST_PEERS 16
#define LOOKED_AT   2 /* more than one, so that there are never many gone among those that are kept */

/* --- entries --- */

struct node_peer *node_peer_find(const struct node *node, uint32_t nid, uint32_t pid)
{
	for (struct node_peer *peer = node->by_pid[pid % NODE_HASH]; peer; peer = peer->next_same_hash)
		if (peer->nid == nid && peer->pid == pid)
			return peer;
	return NULL;
}

static bool is_kept(const struct node_peer *peer)
{
	return peer->uses > 0 || peer->segment || peer->pidfd >= 0 || peer->number != NODE_NO_SENDER ||
	       peer->former != NODE_NO_SENDER;
}

void node_peer_rest(struct node *node, struct node_peer *peer)
{
	if (is_kept(peer) || peer->spare)
		return;
	peer->spare = true;
	peer->next_spare = NULL;
	if (node->last_spare)
		node->last_spare->next_spare = peer;
	else
		node->first_spare = peer;
	node->last_spare = peer;
}

static void leave_hash(struct node *node, const struct node_peer *peer)
{
	struct node_peer **link = &node->by_pid[peer->pid % NODE_HASH];

	while (*link != peer)
		link = &(*link)->next_same_hash;
	*link = peer->next_same_hash;
}

/* NULL: none is spare. */
static struct node_peer *take_spare(struct node *node)
{
	struct node_peer *peer;

	while ((peer = node->first_spare)) {
		node->first_spare = peer->next_spare;
		if (!peer->next_spare)
			node->last_spare = NULL;
		peer->spare = false;
		if (is_kept(peer)) /* it has come back */
			continue;
		leave_hash(node, peer);
		return peer;
	}
	return NULL;
}

static bool make_room(struct node *node)
{
	if (node->peer_count == NODE_MAX_PEERS)
		return false;
	if (node->peer_count < node->peer_room)
		return true;
	uint32_t room = node->peer_room ? node->peer_room * 2 : FIRST_PEERS;
	struct node_peer **peers = realloc(node->peers, room * sizeof(struct node_peer *));

	if (!peers)
		return false;
	node->peers = peers;
	node->peer_room = room;
	return true;
}

static struct node_peer *make_entry(struct node *node)
{
	struct node_peer *peer = make_room(node) ? calloc(1, sizeof(*peer)) : NULL;

	if (!peer)
		return NULL;
	peer->index = node->peer_count;
	node->peers[node->peer_count++] = peer;
	return peer;
}

/* Has it gone without a word? It is let go where that is allowed. */
static void look_at(struct node *node, struct node_peer *peer)
{
	if (peer->segment) {
		uint64_t attention = atomic_load_explicit(&peer->segment->attention, memory_order_relaxed);

		if (node_attention_state(attention) == NODE_CLOSED || (peer->pidfd < 0 && node_peer_dead(node, peer)))
			peer->failed = node->any_failed = true;
	} else if (is_kept(peer) && peer->uses == 0 && node_peer_dead(node, peer)) {
		node_peer_ended(node, peer);
		node_peer_lost(node, peer, false);
	}
}

static void look_at_others(struct node *node)
{
	for (int i = 0; i < LOOKED_AT && node->peer_count > 0; i++)
		look_at(node, node->peers[node->looked_at++ % node->peer_count]);
}

struct node_peer *node_peer_get(struct node *node, uint32_t nid, uint32_t pid)
{
	struct node_peer *peer = node_peer_find(node, nid, pid);

	if (peer)
		return peer;
	look_at_others(node);
	if (!(peer = take_spare(node)) && !(peer = make_entry(node))) {
		report_error(-ENOMEM, "no memory for peer %u of this node", pid);
		return NULL;
	}
	*peer = (struct node_peer){.nid = nid,
				   .pid = pid,
				   .index = peer->index,
				   .pidfd = -1,
				   .doorbell = -1,
				   .sender = NODE_NO_SENDER,
				   .number = NODE_NO_SENDER,
				   .former = NODE_NO_SENDER,
				   .next_same_hash = node->by_pid[pid % NODE_HASH]};
	node->by_pid[pid % NODE_HASH] = peer;
	return peer;
}

void node_peer_use(struct node_peer *peer)
{
	peer->uses++;
}

void node_peer_disuse(struct node *node, struct node_peer *peer)
{
	peer->uses--;
	node_peer_rest(node, peer);
}

/* --- meeting and losing --- */

void node_share_queue(struct node *node)
{
	uint32_t quota = NODE_SLOTS / (node->active_senders ? node->active_senders : 1);

	atomic_store_explicit(&node->segment->quota, quota > NODE_QUOTA_MIN ? quota : NODE_QUOTA_MIN,
			      memory_order_relaxed);
}

void node_peer_met(struct node *node, struct node_peer *peer)
{
	peer->quota = NODE_QUOTA_MIN;
	peer->untouched = UINT16_MAX;
	/* Pairs with nothing: the peer has not begun, or has gone on without us and was not met. */
	peer->head_seen = atomic_load_explicit(&peer->segment->head, memory_order_acquire);
	peer->mark = peer->head_seen;
	peer->before_mark = peer->behind_mark = 0;
	node->active_senders++;
	node_share_queue(node);
}

static void forget_slabs(struct node *node, const struct node_peer *peer)
{
	for (uint32_t slab = 0; slab < NODE_SLABS; slab++)
		if (node->slab_users[slab].peer == peer)
			node->slab_users[slab].peer = NULL;
}

static void undefer(struct node *node, const struct node_peer *peer)
{
	struct node_peer **link = &node->deferring;

	while (*link && *link != peer)
		link = &(*link)->next_deferring;
	if (*link)
		*link = peer->next_deferring;
}

/* It lives and does not know yet that we have forgotten it: see node_number.c. */
static struct node_peer living(const struct node_peer *peer, struct node_peer blank)
{
	bool mapped = peer->former == NODE_NO_SENDER;

	blank.former = mapped ? peer->number : peer->former;
	blank.number = mapped ? NODE_NO_SENDER : peer->number;
	blank.pidfd = peer->pidfd;
	blank.os_pid = peer->os_pid;
	blank.incarnation[0] = peer->incarnation[0];
	blank.incarnation[1] = peer->incarnation[1];
	return blank;
}

static void return_numbers(struct node *node, const struct node_peer *peer)
{
	if (peer->number != NODE_NO_SENDER)
		node_number_return(node, peer->number);
	if (peer->former != NODE_NO_SENDER)
		node_number_return(node, peer->former);
}

void node_peer_lost(struct node *node, struct node_peer *peer, bool tell)
{
	struct node_peer blank = {.nid = peer->nid,
				  .pid = peer->pid,
				  .index = peer->index,
				  .uses = peer->uses,
				  .spare = peer->spare,
				  .next_spare = peer->next_spare,
				  .pidfd = -1,
				  .doorbell = -1,
				  .sender = NODE_NO_SENDER,
				  .number = NODE_NO_SENDER,
				  .former = NODE_NO_SENDER,
				  .next_same_hash = peer->next_same_hash};
	uint32_t index = peer->index;

	node_copies_peer_lost(node, peer);
	if (peer->number != NODE_NO_SENDER) {
		node->senders[peer->number] = NULL;
		node_intend_nothing(node, peer->number);
	}
	node->active_senders -= peer->segment != NULL;
	forget_slabs(node, peer);
	undefer(node, peer);
	if (peer->segment)
		node_segment_unmap(peer->segment);
	node_voucher_unmap(peer->voucher);
	if (node->renewing || node_peer_dead(node, peer)) {
		return_numbers(node, peer);
		node_unwatch(node, peer);
		*peer = blank;
	} else {
		node_doorbell_close(peer);
		*peer = living(peer, blank);
	}
	node_share_queue(node);
	if (tell)
		node->sink->peer_gone(node->owner, index);
	node_peer_rest(node, peer);
}

void node_peers_free(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++) {
		struct node_peer *peer = node->peers[i];

		if (peer->segment)
			node_segment_unmap(peer->segment);
		node_voucher_unmap(peer->voucher);
		node_unwatch(node, peer);
		free(peer);
	}
	free(node->peers);
	node_numbers_free(node);
}
