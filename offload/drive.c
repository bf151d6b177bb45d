/* SPDX-License-Identifier: BSD-3-Clause */
/* One bounded step of the engine, and how it is prepared to sleep.  Read DRIVING and SLEEPING in own.c first. */
#include <errno.h>

#include "base/cancel.h"
#include "offload/drive.h"
#include "offload/hold.h"
#include "offload/operation.h"
#include "offload/own.h"
#include "offload/peer/peer.h"
#include "offload/peer/peers.h"
#include "offload/transfer.h"

#define POLL_BUDGET  16
#define TIMER_DRIVES 8      /* the clock is read at every so many drives, and only while a timer is set */
#define BACKOFF_NS   200000 /* between polls of a transport that cannot be slept on */

static bool run_timers(struct nic *nic)
{
	UNCANCELLED;
	uint64_t now = monotonic_ns();

	nic_note_time(nic, now);
	if (now < nic->drive.timer)
		return false;
	nic->drive.timer = NIC_NEVER;
	peers_tick(nic, now);
	hold_tick(nic, now);
	return true;
}

int nic_drive(struct nic *nic)
{
	bool was_suspended = nic->suspension.seen; /* if it arises below, what was polled before proves nothing */
	int work = 0;

	nic->drive.needs_rearm = true;
	for (int i = 0; i < NIC_TRANSPORTS; i++) {
		struct transport *transport = nic->transports[i];

		if (!transport || transport->quiet)
			continue;
		nic->drive.polling = (enum nic_path)i;
		uint64_t start = timing_start(&nic->timing);
		int done = transport->ops->poll(transport, POLL_BUDGET);

		if (done <= 0)
			continue;
		timing_stop(&nic->timing, PTL_STAGE_POLL, start);
		work += done;
	}
	*((atomic_load_explicit(&nic->own, memory_order_relaxed) & NIC_OWNER_MASK) == NIC_HOST
		  ? &nic->counters.driven_by_host
		  : &nic->counters.driven_by_nic) += (unsigned)work;
	if (unlikely(nic->stalled.first != NULL))
		work += transfers_resume(nic);
	if (nic->peers.unsent)
		work += peers_flush(nic);
	if (nic->drive.timer != NIC_NEVER && ++nic->drive.count % TIMER_DRIVES == 0)
		run_timers(nic);
	if (unlikely(was_suspended) && work == 0)
		nic->suspension.seen = false;
	return work;
}

int nic_arm(struct nic *nic, uint64_t *until)
{
	UNCANCELLED;

	/* Timers may post events: a host that has looked for some looks again. */
	if (nic->drive.timer != NIC_NEVER && run_timers(nic))
		return -EAGAIN;
	*until = nic->drive.timer;
	for (int i = 0; i < NIC_TRANSPORTS; i++) {
		struct transport *transport = nic->transports[i];

		if (!transport)
			continue;
		int rc = transport->ops->arm(transport);

		if (rc < 0)
			return -EAGAIN;
		uint64_t interval = transport->limits.poll_interval * (uint64_t)1000;

		if (rc > 0 || nic->stalled.first || !transport->limits.sleepable)
			interval = BACKOFF_NS;
		if (interval && monotonic_ns() + interval < *until)
			*until = monotonic_ns() + interval;
	}
	return 0;
}

void nic_attach(struct nic *nic, enum nic_path path)
{
	struct transport *transport = nic->claimed[path];

	nic->transports[path] = transport;
	nic->doorbells.late[path] = transport->limits.late_doorbell;
	/* Pairs with the acquire in nic_sleep(). */
	atomic_store_explicit(&nic->doorbells.wait_fds[path], transport->ops->wait_fd(transport) + 1,
			      memory_order_release);
	nic->drive.needs_rearm = true; /* the sleeper has not armed it yet */
	nic_timer_at(nic, 0);
}
