/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preparing to sleep on the completion queue's descriptor.
 *
 * That descriptor is an epoll set of the provider's sockets and of one internal signal, raised whenever a completion
 * is written.  fi_trywait() clears the signal, except on net of libfabric 1.17 and 1.18, where it is a stub that
 * answers "go to sleep" and leaves the descriptor readable for ever: a sleeper would burn its CPU.
 *
 * open() finds out, while no peer can reach us yet: it raises the signal with fi_cq_signal() and looks whether
 * fi_trywait() clears it.  If not, the signal stays up for good and tells nothing; nothing is lost, for with manual
 * progress completions are only written inside our own calls.  arm() then ignores its event in the set, and the
 * sleeper waits on an edge-triggered epoll of the set, which the stale signal does not wake but whatever happens on a
 * socket does.  (fi_cq_sread() would clear the signal, at the price of a millisecond inside the provider.)
 *
 * That is the general way.  Where what the descriptor watches can be taken out of it, sleepers watch just that, but the stale
 * signal: ofi_watch.c.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_sleep.h"
#include "transports/ofi/ofi_watch.h"

#define EVENTS 16

/*
 * Connections.  Peers wait while they are taken, and one that is not among them waits for the next look (LOOK_AFTER): as many
 * as a batch of completions is long keep both about equal.  It goes with LOOK_AFTER, by whose quotient a backlog shrinks:
 * both four times as great or as small take it down as fast.
 */
#define TAKEN_AT_A_TIME 16

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLIN;
}

/* Keeps what it finds for poll(), behind what is kept already; there must be room. */
static ssize_t stash_more(struct ofi *ofi)
{
	const int kept = ofi->stashed;
	ssize_t count = ofi_read_queue(ofi, &ofi->stash[kept], &ofi->stash_source[kept], (size_t)(OFI_BATCH - kept));

	if (count > 0)
		ofi->stashed += (int)count;
	return count;
}

/* 0: there is nothing. */
int ofi_fill_stash(struct ofi *ofi)
{
	return ofi->stashed || stash_more(ofi) != -FI_EAGAIN ? -EAGAIN : 0;
}

static void drop_stashed(struct ofi *ofi, int index)
{
	size_t rest = (size_t)(--ofi->stashed - index);

	memmove(&ofi->stash[index], &ofi->stash[index + 1], rest * sizeof(ofi->stash[0]));
	memmove(&ofi->stash_source[index], &ofi->stash_source[index + 1], rest * sizeof(ofi->stash_source[0]));
}

/*
 * The look for its end drives the provider, which may take from sockets what a sleeper was woken for, or is to be: `kept` tells
 * the engine, also of an error, which stays in the queue.
 */
bool ofi_completed_at_once(struct ofi *ofi, const struct ofi_operation *operation)
{
	const int before = ofi->stashed;
	ssize_t count = before < OFI_BATCH ? stash_more(ofi) : 0;
	bool completed = false;

	for (int i = before; i < ofi->stashed && !completed; i++)
		if ((completed = ofi->stash[i].op_context == operation))
			drop_stashed(ofi, i);
	ofi->base.kept = ofi->stashed > 0 || (count < 0 && count != -FI_EAGAIN);
	return completed;
}

static int try_wait(struct ofi *ofi)
{
	struct fid *queue = &ofi->cq->fid;

	ofi_clear_errno();
	return fi_trywait(ofi->fabric, &queue, 1) ? -EAGAIN : 0;
}

/*
 * tcp;ofi_rxm of libfabric 1.17 takes one connection from its listener in 10 ms, and one at each
 * fi_trywait().  Outsiders fill the kernel's queue faster: a newcomer behind thousands of them would wait longer
 * than PTL_CONNECT_TIMEOUT where no thread ever sleeps, and for as many attempts to sleep, each after a whole round of
 * polling, where one does.  So fi_trywait() is called once for each that waits.  What it clears is found by the
 * poll or the arm that follows.  (Where it is a stub, on net, every poll takes one.)  Without a descriptor for them
 * they stay in the kernel's queue, and looking at them again would be in vain.
 */
