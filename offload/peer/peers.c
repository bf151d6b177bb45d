/* SPDX-License-Identifier: BSD-3-Clause */
/* All peers with anything under way, as the engine's drive and its timers see them. */
#include "offload/peer/peers.h"
#include "offload/peer/contact.h"
#include "offload/peer/liveness.h"
#include "offload/peer/peer.h"

#define RETRY_NS 1000000u /* until a peer that waits for room is tried again, at most */

int peers_flush(struct nic *nic)
{
	int sent = 0;

	/* What a flush brings about may add peers and take them off, but forgets none. */
	for (struct peer *peer = nic->peers.unsent, *next; peer; peer = next) {
		next = peer->next_unsent;
		sent += peer_flush(nic, peer);
	}
	return sent;
}

bool peers_have_unsent(struct nic *nic)
{
	for (struct peer *peer = nic->peers.busy; peer; peer = peer->next_busy)
		if (peer->requests.head || peer->responses.head)
			return true;
	return false;
}

static bool at_rest(const struct peer *peer, uint64_t now)
{
	return peer->state != PEER_CONTACTING && peer->state != PEER_BROKEN && !peer->examined &&
	       !peer->requests.head && !peer->responses.head && !peer->active.head && !contact_settles(peer, now);
}

void peers_tick(struct nic *nic, uint64_t now)
{
	struct peer **link = &nic->peers.busy;

	while (*link) {
		struct peer *peer = *link;

		if (at_rest(peer, now)) {
			peer->busy = false;
			*link = peer->next_busy;
			if (peer->state == PEER_UNKNOWN)
				peer_forget(nic, peer);
			continue;
		}
		if (peer->state == PEER_CONTACTING)
			contact_tick(nic, peer, now);
		else if (unlikely(peer->state == PEER_BROKEN))
			contact_end_broken(nic, peer);
		else
			liveness_tick(nic, peer, now);
		if (peer->requests.head || peer->responses.head) {
			peer_flush(nic, peer);
			if (!peer->full_since) /* else note_full() has seen to it */
				nic_timer_at(nic, peer->retry_at ? peer->retry_at : now + RETRY_NS);
		}
		link = &peer->next_busy;
	}
	contact_sever_lost(nic, now);
	if (nic->peers.busy)
		nic_timer_at(nic, now + PEER_TICK_NS);
}
