/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which peers are known: by (nid, pid), by the address that a transport with compact headers names, and for how long.
 *
 * HOW LONG.  A server meets millions in its life, so a peer is known as long as forgetting it would lose something, and
 * no longer.  What would be lost is the conversation: the other side would go on with it, and its next message be
 * dropped as STALE.  So a peer is forgotten when there is no conversation and nothing waits for one: after it was
 * given up, after a contact that failed, after a STALE.  Then nothing names it: operations are in its lists or
 * nowhere, and the tables of addresses below are cleared when an address is given up.  The sweep is peers_tick(), outside
 * of transports' calls.  A conversation's end puts the peer on nic->peers.busy, whichever side ends it.
 *
 * A peer that is only silent is not gone.  A transport that tells of every end (limits.tells_gone) makes sure that it
 * is given up in time; elsewhere no message tells of the end of a process that owes nothing.  So each newcomer pays for a few
 * others: a hand goes round the table, and peers that have said nothing since it passed are examined as if they owed
 * something (liveness_tick): their port is probed, then they are asked, and the outcome is the usual one.  Without
 * newcomers no peer is disturbed, and nothing grows.  With them, the hand passes every peer once while the table grows by
 * a part of itself, so that the gone are never more than in proportion to the living.
 *
 * ADDRESSES.  A peer holds one address of each path, the one that was resolved last: `address` is that of its path.  It
 * counts as one use at the transport (resolve, forget).  A peer that has been met holds one only.
 *
 * A process that comes back is a newcomer.  Late messages of the conversation before carry tags that do not fit: ours
 * is not given again before 65 534 others were (new_tag() in contact.c).
 */
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "base/report.h"
#include "offload/peer/peer.h"

#define FIRST_BUCKETS        64
#define SPARSE               8 /* the table shrinks where it has so many places for each peer */
#define VISITED_BY_NEWCOMERS 8 /* buckets that the hand passes for each */

static uint32_t bucket_of(const struct nic *nic, ptl_process_id_t id)
{
	uint64_t key = (uint64_t)id.nid << 32 | id.pid;

	return (uint32_t)(key * 0x9E3779B97F4A7C15u >> 40) & nic->peers.mask;
}

struct peer *peer_find(struct nic *nic, ptl_process_id_t id)
{
	if (!nic->peers.buckets)
		return NULL;
	struct peer *peer = nic->peers.buckets[bucket_of(nic, id)];

	while (peer && (peer->id.pid != id.pid || peer->id.nid != id.nid))
		peer = peer->next;
	return peer;
}

/* --- peers with anything under way --- */

void peer_mark_busy(struct nic *nic, struct peer *peer)
{
	if (likely(peer->busy))
		return;
	peer->busy = true;
	peer->silent_since = 0;
	peer->reads_stuck_since = 0;
	peer->pings = peer->refused_probes = 0;
	peer->arrivals_seen = peer->arrivals;
	peer->next_busy = nic->peers.busy;
	nic->peers.busy = peer;
	nic_timer_at(nic, monotonic_ns() + PEER_TICK_NS);
}

void peer_unlist_unsent(struct peer *peer)
{
	if (!peer->unsent_at)
		return;
	*peer->unsent_at = peer->next_unsent;
	if (peer->next_unsent)
		peer->next_unsent->unsent_at = peer->unsent_at;
	peer->next_unsent = NULL;
	peer->unsent_at = NULL;
}

void peer_break(struct nic *nic, struct peer *peer)
{
	if (!peer_met_us(peer))
		return;
	report(LOG_ERROR,
	       "interface %u: %u operations are held for others, and none is left for what " ID_TEXT " asks: "
	       "the conversation ends",
	       nic->index, nic->objects.operations.live - nic->requests, ID_PARTS(peer->id));
	peer->state = PEER_BROKEN;
	peer_mark_busy(nic, peer);
	nic_timer_at(nic, 0);
}

/* --- by address --- */

bool peer_reachable(const struct nic *nic, const struct peer *peer, enum nic_path path)
{
	bool own_node = peer->id.nid == nic->self.id.nid, self = own_node && peer->id.pid == nic->self.id.pid;

	if (!nic->claimed[path] || self != (path == PATH_SELF) || (path == PATH_NODE && !own_node))
		return false;
	return nic->transports[path] || !nic->opening.done;
}

