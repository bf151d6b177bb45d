/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/descriptor.h"

#include <errno.h>
#include <string.h>

#include "base/report.h"
#include "offload/match.h"
#include "offload/nic.h"
#include "offload/operation.h"
#include "offload/registration.h"
#include "offload/trace.h"
#include "offload/waiters.h"

_Static_assert((PTL_EVENT_GET_START & 1) == 0 && (PTL_EVENT_PUT_START & 1) == 0 && (PTL_EVENT_GETPUT_START & 1) == 0 &&
		       (PTL_EVENT_REPLY_START & 1) == 0 && (PTL_EVENT_SEND_START & 1) == 0 &&
		       PTL_EVENT_SEND_END < PTL_EVENT_ACK && PTL_EVENT_SEND_END < PTL_EVENT_UNLINK,
	       "START kinds are even, END kinds odd, ACK and UNLINK behind them");

/*
 * What the operation itself has left, whatever others have taken since: programs recognise the last one of a descriptor by
 * it, and with the descriptor's own value at END, operations that overlap would skip some (contract 3.6).  In the Cray XT's
 * dialect it is the value before the operation took its unit.
 */
static int threshold_told(const struct nic *nic, const struct descriptor *md, ptl_event_kind_t kind,
			  const struct event_info *info)
{
	if (kind == PTL_EVENT_UNLINK)
		return md->threshold;
	return info->threshold + (unlikely(nic->cray) && info->threshold != PTL_MD_THRESH_INF);
}

/* In the Cray XT's dialect, to programs that ask for it. */
static bool tells_unlink(const struct nic *nic, const struct descriptor *md)
{
	return likely(!nic->cray) || md->options & PTL_MD_EVENT_AUTO_UNLINK_ENABLE;
}

void descriptor_log_wanted(struct nic *nic, const struct descriptor *md, ptl_event_kind_t kind,
			   const struct event_info *info, ptl_ni_fail_t failure)
{
	const struct event_record record = {
		.info = *info,
		.md_start = md->user_start,
		.md_user_ptr = md->user_ptr,
		.md_length = md->user_length,
		.md_max_size = md->max_size,
		.md_handle = md->handle,
		.md_options = md->options,
		.md_threshold = threshold_told(nic, md, kind, info),
		.kind = (uint16_t)kind,
		.ni_fail = (uint16_t)failure,
	};
	bool handed_over =
		md->eq == nic->waiting.wanted.eq && event_hand_over(md->eq, &record, nic->waiting.wanted.event);

	if (handed_over)
		nic->waiting.wanted.eq = NULL;
	else
		event_post(md->eq, &record);
	trace(nic, PTL_DBG_EVENT, "%s, md 0x%x, link %u, %llu of %llu bytes, failure %u", PtlEventKindStr(kind),
	      md->handle, info->link, (unsigned long long)info->mlength, (unsigned long long)info->rlength,
	      (unsigned)failure);
	if (unlikely(md->eq->waiters > 0) && !handed_over)
		waiters_notify(nic, md->eq);
}

/* Descriptors of short messages have none. */
static void deregister(struct descriptor *md)
{
	if (unlikely(md->registrations != NULL))
		registrations_deregister(md);
}

/* The last operation on memory that PtlMDUpdate replaced has ended: the successor is no longer pinned by it. */
static void reap_predecessor(struct nic *nic, struct descriptor *md)
{
	struct descriptor *successor = md->successor;

	deregister(md);
	region_clear(&md->region);
	pool_give(&nic->objects.descriptors, md);
	successor->pending--;
	descriptor_settle(nic, successor);
}

void descriptor_settle_now(struct nic *nic, struct descriptor *md)
{
	if (md->successor) {
		reap_predecessor(nic, md);
	} else {
		timing_lap(&nic->timing, PTL_STAGE_EVENT);
		deregister(md); /* a thread that sees the event may unmap the memory */
		if (tells_unlink(nic, md))
			descriptor_log(nic, md, PTL_EVENT_UNLINK, &md->cause, PTL_NI_OK);
		descriptor_unlink(nic, md, false);
		timing_lap(&nic->timing, PTL_STAGE_UNLINK);
	}
}

