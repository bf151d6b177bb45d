/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a peer that owes replies still there?  Portals has done its part when a request has been delivered, and over a network
 * nothing tells of a process's end unless something is under way with it.  So a process that waits in vain gets no bytes from each
 * peer that owes it a reply: an answer says that the peer's NIC is alive, whatever its host does, and a failure that it is not.
 */
#include "internal.h"

struct probe {
	struct source source;
	unsigned peer;
	ptl_handle_md_t md;
};

static void probe_event(struct source *source, const ptl_event_t *event)
{
	struct probe *probe = (struct probe *)source;
	if (event->type != PTL_EVENT_REPLY_END)
		return;
	struct peer *peer = &source->endpoint->peers[probe->peer];
	peer->probed = false;
	if (event->ni_fail_type != PTL_NI_OK)
		am_peer_lost(source->endpoint, probe->peer);
	source->endpoint->bundle->asked--;
	PtlMDUnlink(event->md_handle);
	free(probe);
}

static void probe_peer(am_endpoint *endpoint, unsigned index)
{
	am_bundle *bundle = endpoint->bundle;
	struct peer *peer = &endpoint->peers[index];
	struct probe *probe = malloc(sizeof(*probe));
	if (!probe)
		return;
	*probe = (struct probe){{probe_event, endpoint}, index, PTL_INVALID_HANDLE};
	ptl_md_t nothing = {.threshold = PTL_MD_THRESH_INF,
			    .options = PTL_MD_EVENT_START_DISABLE,
			    .user_ptr = &probe->source,
			    .eq_handle = bundle->eq};
	if (PtlMDBind(bundle->ni, nothing, PTL_RETAIN, &probe->md) == PTL_OK) {
		if (PtlGet(probe->md, peer->id, bundle->options.pt_index, 0,
			   bits_of(SLOTS, 0, 0, peer->number, peer->tag), 0) == PTL_OK) {
			peer->probed = true;
			bundle->asked++;
			return;
		}
		PtlMDUnlink(probe->md);
	}
	free(probe);
}

void am_probe(am_bundle *bundle)
{
	for (am_endpoint *endpoint = bundle->endpoints; endpoint; endpoint = endpoint->next)
		for (unsigned i = 0; i < bundle->options.requests; i++) {
			unsigned peer = endpoint->slots[i].peer;
			if (endpoint->slots[i].busy && !endpoint->peers[peer].probed && !endpoint->peers[peer].dead)
				probe_peer(endpoint, peer);
		}
}
