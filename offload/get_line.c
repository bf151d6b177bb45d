/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The usual get, as put_line.c has the usual put.  At its initiator it goes at once, in one line; at its target it is of some bytes
 * that are in one piece, for a peer that takes answers at once.  START is told before the answer goes: a process that has that may know of
 * it.  An answer that is refused nevertheless waits as get.c has it.
 */
#include "offload/get_line.h"
#include "offload/get_answer.h"
#include "offload/receive.h"

bool get_line(struct nic *nic, struct operation *op)
{
	const struct wire_message *get = &op->message;
	struct peer *peer = op->peer;

	if (unlikely(!peer_takes_requests(peer) || peer->outstanding >= PEER_WINDOW ||
		     !peer->transport->ops->send_line || get->pt_index >= UINT8_MAX || get->ac_index >= UINT8_MAX ||
		     timing_on(&nic->timing)))
		return false;
	const struct wire_line header = {.source_tag = peer->local_tag,
					 .target_tag = peer->remote_tag,
					 .token = get->token,
					 .pt_index = (uint8_t)get->pt_index,
					 .ac_index = (uint8_t)get->ac_index,
					 .match_bits = get->match_bits,
					 .offset = get->offset,
					 .length = get->length};
	uint64_t words[WIRE_LINE_WORDS];

	wire_write_line(WIRE_GET, &header, NULL, 0, words);
	if (unlikely(peer->transport->ops->send_line(peer->transport, peer->address, words, WIRE_LINE_HEADER, NULL)))
		return false;
	peer_note_sent(peer, WIRE_GET);
	nic->counters.requests_sent++;
	op->windowed = true;
	peer->outstanding++;
	operation_append(&peer->active, op);
	peer_mark_busy(nic, peer);
	operation_advance(nic, op, OP_SENT, NULL);
	return true;
}

static inline bool is_usual(const struct peer *peer, const struct descriptor *md, uint64_t mlength)
{
	return mlength <= peer->transport->limits.line_max - WIRE_COMPACT_SIZE &&
	       mlength <= peer->transport->limits.payload_max && md->region.count == 1;
}

/* The answer's words, with what they have no room for behind them.  False: they are refused, and nothing has happened. */
static inline bool answer(const struct peer *peer, uint32_t token, const struct descriptor *md,
			  const struct event_info *info)
{
	const struct transport *transport = peer->transport;
	uint64_t words[WIRE_LINE_WORDS];
	/* What is empty may be nowhere. */
	const uint8_t *payload = info->mlength > 0 ? (const uint8_t *)md->region.whole.iov_base + info->offset : NULL;
	const uint8_t *rest = info->mlength > WIRE_REPLY_PAYLOAD ? payload + WIRE_REPLY_PAYLOAD : NULL;

	wire_write_reply(peer->local_tag, peer->remote_tag, token, payload, info->mlength, words);
	return transport->ops->send_line(peer->transport, peer->address, words, WIRE_COMPACT_SIZE + info->mlength,
					 rest) == 0;
}

bool get_line_arrived(struct nic *nic, transport_address from, const void *bytes, size_t length)
{
	struct wire_line get;

	if (!wire_read_line(bytes, length, WIRE_GET, &get) || unlikely(timing_on(&nic->timing) || nic->trace))
		return false;
	PROBE1(message_begin, &nic->timing);
	struct peer *peer = receive_line_from(nic, from, &get);

	if (unlikely(!peer || !peer_takes_responses(peer) || !peer->transport->ops->send_line ||
		     !receive_granted(nic, peer, get.pt_index, get.ac_index)))
		return receive_decline(nic);
	struct access access = {.operations = PTL_MD_OP_GET, .remote_offset = get.offset, .rlength = get.length};
	struct match_search search;

	match_begin(&search, &nic->objects.portals[get.pt_index], peer->id, get.match_bits);
	struct descriptor *md = receive_find(&search, &access);

	if (unlikely(!md || !is_usual(peer, md, access.mlength)))
		return receive_decline(nic);
	PROBE2(stage, &nic->timing, PTL_STAGE_MATCH);
	match_end(&search); /* as in put_line_arrived() */
	peer->source_shown[nic->drive.polling] = true;
	peer_note_arrival(peer, WIRE_GET);
	nic->counters.requests_received++;
	struct event_info info = {.initiator = peer->id,
				  .uid = peer->uid,
				  .jid = peer->jid,
				  .pt_index = get.pt_index,
				  .match_bits = get.match_bits};

	receive_start(nic, md, &access, &info);
	descriptor_log(nic, md, PTL_EVENT_GET_START, &info, PTL_NI_OK);
	if (likely(answer(peer, get.token, md, &info))) {
		peer_note_reply(nic, peer, info.mlength);
		operation_end(nic, md, PTL_EVENT_GET_END, &info, PTL_NI_OK);
	} else {
		get_answer(nic, peer, get.token, md, &info);
	}
	PROBE1(message_end, &nic->timing);
	return true;
}