int peer_meet(struct nic *nic, struct peer *peer)
{
	uint32_t room = nic->peers.met[peer->path].room;
	struct peer **peers = nic->peers.met[peer->path].peers;

	if (!peer->transport->limits.compact)
		return 0;
	if (peer->address >= room) {
		uint32_t more = room ? room : FIRST_BUCKETS;
		struct peer **grown = NULL;

		while (more <= peer->address && more < UINT32_MAX / 2)
			more *= 2;
		if (more > peer->address)
			grown = realloc(peers, more * sizeof(struct peer *));
		if (!grown)
			return report_error(-ENOMEM, "no memory for a peer with the address %llu",
					    (unsigned long long)peer->address);
		memset(grown + room, 0, (more - room) * sizeof(struct peer *));
		nic->peers.met[peer->path].peers = peers = grown;
		nic->peers.met[peer->path].room = more;
	}
	peers[peer->address] = peer;
	return 0;
}

/* So that what is left behind never names a peer that is forgotten later. */
static void leave_address(struct nic *nic, const struct peer *peer, enum nic_path path)
{
	if (peer_met_at(nic, path, peer->held[path]) == peer)
		nic->peers.met[path].peers[peer->held[path]] = NULL;
}

void peer_take_path(struct nic *nic, struct peer *peer, enum nic_path path)
{
	if (peer->path != path)
		leave_address(nic, peer, peer->path);
	peer->path = path;
	peer->transport = nic->transports[path];
	peer->address = peer->held[path];
}

void peer_take_back(struct transport *transport, transport_address address)
{
	if (transport->ops->forget)
		transport->ops->forget(transport, address);
}

/* A walk over all; severing, for which this is asked, walks over all descriptors. */
bool peer_is_replaced(const struct nic *nic, const struct peer *peer)
{
	for (uint32_t i = 0; nic->peers.buckets && i <= nic->peers.mask; i++)
		for (const struct peer *other = nic->peers.buckets[i]; other; other = other->next)
			if (other != peer && peer_met_us(other) && other->path == peer->path &&
			    other->address == peer->address)
				return true;
	return false;
}

static void let_go(struct nic *nic, struct peer *peer, enum nic_path path)
{
	if (peer->held[path] == TRANSPORT_ADDRESS_UNKNOWN)
		return;
	leave_address(nic, peer, path);
	if (nic->transports[path]) /* else they are being closed */
		peer_take_back(nic->transports[path], peer->held[path]);
	peer->held[path] = TRANSPORT_ADDRESS_UNKNOWN;
}

void peer_hold(struct nic *nic, struct peer *peer, transport_address address)
{
	let_go(nic, peer, peer->path);
	peer->held[peer->path] = peer->address = address;
}

transport_address peer_hand_over(struct nic *nic, struct peer *peer)
{
	transport_address address = peer->address;

	leave_address(nic, peer, peer->path);
	peer->held[peer->path] = peer->address = TRANSPORT_ADDRESS_UNKNOWN;
	return address;
}

int peer_resolve(struct nic *nic, struct peer *peer, unsigned attempt)
{
	transport_address address;
	int rc = peer->transport->ops->resolve(peer->transport, peer->id.nid, peer->id.pid, attempt, &address);

	if (!rc)
		peer_hold(nic, peer, address);
	return rc;
}

void peer_settle(struct nic *nic, struct peer *peer)
{
	for (enum nic_path path = 0; path < NIC_TRANSPORTS; path++)
		if (path != peer->path)
			let_go(nic, peer, path);
}

/* --- by id --- */

/* Changes the number of buckets, a power of two.  0 or -ENOMEM, then nothing has changed. */
static int rehash(struct nic *nic, uint32_t size)
{
	uint32_t old_size = nic->peers.buckets ? nic->peers.mask + 1 : 0;
	struct peer **old = nic->peers.buckets, **buckets = calloc(size, sizeof(struct peer *));

	if (!buckets)
		return report_error(-ENOMEM, "no memory for a table of %u peers", size);
	nic->peers.buckets = buckets;
	nic->peers.mask = size - 1;
	for (uint32_t i = 0; i < old_size; i++) {
		for (struct peer *peer = old[i], *next; peer; peer = next) {
			struct peer **bucket = &buckets[bucket_of(nic, peer->id)];

			next = peer->next;
			peer->next = *bucket;
			*bucket = peer;
		}
	}
	free(old);
	return 0;
}

