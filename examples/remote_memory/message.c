/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages, their sender.  Each fragment has a number of its channel and asks for an acknowledgement.  Where the target has no
 * room, its interface cuts the fragment off to nothing, which the ACK tells: it is sent again from its slot.  Towards a peer that refuses,
 * only the oldest refused fragment is under way, and the others when one is accepted: a process that does not poll is not asked by all.
 * A fragment that fails although its target lives may be there or not: it is sent again as a refused one, and the target drops the second.
 */
#include "internal.h"

#define FAILURES 16 /* of a fragment to a process that lives, without an answer between them: no network is that bad */

static bool has_gone(const struct peer *peer)
{
	return peer->gone && peer->in_flight + peer->refused == 0 && peer->callers == 0;
}

/* NULL: nothing was exchanged with it. */
static struct peer *find(rm_domain *domain, ptl_process_id_t id)
{
	for (struct peer *peer = domain->peers; peer < domain->peers + RM_PEERS && peer->known; peer++)
		if (rm_same(peer->id, id))
			return peer;
	return NULL;
}

/* An entry is another process's if there is no other one left, and its own has gone: its death is told no more. */
struct peer *rm_peer(rm_domain *domain, ptl_process_id_t id)
{
	struct peer *known = find(domain, id), *peer = domain->peers, *end = peer + RM_PEERS, *left = NULL;
	if (known)
		return known;
	for (; peer < end && peer->known; peer++)
		if (!left && has_gone(peer))
			left = peer;
	if (peer == end)
		peer = left;
	if (!peer)
		return NULL;
	rm_forget_early(peer);
	*peer = (struct peer){.known = true, .id = id};
	return peer;
}

static void send_slot(rm_domain *domain, unsigned number)
{
	struct slot *slot = &domain->slots[number];
	slot->state = SLOT_MESSAGE;
	slot->peer->in_flight++;
	if (PtlPutRegion(domain->injection_md, number * domain->options.fragment, slot->length, PTL_ACK_REQ,
			 slot->peer->id, domain->options.pt_index, 0, bits_of(MESSAGE, 0, 0), 0,
			 slot->header) != PTL_OK)
		domain->failure = -EIO;
}

/* Numbers may have wrapped. */
static bool is_older(const struct slot *slot, const struct slot *other)
{
	return (int32_t)((uint32_t)(slot->header >> 32) - (uint32_t)(other->header >> 32)) < 0;
}

static void send_oldest_refused(rm_domain *domain, struct peer *peer)
{
	int oldest = -1;
	for (unsigned i = 0; i < domain->options.slots; i++) {
		const struct slot *slot = &domain->slots[i];
		if (slot->state == SLOT_REFUSED && slot->peer == peer &&
		    (oldest < 0 || is_older(slot, &domain->slots[oldest])))
			oldest = (int)i;
	}
	peer->refused--;
	send_slot(domain, (unsigned)oldest);
}

static void give_back(rm_domain *domain, struct peer *peer)
{
	for (unsigned i = 0; i < domain->options.slots; i++)
		if (domain->slots[i].state == SLOT_REFUSED && domain->slots[i].peer == peer) {
			rm_slot_free(domain, i);
			peer->refused--;
		}
}

/* What follows it, under its id, knows nothing of the numbers that it has accepted. */
static void lost(rm_domain *domain, struct peer *peer)
{
	peer->dead = true;
	give_back(domain, peer);
	if (peer->in_flight == 0)
		peer->sent = 0;
}

static void send_again(rm_domain *domain, unsigned number)
{
	struct slot *slot = &domain->slots[number];
	struct peer *peer = slot->peer;
	slot->state = SLOT_REFUSED;
	peer->refused++;
	if (peer->in_flight == 0)
		send_oldest_refused(domain, peer);
}

