/* SPDX-License-Identifier: BSD-3-Clause */
/* The doorbells of an engine, and the sleep that they end.  Read the design note of own.c first, SLEEPING. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/report.h"
#include "offload/doorbell.h"
#include "offload/own.h"

void nic_write_doorbell(struct nic *nic, int event)
{
	UNCANCELLED;
	const uint64_t one = 1;
	uint64_t start = timing_start(&nic->timing);

	atomic_store_explicit(&nic->sleep.woken_at, start, memory_order_relaxed);
	atomic_fetch_add_explicit(&nic->sleep.wakes, 1, memory_order_relaxed);
	/* Cannot fail: the counter would have to overflow. */
	if (write(event, &one, sizeof(one)) != sizeof(one))
		report(LOG_ERROR, "cannot write to the doorbell of interface %u: %s", nic->index, strerror(errno));
	timing_stop(&nic->timing, PTL_STAGE_DOORBELL, start);
}

void nic_wake(struct nic *nic)
{
	if (atomic_load(&nic->sleep.sleeper) == SLEEPER_HOST)
		nic_write_doorbell(nic, nic->doorbells.host);
	else if (atomic_exchange(&nic->sleep.nic_asleep,
				 false)) /* one wake-up a sleep: from here on it counts as awake */
		nic_write_doorbell(nic, nic->doorbells.nic);
}

void nic_set_alarm(struct nic *nic, uint64_t ns)
{
	UNCANCELLED;
	const uint64_t after = ns > 0 ? ns : 1; /* 0 would be never */
	const struct itimerspec once = {
		.it_value = {.tv_sec = (time_t)(after / 1000000000u), .tv_nsec = (long)(after % 1000000000u)}};

	if (nic->doorbells.alarm < 0 || timerfd_settime(nic->doorbells.alarm, 0, &once, NULL))
		nic_write_doorbell(nic, nic->doorbells.nic);
}

void nic_wake_all(struct nic *nic)
{
	nic_write_doorbell(nic, nic->doorbells.host);
	nic_write_doorbell(nic, nic->doorbells.nic);
}

/* poll() ignores negative descriptors. */
static int watched_fd(struct nic *nic, int path, enum nic_watch watch)
{
	/* Acquire pairs with the release in nic_attach(), after which nic_wake_all() makes us look again. */
	int fd = atomic_load_explicit(&nic->doorbells.wait_fds[path], memory_order_acquire) - 1;

	return fd >= 0 && (watch == WATCH_TRANSPORTS || (watch == WATCH_LATE_DOORBELL && nic->doorbells.late[path]))
		       ? fd
		       : -1;
}

bool nic_sleep(struct nic *nic, int event, enum nic_watch watch, uint64_t until)
{
	struct pollfd wait[2 + NIC_TRANSPORTS] = {
		{.fd = event, .events = POLLIN},
		{.fd = watch == WATCH_ALARM ? nic->doorbells.alarm : -1, .events = POLLIN}};
	struct timespec left = {0};
	uint64_t now = until == NIC_NEVER ? 0 : monotonic_ns(), count;

	for (int i = 0; i < NIC_TRANSPORTS; i++)
		wait[i + 2] = (struct pollfd){.fd = watched_fd(nic, i, watch), .events = POLLIN};
	if (until > now) {
		left.tv_sec = (time_t)((until - now) / 1000000000u);
		left.tv_nsec = (long)((until - now) % 1000000000u);
	}
	int ready = ppoll(wait, 2 + NIC_TRANSPORTS, until == NIC_NEVER ? NULL : &left, NULL);

	if (ready <= 0)
		return false;
	if (wait[0].revents && read(event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		report(LOG_ERROR, "cannot read a doorbell: %s", strerror(errno));
	if (wait[1].revents && read(nic->doorbells.alarm, &count, sizeof(count)) < 0 && errno != EAGAIN)
		report(LOG_ERROR, "cannot read an alarm: %s", strerror(errno));
	return ready > (wait[0].revents != 0) + (wait[1].revents != 0);
}
