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

static const struct {
	const char *article, *name;
	int invalid;
} kinds[] = {[HANDLE_NI] = {"a", "network interface", PTL_NI_INVALID},
	     [HANDLE_ME] = {"a", "match entry", PTL_ME_INVALID},
	     [HANDLE_MD] = {"a", "memory descriptor", PTL_MD_INVALID},
	     [HANDLE_EQ] = {"an", "event queue", PTL_EQ_INVALID}};

/* PTL_HANDLE_INVALID wants an object of any kind. */
static const char *wanted_by(int code)
{
	for (int kind = HANDLE_NI; kind <= HANDLE_EQ; kind++)
		if (kinds[kind].invalid == code)
			return kinds[kind].name;
	return "object";
}

int refuse_handle(int code, ptl_handle_any_t handle)
{
	enum handle_kind kind = handle_kind(handle);
	uint32_t generation = handle_generation(handle);

	if (handle == PTL_EQ_NONE || handle == PTL_INVALID_HANDLE)
		return report_error(code, "0x%x (%s) is a handle of nothing; %s wanted", handle,
				    handle == PTL_EQ_NONE ? "PTL_EQ_NONE" : "PTL_INVALID_HANDLE", wanted_by(code));
	if (handle == 0 && code == PTL_EQ_INVALID) /* what a descriptor has whose program left the field out */
		return report_error(code,
				    "0x0 is a handle of nothing; event queue wanted, or PTL_EQ_NONE in a descriptor "
				    "that logs no events");
	if (generation == 0 || generation > NIC_HANDLE_GENERATIONS)
		return report_error(code, "0x%x is a handle of nothing; %s wanted", handle, wanted_by(code));
	if (code != PTL_HANDLE_INVALID && code != kinds[kind].invalid)
		return report_error(code, "handle 0x%x is one of %s %s; %s wanted", handle, kinds[kind].article,
				    kinds[kind].name, wanted_by(code));
	return report_error(code, "handle 0x%x: this %s is gone, or never was", handle, kinds[kind].name);
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
