/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning, end, and what happens with events. */
#include "internal.h"

#define EVENTS                                                                                                         \
	65536 /* of processes that do not ask us before they put; room that is not used costs address space only */

const struct rm_options rm_defaults = {.pt_index = 22, .copy_limit = 16384, .fragment = 8192, .slots = 64, .blocks = 4};

static const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};

int rm_attach(rm_domain *domain, ptl_process_id_t from, ptl_match_bits_t bits, ptl_md_t md, ptl_unlink_t unlink,
	      ptl_handle_me_t *me, ptl_handle_md_t *handle)
{
	md.options |= PTL_MD_EVENT_START_DISABLE;
	if (PtlMEInsert(domain->last, from, bits, BITS_OPERATION, unlink, PTL_INS_BEFORE, me) != PTL_OK)
		return -EIO;
	if (PtlMDAttach(*me, md, unlink, handle) == PTL_OK)
		return 0;
	PtlMEUnlink(*me);
	*me = PTL_INVALID_HANDLE;
	return -EIO;
}

#define PAGE 4096 /* the least there is */

char *rm_memory(size_t length)
{
	char *memory = calloc(1, length);
	for (size_t at = 0; memory && at < length; at += PAGE)
		((volatile char *)memory)[at] = 0;
	return memory;
}

/* Operations that are under way keep an entry or a descriptor for a moment. */
void rm_detach(rm_domain *domain, ptl_handle_me_t me)
{
	while (PtlMEUnlink(me) == PTL_ME_IN_USE)
		rm_take_events(domain);
}

void rm_release(rm_domain *domain, ptl_handle_md_t md)
{
	while (PtlMDUnlink(md) == PTL_MD_IN_USE)
		rm_take_events(domain);
}

static int open_list(rm_domain *domain)
{
	ptl_handle_md_t md;
	const ptl_md_t nothing = {.threshold = PTL_MD_THRESH_INF,
				  .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_TRUNCATE |
					     PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
				  .eq_handle = PTL_EQ_NONE};
	if (PtlMEAttach(domain->ni, domain->options.pt_index, anyone, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER,
			&domain->last) != PTL_OK ||
	    PtlMDAttach(domain->last, nothing, PTL_RETAIN, &md) != PTL_OK)
		return -EIO;
	int rc = rm_directory_open(domain);
	if (rc == 0)
		rc = rm_injection_open(domain);
	return rc ? rc : rm_blocks_open(domain);
}

static bool sensible(const struct rm_options *options)
{
	return options->injection <= RM_DIRECT && options->fragment && options->fragment % 8 == 0 && options->slots &&
	       options->blocks >= 2;
}

int rm_open(ptl_handle_ni_t ni, const struct rm_options *options, rm_domain **domain)
{
	const struct rm_options *chosen = options ? options : &rm_defaults;
	if (!sensible(chosen))
		return -EINVAL;
	rm_domain *made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->ni = ni;
	made->options = *chosen;
	made->last = made->directory_me = PTL_INVALID_HANDLE;
	made->injection_md = made->copy_md = PTL_INVALID_HANDLE;
	made->arrivals_end = &made->arrivals;
	made->deaths.event = rm_peer_died;
	rm_operations_open(made);
	int rc = PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &made->eq) == PTL_OK ? 0 : -EIO;
	if (rc) {
		free(made);
		return rc;
	}
	rc = open_list(made);
	if (rc) {
		rm_close(made);
		return rc;
	}
	PtlNicPeerEvents(ni, made->eq);
	*domain = made;
	return 0;
}

void rm_close(rm_domain *domain)
{
	PtlNicPeerEvents(domain->ni, PTL_EQ_NONE);
	rm_receives_close(domain);
	rm_operations_close(domain);
	for (unsigned i = 0; i < RM_BUFFERS; i++)
		if (domain->buffers[i].memory) {
			domain->buffers[i].under_way = 0;
			rm_deregister(domain, domain->buffers[i].tag);
		}
	rm_blocks_close(domain);
	rm_injection_close(domain);
	rm_directory_close(domain);
	rm_detach(domain, domain->last);
	for (unsigned i = 0; i < RM_PEERS; i++)
		rm_forget_early(&domain->peers[i]);
	PtlEQFree(domain->eq);
	free(domain);
}

static void sort(rm_domain *domain, int rc, const ptl_event_t *event)
{
	if (rc == PTL_EQ_DROPPED)
		domain->failure = -EOVERFLOW;
	struct source *source = event->type == PTL_NIC_EVENT_PEER_DIED ? &domain->deaths : event->md.user_ptr;
	source->event(domain, source, event);
}

int rm_take_events(rm_domain *domain)
{
	ptl_event_t event;
	int rc, count = 0;
	for (; (rc = PtlEQGet(domain->eq, &event)) == PTL_OK || rc == PTL_EQ_DROPPED; count++)
		sort(domain, rc, &event);
	return count;
}

/* Returns whether there was an event. */
static bool wait_for_event(rm_domain *domain, ptl_time_t milliseconds)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(&domain->eq, 1, milliseconds, &event, &which);
	if (rc != PTL_OK && rc != PTL_EQ_DROPPED)
		return false;
	sort(domain, rc, &event);
	return true;
}

int rm_progress(rm_domain *domain)
{
	if (domain->failure)
		return domain->failure;
	if (rm_take_events(domain) == 0) {
		if (domain->in_handler)
			return -EAGAIN;
		if (!domain->arrivals)
			wait_for_event(domain, PTL_TIME_FOREVER);
	}
	if (!domain->in_handler)
		rm_run_handlers(domain);
	return domain->failure;
}

int rm_poll(rm_domain *domain)
{
	if (domain->in_handler)
		return -EDEADLK;
	int count = rm_take_events(domain);
	rm_run_handlers(domain);
	return domain->failure ? domain->failure : count;
}

int rm_wait(rm_domain *domain, const struct rm_notice *notice, ptl_time_t milliseconds)
{
	int rc = rm_poll(domain);
	while (rc >= 0 && notice->status == RM_PENDING) {
		if (!wait_for_event(domain, milliseconds))
			return -ETIMEDOUT;
		rc = rm_poll(domain);
	}
	return rc < 0 ? rc : notice->status;
}

void rm_read_counters(const rm_domain *domain, struct rm_counters *counters)
{
	*counters = domain->counters;
}
