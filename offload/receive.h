/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a request's arrival, for both ways in: dispatch.c takes any message, put_line.c the usual put. */
#ifndef PORTALS_OFFLOAD_RECEIVE_H
#define PORTALS_OFFLOAD_RECEIVE_H

#include "offload/operation.h"
#include "offload/peer/peer.h"

/* Access control: may the peer use that entry of the portal table by that of the access control list? */
static inline bool receive_granted(const struct nic *nic, const struct peer *peer, uint32_t pt_index, uint32_t ac_index)
{
	if (pt_index > (uint32_t)nic->limits.max_pt_index || ac_index > (uint32_t)nic->limits.max_ac_index)
		return false;
	const struct acl_entry *entry = &nic->objects.acl[ac_index];

	return (entry->uid == PTL_UID_ANY || entry->uid == peer->uid) &&
	       (entry->jid == PTL_JID_ANY || entry->jid == peer->jid) &&
	       (entry->id.nid == PTL_NID_ANY || entry->id.nid == peer->id.nid) &&
	       (entry->id.pid == PTL_PID_ANY || entry->id.pid == peer->id.pid) &&
	       (entry->pt_index == PTL_PT_INDEX_ANY || entry->pt_index == pt_index);
}

/* The descriptor of the first entry that matches and whose descriptor responds, or NULL. */
static inline struct descriptor *receive_find(struct match_search *search, struct access *access)
{
	for (struct match_entry *me; (me = match_next(search));)
		if (me->descriptor && descriptor_accepts(me->descriptor, access))
			return me->descriptor;
	return NULL;
}

/* The sender, if it is a peer that we have met at that address, and the message is of this conversation; or NULL. */
static inline struct peer *receive_line_from(const struct nic *nic, transport_address from,
					     const struct wire_line *line)
{
	struct peer *peer = peer_met(nic, from);

	return likely(peer && peer_met_us(peer) && !peer->unverified && peer->remote_tag == line->source_tag &&
		      peer->local_tag == line->target_tag)
		       ? peer
		       : NULL;
}

/* The message is not as usual: dispatch.c begins it anew, on the way that takes all. */
static inline bool receive_decline(struct nic *nic)
{
	timing_dismiss(&nic->timing);
	return false;
}

/* Access control, address translation and acceptance.  NULL: dropped and counted.  Else the operation has started. */
struct descriptor *receive_match(struct nic *, struct peer *, const struct wire_message *, uint32_t operations,
				 struct event_info *);

/* The operation has found its descriptor, and starts: `info` says whose it is, this what it gets. */
static inline void receive_start(struct nic *nic, struct descriptor *md, const struct access *access,
				 struct event_info *info)
{
	uint64_t written = access->operations & PTL_MD_OP_PUT ? access->mlength : 0;

	info->link = event_link(nic);
	info->rlength = access->rlength;
	info->mlength = access->mlength;
	info->offset = access->offset;
	descriptor_start(md, info, true);
	nic->counters.bytes_received += written;
	nic->lengths.receive += written;
}

#endif
