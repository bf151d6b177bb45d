/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTL_HOLD: an interface that wants no requests yet.
 *
 * What is put between PtlNIInit and the first match entry matches nothing and is dropped, as Portals wants it; programs
 * of a job that know each other from their launcher lose their first messages so.  An interface that holds asks its peers
 * to keep their requests: every HELLO and WELCOME that it sends says WIRE_HOLDS.  A peer that reads that is in
 * conversation with us, but takes us for PEER_HOLDING, not PEER_READY: responses and notices flow in both directions,
 * and so do our own requests; its requests wait in its own queue, where they would wait for first contact.  So nothing
 * is stored here, nothing that arrives is left unread, and a sender is held back by its own limits.
 *
 * The hold ends once, for good: when the program finds an event queue empty, says PtlNicReadyToReceive, or
 * PTL_CONNECT_TIMEOUT after it began.  Then every peer that was told of it is sent a WELCOME without the bit, on the
 * ordered path behind what was said before; any introduction without the bit releases, and none makes a READY peer hold
 * again.  Two may be missed at that moment, and are told another way:
 *   - a peer that we have greeted, saying WIRE_HOLDS, and whose WELCOME has not come yet: we cannot say WELCOME to
 *     it before we know its tag.  contact.c releases it when its WELCOME comes, or says HELLO again without the bit;
 *   - a peer whose release was lost with a connection, or found no room here: a HOLDING peer is sent HELLO
 *     again and again while it has anything to wait for (liveness_tick), and answers what is true now.
 * A peer that holds has been found, so PTL_CONNECT_TIMEOUT of its sender is over; if it dies, it is found dead as any peer
 * that owes an answer.  A peer of an earlier version does not know the bit, and sends at once.
 *
 * `holding` is changed under ownership, and read without by hosts whose queue is empty.  They may read it late: then the hold ends
 * at their next look.  On the way of a message there is no test of it.
 */
#include "offload/hold.h"
#include "offload/peer/contact.h"
#include "offload/peer/peer.h"
#include "offload/trace.h"

void hold_begin(struct nic *nic)
{
	if (!nic->settings->hold)
		return;
	atomic_store_explicit(&nic->hold.on, true, memory_order_relaxed);
	nic->hold.until = monotonic_ns() + nic->settings->connect_timeout;
	nic_timer_at(nic, nic->hold.until);
}

static void end(struct nic *nic, const char *why)
{
	trace(nic, PTL_DBG_SETUP, "requests are taken from now on: %s", why);
	atomic_store_explicit(&nic->hold.on, false, memory_order_relaxed);
	for (uint32_t i = 0; nic->peers.buckets && i <= nic->peers.mask; i++)
		for (struct peer *peer = nic->peers.buckets[i]; peer; peer = peer->next)
			contact_release(nic, peer);
}

int hold_end(struct nic *nic, void *why)
{
	if (hold_in_force(nic))
		end(nic, why);
	return 0;
}

void hold_tick(struct nic *nic, uint64_t now)
{
	if (!hold_in_force(nic))
		return;
	if (now >= nic->hold.until)
		end(nic, "PTL_CONNECT_TIMEOUT is over");
	else
		nic_timer_at(nic, nic->hold.until);
}