void rm_message_event(rm_domain *domain, unsigned number, const ptl_event_t *event)
{
	struct slot *slot = &domain->slots[number];
	struct peer *peer = slot->peer;
	const bool failed = event->ni_fail_type != PTL_NI_OK;
	const bool ended = event->ni_fail_type == PTL_NI_PEER_DIED || event->ni_fail_type == PTL_NI_UNREACHABLE;
	if (event->type == PTL_EVENT_SEND_END && !failed)
		return;
	peer->in_flight--;
	if (!failed)
		slot->failures = 0;
	if (failed && !ended && ++slot->failures < FAILURES) {
		send_again(domain, number);
		return;
	}
	if (!failed && event->mlength == 0) {
		domain->counters.refused++;
		send_again(domain, number);
		return;
	}
	rm_slot_free(domain, number);
	if (ended) {
		peer->gone = true;
		lost(domain, peer);
	} else if (failed) {
		domain->failure = -EIO;
		return;
	}
	while (peer->refused)
		send_oldest_refused(domain, peer);
}

void rm_peer_died(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	struct peer *peer = find(domain, event->initiator);
	(void)source;
	rm_forget_writes(domain, event->initiator);
	if (!peer)
		return;
	rm_forget_early(peer);
	peer->expected = 0;
	peer->gone = true;
	lost(domain, peer);
}

/* Once; the next message goes to what follows it. */
static bool tell_of_death(struct peer *peer)
{
	bool dead = peer->dead;
	if (peer->in_flight == 0)
		peer->dead = false;
	return dead;
}

static int send_fragment(rm_domain *domain, struct peer *peer, unsigned handler, const char *data, size_t length,
			 bool last)
{
	size_t padded = length ? (length + 7) & ~(size_t)7 : 8;
	unsigned number;
	int rc = rm_slot_take(domain, &number);
	if (rc)
		return rc;
	struct slot *slot = &domain->slots[number];
	slot->peer = peer;
	slot->length = padded;
	slot->failures = 0;
	slot->header = header_of(peer->sent++, handler, last, (unsigned)(padded - length));
	char *bytes = rm_slot_bytes(domain, number);
	memset(bytes + padded - 8, 0, 8);
	if (length)
		memcpy(bytes, data, length);
	domain->counters.sent++;
	if (peer->refused) { /* it would be early */
		slot->state = SLOT_REFUSED;
		peer->refused++;
	} else {
		send_slot(domain, number);
	}
	return domain->failure;
}

/* A handler's message is sent as a whole or not at all. */
static bool has_room(const rm_domain *domain, size_t length)
{
	size_t room = 0;
	for (unsigned i = domain->free_slot; i < domain->options.slots && room < length; i = domain->slots[i].next)
		room += domain->options.fragment;
	return room >= length;
}

int rm_message(rm_domain *domain, ptl_process_id_t to, unsigned handler, const void *data, size_t length)
{
	const char *bytes = data;
	size_t left = length, piece;
	if (handler >= RM_HANDLERS || (length && !data))
		return -EINVAL;
	struct peer *peer = rm_peer(domain, to);
	if (!peer)
		return -ENOSPC;
	if (tell_of_death(peer))
		return -EHOSTDOWN;
	if (domain->in_handler && !has_room(domain, length ? length : 1))
		return -EAGAIN;
	if (peer->sending)
		return -EAGAIN;
	peer->sending = true; /* handlers may run while this waits for a slot, and would put theirs in between */
	peer->callers++;
	peer->gone = false;
	int rc;
	do {
		piece = left < domain->options.fragment ? left : domain->options.fragment;
		rc = send_fragment(domain, peer, handler, bytes, piece, piece == left);
		left -= piece;
		bytes += piece;
	} while (rc == 0 && left && !peer->dead);
	peer->sending = false;
	peer->callers--;
	return rc ? rc : tell_of_death(peer) ? -EHOSTDOWN : 0;
}

int rm_flush(rm_domain *domain, ptl_process_id_t to)
{
	struct peer *peer = find(domain, to);
	int rc = 0;
	if (!peer)
		return 0;
	peer->callers++;
	while (rc == 0 && peer->in_flight + peer->refused)
		rc = rm_progress(domain);
	peer->callers--;
	return rc ? rc : tell_of_death(peer) ? -EHOSTDOWN : 0;
}

int rm_handler_set(rm_domain *domain, unsigned number, rm_handler *handler)
{
	if (number >= RM_HANDLERS)
		return -EINVAL;
	domain->handlers[number] = handler;
	return 0;
}
