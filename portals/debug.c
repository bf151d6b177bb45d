/* SPDX-License-Identifier: BSD-3-Clause */
/* PtlNIDebug: what is traced.  The tracing itself is the engine's (offload/trace.h). */
#include "portals/debug.h"

#include <p3api/debug.h>

#include "base/report.h"
#include "portals/process.h"

static _Atomic unsigned mask_for_new;

uint32_t debug_default(uint32_t interface)
{
	unsigned mask = atomic_load_explicit(&mask_for_new, memory_order_relaxed);
	unsigned interfaces = mask & PTL_DBG_NI_ALL;

	return !interfaces || interfaces & PTL_DBG_NI_00 << interface ? mask & PTL_DBG_ALL : PTL_DBG_NONE;
}

void debug_preset(uint32_t mask)
{
	if (mask == PTL_DBG_NONE)
		return;
	report_errors_aloud(mask & PTL_DBG_API);
	atomic_store_explicit(&mask_for_new, mask, memory_order_relaxed);
}

struct exchange {
	uint32_t mask, before;
};

static int set_mask(struct nic *nic, void *argument)
{
	struct exchange *exchange = argument;

	exchange->before = nic->trace;
	nic->trace = exchange->mask;
	return PTL_OK;
}

unsigned PtlNIDebug(ptl_handle_ni_t ni_handle, unsigned mask)
{
	struct exchange exchange = {.mask = mask & PTL_DBG_ALL};
	struct nic *nic = NULL;

	if (!process_ready() || (ni_handle != PTL_INVALID_HANDLE && !(nic = process_ni(ni_handle))))
		return 0;
	report_errors_aloud(mask & PTL_DBG_API);
	if (!nic)
		return atomic_exchange_explicit(&mask_for_new, mask, memory_order_relaxed);
	nic_call(nic, set_mask, &exchange);
	return exchange.before;
}
