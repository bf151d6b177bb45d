/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory descriptors: what is done to them under ownership. */
#include "offload/md.h"

#include "base/report.h"
#include "offload/handle.h"
#include "offload/trace.h"

/*
 * The queue an event handle names.  Refused with PTL_EQ_INVALID, or with PTL_MD_ILLEGAL and *foreign if the handle is of
 * another interface.
 */
static int find_queue(struct nic *nic, ptl_handle_eq_t handle, struct event_queue **eq, bool *foreign)
{
	*eq = NULL;
	if (handle == PTL_EQ_NONE)
		return 0;
	if (handle_kind(handle) == HANDLE_EQ && handle_interface(handle) != nic->index) {
		*foreign = true;
		return report_nothing(refusal(PTL_MD_ILLEGAL));
	}
	*eq = handle_eq(nic, handle);
	return *eq ? 0 : handle_refuse(PTL_EQ_INVALID, handle);
}

static int create(struct nic *nic, struct md_arguments *arguments, struct match_entry *entry)
{
	struct event_queue *eq;
	struct descriptor *md;
	int code = find_queue(nic, arguments->md->eq_handle, &eq, &arguments->foreign_queue);

	if (code)
		return code;
	code = descriptor_create(nic, arguments->md, arguments->unlink, eq, entry, &md);
	if (code)
		return code;
	md->handle = arguments->handle = handle_of(nic, HANDLE_MD, &md->item);
	trace(nic, PTL_DBG_MD, "md 0x%x, %llu bytes at %p, threshold %d, options 0x%x", md->handle,
	      (unsigned long long)md->region.length, md->user_start, md->threshold, md->options);
	return 0;
}

int md_attach(struct nic *nic, void *argument)
{
	struct md_arguments *arguments = argument;
	struct match_entry *entry = handle_me(nic, arguments->object);

	if (!entry)
		return handle_refuse(PTL_ME_INVALID, arguments->object);
	if (entry->descriptor)
		return report_error(refusal(PTL_ME_IN_USE), "match entry 0x%x has a memory descriptor already",
				    entry->handle);
	return create(nic, arguments, entry);
}

int md_bind(struct nic *nic, void *arguments)
{
	return create(nic, arguments, NULL);
}

int md_unlink(struct nic *nic, void *argument)
{
	struct descriptor *md = handle_md(nic, *(ptl_handle_md_t *)argument);

	if (!md)
		return handle_refuse(PTL_MD_INVALID, *(ptl_handle_md_t *)argument);
	if (md->pending > 0)
		return report_nothing(refusal(PTL_MD_IN_USE));
	descriptor_unlink(nic, md, false);
	return 0;
}

int md_queue_test(struct nic *nic, ptl_handle_eq_t handle)
{
	struct event_queue *eq = handle == PTL_EQ_NONE ? NULL : handle_eq(nic, handle);

	if (!eq)
		return handle == PTL_EQ_NONE ? 0 : handle_refuse(PTL_EQ_INVALID, handle);
	return event_unread(eq) == 0 && eq->underway == 0 ? 0 : report_nothing(refusal(PTL_MD_NO_UPDATE));
}

int md_update(struct nic *nic, void *argument)
{
	struct md_update *arguments = argument;
	struct descriptor *md = handle_md(nic, arguments->md_handle);
	int code = md_queue_test(nic, arguments->test_queue);
	struct event_queue *eq;

	if (!md)
		return handle_refuse(PTL_MD_INVALID, arguments->md_handle);
	if (code == refusal(PTL_EQ_INVALID))
		return code;
	if (arguments->old_md)
		descriptor_describe(md, arguments->old_md);
	if (code || !arguments->new_md)
		return arguments->new_md ? code : 0;
	if ((code = find_queue(nic, arguments->new_md->eq_handle, &eq, &arguments->foreign_queue)))
		return code;
	return descriptor_update(nic, md, arguments->new_md, eq);
}
