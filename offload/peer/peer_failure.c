/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peers that we have given up, and why.  A peer that is given up is forgotten as a conversation; what is remembered
 * here is why, of the last NIC_PEER_FAILURES peers, until the process is met anew.  Under ownership.
 */
#include "offload/descriptor.h"
#include "offload/peer/peer.h"
#include "offload/waiters.h"

static struct peer_failure *find_failure(struct nic *nic, ptl_process_id_t id)
{
	for (uint32_t i = 0; i < nic->failures.count; i++)
		if (nic->failures.ring[i].id.pid == id.pid && nic->failures.ring[i].id.nid == id.nid)
			return &nic->failures.ring[i];
	return NULL;
}

/* No event of an operation: all that it tells is which process. */
static void post_event(struct nic *nic, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid)
{
	struct event_queue *eq = nic->failures.eq;
	const struct event_record record = {
		.info = {.initiator = id, .uid = uid, .jid = jid, .link = event_link(nic)},
		.md_handle = PTL_INVALID_HANDLE,
		.kind = PTL_NIC_EVENT_PEER_DIED,
		.ni_fail = PTL_NI_PEER_DIED,
	};

	if (!eq)
		return;
	event_post(eq, &record);
	if (eq->waiters > 0)
		waiters_notify(nic, eq);
}

void peer_failure_record(struct nic *nic, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid, const char *why)
{
	struct peer_failure *failure = find_failure(nic, id);

	if (!failure)
		failure = &nic->failures.ring[nic->failures.next++ % NIC_PEER_FAILURES];
	if (nic->failures.count < nic->failures.next && nic->failures.count < NIC_PEER_FAILURES)
		nic->failures.count++;
	*failure = (struct peer_failure){.id = id, .why = why};
	post_event(nic, id, uid, jid);
}

void peer_failure_clear(struct nic *nic, ptl_process_id_t id)
{
	struct peer_failure *failure = find_failure(nic, id);

	if (failure)
		*failure = (struct peer_failure){.id = {PTL_NID_ANY, PTL_PID_ANY}};
}

const char *peer_failure_of(struct nic *nic, ptl_process_id_t id)
{
	const struct peer_failure *failure = find_failure(nic, id);

	return failure ? failure->why : NULL;
}
