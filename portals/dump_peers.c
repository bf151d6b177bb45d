/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers for people: their ids, what is under way with them, and what that waits for. */
#include <inttypes.h>

#include "base/report.h"
#include "offload/peer/peer.h"
#include "portals/dump.h"

static void print_operation(FILE *out, const struct operation *op, const char *waits)
{
	const struct transfer *transfer = &op->transfer;

	fprintf(out, "    %s of %" PRIu64 " bytes, index %u, match bits 0x%" PRIx64 ": ", op->protocol->name,
		op->info.rlength ? op->info.rlength : op->payload_length, (unsigned)op->info.pt_index,
		op->info.match_bits);
	if (transfer->total)
		fprintf(out, "%" PRIu64 " of %" PRIu64 " bytes asked for, %u reads under way%s\n", transfer->asked,
			transfer->total, transfer->in_flight,
			transfer->unconfirmed ? "; the source is asked whether it still takes part" : "");
	else
		fprintf(out, "%s\n", waits);
}

static void print_list(FILE *out, const struct operation_list *list, const char *waits)
{
	unsigned count = 0;

	for (const struct operation *op = list->head; op; op = op->next)
		if (count++ < DUMP_AT_MOST)
			print_operation(out, op, waits);
	if (count > DUMP_AT_MOST)
		fprintf(out, "    ... and %u more: %s\n", count - DUMP_AT_MOST, waits);
}

/* Why its requests are not sent. */
static const char *requests_wait(const struct peer *peer)
{
	switch (peer->state) {
	case PEER_UNKNOWN:
	case PEER_CONTACTING:
		return "not sent: first contact is not answered yet";
	case PEER_BROKEN:
		return "not sent: the conversation is about to end";
	case PEER_HOLDING:
		return "not sent: the peer holds (PTL_HOLD)";
	default:
		return peer->outstanding >= PEER_WINDOW ? "not sent: the window is full of unanswered requests"
							: "not sent: the transport has no room";
	}
}

static void print_peer(FILE *out, const struct peer *peer)
{
	static const char *const states[] = {[PEER_UNKNOWN] = "unknown",
					     [PEER_CONTACTING] = "contacting",
					     [PEER_BROKEN] = "broken",
					     [PEER_HOLDING] = "holding",
					     [PEER_READY] = "ready"};

	fprintf(out, "  peer " ID_TEXT ": %s over %s, %u unanswered, %u reads under way, %u messages received%s\n",
		ID_PARTS(peer->id), states[peer->state],
		peer->transport ? peer->transport->ops->name : "no transport yet", peer->outstanding, peer->reads,
		peer->arrivals, peer->refusals ? ", its transport refuses" : "");
	print_list(out, &peer->requests, requests_wait(peer));
	print_list(out, &peer->responses, "not sent: the transport has no room");
	print_list(out, &peer->active, "waits for the peer's answer");
}

static bool has_work(const struct peer *peer)
{
	return peer->requests.head || peer->responses.head || peer->active.head || peer->state != PEER_READY;
}

void dump_peers(const struct nic *nic, FILE *out)
{
	unsigned shown = 0;

	fprintf(out, "%" PRIu32 " peers, %" PRIu32 " operations under way, %" PRIu32 " of them requested here\n",
		nic->peers.count, nic->objects.operations.live, nic->requests);
	/* Those first with which anything is under way. */
	for (int idle = 0; idle < 2; idle++)
		for (uint32_t bucket = 0; nic->peers.buckets && bucket <= nic->peers.mask; bucket++)
			for (const struct peer *peer = nic->peers.buckets[bucket]; peer; peer = peer->next)
				if (has_work(peer) != (idle == 1) && shown++ < DUMP_AT_MOST)
					print_peer(out, peer);
	if (shown > DUMP_AT_MOST)
		fprintf(out, "  ... and %u more\n", shown - DUMP_AT_MOST);
}
