/* SPDX-License-Identifier: BSD-3-Clause */
/* PtlProgress: driving an interface without waiting for an event. */
#include "offload/wait.h"
#include "portals/process.h"

int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout)
{
	ptl_handle_ni_t ni_handle;
	int code = PtlNIHandle(handle, &ni_handle);

	if (code)
		return code;
	struct nic *nic = process_ni(ni_handle);
	uint64_t start = monotonic_ns();

	while (nic && nic_step(nic) > 0 && monotonic_ns() - start < (uint64_t)timeout * 1000000u)
		;
	return PTL_OK;
}
