/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Anybody can say HELLO in any name, as fast as the network goes.  Only who is there gets the WELCOME and can repeat the
 * tag that it tells; until then it is a stranger.  There is room for NIC_STRANGERS of them: the oldest is forgotten for
 * the next one.  If it was honest, what it says afterwards is answered by STALE, and the requests that it has sent fail.
 *
 * So that a flood of invented names does not do that to a newcomer which is slow, those go first to whom no transport has
 * taken a message.  They cannot know the tag, so that none of their requests is on its way: they greet again, and have
 * lost nothing.  Only as many as that who are there, and go on to say nothing, can push out another who is.
 */
#include "offload/peer/peer.h"

static void forget_stranger(struct nic *nic, struct peer *peer)
{
	struct peer **link = &nic->busy;

	peer_fail_list(nic, &peer->responses, PTL_NI_PEER_DIED);
	while (*link && *link != peer)
		link = &(*link)->next_busy;
	if (*link)
		*link = peer->next_busy;
	peer_forget(nic, peer);
}

bool stranger_affordable(struct nic *nic)
{
	uint64_t now = monotonic_ns(), due = (now - nic->strangers.credited_at) / NIC_STRANGER_NS;

	if (due > 0) {
		uint64_t credit = nic->strangers.credit + due;

		nic->strangers.credit = (uint32_t)(credit < NIC_STRANGER_BURST ? credit : NIC_STRANGER_BURST);
		nic->strangers.credited_at = now;
	}
	if (nic->strangers.credit == 0)
		return false;
	nic->strangers.credit--;
	return true;
}

/* The place for the next one: of the first who was never reached, or nobody's, else of the oldest. */
static uint32_t place_for_next(const struct nic *nic)
{
	for (uint32_t i = 0; i < NIC_STRANGERS; i++) {
		uint32_t place = (nic->strangers.next + i) % NIC_STRANGERS;

		if (!nic->strangers.ring[place] || !nic->strangers.ring[place]->reached)
			return place;
	}
	return nic->strangers.next;
}

struct peer *stranger_admit(struct nic *nic, ptl_process_id_t id)
{
	struct peer *peer = peer_find(nic, id);

	if (peer && !peer->stranger)
		return peer;
	if (!stranger_affordable(nic))
		return NULL;
	if (peer || !(peer = peer_create(nic, id)))
		return peer;
	uint32_t place = place_for_next(nic);

	if (nic->strangers.ring[place])
		forget_stranger(nic, nic->strangers.ring[place]);
	nic->strangers.ring[place] = peer;
	peer->stranger = (uint16_t)(place + 1);
	nic->strangers.next = (place + 1) % NIC_STRANGERS;
	return peer;
}
