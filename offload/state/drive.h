/* SPDX-License-Identifier: BSD-3-Clause */
/* What one drive leaves for the next, and for arm().  Owner only. */
#ifndef PORTALS_OFFLOAD_STATE_DRIVE_H
#define PORTALS_OFFLOAD_STATE_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "offload/peer/peer_table.h"

struct drive {
	enum nic_path polling; /* whose arrivals are being handled */
	bool needs_rearm;      /* since ownership was taken something happened that arm() has to be asked about */
	uint64_t timer;        /* when run_timers() in drive.c has something to do, NIC_NEVER if not */
	uint32_t count;
	unsigned past_sleeper;                        /* drives since the NIC thread went to sleep */
	uint64_t host_sleeps_until, nic_sleeps_until; /* what each sleeper believes, while it sleeps */
};

/* Whether this process stood still, so that peers may have given it up: see nic_note_time(). */
struct suspension {
	uint64_t clock_at; /* the last reading of the clock */
	bool seen;         /* it did, and what came meanwhile has not all been handled */
};

#endif
