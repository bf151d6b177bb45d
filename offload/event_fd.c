/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors for event loops: an eventfd per queue that asks for one (PtlNicEventFd), in the program's epoll or poll.
 *
 * A queue is ANNOUNCED while its descriptor is readable, else ARMED.  Both changes are made under ownership, as all
 * posting is, so that none of this needs a fence:
 *     post     armed: announced, by one write; announced already: nothing.  A burst is one write.
 *     look     PtlEQGet that finds nothing in an announced queue empties the descriptor, which arms it, unless there is an
 *              event after all.
 * Hence, whenever no thread owns the engine, an event that was not taken implies a readable descriptor: a loop that goes to sleep
 * is woken, however few events it took before, and by whatever thread they are posted.  The reverse does not hold: other
 * threads, or PtlEQPoll, may have taken what was announced.
 *
 * What a loop does without a system call: taking events, and looking in vain at an armed queue.  A thread that looks so polls
 * (one that sleeps has been announced to): only then PtlEQGet drives, as it does for queues without a descriptor, and
 * tells the NIC thread that hosts do.  What such a drive posts to the queue that is looked at needs no announcement
 * either: the caller takes it; what it leaves is announced before ownership is given back.
 * A thread that looks at an announced queue does not drive, and leaves no trace in host_drives: the NIC thread goes on at once, and
 * need not wait for a tick until it sees that a host has gone to sleep in its own epoll.
 *
 * A thread has to drive while the loop sleeps: the NIC thread, or another thread in PtlEQWait.  Mode `host` has none: it is refused.
 * The looks are in wait.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/report.h"
#include "offload/event_fd.h"
#include "offload/nic.h"

static int descriptor_of(const struct event_queue *eq)
{
	return atomic_load_explicit(&eq->event_fd, memory_order_relaxed) - 1;
}

int event_fd_open(struct nic *nic, struct event_queue *eq)
{
	UNCANCELLED;

	if (nic->mode == NIC_MODE_HOST)
		return report_error(-ENOTSUP,
				    "no event descriptors in mode host: no thread would drive interface %u while "
				    "the program sleeps (PTL_NIC_MODE)",
				    nic->index);
	if (descriptor_of(eq) >= 0)
		return descriptor_of(eq);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return report_error(-errno, "no descriptor for event queue 0x%x: %s", eq->handle, strerror(errno));
	atomic_store_explicit(&eq->event_fd, fd + 1, memory_order_relaxed);
	eq->waiters++;         /* as if a thread were blocked on it: events look no further on their way */
	event_fd_announce(eq); /* there may be events already */
	return fd;
}

void event_fd_close(struct event_queue *eq)
{
	UNCANCELLED;
	int fd = descriptor_of(eq);

	if (fd < 0)
		return;
	eq->waiters--;
	atomic_store_explicit(&eq->announced, false, memory_order_relaxed);
	atomic_store_explicit(&eq->event_fd, 0, memory_order_relaxed);
	close(fd);
}

void event_fds_close(struct nic *nic)
{
	struct event_queue *eq;

	for (uint32_t i = 0; nic->objects.queues.objects && (eq = pool_next(&nic->objects.queues, &i));)
		event_fd_close(eq);
}

void event_fd_announce(struct event_queue *eq)
{
	UNCANCELLED;
	const uint64_t one = 1;

	if (atomic_load_explicit(&eq->announced, memory_order_relaxed))
		return;
	atomic_store_explicit(&eq->announced, true, memory_order_relaxed);
	/* Cannot fail: the counter would have to overflow. */
	if (write(descriptor_of(eq), &one, sizeof(one)) != sizeof(one))
		report(LOG_ERROR, "cannot announce the events of queue 0x%x: %s", eq->handle, strerror(errno));
}

void event_fd_arm(struct event_queue *eq)
{
	UNCANCELLED;
	uint64_t count;

	if (!atomic_load_explicit(&eq->announced, memory_order_relaxed))
		return;
	if (read(descriptor_of(eq), &count, sizeof(count)) < 0 && errno != EAGAIN)
		report(LOG_ERROR, "cannot read the descriptor of event queue 0x%x: %s", eq->handle, strerror(errno));
	atomic_store_explicit(&eq->announced, false, memory_order_relaxed);
}
