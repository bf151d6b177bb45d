/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of portals3_nic.h. */
#include <errno.h>
#include <portals3_nic.h>
#include <string.h>

#include "base/report.h"
#include "portals/process.h"
#include "portals/refuse.h"
#include "portals/runtime/rank.h"
#include "portals/runtime/settings.h"

/* The interface an instrument call is about, or the code to return. */
static int find(ptl_handle_ni_t ni, const void *result, struct nic **nic)
{
	*nic = NULL;
	if (!result)
		return refuse_null("the result");
	if (!process_ready())
		return refuse_uninitialised();
	return (*nic = process_ni(ni)) ? PTL_OK : refuse_handle(PTL_NI_INVALID, ni);
}

static int set_timing(struct nic *nic, void *on)
{
	timing_set(&nic->timing, *(int *)on != 0);
	return PTL_OK;
}

int PtlNicTimingSet(ptl_handle_ni_t ni, int on)
{
	struct nic *nic;
	int code = find(ni, &on, &nic);

	return code ? code : process_code(nic_call(nic, set_timing, &on), PTL_FAIL);
}

static int read_timing(struct nic *nic, void *timing)
{
	timing_read(&nic->timing, timing);
	return PTL_OK;
}

int PtlNicTimingGet(ptl_handle_ni_t ni, ptl_nic_timing_t *timing)
{
	struct nic *nic;
	int code = find(ni, timing, &nic);

	return code ? code : process_code(nic_call(nic, read_timing, timing), PTL_FAIL);
}

int PtlNicTimingPrint(ptl_handle_ni_t ni, FILE *out)
{
	ptl_nic_timing_t timing;
	int code = out ? PtlNicTimingGet(ni, &timing) : refuse_null("out");

	if (code == PTL_OK)
		timing_print(&timing, out);
	return code;
}

static int read_counters(struct nic *nic, void *counters)
{
	nic->counters.kicks = atomic_load_explicit(&nic->kicks, memory_order_relaxed);
	*(ptl_nic_counters_t *)counters = nic->counters;
	return PTL_OK;
}

int PtlNicCounters(ptl_handle_ni_t ni, ptl_nic_counters_t *counters)
{
	struct nic *nic;
	int code = find(ni, counters, &nic);

	return code ? code : process_code(nic_call(nic, read_counters, counters), PTL_FAIL);
}

static int add_job(uint32_t interface, char *text, size_t size)
{
	size_t used = strlen(text);

	if (!process_lock())
		return PTL_FAIL;
	int length = rank_describe(interface, text + used, size - used);
	process_unlock();
	return (size_t)length < size - used ? PTL_OK : PTL_NO_SPACE;
}

int PtlNicInfo(ptl_handle_ni_t ni, char *text, size_t size)
{
	struct nic *nic;
	int code = find(ni, text, &nic);

	if (code || size == 0)
		return code ? code : PTL_NO_SPACE;
	text[0] = '\0';
	code = process_code(nic_describe(nic, text, size), PTL_FAIL);
	return code == PTL_OK ? add_job(handle_interface(ni), text, size) : code;
}

int PtlNicReady(ptl_handle_ni_t ni)
{
	struct nic *nic;
	int code = find(ni, &ni, &nic);

	if (code)
		return code;
	return nic_ready(nic) ? PTL_FAIL : PTL_OK;
}

const char *PtlNicErrorText(void)
{
	return report_last_error();
}

void PtlNicSettingsPrint(FILE *out)
{
	if (out)
		settings_print(out);
}
