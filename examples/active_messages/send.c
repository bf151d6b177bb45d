/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and replies.
 *
 * A request is composed in a slot, which it keeps until its reply has been handled: the slot's number says where the reply goes,
 * and the target may fetch the request from it.  A reply is composed in a buffer that is free again at its SEND_END.  So what
 * limits requests is slots and credits, which replies give back; and what limits replies is the NIC alone, which needs no process to
 * poll.  This is why a handler may always reply.
 */
#include "internal.h"

enum { CHANNEL_SHORT, CHANNEL_MEDIUM, CHANNEL_BULK };

/* What the callers of this file's public functions ask for. */
struct message {
	enum body body;
	unsigned channel, handler, count;
	const uint64_t *arguments;
	const void *data;
	size_t length;
	uint64_t offset;
};

static void give_back(struct places *places, unsigned place)
{
	places->free[places->count++] = place;
}

void am_slot_release(am_endpoint *endpoint, unsigned number)
{
	struct slot *slot = &endpoint->slots[number];
	slot->busy = false;
	endpoint->peers[slot->peer].under_way[slot->channel]--;
	give_back(&endpoint->requests, number);
}

void am_request_sent(struct source *source, const ptl_event_t *event)
{
	am_endpoint *endpoint = source->endpoint;
	unsigned slot = (unsigned)(event->offset / SLOT);
	if (event->type != PTL_EVENT_SEND_END || event->ni_fail_type == PTL_NI_OK)
		return;
	endpoint->peers[endpoint->slots[slot].peer].dead = true;
	am_slot_fail(endpoint, slot, EHOSTDOWN);
}

void am_reply_sent(struct source *source, const ptl_event_t *event)
{
	if (event->type == PTL_EVENT_SEND_END)
		give_back(&source->endpoint->replies, (unsigned)(event->offset / SLOT));
}

void am_peer_lost(am_endpoint *endpoint, unsigned peer)
{
	endpoint->peers[peer].dead = true;
	for (unsigned i = 0; i < endpoint->bundle->options.requests; i++)
		if (endpoint->slots[i].busy && endpoint->slots[i].peer == peer)
			am_slot_fail(endpoint, i, EHOSTDOWN);
}

void am_peer_died(struct source *source, const ptl_event_t *event)
{
	am_bundle *bundle = (am_bundle *)(void *)((char *)source - offsetof(am_bundle, deaths));
	for (am_endpoint *endpoint = bundle->endpoints; endpoint; endpoint = endpoint->next)
		for (unsigned i = 0; i < AM_PEERS; i++) {
			const struct peer *peer = &endpoint->peers[i];
			if (peer->mapped && peer->id.nid == event->initiator.nid &&
			    peer->id.pid == event->initiator.pid)
				am_peer_lost(endpoint, i);
		}
}

/* Writes the message to `at`; returns its length. */
static size_t compose(char *at, const struct message *message, unsigned *padding)
{
	char *end = at;
	if (message->body == BULK) {
		uint64_t where[] = {message->offset, message->length};
		memcpy(end, where, sizeof(where));
		end += sizeof(where);
	}
	if (message->count)
		memcpy(end, message->arguments, message->count * sizeof(*message->arguments));
	end += message->count * sizeof(*message->arguments);
	*padding = 0;
	if (message->body == PLAIN && message->length) {
		memcpy(end, message->data, message->length);
		*padding = -message->length & 7;
		memset(end + message->length, 0, *padding);
		end += message->length + *padding;
	}
	return (size_t)(end - at);
}

static int check(const struct message *message)
{
	if (message->handler >= AM_HANDLERS || message->count > AM_ARGUMENTS ||
	    (message->body == PLAIN && message->length > AM_MEDIUM))
		return -EINVAL;
	return 0;
}

struct bulk_send {
	struct source source;
	bool sent, over;
};

