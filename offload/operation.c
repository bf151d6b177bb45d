/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOW MANY EACH MAY HOLD.  An engine always consumes: an arrival that cannot be served is lost, and its sender has no way
 * to know.  So requests of ours take at most NIC_MAX_REQUESTS of the pool, and the rest is for what others ask: pulling a
 * long put, an answer to a get, an ACK that its transport does not take at once.  How much that can be is bounded for each
 * peer: it keeps to PEER_WINDOW, and one that does not is refused at PEER_OWED_MAX; an answer for which there is no place then is
 * missed by its next question, and ends the conversation (WHAT IS MISSING in peer.c).  Should all peers together hold more than there
 * is, the conversation with the next one is broken (peer_break): it fails at both ends, and nothing of it is lost without a word.
 * Notices break nothing: their sender repeats them, or is asked again.
 *
 * Requests wait for a peer that does not come as long as PTL_CONNECT_TIMEOUT.  What may wait for one is what is left for
 * all others (a dynamic threshold, as switches use for shared buffers): the first to be waited for gets half of all,
 * and there is always something left for the next.
 */
#include "offload/operation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "base/report.h"
#include "offload/peer/peer.h"
#include "transports/memory.h"

#define PAGE               4096u
#define UNEXPOSED_PAUSE_NS UINT64_C(1000000000) /* between two lines about it */

void operation_append(struct operation_list *list, struct operation *op)
{
	op->list = list;
	op->next = NULL;
	op->previous = list->tail;
	*(list->tail ? &list->tail->next : &list->head) = op;
	list->tail = op;
}

void operation_unlist(struct operation *op)
{
	struct operation_list *list = op->list;

	if (!list)
		return;
	*(op->previous ? &op->previous->next : &list->head) = op->next;
	*(op->next ? &op->next->previous : &list->tail) = op->previous;
	op->list = NULL;
}

static struct operation *take(struct nic *nic, struct peer *peer, const struct protocol *protocol,
			      enum operation_hold hold)
{
	uint32_t used = nic->objects.operations.used;
	struct operation *op = pool_take(&nic->objects.operations);

	if (!op)
		return NULL;
	nic->counters.allocations += nic->objects.operations.used != used;
	op->peer = peer;
	op->protocol = protocol;
	op->state = STATE_QUEUED;
	op->held = (uint8_t)hold;
	nic->requests += hold == HELD_REQUESTED;
	*(hold == HELD_REQUESTED ? &peer->requested : &peer->owed) += 1;
	return op;
}

static bool within_share(const struct nic *nic, const struct peer *peer, enum operation_hold hold)
{
	return hold == HELD_REQUESTED ? peer->requested < NIC_MAX_REQUESTS - nic->requests : peer->owed < PEER_OWED_MAX;
}

bool operation_is_left(const struct nic *nic, const struct peer *peer, enum operation_hold hold)
{
	return within_share(nic, peer, hold) && !pool_is_empty(&nic->objects.operations);
}

struct operation *operation_new(struct nic *nic, struct peer *peer, const struct protocol *protocol)
{
	struct operation *op =
		within_share(nic, peer, HELD_REQUESTED) ? take(nic, peer, protocol, HELD_REQUESTED) : NULL;

	if (!op)
		report_error(-ENOMEM,
			     "%u operations are under way, %u of them towards process " ID_TEXT
			     ", which may have no more: "
			     "wait until some have ended",
			     nic->requests, peer->requested, ID_PARTS(peer->id));
	return op;
}

struct operation *operation_owed(struct nic *nic, struct peer *peer, const struct protocol *protocol)
{
	if (!within_share(nic, peer, HELD_OWED))
		return NULL;
	struct operation *op = take(nic, peer, protocol, HELD_OWED);

	if (!op)
		peer_break(nic, peer);
	return op;
}

struct operation *operation_for_notice(struct nic *nic, struct peer *peer, const struct protocol *protocol)
{
	return peer->owed < PEER_NOTICE_MAX ? take(nic, peer, protocol, HELD_OWED) : NULL;
}

