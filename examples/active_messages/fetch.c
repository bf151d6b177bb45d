/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that found all blocks full.  Portals has kept their header and cut off the rest (PTL_MD_TRUNCATE, no bytes), instead of
 * holding the network up; the rest is fetched from the slot in which the requester keeps it until the reply.
 */
#include "internal.h"

/* The request is in memory of its own now. */
struct fetch {
	struct source source;
	struct source *overflow;
	ptl_event_t cut_off;
	char *bytes;
};

static void fetch_event(struct source *source, const ptl_event_t *event)
{
	struct fetch *fetch = (struct fetch *)source;
	if (event->type != PTL_EVENT_REPLY_END)
		return;
	if (event->ni_fail_type == PTL_NI_OK)
		am_arrive(fetch->overflow, &fetch->cut_off,
			  (struct arrival){
				  .fetched = fetch->bytes, .bytes = fetch->bytes, .length = fetch->cut_off.rlength});
	else
		free(fetch->bytes);
	source->endpoint->bundle->asked--;
	PtlMDUnlink(event->md_handle);
	free(fetch);
}

/* A request found all blocks full: its bytes are still in its requester's slot. */
void am_cut_off(struct source *source, const ptl_event_t *event)
{
	am_bundle *bundle = source->endpoint->bundle;
	struct header header = am_unpack(event->hdr_data);
	ptl_handle_md_t md;
	if (event->ni_fail_type != PTL_NI_OK || event->rlength > SLOT) /* such a long one no endpoint sends */
		return;
	if (event->rlength == 0) {
		am_arrive(source, event, (struct arrival){.length = 0});
		return;
	}
	struct fetch *fetch = malloc(sizeof(*fetch));
	char *bytes = malloc(event->rlength);
	if (!fetch || !bytes) {
		free(fetch);
		free(bytes);
		bundle->failure = -ENOMEM;
		return;
	}
	*fetch = (struct fetch){{fetch_event, source->endpoint}, source, *event, bytes};
	ptl_md_t into = {.start = bytes,
			 .length = event->rlength,
			 .threshold = PTL_MD_THRESH_INF,
			 .options = PTL_MD_EVENT_START_DISABLE,
			 .user_ptr = &fetch->source,
			 .eq_handle = bundle->eq};
	unsigned number = (event->match_bits & BITS_SOURCE) >> 44;
	if (PtlMDBind(bundle->ni, into, PTL_RETAIN, &md) != PTL_OK ||
	    PtlGet(md, event->initiator, bundle->options.pt_index, 0, bits_of(SLOTS, 0, 0, number, header.tag),
		   (ptl_size_t)header.slot * SLOT) != PTL_OK) {
		free(bytes);
		free(fetch);
		bundle->failure = -EIO;
		return;
	}
	bundle->asked++;
	bundle->counters.fetched++;
}
