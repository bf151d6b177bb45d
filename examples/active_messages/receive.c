/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive memory: blocks for requests, a place for each reply, and the segment.
 *
 * With credits there are enough blocks for every request that peers may have under way, so nothing is cut off; without, there are
 * two, and what finds them full is fetched.  Fetching does not depend on credits being right, so a process that is not mapped,
 * or that counts wrongly, costs nothing but its own time.
 */
#include "internal.h"

#define BLOCK_MESSAGES 32

static const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};

static size_t slot_size(const am_bundle *bundle, unsigned channel)
{
	return bundle->options.flow == AM_CREDITS_BY_SIZE && channel != 1 ? SLOT_SHORT : SLOT;
}

/* The bits of an endpoint's own entries, and those of them that any sender may choose. */
static ptl_match_bits_t own_bits(const am_endpoint *endpoint, enum kind kind, unsigned channel)
{
	return bits_of(kind, channel, 0, endpoint->number, endpoint->tag);
}

/* At the end of the list, or by PTL_INS_BEFORE in front of the endpoint's overflow entry. */
static int attach(am_endpoint *endpoint, ptl_match_bits_t bits, ptl_match_bits_t ignore, ptl_unlink_t unlink,
		  ptl_md_t md, ptl_ins_pos_t position, ptl_handle_me_t *me)
{
	ptl_handle_md_t handle;
	md.options |= PTL_MD_EVENT_START_DISABLE | PTL_MD_ACK_DISABLE;
	int rc = position == PTL_INS_AFTER
			 ? PtlMEAttach(endpoint->bundle->ni, endpoint->bundle->options.pt_index, anyone, bits, ignore,
				       unlink, position, me)
			 : PtlMEInsert(endpoint->entries[OVERFLOW], anyone, bits, ignore, unlink, position, me);
	if (rc != PTL_OK)
		return rc == PTL_NO_SPACE ? -ENOMEM : -EIO;
	return PtlMDAttach(*me, md, unlink, &handle) == PTL_OK ? 0 : -EIO;
}

bool am_bulk_place(const struct arrival *arrival, uint64_t where[2])
{
	const am_endpoint *endpoint = arrival->endpoint;
	if (!endpoint->segment || arrival->length < 2 * sizeof(*where))
		return false;
	memcpy(where, arrival->bytes, 2 * sizeof(*where));
	return where[0] <= endpoint->segment_length && where[1] <= endpoint->segment_length - where[0];
}

void am_arrive(struct source *source, const ptl_event_t *event, struct arrival about)
{
	am_bundle *bundle = source->endpoint->bundle;
	struct arrival *arrival = malloc(sizeof(*arrival));
	if (!arrival) {
		bundle->failure = -ENOMEM;
		return;
	}
	*arrival = about;
	arrival->endpoint = source->endpoint;
	arrival->from = event->initiator;
	arrival->from_number = (event->match_bits & BITS_SOURCE) >> 44;
	arrival->header = am_unpack(event->hdr_data);
	if (arrival->is_reply)
		arrival->generation = source->endpoint->slots[arrival->header.slot].generation;
	struct queue *ready = arrival->is_reply ? &bundle->replies : &bundle->requests;
	uint64_t where[2];
	if (arrival->header.body == BULK && am_bulk_place(arrival, where)) {
		struct arrival *data = am_queue_partner(&bundle->landed, arrival);
		if (!data)
			ready = &bundle->waiting;
		else
			arrival->data_failed = data->data_failed;
		free(data);
	}
	am_queue_put(ready, arrival);
}

static void block_event(struct source *source, const ptl_event_t *event);

static int post_block(struct block *block)
{
	am_endpoint *endpoint = block->source.endpoint;
	size_t size = slot_size(endpoint->bundle, block->channel);
	block->unlinked = false;
	return attach(endpoint, own_bits(endpoint, REQUEST, block->channel), BITS_SOURCE, PTL_UNLINK,
		      (ptl_md_t){.start = block->bytes,
				 .length = size * BLOCK_MESSAGES,
				 .threshold = PTL_MD_THRESH_INF,
				 .max_size = size,
				 .options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE,
				 .user_ptr = &block->source,
				 .eq_handle = endpoint->bundle->eq},
		      PTL_INS_BEFORE, &block->entry);
}

static void post_again(struct block *block)
{
	if (block->unlinked && block->unhandled == 0 && post_block(block) != 0)
		block->source.endpoint->bundle->failure = -EIO;
}

static void block_event(struct source *source, const ptl_event_t *event)
{
	struct block *block = (struct block *)source;
	if (event->type == PTL_EVENT_UNLINK) {
		block->unlinked = true;
		post_again(block);
	} else if (event->ni_fail_type == PTL_NI_OK) {
		block->unhandled++;
		am_arrive(source, event,
			  (struct arrival){
				  .block = block, .bytes = block->bytes + event->offset, .length = event->mlength});
	}
}

static int add_block(am_endpoint *endpoint, unsigned channel)
{
	struct block *block = calloc(1, sizeof(*block));
	if (!block)
		return -ENOMEM;
	block->source = (struct source){block_event, endpoint};
	block->channel = channel;
	block->bytes = calloc(BLOCK_MESSAGES, slot_size(endpoint->bundle, channel));
	block->next = endpoint->blocks;
	endpoint->blocks = block;
	endpoint->block_count[channel]++;
	return block->bytes ? post_block(block) : -ENOMEM;
}

/*
 * Blocks for all requests that may be under way.  A block is full when less than a message fits, hence one message less; one more
 * is partly handled and one partly filled.
 */
