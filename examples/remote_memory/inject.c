/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How data comes to the network interface.  GRIM's hosts store it there themselves, or have it fetched from pinned memory, whichever is
 * quicker for the length.  Here the one is a copy into memory that one descriptor covers, and the caller goes on at once; the other
 * is a descriptor over the caller's own memory, and the caller waits until it has left.  Copied fragment by fragment, a write is a pipeline:
 * the interface sends one while the host copies the next, which is what GRIM's cooperative cut-through does.
 */
#include "internal.h"

static void injected_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	(void)source;
	unsigned slot = (unsigned)(event->offset / domain->options.fragment);
	if (domain->slots[slot].state == SLOT_MESSAGE) {
		rm_message_event(domain, slot, event);
		return;
	}
	if (event->type == PTL_EVENT_SEND_END)
		rm_slot_free(domain, slot);
	rm_operation_event(domain, event);
}

int rm_injection_open(rm_domain *domain)
{
	const struct rm_options *options = &domain->options;
	domain->injected.event = injected_event;
	domain->injection = rm_memory(options->slots * options->fragment);
	domain->slots = calloc(options->slots, sizeof(*domain->slots));
	if (!domain->injection || !domain->slots)
		return -ENOMEM;
	for (unsigned i = 0; i < options->slots; i++)
		domain->slots[i].next = i + 1;
	const ptl_md_t md = {.start = domain->injection,
			     .length = (ptl_size_t)options->slots * options->fragment,
			     .threshold = PTL_MD_THRESH_INF,
			     .options = PTL_MD_EVENT_START_DISABLE,
			     .user_ptr = &domain->injected,
			     .eq_handle = domain->eq};
	return PtlMDBind(domain->ni, md, PTL_RETAIN, &domain->injection_md) == PTL_OK ? 0 : -EIO;
}

void rm_injection_close(rm_domain *domain)
{
	rm_release(domain, domain->injection_md);
	rm_take_events(domain); /* the last that name a slot */
	free(domain->injection);
	free(domain->slots);
}

char *rm_slot_bytes(const rm_domain *domain, unsigned slot)
{
	return domain->injection + slot * domain->options.fragment;
}

int rm_slot_take(rm_domain *domain, unsigned *slot)
{
	while (domain->free_slot == domain->options.slots) {
		int rc = rm_progress(domain);
		if (rc)
			return rc;
	}
	*slot = domain->free_slot;
	domain->free_slot = domain->slots[*slot].next;
	return 0;
}

void rm_slot_free(rm_domain *domain, unsigned slot)
{
	domain->slots[slot].state = SLOT_FREE;
	domain->slots[slot].next = domain->free_slot;
	domain->free_slot = slot;
}

/* What all fragments of a write have in common. */
struct write {
	ptl_process_id_t to;
	struct rm_place place;
	ptl_ack_req_t ack;
	unsigned number; /* of the operation */
	uint64_t header;
};

static int put(const rm_domain *domain, const struct write *write, ptl_handle_md_t md, uint64_t from, size_t length,
	       uint64_t offset)
{
	return PtlPutRegion(md, from, length, write->ack, write->to, domain->options.pt_index, 0,
			    bits_of(BUFFER, write->number, write->place.tag), write->place.offset + offset,
			    write->header) == PTL_OK
		       ? 0
		       : -EIO;
}

static int put_copies(rm_domain *domain, const struct write *write, const char *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		size_t piece = length - done < domain->options.fragment ? length - done : domain->options.fragment;
		unsigned slot;
		int rc = rm_slot_take(domain, &slot);
		if (rc)
			return rc;
		domain->slots[slot].state = SLOT_WRITE;
		memcpy(rm_slot_bytes(domain, slot), data + done, piece);
		rc = put(domain, write, domain->injection_md, slot * domain->options.fragment, piece, done);
		if (rc) {
			rm_slot_free(domain, slot);
			return rc;
		}
		done += piece;
	}
	return 0;
}

/* One at a time: this call waits, and no handler may make it. */
static void direct_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	(void)source;
	if (event->type == PTL_EVENT_SEND_END)
		domain->direct_has_left = true;
	rm_operation_event(domain, event);
}

static int put_directly(rm_domain *domain, const struct write *write, const void *data, size_t length)
{
	ptl_handle_md_t handle;
	domain->direct.event = direct_event;
	domain->direct_has_left = false;
	const ptl_md_t md = {.start = (void *)(uintptr_t)data,
			     .length = length,
			     .threshold = PTL_MD_THRESH_INF,
			     .options = PTL_MD_EVENT_START_DISABLE,
			     .user_ptr = &domain->direct,
			     .eq_handle = domain->eq};
	if (PtlMDBind(domain->ni, md, PTL_RETAIN, &handle) != PTL_OK)
		return -EIO;
	if (write->number)
		domain->operations[write->number].md = handle; /* the ACK needs it */
	int rc = put(domain, write, handle, 0, length, 0);
	while (rc == 0 && !domain->direct_has_left)
		rc = rm_progress(domain);
	if (!write->number)
		rm_release(domain, handle);
	return rc;
}

static bool is_copied(const rm_domain *domain, size_t length)
{
	const struct rm_options *options = &domain->options;
	return options->injection == RM_BY_LENGTH ? length <= options->copy_limit : options->injection == RM_COPY;
}

int rm_write(rm_domain *domain, ptl_process_id_t to, struct rm_place place, const void *data, size_t length,
	     struct rm_notice *ack)
{
	struct write write = {.to = to, .place = place, .ack = ack ? PTL_ACK_REQ : PTL_NO_ACK_REQ};
	bool copied = is_copied(domain, length);
	unsigned fragments =
		copied ? (unsigned)((length + domain->options.fragment - 1) / domain->options.fragment) : 1;
	if (domain->in_handler)
		return -EDEADLK;
	if (!data || length == 0 || length >> 48)
		return -EINVAL;
	int rc = rm_operation_begin(domain, ack, fragments, &write.number);
	if (rc)
		return rc;
	if (fragments > 1)
		write.header = (uint64_t)(domain->writes++ & 0xffff) << 48 | length;
	rc = copied ? put_copies(domain, &write, data, length) : put_directly(domain, &write, data, length);
	if (rc)
		domain->failure = rc; /* part of it may be there: what is unknown */
	return rc;
}
