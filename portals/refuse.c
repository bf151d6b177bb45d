/* SPDX-License-Identifier: BSD-3-Clause */
#include "portals/refuse.h"

int refuse_uninitialised(void)
{
	return report_error(PTL_NO_INIT,
			    "PtlInit was not called, or PtlFini was; a forked child has to call PtlFini and "
			    "PtlInit");
}

int refuse_null(const char *argument)
{
	return report_error(PTL_SEGV, "%s must not be NULL", argument);
}

int refuse_handle(int code, ptl_handle_any_t handle)
{
	handle_refuse(code, handle);
	return code;
}

int refuse_wildcard(ptl_process_id_t id)
{
	return report_error(PTL_PROCESS_INVALID, "%s is a wildcard, which names no single process (nid 0x%x, pid 0x%x)",
			    id.nid == PTL_NID_ANY ? "PTL_NID_ANY" : "PTL_PID_ANY", id.nid, id.pid);
}

int refuse_pt_index(const struct nic *nic, ptl_pt_index_t index)
{
	return report_error(PTL_PT_INDEX_INVALID, "portal table index %u, at most %d is allowed (max_pt_index)", index,
			    nic->limits.max_pt_index);
}