static void operation_leave(struct nic *nic, struct operation *op)
{
	operation_unlist(op);
	if (op->held == HELD_OWED) {
		op->peer->owed--;
	} else if (op->held == HELD_REQUESTED) {
		op->peer->requested--;
		nic->requests--;
	}
	op->held = HELD_NOWHERE;
	if (op->windowed) {
		op->windowed = false;
		op->peer->outstanding--;
	}
}

void operation_free(struct nic *nic, struct operation *op)
{
	operation_leave(nic, op);
	operation_deregister(op);
	if (op->transfer.segments != &op->transfer.one)
		free(op->transfer.segments);
	pool_give(&nic->objects.operations, op);
}

int operation_advance(struct nic *nic, struct operation *op, enum operation_event what,
		      const struct wire_message *message)
{
	const struct transition *transition = &op->protocol->on[op->state][what];
	bool done = transition->next == STATE_DONE;

	if (!transition->allowed)
		return -EPROTO;
	op->state = transition->next;
	if (done)
		operation_leave(nic, op);
	if (transition->action)
		transition->action(nic, op, message);
	if (done)
		operation_free(nic, op);
	return 0;
}

struct operation *operation_find(struct nic *nic, uint32_t token)
{
	return pool_find(&nic->objects.operations, token & ((1u << NIC_TOKEN_INDEX_BITS) - 1),
			 token >> NIC_TOKEN_INDEX_BITS);
}

struct descriptor *operation_live_md(struct descriptor *md, uint32_t generation)
{
	if (!md || !md->item.live || !md->active ||
	    atomic_load_explicit(&md->item.generation, memory_order_relaxed) != generation)
		return NULL;
	return md;
}

void operation_unpin(struct nic *nic, struct operation *op, ptl_event_kind_t kind, ptl_ni_fail_t failure)
{
	struct descriptor *md = op->pinned;

	op->pinned = NULL;
	operation_end(nic, md, kind, &op->info, failure);
}

/* --- exposing --- */

static int expose_pieces(struct nic *nic, struct operation *op, const struct iovec *pieces, unsigned count,
			 enum memory_region_use use)
{
	struct transport *transport = op->peer->transport;
	int rc = memory_regions_make(nic, transport, pieces, count, use, &op->memory_regions);

	if (unlikely(rc != 0) && transport->limits.pins && registrations_make_room(nic))
		rc = memory_regions_make(nic, transport, pieces, count, use, &op->memory_regions);
	return rc;
}

/* Peers may make as many of them as they please: one line a second. */
static void print_unexposed(struct nic *nic)
{
	uint64_t now = monotonic_ns();
	char more[64] = "";

	if (now < nic->unexposed.quiet_until) {
		nic->unexposed.unprinted++;
		return;
	}
	if (nic->unexposed.unprinted)
		snprintf(more, sizeof(more), " (%llu more since the last such line)",
			 (unsigned long long)nic->unexposed.unprinted);
	report(LOG_ERROR, "interface %u%s: %s", nic->index, more, report_last_error());
	nic->unexposed.unprinted = 0;
	nic->unexposed.quiet_until = now + UNEXPOSED_PAUSE_NS;
}

/* No call is there to return it: the operation's event says that it failed, but not why. */
static int report_unexposed(struct nic *nic, const struct operation *op, int rc, uint64_t offset, uint64_t length)
{
	const struct transport *transport = op->peer->transport;
	const struct descriptor *md = op->pinned;
	const char *remedy = rc == -EFAULT            ? "; is all of it mapped, and writable if it is to be written?"
			     : transport->limits.pins ? report_lock_hint(rc)
						      : "";

	report_kept(rc,
		    "memory descriptor %#x (%llu bytes at %p): transport %s cannot register the %llu bytes at offset "
		    "%llu: %s%s",
		    md->handle, (unsigned long long)md->region.length, md->user_start, transport->ops->name,
		    (unsigned long long)length, (unsigned long long)offset, strerror(-rc), remedy);
	print_unexposed(nic);
	return rc;
}

