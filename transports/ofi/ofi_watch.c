/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the completion queue's descriptor watches, watched only while a thread sleeps.
 *
 * On tcp;ofi_rxm and net that descriptor is an epoll set, of internal signals and of further epoll sets, which the provider
 * polls for itself and in which its sockets are.  This has a price while no thread sleeps:
 *   - For each segment that arrives the kernel walks from the socket through all sets above it.
 *   - tcp;ofi_rxm has a second queue within the first.  Each completion raises that one's signal, the next poll finds it in
 *     the set of the sockets and clears it: a write, a read and another round of epoll for every message.
 * (A queue that cannot be slept on is no way out: the provider then calls poll() for all its connections, 45 ns for each.)
 *
 * So when the endpoint has been enabled we take these entries out: all of the descriptor's, and the signal of a set in which there is
 * nothing else yet (of the sockets' sets only those of connections are empty then; the listener's is not).  A set of our own, on which
 * sleepers wait, gets them from arm() on, with the descriptor itself: whatever the provider adds to that later is watched as ever.
 *
 * To begin and to end it has its price, too: for each set that is added the kernel walks through all that is in it, every connection,
 * and holds a lock that there is once in the machine.  So nothing is taken out again before what was watched in vain has cost about
 * as much (ofi_watching_costs_more()): that is at most twice what it would cost to know the future.  A process that sleeps for each message
 * stays watched, and so does a sleeper beside which another thread polls an empty queue.
 *
 * No wake-up is lost, because a sleeper's set watches just what the descriptor watched:
 *   - The provider goes on to add sockets to its sets and to take them out; we hold the sets, not the sockets.
 *   - Sets, sockets and signals are level-triggered: whatever became ready before arm() added it is found when it is added.
 *   - A signal that is not polled stays raised until fi_trywait() clears it, behind which the provider looks for
 *     completions; whatever completes later raises it again.
 *   - A thread that drives while another one sleeps may take the entries out, in poll() only, and adds them again with the arm() before it
 *     gives back ownership (own.c (1)).  What is ready then wakes the sleeper, which waits on our set all the time.
 *   - If they stayed, a sleeper wakes early at worst: for what the other thread handles, or for a signal that the next arm() clears.
 *     They are not edges that another thread could have used up: whatever is ready when it looks, or becomes so, wakes it.
 * One entry is taken out for good: net's signal that goes stale (ofi_sleep.c).
 *
 * Sets of sets are seen in /proc.  Where they are not, or look otherwise, sleepers wait on the descriptor itself.  Where they look the
 * same in a version of libfabric in which it was not tried, sleepers also look by themselves now and then
 * (limits.poll_interval).
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_watch.h"

#define TESTED FI_VERSION(1, 17)

void ofi_for_each_watched(int set, void (*act)(void *, const struct ofi_watched *), void *argument)
{
	char path[64], line[256];
	struct ofi_watched entry = {.set = set};

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", set);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		entry.inode = 0;
		if (sscanf(line, "tfd: %d events: %*x data: %lx pos:%*d ino:%lx", &entry.fd, &entry.data,
			   &entry.inode) >= 2)
			act(argument, &entry);
	}
	fclose(file);
}

struct listing {
	struct ofi_watched entries[OFI_WATCHED];
	unsigned count; /* may exceed OFI_WATCHED */
};

static void list_entry(void *argument, const struct ofi_watched *entry)
{
	struct listing *listing = argument;

	if (listing->count < OFI_WATCHED)
		listing->entries[listing->count] = *entry;
	listing->count++;
}

static unsigned list(int set, struct listing *listing)
{
	listing->count = 0;
	ofi_for_each_watched(set, list_entry, listing);
	return listing->count;
}

static bool is_socket_of_network(int fd)
{
	socklen_t size = sizeof(int);
	int domain = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET;
}

static bool is_stale(const struct ofi *ofi, const struct ofi_watched *entry)
{
	return ofi->edge_fd >= 0 && entry->set == ofi->cq_fd && entry->data == ofi->stale_event;
}

