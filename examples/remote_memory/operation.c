/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of ours that are to be acknowledged.  Each put is over with its ACK, or with a SEND_END that says it failed; each get
 * with its REPLY.  Fewer bytes than were asked for mean that the other side refused.
 */
#include "internal.h"

void rm_operations_open(rm_domain *domain)
{
	for (unsigned i = 1; i < OPERATIONS; i++)
		domain->operations[i].next = i + 1 < OPERATIONS ? i + 1 : 0;
	domain->free_operation = 1;
}

int rm_operation_begin(rm_domain *domain, struct rm_notice *notice, unsigned parts, unsigned *number)
{
	*number = 0;
	if (!notice)
		return 0;
	while (!domain->free_operation) {
		int rc = rm_progress(domain);
		if (rc)
			return rc;
	}
	*number = domain->free_operation;
	struct operation *operation = &domain->operations[*number];
	domain->free_operation = operation->next;
	*operation = (struct operation){.left = parts, .notice = notice, .md = PTL_INVALID_HANDLE};
	notice->status = RM_PENDING;
	return 0;
}

static void retire(rm_domain *domain, unsigned number)
{
	struct operation *operation = &domain->operations[number];
	if (operation->buffer)
		operation->buffer->under_way--;
	if (operation->md != PTL_INVALID_HANDLE)
		PtlMDUnlink(operation->md);
	operation->notice = NULL;
	operation->next = domain->free_operation;
	domain->free_operation = number;
}

void rm_operations_close(rm_domain *domain)
{
	for (unsigned i = 1; i < OPERATIONS; i++) {
		struct operation *operation = &domain->operations[i];
		if (!operation->notice)
			continue;
		operation->notice->status = -ECANCELED;
		if (operation->md != PTL_INVALID_HANDLE)
			rm_release(domain, operation->md);
	}
}

void rm_operation_undo(rm_domain *domain, unsigned number)
{
	if (number)
		retire(domain, number);
}

int rm_status(const ptl_event_t *event)
{
	if (event->ni_fail_type != PTL_NI_OK)
		return -EHOSTDOWN;
	return event->mlength == event->rlength ? 0 : event->mlength ? -EMSGSIZE : -ENXIO;
}

static bool is_over(const ptl_event_t *event)
{
	return event->type == PTL_EVENT_ACK || event->type == PTL_EVENT_REPLY_END ||
	       (event->type == PTL_EVENT_SEND_END && event->ni_fail_type != PTL_NI_OK);
}

void rm_operation_event(rm_domain *domain, const ptl_event_t *event)
{
	unsigned number = (unsigned)((event->match_bits & BITS_OPERATION) >> 32);
	if (number == 0 || !is_over(event))
		return;
	struct operation *operation = &domain->operations[number];
	int status = rm_status(event);
	if (status && !operation->result.status)
		operation->result.status = status;
	if (event->ni_fail_type == PTL_NI_OK)
		operation->result.length += event->mlength;
	if (event->type != PTL_EVENT_SEND_END)
		operation->result.peer = event->initiator;
	if (--operation->left)
		return;
	*operation->notice = operation->result;
	retire(domain, number);
}
