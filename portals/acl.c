/* SPDX-License-Identifier: BSD-3-Clause */
/* The access control table. */
#include "portals/process.h"
#include "portals/refuse.h"

struct ac_arguments {
	ptl_ac_index_t index;
	struct acl_entry entry;
};

static int set_entry(struct nic *nic, void *argument)
{
	const struct ac_arguments *arguments = argument;

	nic->objects.acl[arguments->index] = arguments->entry;
	return 0;
}

int PtlACEntry(ptl_handle_ni_t ni_handle, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t user_id,
	       ptl_jid_t job_id, ptl_pt_index_t pt_index)
{
	struct ac_arguments arguments = {
		.index = ac_index, .entry = {.id = match_id, .uid = user_id, .jid = job_id, .pt_index = pt_index}};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	if (ac_index > (uint32_t)nic->limits.max_ac_index)
		return report_error(PTL_AC_INDEX_INVALID,
				    "access control index %u, at most %d is allowed (max_ac_index)", ac_index,
				    nic->limits.max_ac_index);
	if (pt_index != PTL_PT_INDEX_ANY && pt_index > (uint32_t)nic->limits.max_pt_index)
		return refuse_pt_index(nic, pt_index);
	return process_code(nic_call(nic, set_entry, &arguments), PTL_FAIL);
}
