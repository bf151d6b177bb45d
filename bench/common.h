/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that two processes of which one forked the other share, for what is measured without any library. */
#ifndef PTLBENCH_COMMON_H
#define PTLBENCH_COMMON_H

#include "bare.h"
#include "gauge.h"
#include "slots.h"

struct common {
	struct slot_queue queue[2];   /* by the role that reads */
	_Atomic uint32_t doorbell;    /* a futex that the target sleeps on */
	_Atomic uint64_t awake_at_ns; /* monotonic_ns() when the target awoke; 0: it has not */
	struct bare_lane lane[2];     /* by the role that writes */
	struct gauge_line line;
};

#endif
