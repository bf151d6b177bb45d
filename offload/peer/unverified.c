/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any process can say HELLO in any name, as fast as the network goes.  Only a process that is there gets the WELCOME
 * and can repeat the tag that it tells; until then it is an unverified peer.  There is room for NIC_UNVERIFIED of them:
 * the oldest is forgotten for the next one.  If it was honest, what it says afterwards is answered by STALE, and the
 * requests that it has sent fail.
 *
 * So that a flood of invented names does not do that to a newcomer which is slow, those go first that no transport has
 * taken a message to.  They cannot know the tag, so that none of their requests is on its way: they greet again, and
 * have lost nothing.  Only as many as that which are there, and go on to say nothing, can push out another that is.
 */
#include "offload/peer/peer.h"

static void forget_unverified(struct nic *nic, struct peer *peer)
{
	struct peer **link = &nic->peers.busy;

	peer_fail_list(nic, &peer->responses, PTL_NI_PEER_DIED);
	while (*link && *link != peer)
		link = &(*link)->next_busy;
	if (*link)
		*link = peer->next_busy;
	peer_forget(nic, peer);
}

bool unverified_affordable(struct nic *nic)
{
	uint64_t now = monotonic_ns(), due = (now - nic->unverified.credited_at) / NIC_UNVERIFIED_NS;

	if (due > 0) {
		uint64_t credit = nic->unverified.credit + due;

		nic->unverified.credit = (uint32_t)(credit < NIC_UNVERIFIED_BURST ? credit : NIC_UNVERIFIED_BURST);
		nic->unverified.credited_at = now;
	}
	if (nic->unverified.credit == 0)
		return false;
	nic->unverified.credit--;
	return true;
}

/* The place for the next one: of the first that was never reached, or a free one, else of the oldest. */
static uint32_t place_for_next(const struct nic *nic)
{
	for (uint32_t i = 0; i < NIC_UNVERIFIED; i++) {
		uint32_t place = (nic->unverified.next + i) % NIC_UNVERIFIED;

		if (!nic->unverified.ring[place] || !nic->unverified.ring[place]->reached)
			return place;
	}
	return nic->unverified.next;
}

struct peer *unverified_admit(struct nic *nic, ptl_process_id_t id)
{
	struct peer *peer = peer_find(nic, id);

	if (peer && !peer->unverified)
		return peer;
	if (!unverified_affordable(nic))
		return NULL;
	if (peer || !(peer = peer_create(nic, id)))
		return peer;
	uint32_t place = place_for_next(nic);

	if (nic->unverified.ring[place])
		forget_unverified(nic, nic->unverified.ring[place]);
	nic->unverified.ring[place] = peer;
	peer->unverified = (uint16_t)(place + 1);
	nic->unverified.next = (place + 1) % NIC_UNVERIFIED;
	return peer;
}