static void bulk_event(struct source *source, const ptl_event_t *event)
{
	struct bulk_send *send = (struct bulk_send *)source;
	send->sent |= event->type == PTL_EVENT_SEND_END && event->ni_fail_type == PTL_NI_OK;
	send->over |= event->type == PTL_EVENT_UNLINK;
}

/* Puts the data of a bulk message, and waits until it may change. */
static int send_data(am_endpoint *endpoint, ptl_process_id_t to, ptl_match_bits_t bits, uint64_t header,
		     const struct message *message)
{
	am_bundle *bundle = endpoint->bundle;
	struct bulk_send send = {.source = {bulk_event, endpoint}};
	ptl_handle_md_t handle;
	ptl_md_t md = {.start = (void *)(uintptr_t)message->data,
		       .length = message->length,
		       .threshold = 1,
		       .options = PTL_MD_EVENT_START_DISABLE,
		       .user_ptr = &send.source,
		       .eq_handle = bundle->eq};
	if (PtlMDBind(bundle->ni, md, PTL_UNLINK, &handle) != PTL_OK)
		return -EIO;
	if (PtlPut(handle, PTL_NO_ACK_REQ, to, bundle->options.pt_index, 0, bits, message->offset, header) != PTL_OK) {
		PtlMDUnlink(handle);
		return -EIO;
	}
	while (!send.over && !bundle->failure)
		am_take_events(bundle);
	if (!send.over) /* its event is lost, and no event is looked at any more */
		while (PtlMDUnlink(handle) == PTL_MD_IN_USE)
			am_take_events(bundle);
	return bundle->failure ? bundle->failure : send.sent ? 0 : -EHOSTDOWN;
}

static bool must_wait(const am_endpoint *endpoint, unsigned peer, unsigned channel)
{
	const struct am_options *options = &endpoint->bundle->options;
	return endpoint->requests.count == 0 ||
	       (options->flow != AM_FETCH && endpoint->peers[peer].under_way[channel] >= options->credits);
}

static int take_slot(am_endpoint *endpoint, unsigned peer, unsigned channel, unsigned *number)
{
	am_bundle *bundle = endpoint->bundle;
	if (must_wait(endpoint, peer, channel))
		bundle->counters.waits++;
	while (must_wait(endpoint, peer, channel)) {
		int rc = am_wait(bundle, 1000);
		if (rc < 0)
			return rc;
	}
	if (endpoint->peers[peer].dead)
		return -EHOSTDOWN;
	*number = endpoint->requests.free[--endpoint->requests.count];
	endpoint->peers[peer].under_way[channel]++;
	return 0;
}

static int request(am_endpoint *endpoint, unsigned index, const struct message *message)
{
	am_bundle *bundle = endpoint->bundle;
	unsigned slot;
	int rc = check(message);
	if (rc || index >= AM_PEERS || !endpoint->peers[index].mapped || message->handler == 0)
		return -EINVAL;
	if (bundle->running != NO_HANDLER_RUNS)
		return -EDEADLK;
	const struct peer *peer = &endpoint->peers[index];
	unsigned channel = bundle->options.flow == AM_CREDITS_BY_SIZE ? message->channel : 0;
	rc = take_slot(endpoint, index, channel, &slot);
	if (rc)
		return rc;
	endpoint->slots[slot] =
		(struct slot){true, index, channel, message->handler, endpoint->slots[slot].generation + 1};
	struct header header = {message->handler, message->count, 0, message->body, slot, endpoint->tag};
	size_t length = compose(endpoint->requests.bytes + (size_t)slot * SLOT, message, &header.padding);
	if (message->body == BULK)
		rc = send_data(endpoint, peer->id, bits_of(SEGMENT, 0, endpoint->number, peer->number, peer->tag),
			       am_pack(&header), message);
	if (rc == 0 && PtlPutRegion(endpoint->requests.md, (ptl_size_t)slot * SLOT, length, PTL_NO_ACK_REQ, peer->id,
				    bundle->options.pt_index, 0,
				    bits_of(REQUEST, channel, endpoint->number, peer->number, peer->tag), 0,
				    am_pack(&header)) != PTL_OK)
		rc = -EIO;
	if (rc && endpoint->slots[slot].busy)
		am_slot_release(endpoint, slot);
	return rc;
}