static unsigned blocks_wanted(const am_endpoint *endpoint)
{
	const struct am_options *options = &endpoint->bundle->options;
	if (options->flow == AM_FETCH)
		return 2;
	return (endpoint->mapped * options->credits + BLOCK_MESSAGES - 2) / (BLOCK_MESSAGES - 1) + 2;
}

int am_receive_grow(am_endpoint *endpoint)
{
	unsigned channels = endpoint->bundle->options.flow == AM_CREDITS_BY_SIZE ? CHANNELS : 1;
	for (unsigned channel = 0; channel < channels; channel++)
		while (endpoint->block_count[channel] < blocks_wanted(endpoint)) {
			int rc = add_block(endpoint, channel);
			if (rc)
				return rc;
		}
	return 0;
}

/* Replies come to the place of their request, and from the process it went to. */
static void reply_event(struct source *source, const ptl_event_t *event)
{
	am_endpoint *endpoint = source->endpoint;
	unsigned number = am_unpack(event->hdr_data).slot;
	if (event->ni_fail_type != PTL_NI_OK || number >= endpoint->bundle->options.requests ||
	    !endpoint->slots[number].busy)
		return;
	const struct peer *peer = &endpoint->peers[endpoint->slots[number].peer];
	if (peer->id.nid != event->initiator.nid || peer->id.pid != event->initiator.pid ||
	    event->offset != (ptl_size_t)number * SLOT)
		return;
	am_arrive(source, event,
		  (struct arrival){
			  .is_reply = true, .bytes = endpoint->reply_bytes + event->offset, .length = event->mlength});
}

/* Data of a bulk message: the message goes on to its handler, or finds that the data is there already. */
static void landing_event(struct source *source, const ptl_event_t *event)
{
	am_bundle *bundle = source->endpoint->bundle;
	struct arrival data = {.endpoint = source->endpoint,
			       .from = event->initiator,
			       .from_number = (event->match_bits & BITS_SOURCE) >> 44,
			       .is_reply = (event->match_bits & BITS_CHANNEL) != 0,
			       .data_failed = event->ni_fail_type != PTL_NI_OK,
			       .header = am_unpack(event->hdr_data)};
	struct arrival *message = am_queue_partner(&bundle->waiting, &data);
	if (message) {
		message->data_failed = data.data_failed;
		am_queue_put(data.is_reply ? &bundle->replies : &bundle->requests, message);
		return;
	}
	struct arrival *early = malloc(sizeof(*early));
	if (!early) {
		bundle->failure = -ENOMEM;
		return;
	}
	*early = data;
	am_queue_put(&bundle->landed, early);
}

int am_receive_open(am_endpoint *endpoint)
{
	const am_bundle *bundle = endpoint->bundle;
	const struct am_options *options = &bundle->options;
	ptl_md_t md = {.threshold = PTL_MD_THRESH_INF, .eq_handle = bundle->eq};
	endpoint->reply_bytes = calloc(options->requests, SLOT);
	if (!endpoint->reply_bytes)
		return -ENOMEM;
	endpoint->overflow = (struct source){am_cut_off, endpoint};
	endpoint->incoming = (struct source){reply_event, endpoint};
	md.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE;
	md.user_ptr = &endpoint->overflow;
	int rc = attach(endpoint, own_bits(endpoint, REQUEST, 0), BITS_SOURCE | BITS_CHANNEL, PTL_RETAIN, md,
			PTL_INS_AFTER, &endpoint->entries[OVERFLOW]);
	if (rc)
		return rc;
	md.start = endpoint->reply_bytes;
	md.length = (ptl_size_t)options->requests * SLOT;
	md.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
	md.user_ptr = &endpoint->incoming;
	rc = attach(endpoint, own_bits(endpoint, REPLY, 0), BITS_SOURCE, PTL_RETAIN, md, PTL_INS_AFTER,
		    &endpoint->entries[REPLIES]);
	if (rc)
		return rc;
	md.start = endpoint->requests.bytes;
	md.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_END_DISABLE;
	return attach(endpoint, own_bits(endpoint, SLOTS, 0), BITS_SOURCE, PTL_RETAIN, md, PTL_INS_AFTER,
		      &endpoint->entries[REQUESTS]);
}

int am_segment_open(am_endpoint *endpoint)
{
	endpoint->landing = (struct source){landing_event, endpoint};
	return attach(endpoint, own_bits(endpoint, SEGMENT, 0), BITS_SOURCE | BITS_CHANNEL, PTL_RETAIN,
		      (ptl_md_t){.start = endpoint->segment,
				 .length = endpoint->segment_length,
				 .threshold = PTL_MD_THRESH_INF,
				 .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
				 .user_ptr = &endpoint->landing,
				 .eq_handle = endpoint->bundle->eq},
		      PTL_INS_AFTER, &endpoint->entries[LANDING]);
}

void am_receive_done(struct arrival *arrival)
{
	if (arrival->block) {
		arrival->block->unhandled--;
		post_again(arrival->block);
	}
	free(arrival->fetched);
	free(arrival);
}

/* Operations that are under way keep an entry for a moment. */
static void unlink_entry(am_endpoint *endpoint, ptl_handle_me_t entry)
{
	while (PtlMEUnlink(entry) == PTL_ME_IN_USE)
		am_take_events(endpoint->bundle);
}

void am_receive_close(am_endpoint *endpoint)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		unlink_entry(endpoint, endpoint->entries[i]);
	for (struct block *block = endpoint->blocks; block; block = block->next) {
		block->unhandled = 1; /* not to be posted again */
		unlink_entry(endpoint, block->entry);
	}
	am_take_events(endpoint->bundle); /* the last that name this memory */
	for (struct block *block = endpoint->blocks, *next; block; block = next) {
		next = block->next;
		free(block->bytes);
		free(block);
	}
	free(endpoint->reply_bytes);
}
