/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

/*
 * Room for what all peers may have under way with a process that does not poll: address space only, memory when it is used.
 * A peer brings two events for each bulk request, and one for each reply; a request of our own has its SEND_END.
 */
#define EVENTS_A_REQUEST 4
#define MOST_REQUESTS    4096

const struct am_options am_defaults = {.flow = AM_CREDITS, .credits = 8, .requests = 64, .pt_index = 20};

int am_bundle_create(ptl_handle_ni_t ni, const struct am_options *options, am_bundle **bundle)
{
	const struct am_options chosen = options ? *options : am_defaults;
	if (chosen.flow > AM_FETCH || chosen.credits == 0 || chosen.requests == 0 || chosen.requests > MOST_REQUESTS)
		return -EINVAL;
	am_bundle *made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->ni = ni;
	made->options = chosen;
	made->deaths.event = am_peer_died;
	am_queue_init(&made->requests);
	am_queue_init(&made->replies);
	am_queue_init(&made->waiting);
	am_queue_init(&made->landed);
	if (PtlEQAlloc(ni, (ptl_size_t)EVENTS_A_REQUEST * AM_PEERS * chosen.requests, PTL_EQ_HANDLER_NONE, &made->eq) !=
	    PTL_OK) {
		free(made);
		return -EIO;
	}
	PtlNicPeerEvents(ni, made->eq);
	*bundle = made;
	return 0;
}

static void destroy_endpoint(am_endpoint *endpoint)
{
	am_receive_close(endpoint);
	am_places_close(&endpoint->requests);
	am_places_close(&endpoint->replies);
	free(endpoint->slots);
	free(endpoint);
}

int am_bundle_destroy(am_bundle *bundle)
{
	if (bundle->running != NO_HANDLER_RUNS)
		return -EBUSY;
	while (bundle->asked && !bundle->failure)
		am_take_events(bundle);
	PtlNicPeerEvents(bundle->ni, PTL_EQ_NONE);
	while (bundle->endpoints) {
		am_endpoint *endpoint = bundle->endpoints;
		bundle->endpoints = endpoint->next;
		destroy_endpoint(endpoint);
	}
	am_queue_clear(&bundle->requests);
	am_queue_clear(&bundle->replies);
	am_queue_clear(&bundle->waiting);
	am_queue_clear(&bundle->landed);
	PtlEQFree(bundle->eq);
	free(bundle);
	return 0;
}

void am_bundle_counters(const am_bundle *bundle, struct am_counters *counters)
{
	*counters = bundle->counters;
}

static int open_endpoint(am_endpoint *endpoint)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		endpoint->entries[i] = PTL_INVALID_HANDLE;
	endpoint->slots = calloc(endpoint->bundle->options.requests, sizeof(*endpoint->slots));
	int rc = endpoint->slots ? am_places_open(endpoint, &endpoint->requests, am_request_sent) : -ENOMEM;
	if (rc == 0)
		rc = am_places_open(endpoint, &endpoint->replies, am_reply_sent);
	if (rc == 0)
		rc = am_receive_open(endpoint);
	if (rc == 0)
		rc = am_receive_grow(endpoint);
	return rc;
}

int am_endpoint_create(am_bundle *bundle, uint16_t number, uint32_t tag, am_endpoint **endpoint)
{
	if (number >= ENDPOINTS)
		return -EINVAL;
	am_endpoint *made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->bundle = bundle;
	made->number = number;
	made->tag = tag;
	int rc = open_endpoint(made);
	if (rc) {
		destroy_endpoint(made);
		return rc;
	}
	made->next = bundle->endpoints;
	*endpoint = bundle->endpoints = made;
	return 0;
}

int am_handler_set(am_endpoint *endpoint, unsigned number, am_handler *handler)
{
	if (number >= AM_HANDLERS)
		return -EINVAL;
	endpoint->handlers[number] = handler;
	return 0;
}

int am_segment_set(am_endpoint *endpoint, void *base, size_t length)
{
	if (endpoint->segment || !base)
		return -EINVAL;
	endpoint->segment = base;
	endpoint->segment_length = length;
	return am_segment_open(endpoint);
}

int am_map(am_endpoint *endpoint, unsigned index, ptl_process_id_t id, uint16_t number, uint32_t tag)
{
	if (index >= AM_PEERS || number >= ENDPOINTS)
		return -EINVAL;
	const struct peer *before = &endpoint->peers[index];
	if (before->mapped && (!before->dead || before->under_way[0] + before->under_way[1] + before->under_way[2]))
		return -EINVAL;
	endpoint->mapped -= before->mapped;
	endpoint->peers[index] = (struct peer){.mapped = true, .id = id, .number = number, .tag = tag};
	endpoint->mapped++;
	return am_receive_grow(endpoint);
}

am_endpoint *am_token_endpoint(const am_token *token)
{
	return token->arrival->endpoint;
}

int am_token_peer(const am_token *token)
{
	return token->peer;
}
