/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Portals of Lustre's user-level drivers.  Return codes that only they know are distinct numbers here, which no call
 * returns.
 *
 * With PTL_EVENT_UNLINKED defined, events have Lustre's field `unlinked`: 1 in the event that says that its descriptor has
 * unlinked itself, which here is UNLINK, and 0 in all others.  It is the last field; PtlEQGet, PtlEQWait, PtlEQPoll and
 * PtlEQPeek are then functions of this header that fill it.  The library knows nothing of it: files with and without may
 * be linked together.  But what is declared behind this header with a ptl_event_t means the longer one, so include it after
 * the headers of others; and an event handler is given the shorter one.
 */
#ifndef PORTALS_P30_H
#define PORTALS_P30_H

#include <p3/inline.h>
#include <portals/nal.h>
#include <portals3.h>
#include <stddef.h>

#define PTL_EQ_IN_USE       65
#define PTL_VAL_FAILED      66
#define PTL_PID_IN_USE      67
#define PTL_NAL_FAILED      68
#define PTL_NOT_IMPLEMENTED 69
#define PTL_NO_ACK          70
#define PTL_AGAIN           71
#define PTL_INV_EQ_SIZE     72

/* Most pieces of a descriptor with PTL_MD_IOVEC, as ptl_ni_limits_t.max_md_iovecs says. */
#define PTL_MD_MAX_IOV 256

#ifdef PTL_EVENT_UNLINKED

typedef struct {
	ptl_event_kind_t type;
	ptl_process_id_t initiator;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
	ptl_match_bits_t match_bits;
	ptl_size_t rlength;
	ptl_size_t mlength;
	ptl_size_t offset;
	ptl_handle_md_t md_handle;
	ptl_md_t md;
	ptl_hdr_data_t hdr_data;
	ptl_seq_t link;
	ptl_ni_fail_t ni_fail_type;
	volatile ptl_seq_t sequence;
	int unlinked;
} ptl_unlinked_event_t;

/* They agree as far as the library writes. */
typedef char ptl_unlinked_event_begins_as_the_other[offsetof(ptl_unlinked_event_t, sequence) ==
									    offsetof(ptl_event_t, sequence) &&
								    offsetof(ptl_unlinked_event_t, md) ==
									    offsetof(ptl_event_t, md) &&
								    sizeof(ptl_unlinked_event_t) >= sizeof(ptl_event_t)
							    ? 1
							    : -1];

/* On PTL_EQ_EMPTY and errors there is no event, and only ni_fail_type was written, if anything. */
P3_INLINE int ptl_tell_unlinked(int code, ptl_unlinked_event_t *event)
{
	if (code == PTL_OK || code == PTL_EQ_DROPPED)
		event->unlinked = event->type == PTL_EVENT_UNLINK;
	return code;
}

P3_INLINE int ptl_eq_get_unlinked(ptl_handle_eq_t eq_handle, ptl_unlinked_event_t *event)
{
	return ptl_tell_unlinked(PtlEQGet(eq_handle, (ptl_event_t *)event), event);
}

P3_INLINE int ptl_eq_peek_unlinked(ptl_handle_eq_t eq_handle, ptl_unlinked_event_t *event)
{
	return ptl_tell_unlinked(PtlEQPeek(eq_handle, (ptl_event_t *)event), event);
}

P3_INLINE int ptl_eq_wait_unlinked(ptl_handle_eq_t eq_handle, ptl_unlinked_event_t *event)
{
	return ptl_tell_unlinked(PtlEQWait(eq_handle, (ptl_event_t *)event), event);
}

P3_INLINE int ptl_eq_poll_unlinked(ptl_handle_eq_t *eq_handles, int size, ptl_time_t timeout,
				   ptl_unlinked_event_t *event, int *which_eq)
{
	return ptl_tell_unlinked(PtlEQPoll(eq_handles, size, timeout, (ptl_event_t *)event, which_eq), event);
}

#define ptl_event_t ptl_unlinked_event_t
#define PtlEQGet    ptl_eq_get_unlinked
#define PtlEQPeek   ptl_eq_peek_unlinked
#define PtlEQWait   ptl_eq_wait_unlinked
#define PtlEQPoll   ptl_eq_poll_unlinked

#endif

#endif
