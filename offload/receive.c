/* SPDX-License-Identifier: BSD-3-Clause */
/* A request looks for its memory: access control, address translation, acceptance. */
#include "offload/receive.h"
#include "base/report.h"
#include "offload/drop.h"
#include "offload/trace.h"

static struct descriptor *translate(struct nic *nic, const struct peer *peer, const struct wire_message *message,
				    struct access *access)
{
	struct match_search search;

	match_begin(&search, &nic->objects.portals[message->pt_index], peer->id, message->match_bits);
	struct descriptor *found = receive_find(&search, access);

	match_end(&search);
	if (timing_on(&nic->timing))
		atomic_fetch_add_explicit(&nic->timing.walked, search.walked, memory_order_relaxed);
	return found;
}

struct descriptor *receive_match(struct nic *nic, struct peer *peer, const struct wire_message *message,
				 uint32_t operations, struct event_info *info)
{
	struct access access = {.operations = operations, .remote_offset = message->offset, .rlength = message->length};
	bool granted = receive_granted(nic, peer, message->pt_index, message->ac_index);

	timing_lap(&nic->timing, PTL_STAGE_ACCESS);
	struct descriptor *md = granted ? translate(nic, peer, message, &access) : NULL;

	timing_lap(&nic->timing, PTL_STAGE_MATCH);
	if (!md) {
		drop_explain(nic, peer, message, &access, granted);
		drop_count(nic, message->length);
		return NULL;
	}
	trace(nic, PTL_DBG_REQUEST,
	      "%s of " ID_TEXT ", index %u, bits 0x%llx: md 0x%x, offset %llu, %llu of %llu bytes",
	      wire_operation_name(message->operation), ID_PARTS(peer->id), message->pt_index,
	      (unsigned long long)message->match_bits, md->handle, (unsigned long long)access.offset,
	      (unsigned long long)access.mlength, (unsigned long long)message->length);
	*info = (struct event_info){
		.initiator = peer->id,
		.uid = peer->uid,
		.jid = peer->jid,
		.pt_index = message->pt_index,
		.match_bits = message->match_bits,
		.hdr_data = message->operation == WIRE_GET ? 0 : message->hdr_data,
	};
	receive_start(nic, md, &access, info);
	timing_lap(&nic->timing, PTL_STAGE_HOUSEKEEPING);
	return md;
}
