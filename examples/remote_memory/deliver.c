/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages, their receiver.  Fragments come one behind the other into blocks.  Portals matches them in the order they were sent, but
 * refused ones come again, and long ones end when they like: so numbers say which is next, and one that is early is copied and kept, which
 * leaves its block to those that must come before.  A message of one fragment is handled where it lies; others are put together first, the copy
 * that GRIM's active messages have and its remote memory has not.
 */
#include "internal.h"

struct early {
	struct early *next;
	uint64_t header;
	size_t length;
	char bytes[];
};

static int post(rm_domain *domain, struct block *block);

static void settle(rm_domain *domain, struct block *block)
{
	if (block->unlinked && block->unhandled == 0 && post(domain, block) != 0)
		domain->failure = -EIO;
}

/* A message is complete.  `own`: the memory it lies in, or NULL, and then it lies in the block. */
static void queue(rm_domain *domain, struct peer *peer, unsigned handler, char *data, size_t length, char *own,
		  struct block *block)
{
	struct arrival *arrival = malloc(sizeof(*arrival));
	if (!arrival) {
		domain->failure = -ENOMEM;
		free(own);
		return;
	}
	*arrival = (struct arrival){
		.from = peer->id, .handler = handler, .length = length, .own = own, .block = own ? NULL : block};
	arrival->data = data;
	if (arrival->block)
		block->unhandled++;
	*domain->arrivals_end = arrival;
	domain->arrivals_end = &arrival->next;
}

/* For so many bytes more, and as many as there are. */
static bool make_room(struct peer *peer, size_t length)
{
	if (peer->assembly && peer->assembly_size - peer->assembled >= length)
		return true;
	size_t size = 2 * (peer->assembled + length) + 1;
	char *assembly = realloc(peer->assembly, size);
	if (!assembly)
		return false;
	peer->assembly = assembly;
	peer->assembly_size = size;
	return true;
}

/* The fragment that is next in its channel. */
static void take(rm_domain *domain, struct peer *peer, uint64_t header, char *bytes, size_t length, struct block *block)
{
	length -= header_padding(header);
	peer->expected++;
	if (block && header_is_last(header) && !peer->assembly) {
		queue(domain, peer, header_handler(header), bytes, length, NULL, block);
		return;
	}
	if (!make_room(peer, length)) {
		domain->failure = -ENOMEM;
		return;
	}
	memcpy(peer->assembly + peer->assembled, bytes, length);
	peer->assembled += length;
	if (!header_is_last(header))
		return;
	queue(domain, peer, header_handler(header), peer->assembly, peer->assembled, peer->assembly, NULL);
	peer->assembly = NULL;
	peer->assembled = peer->assembly_size = 0;
}

static void keep(rm_domain *domain, struct peer *peer, uint64_t header, const char *bytes, size_t length)
{
	struct early *early = malloc(sizeof(*early) + length);
	if (!early) {
		domain->failure = -ENOMEM;
		return;
	}
	early->header = header;
	early->length = length;
	memcpy(early->bytes, bytes, length);
	early->next = peer->early;
	peer->early = early;
	domain->counters.early++;
}

/* How many fragments must come before; negative: it has come before.  Numbers may have wrapped. */
static int32_t ahead(const struct peer *peer, uint64_t header)
{
	return (int32_t)(header_number(header) - peer->expected);
}

/* What was early and is next now. */
static void catch_up(rm_domain *domain, struct peer *peer)
{
	for (struct early **place = &peer->early; *place;) {
		struct early *early = *place;
		if (ahead(peer, early->header) > 0) {
			place = &early->next;
			continue;
		}
		*place = early->next;
		if (ahead(peer, early->header) == 0)
			take(domain, peer, early->header, early->bytes, early->length, NULL);
		free(early);
		place = &peer->early;
	}
}

