/* SPDX-License-Identifier: BSD-3-Clause */
/* PtlProgress: driving an interface without waiting for an event. */
#include "portals/process.h"

/* One bounded step if nobody else is at work.  Returns how much was done; -1: somebody else does it. */
static int step(struct nic *nic)
{
	if (!nic_try_own(nic))
		return -1;
	int work = nic_drive(nic);

	nic_release(nic);
	return work;
}

int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout)
{
	ptl_handle_ni_t ni_handle;
	int code = PtlNIHandle(handle, &ni_handle);

	if (code)
		return code;
	struct nic *nic = process_ni(ni_handle);
	uint64_t start = monotonic_ns();

	while (nic && step(nic) > 0 && monotonic_ns() - start < (uint64_t)timeout * 1000000u)
		;
	return PTL_OK;
}
