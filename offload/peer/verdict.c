/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom we have given up, and why.  A peer that is given up is forgotten as a conversation; what is remembered here is
 * the verdict, of the last NIC_VERDICTS peers, until the process is met anew.  Under ownership.
 */
#include "offload/descriptor.h"
#include "offload/peer/peer.h"
#include "offload/waiters.h"

static struct peer_verdict *find(struct nic *nic, ptl_process_id_t id)
{
	for (uint32_t i = 0; i < nic->verdicts.count; i++)
		if (nic->verdicts.ring[i].id.pid == id.pid && nic->verdicts.ring[i].id.nid == id.nid)
			return &nic->verdicts.ring[i];
	return NULL;
}

/* No event of an operation: all that it tells is who. */
static void post_event(struct nic *nic, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid)
{
	struct event_queue *eq = nic->verdicts.eq;
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

void verdict_pass(struct nic *nic, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid, const char *why)
{
	struct peer_verdict *verdict = find(nic, id);

	if (!verdict)
		verdict = &nic->verdicts.ring[nic->verdicts.next++ % NIC_VERDICTS];
	if (nic->verdicts.count < nic->verdicts.next && nic->verdicts.count < NIC_VERDICTS)
		nic->verdicts.count++;
	*verdict = (struct peer_verdict){.id = id, .why = why};
	post_event(nic, id, uid, jid);
}

void verdict_withdraw(struct nic *nic, ptl_process_id_t id)
{
	struct peer_verdict *verdict = find(nic, id);

	if (verdict)
		*verdict = (struct peer_verdict){.id = {PTL_NID_ANY, PTL_PID_ANY}};
}

const char *verdict_on(struct nic *nic, ptl_process_id_t id)
{
	const struct peer_verdict *verdict = find(nic, id);

	return verdict ? verdict->why : NULL;
}
