/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Anybody can say HELLO in any name, as fast as the network goes.  Only who is there gets the WELCOME and can repeat the
 * tag that it tells; until then it is a stranger.  There is room for NIC_STRANGERS of them: the oldest is forgotten for
 * the next one.  If it was honest, what it says afterwards is answered by STALE, and it greets again.
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

struct peer *stranger_admit(struct nic *nic, ptl_process_id_t id)
{
	struct peer *peer = peer_find(nic, id), *oldest = nic->strangers.ring[nic->strangers.next];

	if (peer && !peer->stranger)
		return peer;
	if (!stranger_affordable(nic))
		return NULL;
	if (peer || !(peer = peer_create(nic, id)))
		return peer;
	if (oldest)
		forget_stranger(nic, oldest);
	nic->strangers.ring[nic->strangers.next] = peer;
	peer->stranger = (uint16_t)(nic->strangers.next + 1);
	nic->strangers.next = (nic->strangers.next + 1) % NIC_STRANGERS;
	return peer;
}
