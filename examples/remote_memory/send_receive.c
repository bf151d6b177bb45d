/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first driver: the next message goes to the receive that was posted first.  Each receive is an entry that one message uses up; the entry
 * that refuses stands behind all of them, so a sender that comes too early is told, as an InfiniBand sender is of a receiver that is not ready.
 */
#include "internal.h"

static void forget(rm_domain *domain, struct receive *receive)
{
	struct receive **place = &domain->receives;
	while (*place != receive)
		place = &(*place)->next;
	*place = receive->next;
	free(receive);
}

static void receive_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	struct receive *receive = (struct receive *)source;
	if (event->type == PTL_EVENT_PUT_END)
		*receive->notice = (struct rm_notice){rm_status(event), event->mlength, event->initiator};
	else if (event->type == PTL_EVENT_UNLINK)
		forget(domain, receive);
}

int rm_receive(rm_domain *domain, ptl_process_id_t from, void *data, size_t length, struct rm_notice *notice)
{
	ptl_handle_md_t handle;
	if (!data || !notice || length == 0)
		return -EINVAL;
	struct receive *receive = malloc(sizeof(*receive));
	if (!receive)
		return -ENOMEM;
	*receive = (struct receive){.source = {receive_event}, .notice = notice};
	const ptl_md_t md = {.start = data,
			     .length = length,
			     .threshold = 1,
			     .options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE,
			     .user_ptr = &receive->source,
			     .eq_handle = domain->eq};
	notice->status = RM_PENDING;
	int rc = rm_attach(domain, from, bits_of(RECEIVE, 0, 0), md, PTL_UNLINK, &receive->me, &handle);
	if (rc) {
		free(receive);
		return rc;
	}
	receive->next = domain->receives;
	domain->receives = receive;
	return 0;
}

/* Those that have ended, but whose events had not been taken, are gone after that. */
void rm_receives_close(rm_domain *domain)
{
	rm_take_events(domain);
	while (domain->receives) {
		struct receive *receive = domain->receives;
		int rc = PtlMEUnlink(receive->me);
		if (rc == PTL_OK) {
			receive->notice->status = -ECANCELED;
			forget(domain, receive);
		} else {
			rm_take_events(domain);
		}
	}
}

static void sent_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	(void)source;
	rm_operation_event(domain, event);
}

int rm_send(rm_domain *domain, ptl_process_id_t to, const void *data, size_t length, struct rm_notice *notice)
{
	unsigned number;
	if (!data || !notice || length == 0)
		return -EINVAL;
	int rc = rm_operation_begin(domain, notice, 1, &number);
	if (rc)
		return rc;
	domain->sent.event = sent_event;
	const ptl_md_t md = {.start = (void *)(uintptr_t)data,
			     .length = length,
			     .threshold = PTL_MD_THRESH_INF,
			     .options = PTL_MD_EVENT_START_DISABLE,
			     .user_ptr = &domain->sent,
			     .eq_handle = domain->eq};
	ptl_handle_md_t *handle = &domain->operations[number].md;
	if (PtlMDBind(domain->ni, md, PTL_RETAIN, handle) == PTL_OK &&
	    PtlPut(*handle, PTL_ACK_REQ, to, domain->options.pt_index, 0, bits_of(RECEIVE, number, 0), 0, 0) == PTL_OK)
		return 0;
	rm_operation_undo(domain, number);
	return -EIO;
}