/* To the requester, whether or not it is mapped: the message has brought all that is needed. */
static int answer(const struct arrival *to, const struct message *message)
{
	am_endpoint *endpoint = to->endpoint;
	am_bundle *bundle = endpoint->bundle;
	while (endpoint->replies.count == 0 && !bundle->failure)
		am_take_events(bundle);
	if (bundle->failure)
		return bundle->failure;
	unsigned place = endpoint->replies.free[--endpoint->replies.count];
	struct header header = {message->handler, message->count, 0, message->body, to->header.slot, endpoint->tag};
	size_t length = compose(endpoint->replies.bytes + (size_t)place * SLOT, message, &header.padding);
	int rc = 0;
	if (message->body == BULK)
		rc = send_data(endpoint, to->from,
			       bits_of(SEGMENT, 1, endpoint->number, to->from_number, to->header.tag), am_pack(&header),
			       message);
	if (rc == 0 && PtlPutRegion(endpoint->replies.md, (ptl_size_t)place * SLOT, length, PTL_NO_ACK_REQ, to->from,
				    bundle->options.pt_index, 0,
				    bits_of(REPLY, 0, endpoint->number, to->from_number, to->header.tag),
				    (ptl_size_t)to->header.slot * SLOT, am_pack(&header)) != PTL_OK)
		rc = -EIO;
	if (rc)
		give_back(&endpoint->replies, place);
	return rc;
}

int am_answer(const struct arrival *to, enum body body, unsigned handler, const uint64_t *arguments, unsigned count)
{
	return answer(to, &(struct message){.body = body, .handler = handler, .arguments = arguments, .count = count});
}

static int reply(am_token *token, const struct message *message)
{
	int rc = check(message);
	if (rc)
		return rc;
	if (token->answered || token->arrival->is_reply)
		return -EDEADLK;
	token->answered = true;
	return answer(token->arrival, message);
}

int am_request(am_endpoint *endpoint, unsigned peer, unsigned handler, const uint64_t *arguments, unsigned count)
{
	return request(endpoint, peer,
		       &(struct message){
			       .channel = CHANNEL_SHORT, .handler = handler, .count = count, .arguments = arguments});
}

int am_request_medium(am_endpoint *endpoint, unsigned peer, unsigned handler, const void *data, size_t length,
		      const uint64_t *arguments, unsigned count)
{
	return request(endpoint, peer,
		       &(struct message){PLAIN, CHANNEL_MEDIUM, handler, count, arguments, data, length, 0});
}

int am_request_bulk(am_endpoint *endpoint, unsigned peer, unsigned handler, const void *data, size_t length,
		    uint64_t offset, const uint64_t *arguments, unsigned count)
{
	return request(endpoint, peer,
		       &(struct message){BULK, CHANNEL_BULK, handler, count, arguments, data, length, offset});
}

int am_reply(am_token *token, unsigned handler, const uint64_t *arguments, unsigned count)
{
	return reply(token, &(struct message){.handler = handler, .count = count, .arguments = arguments});
}

int am_reply_medium(am_token *token, unsigned handler, const void *data, size_t length, const uint64_t *arguments,
		    unsigned count)
{
	return reply(token, &(struct message){PLAIN, CHANNEL_MEDIUM, handler, count, arguments, data, length, 0});
}

int am_reply_bulk(am_token *token, unsigned handler, const void *data, size_t length, uint64_t offset,
		  const uint64_t *arguments, unsigned count)
{
	return reply(token, &(struct message){BULK, CHANNEL_BULK, handler, count, arguments, data, length, offset});
}