int operation_expose(struct nic *nic, struct operation *op, uint64_t offset, uint64_t length,
		     enum memory_region_use use)
{
	struct transport *transport = op->peer->transport;
	struct iovec iov[REGION_MAX_PIECES];

	if (transport->limits.pins && (op->registration = registration_take(nic, op->pinned, transport, use, length))) {
		op->exposed_from = offset;
		return 0;
	}
	unsigned count = (unsigned)region_range(&op->pinned->region, offset, length, iov);
	int rc = expose_pieces(nic, op, iov, count, use);

	return rc ? report_unexposed(nic, op, rc, offset, length) : 0;
}

static bool source_readable(const struct operation *op)
{
	struct iovec iov[REGION_MAX_PIECES];
	int count = region_range(&op->pinned->region, op->payload_offset, op->payload_length, iov);

	return memory_pieces_readable(iov, (unsigned)count);
}

/*
 * Many pieces are named to their reader if a message has room for that, and if it is no more work to read them each than to
 * copy them together: a read looks after whole pages, so one of less costs as much.  What pins is left where it is pinned once.
 */
static bool worth_packing(const struct operation *op)
{
	const struct transport_limits *limits = &op->peer->transport->limits;
	struct iovec iov[REGION_MAX_PIECES];
	uint64_t count = (uint64_t)region_range(&op->pinned->region, op->payload_offset, op->payload_length, iov);

	if (count > (limits->short_max - WIRE_MAX_HEADER) / WIRE_SEGMENT_SIZE)
		return true;
	return count > 1 && !limits->pins && op->payload_length / count < PAGE;
}

static int expose_packed(struct nic *nic, struct operation *op)
{
	if (!source_readable(op))
		return report_unexposed(nic, op, -EFAULT, op->payload_offset, op->payload_length);
	struct iovec piece = {malloc(op->payload_length), op->payload_length};
	if (!piece.iov_base)
		return report_error(-ENOMEM, "no memory to pack %llu bytes", (unsigned long long)op->payload_length);
	region_read(&op->pinned->region, op->payload_offset, piece.iov_base, op->payload_length);
	op->packed = piece.iov_base;
	int rc = expose_pieces(nic, op, &piece, 1, REGION_READ);

	return rc ? report_unexposed(nic, op, rc, op->payload_offset, op->payload_length) : 0;
}

int operation_expose_source(struct nic *nic, struct operation *op)
{
	const struct transport *transport = op->peer->transport;

	if (op->payload_length == 0 || operation_memory_regions(op)->transport == transport)
		return 0;
	operation_deregister(op); /* what was exposed for a way that was given up: its keys mean nothing here */
	int rc = worth_packing(op) ? expose_packed(nic, op)
				   : operation_expose(nic, op, op->payload_offset, op->payload_length, REGION_READ);

	if (rc)
		operation_deregister(op);
	return rc;
}

void operation_deregister(struct operation *op)
{
	if (op->registration)
		registration_leave(op->pinned, op->registration, op->failure != PTL_NI_OK);
	else if (op->memory_regions.transport)
		memory_regions_end(&op->memory_regions);
	free(op->packed);
	op->registration = NULL;
	op->exposed_from = 0;
	op->packed = NULL;
}

struct wire_message operation_request(const struct put_arguments *arguments, enum wire_operation operation)
{
	return (struct wire_message){
		.operation = (uint8_t)operation,
		.pt_index = arguments->pt_index < UINT16_MAX ? (uint16_t)arguments->pt_index : UINT16_MAX,
		.ac_index = arguments->ac_index < UINT16_MAX ? (uint16_t)arguments->ac_index : UINT16_MAX,
		.match_bits = arguments->match_bits,
		.offset = arguments->remote_offset,
		.length = arguments->length,
		.hdr_data = arguments->hdr_data,
	};
}

const struct protocol operation_once = {
	.name = "message",
	.on = {[STATE_QUEUED] = {[OP_SENT] = IGNORED(STATE_DONE), [OP_FAILED] = IGNORED(STATE_DONE)}},
};
