/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers, and the second driver's put and get.  A buffer is one descriptor: other processes' requests find it by its tag, and our own
 * leave from it.  A put that is not acknowledged leaves no trace but its events.
 */
#include "internal.h"

struct buffer *rm_buffer_find(rm_domain *domain, uint32_t tag)
{
	for (struct buffer *buffer = domain->buffers; buffer < domain->buffers + RM_BUFFERS; buffer++)
		if (buffer->memory && buffer->tag == tag)
			return buffer;
	return NULL;
}

/* A notice tells once. */
static void tell(struct buffer *buffer, enum rm_direction direction, int status, uint64_t length, ptl_process_id_t peer)
{
	struct rm_notice *notice = buffer->notice;
	if (!notice || buffer->direction != direction)
		return;
	buffer->notice = NULL;
	*notice = (struct rm_notice){status, length, peer};
}

/* For the first fragment of a write.  If none is free, a write that has been under way for long is not told. */
static struct partial *new_partial(rm_domain *domain)
{
	for (struct partial *partial = domain->partials; partial < domain->partials + PARTIALS; partial++)
		if (partial->left == 0)
			return partial;
	return &domain->partials[domain->next_partial++ % PARTIALS];
}

void rm_forget_writes(rm_domain *domain, ptl_process_id_t from)
{
	for (struct partial *partial = domain->partials; partial < domain->partials + PARTIALS; partial++)
		if (rm_same(partial->from, from))
			partial->left = 0;
}

/* hdr_data of a write in fragments: which one, and its length; 0 otherwise.  Fragments may end in any order. */
static bool complete(rm_domain *domain, uint32_t tag, const ptl_event_t *event, uint64_t *length)
{
	uint32_t number = (uint32_t)(event->hdr_data >> 48);
	uint64_t total = event->hdr_data & ((1ULL << 48) - 1);
	struct partial *partial = domain->partials;
	*length = total ? total : event->mlength;
	if (!total)
		return true;
	while (partial < domain->partials + PARTIALS &&
	       !(partial->left && partial->number == number && partial->tag == tag &&
		 rm_same(partial->from, event->initiator)))
		partial++;
	if (partial == domain->partials + PARTIALS) {
		partial = new_partial(domain);
		*partial = (struct partial){event->initiator, tag, number, total};
	}
	partial->left -= event->mlength;
	return partial->left == 0;
}

static void buffer_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	struct buffer *buffer = (struct buffer *)source;
	int status = rm_status(event);
	uint64_t length;
	switch (event->type) {
	case PTL_EVENT_PUT_END:
		if (status || complete(domain, buffer->tag, event, &length))
			tell(buffer, RM_INCOMING, status, status ? 0 : length, event->initiator);
		break;
	case PTL_EVENT_GET_END:
		tell(buffer, RM_OUTGOING, status, event->mlength, event->initiator);
		break;
	case PTL_EVENT_SEND_END:
		tell(buffer, RM_OUTGOING, status, event->mlength, event->initiator);
		rm_operation_event(domain, event);
		break;
	case PTL_EVENT_REPLY_END:
		if (status != -ENXIO)
			tell(buffer, RM_INCOMING, status, event->mlength, event->initiator);
		rm_operation_event(domain, event);
		break;
	default:
		rm_operation_event(domain, event);
	}
}

int rm_register(rm_domain *domain, uint32_t tag, void *memory, size_t length)
{
	if (!memory || !length)
		return -EINVAL;
	if (rm_buffer_find(domain, tag))
		return -EEXIST;
	unsigned number = 0;
	while (number < RM_BUFFERS && domain->buffers[number].memory)
		number++;
	if (number == RM_BUFFERS)
		return -ENOSPC;
	struct buffer *buffer = &domain->buffers[number];
	*buffer = (struct buffer){.source = {buffer_event}, .tag = tag};
	ptl_md_t md = {.start = memory,
		       .length = length,
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
		       .user_ptr = &buffer->source,
		       .eq_handle = domain->eq};
	int rc = rm_attach(domain, (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY}, bits_of(BUFFER, 0, tag), md,
			   PTL_RETAIN, &buffer->me, &buffer->md);
	if (rc)
		return rc;
	buffer->memory = memory;
	rm_directory_set(domain, number, memory, length, tag);
	return 0;
}

int rm_deregister(rm_domain *domain, uint32_t tag)
{
	struct buffer *buffer = rm_buffer_find(domain, tag);
	if (!buffer)
		return -ENOENT;
	rm_take_events(domain);
	if (buffer->under_way)
		return -EBUSY;
	rm_directory_set(domain, (unsigned)(buffer - domain->buffers), NULL, 0, 0);
	rm_detach(domain, buffer->me);
	rm_take_events(domain); /* the last that name it */
	for (struct partial *partial = domain->partials; partial < domain->partials + PARTIALS; partial++)
		if (partial->tag == tag)
			partial->left = 0;
	if (buffer->notice)
		buffer->notice->status = -ECANCELED;
	buffer->memory = NULL;
	return 0;
}

int rm_notify(rm_domain *domain, uint32_t tag, enum rm_direction direction, struct rm_notice *notice)
{
	struct buffer *buffer = rm_buffer_find(domain, tag);
	if (!buffer || !notice)
		return buffer ? -EINVAL : -ENOENT;
	rm_take_events(domain);
	if (buffer->notice)
		return -EBUSY;
	notice->status = RM_PENDING;
	buffer->notice = notice;
	buffer->direction = direction;
	return domain->failure;
}

/* The buffer and, if the operation is to be acknowledged, its number. */
static int begin(rm_domain *domain, uint32_t tag, size_t length, struct rm_notice *ack, struct buffer **buffer,
		 unsigned *number)
{
	*buffer = rm_buffer_find(domain, tag);
	if (!*buffer)
		return -ENOENT;
	if (length == 0 || length > domain->directory[*buffer - domain->buffers].length)
		return -EINVAL;
	int rc = rm_operation_begin(domain, ack, 1, number);
	if (rc || !*number)
		return rc;
	domain->operations[*number].buffer = *buffer;
	(*buffer)->under_way++;
	return 0;
}

static int issued(rm_domain *domain, int code, unsigned number)
{
	if (code == PTL_OK)
		return 0;
	rm_operation_undo(domain, number);
	return -EIO;
}

int rm_put(rm_domain *domain, ptl_process_id_t to, uint32_t local, uint32_t remote, size_t length,
	   struct rm_notice *ack)
{
	struct buffer *buffer;
	unsigned number;
	int rc = begin(domain, local, length, ack, &buffer, &number);
	if (rc)
		return rc;
	rc = PtlPutRegion(buffer->md, 0, length, ack ? PTL_ACK_REQ : PTL_NO_ACK_REQ, to, domain->options.pt_index, 0,
			  bits_of(BUFFER, number, remote), 0, 0);
	return issued(domain, rc, number);
}

int rm_get(rm_domain *domain, ptl_process_id_t from, uint32_t local, uint32_t remote, size_t length,
	   struct rm_notice *ack)
{
	struct buffer *buffer;
	unsigned number;
	int rc = begin(domain, local, length, ack, &buffer, &number);
	if (rc)
		return rc;
	rc = PtlGetRegion(buffer->md, 0, length, from, domain->options.pt_index, 0, bits_of(BUFFER, number, remote), 0);
	return issued(domain, rc, number);
}
