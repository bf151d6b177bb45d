/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structures of portals3_nic.h, read for programs that may have been compiled with fewer or more members in them than
 * the library has.  What is common is copied, and what only the program has becomes 0.
 */
#define PtlNicTimingGet PtlNicTimingGet_inline
#define PtlNicCounters  PtlNicCounters_inline
#include <portals3_nic.h>
#undef PtlNicTimingGet
#undef PtlNicCounters

#include <string.h>

#include "base/report.h"
#include "portals/commands.h"

/* What programs have that were compiled when these two had no size argument: their structures' first members. */
#define FIRST_STAGES        22
#define FIRST_STAGE_BYTES   offsetof(ptl_stage_times_t, trimmed_mean)
#define FIRST_TIMING_BYTES  (FIRST_STAGES * FIRST_STAGE_BYTES + offsetof(struct totals, messages_in_batches))
#define FIRST_COUNTER_BYTES (offsetof(ptl_nic_counters_t, allocations) + sizeof(uint64_t))
int PtlNicTimingGet(ptl_handle_ni_t ni, void *timing);
int PtlNicCounters(ptl_handle_ni_t ni, void *counters);

/* What follows the stages in ptl_nic_timing_t. */
struct totals {
	uint64_t messages, entries_walked;
	double clock_cost;
	const char *clock;
	uint64_t messages_in_batches;
};

_Static_assert(PTL_STAGE_REGISTER + 1 == FIRST_STAGES, "new stages come behind those that programs know");
_Static_assert(sizeof(ptl_nic_timing_t) - offsetof(ptl_nic_timing_t, messages) == sizeof(struct totals),
	       "members are added behind those that programs know");

static void copy(void *to, size_t room, const void *from, size_t length)
{
	size_t common = room < length ? room : length;

	memcpy(to, from, common);
	memset((char *)to + common, 0, room - common);
}

int PtlNicTimingRead(ptl_handle_ni_t ni, ptl_nic_timing_t *timing, size_t size, size_t stage_size, unsigned stages)
{
	ptl_nic_timing_t now;
	struct nic *nic;
	int code = commands_interface(ni, timing, &nic);

	if (code)
		return code;
	if (stage_size > size || stages > size / (stage_size ? stage_size : 1))
		return report_error(PTL_NO_SPACE, "%u stages of %zu bytes are not in %zu bytes", stages, stage_size,
				    size);
	timing_read(&nic->timing,
		    &now); /* by the caller: means of batches take long, and messages must not wait for them */
	char *to = (char *)timing;

	for (unsigned i = 0; i < stages; i++, to += stage_size)
		if (i < PTL_STAGE_COUNT)
			copy(to, stage_size, &now.stage[i], sizeof(now.stage[i]));
		else
			memset(to, 0, stage_size);
	copy(to, size - stages * stage_size, &now.messages, sizeof(now) - offsetof(ptl_nic_timing_t, messages));
	return PTL_OK;
}

int PtlNicTimingGet(ptl_handle_ni_t ni, void *timing)
{
	return PtlNicTimingRead(ni, timing, FIRST_TIMING_BYTES, FIRST_STAGE_BYTES, FIRST_STAGES);
}

static int read_counters(struct nic *nic, void *counters)
{
	*(ptl_nic_counters_t *)counters = *nic_counters(nic);
	return 0;
}

int PtlNicCountersRead(ptl_handle_ni_t ni, ptl_nic_counters_t *counters, size_t size)
{
	ptl_nic_counters_t now;
	struct nic *nic;
	int code = commands_interface(ni, counters, &nic);

	if (code || (code = process_code(nic_call(nic, read_counters, &now), PTL_FAIL)))
		return code;
	copy(counters, size, &now, sizeof(now));
	return PTL_OK;
}

int PtlNicCounters(ptl_handle_ni_t ni, void *counters)
{
	return PtlNicCountersRead(ni, counters, FIRST_COUNTER_BYTES);
}
