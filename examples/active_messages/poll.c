/* SPDX-License-Identifier: BSD-3-Clause */
/* Events are sorted, then handlers run: those of replies first, because replies give back what requests wait for. */
#include "internal.h"

static void sort(am_bundle *bundle, const ptl_event_t *event)
{
	struct source *source = event->type == PTL_NIC_EVENT_PEER_DIED ? &bundle->deaths : event->md.user_ptr;
	source->event(source, event);
}

/* PTL_EQ_DROPPED means that a message is lost: the bundle cannot go on, and says so from now on. */
void am_take_events(am_bundle *bundle)
{
	ptl_event_t event;
	int rc;
	while ((rc = PtlEQGet(bundle->eq, &event)) == PTL_OK || rc == PTL_EQ_DROPPED) {
		if (!bundle->failure)
			sort(bundle, &event);
		if (rc == PTL_EQ_DROPPED)
			bundle->failure = -EOVERFLOW;
	}
}

static int peer_of(const struct arrival *arrival)
{
	const am_endpoint *endpoint = arrival->endpoint;
	if (arrival->is_reply)
		return (int)endpoint->slots[arrival->header.slot].peer;
	for (int i = 0; i < AM_PEERS; i++) {
		const struct peer *peer = &endpoint->peers[i];
		if (peer->mapped && peer->number == arrival->from_number && peer->id.nid == arrival->from.nid &&
		    peer->id.pid == arrival->from.pid)
			return i;
	}
	return -1;
}

/* The message as its handler sees it.  False: it is not well formed. */
static bool open_message(const struct arrival *arrival, uint64_t *arguments, void **data, size_t *length)
{
	const struct header *header = &arrival->header;
	uint64_t where[2];
	size_t first = header->body == BULK ? sizeof(where) : 0, head = first + header->count * sizeof(*arguments);
	if (header->count > AM_ARGUMENTS || arrival->length < head + header->padding)
		return false;
	memcpy(arguments, arrival->bytes + first, header->count * sizeof(*arguments));
	*length = arrival->length - head - header->padding;
	*data = *length ? (void *)(uintptr_t)(arrival->bytes + head) : NULL;
	if (header->body != BULK)
		return true;
	if (!am_bulk_place(arrival, where))
		return false;
	*data = arrival->endpoint->segment + where[0];
	*length = where[1];
	return true;
}

static void call(am_bundle *bundle, am_token *token, am_handler *handler, const uint64_t *arguments, void *data,
		 size_t length)
{
	enum running before = bundle->running;
	bundle->running = token->arrival->is_reply ? REPLY_HANDLER : REQUEST_HANDLER;
	handler(token, arguments, data, length);
	bundle->running = before;
}

static void handle_request(struct arrival *arrival)
{
	am_endpoint *endpoint = arrival->endpoint;
	am_handler *handler = endpoint->handlers[arrival->header.handler];
	uint64_t arguments[AM_ARGUMENTS] = {0};
	am_token token = {arrival, false, peer_of(arrival)};
	void *data;
	size_t length;
	uint64_t reason = 0;
	if (arrival->header.handler == 0 || !handler)
		reason = ENOSYS;
	else if (arrival->data_failed || !open_message(arrival, arguments, &data, &length))
		reason = EPROTO;
	else
		call(endpoint->bundle, &token, handler, arguments, data, length);
	endpoint->bundle->counters.requests++;
	if (reason)
		am_answer(arrival, UNDELIVERABLE, 0, &reason, 1);
	else if (!token.answered)
		am_answer(arrival, NO_HANDLER, 0, NULL, 0);
	am_receive_done(arrival);
}

static void tell_undeliverable(struct arrival *arrival, unsigned peer, unsigned handler, uint64_t reason)
{
	am_endpoint *endpoint = arrival->endpoint;
	am_token token = {arrival, true, (int)peer};
	if (endpoint->handlers[0])
		call(endpoint->bundle, &token, endpoint->handlers[0],
		     (const uint64_t[AM_ARGUMENTS]){handler, reason, 0, 0}, NULL, 0);
}

void am_slot_fail(am_endpoint *endpoint, unsigned number, int reason)
{
	struct arrival *arrival = calloc(1, sizeof(*arrival));
	if (!arrival) {
		endpoint->bundle->failure = -ENOMEM;
		return;
	}
	arrival->endpoint = endpoint;
	arrival->is_reply = true;
	arrival->generation = endpoint->slots[number].generation;
	arrival->header = (struct header){.slot = number, .body = UNDELIVERABLE, .count = 1};
	arrival->reason = (uint64_t)reason;
	arrival->bytes = (const char *)&arrival->reason;
	arrival->length = sizeof(arrival->reason);
	am_queue_put(&endpoint->bundle->replies, arrival);
}

/* The slot is free again once the handler has returned: until then the reply's arguments and data lie in its place. */
static void handle_reply(struct arrival *arrival)
{
	am_endpoint *endpoint = arrival->endpoint;
	struct slot *slot = &endpoint->slots[arrival->header.slot];
	uint64_t arguments[AM_ARGUMENTS] = {0};
	am_token token = {arrival, true, (int)slot->peer};
	void *data = NULL;
	size_t length = 0;
	if (!slot->busy || slot->generation != arrival->generation) {
		am_receive_done(arrival);
		return;
	}
	bool whole = open_message(arrival, arguments, &data, &length);
	am_handler *handler = endpoint->handlers[arrival->header.handler];
	if (arrival->header.body == UNDELIVERABLE)
		tell_undeliverable(arrival, slot->peer, slot->handler, arguments[0]);
	else if (arrival->header.body != NO_HANDLER && (!whole || arrival->data_failed || !handler))
		tell_undeliverable(arrival, slot->peer, slot->handler, handler ? EPROTO : ENOSYS);
	else if (arrival->header.body != NO_HANDLER)
		call(endpoint->bundle, &token, handler, arguments, data, length);
	endpoint->bundle->counters.replies++;
	am_slot_release(endpoint, arrival->header.slot);
	am_receive_done(arrival);
}

int am_poll(am_bundle *bundle)
{
	int handled = 0;
	am_take_events(bundle);
	if (bundle->failure)
		return bundle->failure;
	if (bundle->running != NO_HANDLER_RUNS)
		return -EDEADLK;
	for (struct arrival *arrival; (arrival = am_queue_take(&bundle->replies)); handled++)
		handle_reply(arrival);
	for (struct arrival *arrival; (arrival = am_queue_take(&bundle->requests)); handled++)
		handle_request(arrival);
	return handled;
}

int am_wait(am_bundle *bundle, ptl_time_t milliseconds)
{
	ptl_event_t event;
	int which, handled = am_poll(bundle);
	if (handled)
		return handled;
	int rc = PtlEQPoll(&bundle->eq, 1, milliseconds, &event, &which);
	if (rc == PTL_EQ_EMPTY) {
		am_probe(bundle);
		return 0;
	}
	if (rc != PTL_OK)
		return bundle->failure = rc == PTL_EQ_DROPPED ? -EOVERFLOW : -EIO;
	sort(bundle, &event);
	return am_poll(bundle);
}