static int take(struct ofi *ofi, const struct ofi_watched *entry)
{
	if (ofi->watched_count == OFI_WATCHED || epoll_ctl(entry->set, EPOLL_CTL_DEL, entry->fd, NULL) != 0)
		return -EOPNOTSUPP;
	ofi->watched[ofi->watched_count++] = *entry;
	return 0;
}

/* Of the queue's own descriptor: what it watches, and the signal of a set of sockets to come. */
static int take_with_signal(struct ofi *ofi, const struct ofi_watched *entry)
{
	struct listing inner;

	if (is_stale(ofi, entry))
		return take(ofi, entry);
	if (is_socket_of_network(entry->fd)) /* the descriptor is the set that the provider polls */
		return -EOPNOTSUPP;
	if (list(entry->fd, &inner) == 1 && !is_socket_of_network(inner.entries[0].fd) &&
	    take(ofi, &inner.entries[0]) != 0)
		return -EOPNOTSUPP;
	return take(ofi, entry);
}

/*
 * rxm 1.17 that is told to wait by poll() (FI_OFI_RXM_DEF_TCP_WAIT_OBJ=pollfd) puts nothing but its own signal into the
 * descriptor: neither its listener nor a connection would wake a sleeper.
 */
static bool watches_only_itself(const struct ofi *ofi)
{
	struct listing outer, inner;

	return list(ofi->cq_fd, &outer) == 1 && !is_socket_of_network(outer.entries[0].fd) &&
	       list(outer.entries[0].fd, &inner) == 0;
}

static int take_all(struct ofi *ofi)
{
	unsigned tell = 0;
	struct listing outer;
	int rc = 0;

	if (list(ofi->cq_fd, &outer) == 0 || outer.count > OFI_WATCHED)
		return -EOPNOTSUPP;
	for (unsigned i = 0; i < outer.count && !rc; i++) {
		rc = take_with_signal(ofi, &outer.entries[i]);
		tell += !is_stale(ofi, &outer.entries[i]);
	}
	return tell > 0 ? rc : -EOPNOTSUPP;
}

void ofi_watch_take(struct ofi *ofi)
{
	if (!ofi->profile.tcp_sockets || !ofi->base.limits.sleepable)
		return;
	if (watches_only_itself(ofi)) {
		ofi->base.limits.sleepable = false;
		return;
	}
	ofi->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ofi->watch_fd < 0)
		return;
	if (take_all(ofi) != 0)
		ofi_watch_give_back(ofi);
	else if (ofi->library->version() != TESTED)
		ofi->base.limits.poll_interval = OFI_POLL_INTERVAL_US;
}

void ofi_watch_give_back(struct ofi *ofi)
{
	ofi_unwatch(ofi);
	while (ofi->watched_count > 0) {
		const struct ofi_watched *entry = &ofi->watched[--ofi->watched_count];
		struct epoll_event event = {.events = EPOLLIN, .data.u64 = entry->data};

		epoll_ctl(entry->set, EPOLL_CTL_ADD, entry->fd, &event);
	}
	if (ofi->watch_fd >= 0)
		close(ofi->watch_fd);
	ofi->watch_fd = -1;
}

static int watch(const struct ofi *ofi, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(ofi->watch_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int ofi_watch(struct ofi *ofi)
{
	ofi->received_when_armed = ofi->received;
	if (ofi->watching)
		return 0;
	int rc = watch(ofi, ofi->cq_fd);

	for (unsigned i = 0; i < ofi->watched_count && !rc; i++)
		if (!is_stale(ofi, &ofi->watched[i]))
			rc = watch(ofi, ofi->watched[i].fd);
	if (rc)
		ofi_unwatch(ofi);
	ofi->watching = !rc;
	return rc;
}

void ofi_unwatch(struct ofi *ofi)
{
	for (unsigned i = 0; i < ofi->watched_count && ofi->watch_fd >= 0; i++)
		epoll_ctl(ofi->watch_fd, EPOLL_CTL_DEL, ofi->watched[i].fd, NULL);
	if (ofi->watch_fd >= 0)
		epoll_ctl(ofi->watch_fd, EPOLL_CTL_DEL, ofi->cq_fd, NULL);
	ofi->watching = false;
}