void rm_forget_early(struct peer *peer)
{
	while (peer->early) {
		struct early *early = peer->early;
		peer->early = early->next;
		free(early);
	}
	free(peer->assembly);
	peer->assembly = NULL;
	peer->assembled = peer->assembly_size = 0;
}

static void block_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	struct block *block = (struct block *)source;
	if (event->type == PTL_EVENT_UNLINK) {
		block->unlinked = true;
		settle(domain, block);
		return;
	}
	if (event->ni_fail_type != PTL_NI_OK || header_padding(event->hdr_data) > event->mlength)
		return;
	struct peer *peer = rm_peer(domain, event->initiator);
	if (!peer) { /* the interface has acknowledged it by now */
		domain->failure = -ENOSPC;
		return;
	}
	const int32_t early = ahead(peer, event->hdr_data);
	peer->gone = false;
	domain->counters.arrived++;
	if (early < 0)
		return; /* it was sent again though it was here */
	if (early == 0) {
		take(domain, peer, event->hdr_data, block->bytes + event->offset, event->mlength, block);
		catch_up(domain, peer);
	} else {
		keep(domain, peer, event->hdr_data, block->bytes + event->offset, event->mlength);
	}
}

static int post(rm_domain *domain, struct block *block)
{
	ptl_handle_md_t handle;
	const ptl_md_t md = {.start = block->bytes,
			     .length = BLOCK_FRAGMENTS * domain->options.fragment,
			     .threshold = PTL_MD_THRESH_INF,
			     .max_size = domain->options.fragment,
			     .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE,
			     .user_ptr = &block->source,
			     .eq_handle = domain->eq};
	block->unlinked = false;
	return rm_attach(domain, (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY}, bits_of(MESSAGE, 0, 0), md, PTL_UNLINK,
			 &block->me, &handle);
}

int rm_blocks_open(rm_domain *domain)
{
	domain->blocks = calloc(domain->options.blocks, sizeof(*domain->blocks));
	if (!domain->blocks)
		return -ENOMEM;
	for (unsigned i = 0; i < domain->options.blocks; i++) {
		struct block *block = &domain->blocks[i];
		block->source.event = block_event;
		block->me = PTL_INVALID_HANDLE;
		block->bytes = rm_memory(BLOCK_FRAGMENTS * domain->options.fragment);
		int rc = block->bytes ? post(domain, block) : -ENOMEM;
		if (rc)
			return rc;
	}
	return 0;
}

static void drop(rm_domain *domain, struct arrival *arrival)
{
	if (arrival->block) {
		arrival->block->unhandled--;
		settle(domain, arrival->block);
	}
	free(arrival->own);
	free(arrival);
}

static struct arrival *next_arrival(rm_domain *domain)
{
	struct arrival *arrival = domain->arrivals;
	if (!arrival)
		return NULL;
	domain->arrivals = arrival->next;
	if (!domain->arrivals)
		domain->arrivals_end = &domain->arrivals;
	return arrival;
}

void rm_run_handlers(rm_domain *domain)
{
	for (struct arrival *arrival; (arrival = next_arrival(domain)); drop(domain, arrival)) {
		rm_handler *handler = domain->handlers[arrival->handler];
		domain->in_handler = true;
		if (handler)
			handler(domain, arrival->from, arrival->data, arrival->length);
		else
			domain->counters.unhandled++;
		domain->in_handler = false;
	}
}

void rm_blocks_close(rm_domain *domain)
{
	for (unsigned i = 0; domain->blocks && i < domain->options.blocks; i++) {
		domain->blocks[i].unhandled++; /* not to be posted again */
		rm_detach(domain, domain->blocks[i].me);
	}
	rm_take_events(domain); /* the last that name a block */
	for (struct arrival *arrival; (arrival = next_arrival(domain));) {
		free(arrival->own);
		free(arrival);
	}
	for (unsigned i = 0; domain->blocks && i < domain->options.blocks; i++)
		free(domain->blocks[i].bytes);
	free(domain->blocks);
}
