/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The usual put, both ends, each in one function: some bytes, no acknowledgement wanted, between processes that have long
 * met.  The initiator puts the message together in registers and stores it where the target will read it; the target goes
 * from its bytes to the event without a struct wire_message in between.
 *
 * Nothing is decided here that is not decided elsewhere.  Each function first looks whether the case is the usual one, and says
 * false before anything has happened if it is not; put.c and receive.c know all cases, and do, report and count everything.
 */
#include <string.h>

#include "offload/put_line.h"
#include "offload/receive.h"

bool put_line(struct nic *nic, const struct put_arguments *put)
{
	struct descriptor *md = put->md;
	struct peer *peer = peer_find(nic, put->target);

	/* In the middle of a conversation, and nothing waits that has to go first. */
	if (unlikely(!peer || peer->unverified || !peer_takes_requests(peer) || !peer->transport->ops->send_line))
		return false;
	/* Small enough for a few lines and for limits.payload_max; in one piece; there will be no answer; indexes have one byte. */
	if (put->length > peer->transport->limits.line_max - WIRE_LINE_HEADER ||
	    put->length > peer->transport->limits.payload_max || md->region.count != 1 || (put->ack && md->eq) ||
	    put->pt_index >= UINT8_MAX || put->ac_index >= UINT8_MAX)
		return false;
	if (unlikely(timing_on(&nic->timing))) /* its stages are in put.c and peer.c */
		return false;
	const struct wire_line header = {.source_tag = peer->local_tag,
					 .target_tag = peer->remote_tag,
					 .pt_index = (uint8_t)put->pt_index,
					 .ac_index = (uint8_t)put->ac_index,
					 .match_bits = put->match_bits,
					 .offset = put->remote_offset,
					 .hdr_data = put->hdr_data};
	uint64_t words[WIRE_LINE_WORDS];
	/* What is empty may be nowhere. */
	const uint8_t *payload =
		put->length > 0 ? (const uint8_t *)md->region.whole.iov_base + put->local_offset : NULL;

	wire_write_line(WIRE_PUT, &header, payload, put->length, words);
	/* Refused: the long way asks again, and takes note. */
	const uint8_t *rest = put->length > WIRE_LINE_PAYLOAD ? payload + WIRE_LINE_PAYLOAD : NULL;

	if (unlikely(peer->transport->ops->send_line(peer->transport, peer->address, words,
						     WIRE_LINE_HEADER + put->length, rest)))
		return false;
	peer_note_put(nic, peer, put->length);
	if (!descriptor_notes(md))
		return true;
	struct event_info info = operation_request_info(nic, put);

	descriptor_start(md, &info, false);
	descriptor_log(nic, md, PTL_EVENT_SEND_START, &info, PTL_NI_OK);
	operation_end(nic, md, PTL_EVENT_SEND_END, &info, PTL_NI_OK);
	return true;
}

bool put_line_arrived(struct nic *nic, transport_address from, const void *bytes, size_t length, const void *body,
		      size_t body_length)
{
	struct wire_line put;

	if (!wire_read_line(bytes, length, WIRE_PUT, &put) || unlikely(timing_on(&nic->timing) || nic->trace))
		return false;
	if (unlikely(body && length != WIRE_LINE_HEADER)) /* two payloads: no message */
		return false;
	PROBE1(message_begin, &nic->timing);
	struct peer *peer = receive_line_from(nic, from, &put);

	if (unlikely(!peer || !receive_granted(nic, peer, put.pt_index, put.ac_index)))
		return receive_decline(nic);
	struct access access = {.operations = PTL_MD_OP_PUT,
				.remote_offset = put.offset,
				.rlength = body ? body_length : length - WIRE_LINE_HEADER};
	struct match_search search;

	match_begin(&search, &nic->objects.portals[put.pt_index], peer->id, put.match_bits);
	struct descriptor *md = receive_find(&search, &access);

	if (unlikely(!md))
		return receive_decline(nic);
	PROBE2(stage, &nic->timing, PTL_STAGE_MATCH);
	match_end(&search); /* may change the list, which a search that is repeated must not do twice */
	peer->source_shown[nic->drive.polling] = true;
	peer_note_arrival(peer, WIRE_PUT);
	nic->counters.requests_received++;
	struct event_info info = {.initiator = peer->id,
				  .uid = peer->uid,
				  .jid = peer->jid,
				  .pt_index = put.pt_index,
				  .match_bits = put.match_bits,
				  .hdr_data = put.hdr_data};

	receive_start(nic, md, &access, &info);
	descriptor_log(nic, md, PTL_EVENT_PUT_START, &info, PTL_NI_OK);
	const char *payload = body ? body : (const char *)bytes + WIRE_LINE_HEADER;

	if (likely(md->region.count == 1 && access.mlength > 0))
		memcpy((char *)md->region.whole.iov_base + access.offset, payload, access.mlength);
	else
		region_write(&md->region, access.offset, payload, access.mlength);
	PROBE2(stage, &nic->timing, PTL_STAGE_COPY);
	operation_end(nic, md, PTL_EVENT_PUT_END, &info, PTL_NI_OK);
	PROBE1(message_end, &nic->timing);
	return true;
}