/* The part of a descriptor that the user's structure describes. */
static int describe_memory(struct descriptor *md, const ptl_md_t *user, struct event_queue *eq)
{
	struct region region;
	int rc = user->options & PTL_MD_IOVEC ? region_set_pieces(&region, user->start, user->length)
					      : region_set(&region, user->start, user->length);

	if (rc)
		return rc;
	md->region = region;
	md->user_start = user->start;
	md->user_length = user->length;
	md->user_ptr = user->user_ptr;
	md->options = user->options;
	md->max_size = user->max_size;
	md->threshold = user->threshold;
	md->active = user->threshold > 0 || user->threshold == PTL_MD_THRESH_INF;
	md->local_offset = 0;
	md->cause = (struct event_info){0}; /* nothing has used it up */
	md->eq = eq;
	return 0;
}

int descriptor_create(struct nic *nic, const ptl_md_t *user, ptl_unlink_t unlink, struct event_queue *eq,
		      struct match_entry *entry, struct descriptor **out)
{
	struct descriptor *md;

	if (nic->objects.descriptors.live >= (uint32_t)nic->limits.max_mds ||
	    !(md = pool_take(&nic->objects.descriptors)))
		return pool_refuse(&nic->objects.descriptors, nic->limits.max_mds, "memory descriptors", "max_mds");
	int rc = describe_memory(md, user, eq);

	if (rc) {
		pool_give(&nic->objects.descriptors, md);
		return rc;
	}
	md->auto_unlink = unlink == PTL_UNLINK;
	md->entry = entry;
	if (entry)
		entry->descriptor = md;
	*out = md;
	return 0;
}

/*
 * Operations that are under way keep the memory and the queue they started with: they move to a copy of the old
 * descriptor, which pins the new one so that PtlMDUnlink cannot succeed before they have ended.
 */
static void leave_to_successor(struct nic *nic, struct descriptor *md, struct descriptor *old)
{
	const struct pool_item item = old->item;
	struct operation *op;

	*old = *md;
	old->item = item;
	old->entry = NULL;
	old->active = old->auto_unlink = old->unlink_due = false;
	old->successor = md;
	old->pending = 0;
	for (uint32_t i = 0; (op = pool_next(&nic->objects.operations, &i));) {
		if (op->pinned == md) {
			op->pinned = old;
			old->pending++;
		}
	}
	md->pending -= old->pending;
	md->pending++;
	md->region = (struct region){0}; /* its copy of the pieces belongs to `old` now, */
	md->registrations = NULL;        /* and so does what is exposed of them */
}

/* What is pending may also be predecessors alone, left by earlier updates; they need no further one. */
static bool is_pinned(struct nic *nic, const struct descriptor *md)
{
	const struct operation *op;

	for (uint32_t i = 0; md->pending > 0 && (op = pool_next(&nic->objects.operations, &i));)
		if (op->pinned == md)
			return true;
	return false;
}

int descriptor_update(struct nic *nic, struct descriptor *md, const ptl_md_t *user, struct event_queue *eq)
{
	struct descriptor fresh = *md, *old;
	int rc = describe_memory(&fresh, user, eq);

	if (rc)
		return rc;
	if (is_pinned(nic, md)) {
		if (!(old = pool_take(&nic->objects.descriptors))) {
			region_clear(&fresh.region);
			return report_error(-ENOSPC, "no descriptor left for the operations pending on this one");
		}
		leave_to_successor(nic, md, old);
		fresh.pending = md->pending;
	}
	deregister(md);
	region_clear(&md->region);
	fresh.registrations = NULL;
	fresh.unlink_due = false;
	*md = fresh;
	return 0;
}

void descriptor_describe(const struct descriptor *md, ptl_md_t *user)
{
	*user = (ptl_md_t){
		.start = md->user_start,
		.length = md->user_length,
		.threshold = md->threshold,
		.max_size = md->max_size,
		.options = md->options,
		.user_ptr = md->user_ptr,
		.eq_handle = md->eq ? md->eq->handle : PTL_EQ_NONE,
	};
}

void descriptor_unlink(struct nic *nic, struct descriptor *md, bool entry_too)
{
	struct match_entry *entry = md->entry;

	trace(nic, PTL_DBG_UNLINK, "md 0x%x%s", md->handle,
	      entry && (entry_too || entry->unlink) ? " and its match entry" : "");
	deregister(md);
	region_clear(&md->region);
	pool_give(&nic->objects.descriptors, md);
	if (!entry)
		return;
	entry->descriptor = NULL;
	if (entry_too || entry->unlink) {
		match_list_remove(entry);
		pool_give(&nic->objects.entries, entry);
	}
}
