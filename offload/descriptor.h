/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory descriptors as the NIC sees them: acceptance, offsets, thresholds, activity, and when they go away.
 *
 * An operation on a descriptor is counted twice.  descriptor_start() takes one threshold unit at match or issue
 * time, which may make the descriptor inactive: it takes no new operation from then on.  Between start and end the
 * operation is pending and pins the descriptor; descriptor_end() comes before the END event, so that a thread that has
 * read an END can unlink.  An inactive descriptor that is to unlink itself goes when its last pending operation
 * ends, in whatever order they end, and its UNLINK event repeats the operation that made it inactive.
 */
#ifndef PORTALS_OFFLOAD_DESCRIPTOR_H
#define PORTALS_OFFLOAD_DESCRIPTOR_H

#include "offload/event.h"
#include "offload/pool.h"
#include "offload/region.h"

struct match_entry;
struct nic;
struct registration;

struct descriptor {
	struct pool_item item;
	uint32_t handle;
	int threshold; /* units left, or PTL_MD_THRESH_INF */
	uint32_t options;
	uint32_t pending; /* operations between start and end, and 1 for each predecessor that still has some */
	bool active, auto_unlink, unlink_due;
	uint64_t local_offset, max_size;
	struct event_queue *eq; /* or NULL: logs nothing */
	struct region region;
	struct registration *registrations; /* of the region (memory_region.h); mostly none */
	struct match_entry *entry;          /* or NULL: bound, initiator use only */
	void *user_start, *user_ptr;
	uint64_t user_length;         /* as the caller gave it: number of pieces with PTL_MD_IOVEC */
	struct descriptor *successor; /* PtlMDUpdate replaced this one while operations were pending on it */
	struct event_info cause;      /* of the coming UNLINK */
};

/* What an incoming request asks of a descriptor, and what it gets. */
struct access {
	uint32_t operations; /* PTL_MD_OP_PUT, PTL_MD_OP_GET or both */
	uint64_t remote_offset, rlength;
	uint64_t offset, mlength; /* results */
};

/* Would the descriptor respond?  Changes nothing but the results (Portals 3.3, rules of acceptance). */
static inline bool descriptor_accepts(const struct descriptor *md, struct access *access)
{
	uint64_t length = md->region.length;
	uint64_t offset = md->options & PTL_MD_MANAGE_REMOTE ? access->remote_offset : md->local_offset;

	if (!md->active || (md->options & access->operations) != access->operations)
		return false;
	if (offset > length)
		return false;
	access->offset = offset;
	access->mlength = access->rlength;
	if (access->rlength > length - offset) {
		if (!(md->options & PTL_MD_TRUNCATE))
			return false;
		access->mlength = length - offset;
	}
	return true;
}

/* max_size has no meaning for descriptors whose offsets the initiators choose. */
static inline bool descriptor_full(const struct descriptor *md)
{
	return (md->options & (PTL_MD_MAX_SIZE | PTL_MD_MANAGE_REMOTE)) == PTL_MD_MAX_SIZE &&
	       md->region.length - md->local_offset < md->max_size;
}

/* Would an operation of ours that starts and ends at once leave anything behind: an event, or a unit less? */
static inline bool descriptor_notes(const struct descriptor *md)
{
	return md->eq || md->threshold != PTL_MD_THRESH_INF;
}

/* Takes a unit, noted in the operation, and, for operations of others on this memory (`target`), advances the local offset. */
static inline void descriptor_start(struct descriptor *md, struct event_info *info, bool target)
{
	md->pending++;
	if (md->eq)
		md->eq->underway++;
	if (md->threshold != PTL_MD_THRESH_INF)
		md->threshold--;
	info->threshold = md->threshold;
	if (target && !(md->options & PTL_MD_MANAGE_REMOTE))
		md->local_offset += info->mlength;
	if (md->threshold == 0 || (target && descriptor_full(md))) {
		md->active = false;
		md->unlink_due = md->auto_unlink;
		md->cause = *info;
	}
}

/* The operation is over.  Call descriptor_log() for its END, then descriptor_settle(). */
static inline void descriptor_end(struct descriptor *md)
{
	md->pending--;
	if (md->eq)
		md->eq->underway--;
}

/* Its rest, where something is due. */
void descriptor_settle_now(struct nic *, struct descriptor *);

/* Unlinks the descriptor if that is due; it must not be used afterwards. */
static inline void descriptor_settle(struct nic *nic, struct descriptor *md)
{
	if (md->pending == 0 && unlikely(md->successor || md->unlink_due))
		descriptor_settle_now(nic, md);
}

/* Its rest, where there is a queue and the kind is not disabled. */
void descriptor_log_wanted(struct nic *, const struct descriptor *, ptl_event_kind_t, const struct event_info *,
			   ptl_ni_fail_t);

/* Posts an event of this kind to the descriptor's queue, unless it has none or the kind is disabled. */
static inline void descriptor_log(struct nic *nic, const struct descriptor *md, ptl_event_kind_t kind,
				  const struct event_info *info, ptl_ni_fail_t failure)
{
	const unsigned disabled = kind & 1 ? PTL_MD_EVENT_END_DISABLE : PTL_MD_EVENT_START_DISABLE;

	if (md->eq && (kind >= PTL_EVENT_ACK || !(md->options & disabled)))
		descriptor_log_wanted(nic, md, kind, info, failure);
}

/* Commands. `user` is the descriptor as the caller gave it; -EINVAL with a report if it describes no memory. */
int descriptor_create(struct nic *, const ptl_md_t *user, ptl_unlink_t, struct event_queue *, struct match_entry *,
		      struct descriptor **);
int descriptor_update(struct nic *, struct descriptor *, const ptl_md_t *user, struct event_queue *);
void descriptor_describe(const struct descriptor *, ptl_md_t *user);

/* Frees it and, if `entry_too` or the entry is to go with its descriptor, its match entry.  Nothing may be pending. */
void descriptor_unlink(struct nic *, struct descriptor *, bool entry_too);

#endif
