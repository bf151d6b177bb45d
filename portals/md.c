/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory descriptors.  Each call is one command to the engine (offload/md.c). */
#include "offload/md.h"
#include "portals/commands.h"
#include "portals/refuse.h"

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

	code = commands_queue_code(nic, code, arguments.foreign_queue, md.eq_handle);
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
	int code = process_code(nic_call(nic, md_bind, &arguments), PTL_MD_ILLEGAL);

	code = commands_queue_code(nic, code, arguments.foreign_queue, md.eq_handle);
	if (code == PTL_OK)
		*md_handle = arguments.handle;
	return code;
}

int PtlMDUnlink(ptl_handle_md_t md_handle)
{
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(md_handle)))
		return refuse_handle(PTL_MD_INVALID, md_handle);
	return process_code(nic_call(nic, md_unlink, &md_handle), PTL_FAIL);
}

int PtlMDUpdate(ptl_handle_md_t md_handle, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq_handle)
{
	ptl_md_t wanted = new_md ? *new_md : (ptl_md_t){0}; /* the two may be the same structure */
	struct md_update arguments = {
		.md_handle = md_handle, .old_md = old_md, .new_md = new_md ? &wanted : NULL, .test_queue = eq_handle};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(md_handle)))
		return refuse_handle(PTL_MD_INVALID, md_handle);
	int code = process_code(nic_call(nic, md_update, &arguments), PTL_MD_ILLEGAL);

	return commands_queue_code(nic, code, arguments.foreign_queue, wanted.eq_handle);
}