void ofi_take_connections(struct ofi *ofi)
{
	ofi->polls = 0;
	if (ofi->listener_fd < 0 || ofi->cq_fd < 0 || ofi->edge_fd >= 0)
		return;
	for (int i = 0; i < TAKEN_AT_A_TIME && is_readable(ofi->listener_fd) && report_descriptors(1) == 0; i++)
		try_wait(ofi);
}

static bool signal_goes_stale(struct ofi *ofi)
{
	fi_cq_signal(ofi->cq);
	return is_readable(ofi->cq_fd) && ofi_fill_stash(ofi) == 0 && try_wait(ofi) == 0 && is_readable(ofi->cq_fd);
}

/* The signal's event must be the only one that is ready, so that it is known from now on. */
static int work_around_stale_signal(struct ofi *ofi)
{
	struct epoll_event events[EVENTS], edge = {.events = EPOLLIN | EPOLLET};

	if (epoll_wait(ofi->cq_fd, events, EVENTS, 0) != 1)
		return -EOPNOTSUPP;
	ofi->stale_event = events[0].data.u64;
	ofi->edge_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ofi->edge_fd < 0 || epoll_ctl(ofi->edge_fd, EPOLL_CTL_ADD, ofi->cq_fd, &edge) != 0)
		return -errno;
	return 0;
}

/* After the completion queue is open and before the endpoint is.  Not being able to sleep is not an error. */
void ofi_sleep_prepare(struct ofi *ofi)
{
	ofi->base.limits.sleepable = false;
	if (fi_control(&ofi->cq->fid, FI_GETWAIT, &ofi->cq_fd) != 0) {
		ofi->cq_fd = -1;
		return;
	}
	if (signal_goes_stale(ofi) && work_around_stale_signal(ofi) != 0)
		return;
	ofi->base.limits.sleepable = true;
}

void ofi_sleep_destroy(struct ofi *ofi)
{
	if (ofi->edge_fd >= 0)
		close(ofi->edge_fd);
	ofi->edge_fd = ofi->cq_fd = -1; /* cq_fd belongs to the queue */
}

/* Forget old edges first: whatever happens after that either shows in the looks that follow or makes a new edge. */
static int arm_beside_stale_signal(struct ofi *ofi)
{
	struct epoll_event events[EVENTS];

	epoll_wait(ofi->edge_fd, events, 1, 0);
	if (ofi_fill_stash(ofi))
		return -EAGAIN;
	int count = epoll_wait(ofi->cq_fd, events, EVENTS, 0);
	for (int i = 0; i < count; i++)
		if (events[i].data.u64 != ofi->stale_event)
			return -EAGAIN;
	return 0;
}

static int arm(struct ofi *ofi)
{
	if (ofi->edge_fd >= 0 && ofi->watch_fd < 0)
		return arm_beside_stale_signal(ofi);
	ofi_take_connections(ofi);
	int rc = ofi_fill_stash(ofi);
	return rc || ofi->cq_fd < 0 ? rc : try_wait(ofi);
}

int ofi_arm(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);
	int rc = arm(ofi);

	if (rc)
		return rc;
	bool unwatched = ofi->watch_fd >= 0 && ofi_watch(ofi) != 0;

	/* Nothing tells when there is room for a buffer again, and poll() has yet to resolve doubts. */
	return unwatched || ofi->missing > 0 || ofi->doubts > 0;
}

int ofi_wait_fd(const struct transport *transport)
{
	const struct ofi *ofi = (const struct ofi *)transport;

	if (!transport->limits.sleepable)
		return -1;
	if (ofi->watch_fd >= 0)
		return ofi->watch_fd;
	return ofi->edge_fd >= 0 ? ofi->edge_fd : ofi->cq_fd;
}