static bool have_buckets(struct nic *nic)
{
	uint32_t size = nic->peers.buckets ? nic->peers.mask + 1 : 0;

	if (size == 0 || nic->peers.count >= size)
		rehash(nic, size ? size * 2 : FIRST_BUCKETS);
	return nic->peers.buckets != NULL;
}

/* Peers that have said nothing since the hand passed them last are asked whether they are still there. */
static void visit(struct nic *nic, struct peer *peer)
{
	bool spoke = peer->arrivals != peer->arrivals_visited;

	peer->arrivals_visited = peer->arrivals;
	if (!spoke && !peer->busy && peer_met_us(peer) && !peer->transport->limits.tells_gone) {
		peer->examined = true;
		peer_mark_busy(nic, peer);
	}
}

static void move_hand(struct nic *nic)
{
	for (int i = 0; i < VISITED_BY_NEWCOMERS; i++) {
		uint32_t at = nic->peers.hand++ & nic->peers.mask;

		for (struct peer *peer = nic->peers.buckets[at]; peer; peer = peer->next)
			visit(nic, peer);
	}
}

struct peer *peer_create(struct nic *nic, ptl_process_id_t id)
{
	struct peer *peer = have_buckets(nic) ? calloc(1, sizeof(*peer)) : NULL;

	if (!peer) {
		report_error(-ENOMEM, "no memory for peer " ID_TEXT, ID_PARTS(id));
		return NULL;
	}
	move_hand(nic);
	struct peer **bucket = &nic->peers.buckets[bucket_of(nic, id)];

	peer->id = id;
	peer->address = TRANSPORT_ADDRESS_UNKNOWN;
	for (int i = 0; i < NIC_TRANSPORTS; i++)
		peer->held[i] = TRANSPORT_ADDRESS_UNKNOWN;
	peer->next = *bucket;
	*bucket = peer;
	nic->peers.count++;
	return peer;
}

void peer_prove(struct nic *nic, struct peer *peer)
{
	if (!peer->unverified)
		return;
	nic->unverified.ring[peer->unverified - 1] = NULL;
	nic->unverified.credit++; /* an honest one costs the others nothing */
	peer->unverified = 0;
}

struct peer *peer_get(struct nic *nic, ptl_process_id_t id)
{
	struct peer *peer = peer_find(nic, id);

	if (unlikely(!peer) && !(peer = peer_create(nic, id)))
		return NULL;
	if (unlikely(peer->unverified))
		peer_prove(nic, peer);
	if (unlikely(peer->state == PEER_UNKNOWN))
		peer_mark_busy(nic, peer); /* forgotten by the next tick, if nothing comes of it */
	return peer;
}

void peer_let_lost_go(struct peer *peer)
{
	struct peer_lost *lost;

	while ((lost = peer->lost)) {
		peer->lost = lost->next;
		if (lost->transport)
			peer_take_back(lost->transport, lost->address);
		free(lost);
	}
}

void peer_forget(struct nic *nic, struct peer *peer)
{
	struct peer **link = &nic->peers.buckets[bucket_of(nic, peer->id)];

	while (*link != peer)
		link = &(*link)->next;
	*link = peer->next;
	nic->peers.count--;
	for (enum nic_path path = 0; path < NIC_TRANSPORTS; path++)
		let_go(nic, peer, path);
	peer_let_lost_go(peer);
	peer_unlist_unsent(peer);
	if (peer->unverified)
		nic->unverified.ring[peer->unverified - 1] = NULL;
	free(peer);
	if (nic->peers.mask >= FIRST_BUCKETS && nic->peers.count < (nic->peers.mask + 1) / SPARSE)
		rehash(nic, (nic->peers.mask + 1) / 2);
}

void peers_free(struct nic *nic)
{
	for (uint32_t i = 0; nic->peers.buckets && i <= nic->peers.mask; i++) {
		while (nic->peers.buckets[i]) {
			struct peer *peer = nic->peers.buckets[i];

			nic->peers.buckets[i] = peer->next;
			for (struct peer_lost *lost = peer->lost; lost; lost = lost->next)
				lost->transport = NULL;
			peer_let_lost_go(peer);
			free(peer);
		}
	}
	free(nic->peers.buckets);
	nic->peers.buckets = NULL;
	for (int i = 0; i < NIC_TRANSPORTS; i++) {
		free(nic->peers.met[i].peers);
		nic->peers.met[i].peers = NULL;
		nic->peers.met[i].room = 0;
	}
}
