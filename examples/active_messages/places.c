/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in which messages are composed, a slot each, with one descriptor over all of it. */
#include "internal.h"

int am_places_open(am_endpoint *endpoint, struct places *places, void (*event)(struct source *, const ptl_event_t *))
{
	unsigned count = endpoint->bundle->options.requests;
	places->source = (struct source){event, endpoint};
	places->bytes = calloc(count, SLOT);
	places->free = calloc(count, sizeof(*places->free));
	if (!places->bytes || !places->free)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		places->free[places->count++] = count - 1 - i;
	ptl_md_t md = {.start = places->bytes,
		       .length = (ptl_size_t)count * SLOT,
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_EVENT_START_DISABLE,
		       .user_ptr = &places->source,
		       .eq_handle = endpoint->bundle->eq};
	return PtlMDBind(endpoint->bundle->ni, md, PTL_RETAIN, &places->md) == PTL_OK ? 0 : -EIO;
}

void am_places_close(struct places *places)
{
	if (places->source.endpoint)
		while (PtlMDUnlink(places->md) == PTL_MD_IN_USE)
			am_take_events(places->source.endpoint->bundle);
	free(places->bytes);
	free(places->free);
}
