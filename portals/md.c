/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory descriptors.  Each call is one command to the engine. */
#include <errno.h>

#include "offload/trace.h"
#include "portals/commands.h"
#include "portals/refuse.h"

/* The queue an event handle names: PTL_EQ_INVALID, or PTL_MD_ILLEGAL if it belongs to another interface. */
static int find_queue(struct nic *nic, ptl_handle_eq_t handle, struct event_queue **eq)
{
	*eq = NULL;
	if (handle == PTL_EQ_NONE)
		return PTL_OK;
	if (handle_kind(handle) == HANDLE_EQ && handle_interface(handle) != nic->index) {
		struct nic *other = process_nic(handle);

		return other && handle_eq_unowned(other, handle)
			       ? report_error(PTL_MD_ILLEGAL,
					      "event queue 0x%x is of interface %u, the descriptor of %u", handle,
					      other->index, nic->index)
			       : refuse_handle(PTL_EQ_INVALID, handle);
	}
	*eq = handle_eq(nic, handle);
	return *eq ? PTL_OK : refuse_handle(PTL_EQ_INVALID, handle);
}

static int create(struct nic *nic, struct md_arguments *arguments, struct match_entry *entry)
{
	struct event_queue *eq;
	struct descriptor *md;
	int code = find_queue(nic, arguments->md->eq_handle, &eq);

	if (code)
		return code;
	code = descriptor_create(nic, arguments->md, arguments->unlink, eq, entry, &md);
	if (code)
		return code;
	md->handle = arguments->handle = handle_of(nic, HANDLE_MD, &md->item);
	trace(nic, PTL_DBG_MD, "md 0x%x, %llu bytes at %p, threshold %d, options 0x%x", md->handle,
	      (unsigned long long)md->region.length, md->user_start, md->threshold, md->options);
	return PTL_OK;
}

int md_attach(struct nic *nic, void *argument)
{
	struct md_arguments *arguments = argument;
	struct match_entry *entry = handle_me(nic, arguments->object);

	if (!entry)
		return refuse_handle(PTL_ME_INVALID, arguments->object);
	if (entry->descriptor)
		return report_error(PTL_ME_IN_USE, "match entry 0x%x has a memory descriptor already", entry->handle);
	return create(nic, arguments, entry);
}

static int bind(struct nic *nic, void *arguments)
{
	return create(nic, arguments, NULL);
}

int PtlMDAttach(ptl_handle_me_t me_handle, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *md_handle)
{
	struct md_arguments arguments = {.object = me_handle, .md = &md, .unlink = unlink_op};
	struct nic *nic;

	if (!md_handle)
		return refuse_null("md_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(me_handle)))
		return refuse_handle(PTL_ME_INVALID, me_handle);
	int code = commands_post_receive(nic, md_attach, &arguments, PTL_MD_ILLEGAL);

	if (code == PTL_OK)
		*md_handle = arguments.handle;
	return code;
}

int PtlMDBind(ptl_handle_ni_t ni_handle, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *md_handle)
{
	struct md_arguments arguments = {.md = &md, .unlink = unlink_op};
	struct nic *nic;

	if (!md_handle)
		return refuse_null("md_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	int code = process_code(nic_call(nic, bind, &arguments), PTL_MD_ILLEGAL);

	if (code == PTL_OK)
		*md_handle = arguments.handle;
	return code;
}

static int unlink_descriptor(struct nic *nic, void *argument)
{
	struct descriptor *md = handle_md(nic, *(ptl_handle_md_t *)argument);

	if (!md)
		return refuse_handle(PTL_MD_INVALID, *(ptl_handle_md_t *)argument);
	if (md->pending > 0)
		return report_nothing(PTL_MD_IN_USE);
	descriptor_unlink(nic, md, false);
	return PTL_OK;
}

int PtlMDUnlink(ptl_handle_md_t md_handle)
{
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(md_handle)))
		return refuse_handle(PTL_MD_INVALID, md_handle);
	return process_code(nic_call(nic, unlink_descriptor, &md_handle), PTL_FAIL);
}

struct update_arguments {
	ptl_handle_md_t md_handle;
	ptl_md_t *old_md;
	const ptl_md_t *new_md;
	ptl_handle_eq_t test_queue;
};

int md_queue_test(struct nic *nic, ptl_handle_eq_t handle)
{
	struct event_queue *eq = handle == PTL_EQ_NONE ? NULL : handle_eq(nic, handle);

	if (!eq)
		return handle == PTL_EQ_NONE ? PTL_OK : refuse_handle(PTL_EQ_INVALID, handle);
	return event_unread(eq) == 0 && eq->underway == 0 ? PTL_OK : report_nothing(PTL_MD_NO_UPDATE);
}

static int update(struct nic *nic, void *argument)
{
	const struct update_arguments *arguments = argument;
	struct descriptor *md = handle_md(nic, arguments->md_handle);
	int code = md_queue_test(nic, arguments->test_queue);
	struct event_queue *eq;

	if (!md)
		return refuse_handle(PTL_MD_INVALID, arguments->md_handle);
	if (code == PTL_EQ_INVALID)
		return code;
	if (arguments->old_md)
		descriptor_describe(md, arguments->old_md);
	if (code || !arguments->new_md)
		return arguments->new_md ? code : PTL_OK;
	if ((code = find_queue(nic, arguments->new_md->eq_handle, &eq)))
		return code;
	return descriptor_update(nic, md, arguments->new_md, eq);
}

int PtlMDUpdate(ptl_handle_md_t md_handle, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq_handle)
{
	ptl_md_t wanted = new_md ? *new_md : (ptl_md_t){0}; /* the two may be the same structure */
	struct update_arguments arguments = {
		.md_handle = md_handle, .old_md = old_md, .new_md = new_md ? &wanted : NULL, .test_queue = eq_handle};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(md_handle)))
		return refuse_handle(PTL_MD_INVALID, md_handle);
	return process_code(nic_call(nic, update, &arguments), PTL_MD_ILLEGAL);
}
