/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name of an interface, the doorbell behind which it sleeps, and what is known of the life of its peers.
 *
 * THE NAME.  Every interface binds one datagram socket to an abstract name after its (nid, pid).  Abstract names are given
 * out atomically and vanish with their holder, within the network namespace that gives the nid its meaning.  So the name is
 * the claim to the pid, and the address to which control messages go (node_meet.c).
 *
 * THE WAIT DESCRIPTOR is what a sleeper waits for: an epoll object over the socket, the peers' pidfds, and the
 * doorbell.  The doorbell is an eventfd that goes to every peer with our segment; a wake-up adds 1 to it, which is the
 * cheapest way through the kernel to wake a thread that waits for control messages and deaths too.  Only its owner
 * reads it, in poll() (node_read_control()), which empties it: the wait descriptor would be readable for ever, and
 * arm() never allow to sleep.  However many wake-ups it holds, the owner wakes once.
 *
 * WHY NO WAKE-UP IS READ AWAY IN VAIN.  A sender that wakes us has moved our tail and published before, and has found
 * us ASLEEP or HOST_POLLED after that.
 *   HOST_POLLED: poll() looks at the queue again after it has emptied the doorbell (node.c), and so finds what the wake-up was for.
 *   ASLEEP: poll() begins by ending the sleep it is called in, and arm() begins the next, under a new epoch, and looks at
 * the tail only after it has said so.  So what poll() reads away was written for a sleep that is over, and lies before
 * the tail at which the next arm() will look, consumed or not: here it does not matter which is done first.  For the
 * next sleep no sender wakes us before ASLEEP is said, which is after the doorbell was emptied.  And a wake-up for an
 * old sleep that comes late wakes the new one, and that is all: it keeps no other wake-up away, since a sender asks
 * whether it has woken us in this epoch itself, and never what the doorbell holds.
 *
 * A doorbell that is full (2^64 - 2 unread wake-ups, or a misbehaving peer) refuses more, and is readable: as good as
 * written to.  A misbehaving peer can also read it empty, and so make us oversleep what others send; but it is a
 * process of our own user, which may stop us in any case.  What such a peer gives us for its doorbell we write to in
 * good faith: so it must be an object that has no other end to break or wait for (node_is_doorbell()).
 *
 * WAKE-UPS BY CONTROL MESSAGE.  A process without a peer's doorbell, for want of a descriptor, wakes it by its socket
 * (control_wake()).
 *
 * WHAT PROVES DEATH.  A pidfd, opened for the pid in the credentials, is readable when all threads of the process are
 * gone; it wakes a sleeper.  A pid may be given to another process before the pidfd is open; so the name is looked at
 * afterwards, which a dead process does not hold.  The other proof is that no process holds the name: the process has
 * released it, or replaced itself (execve), which no pidfd shows, or it has died and cannot be watched (another pid
 * namespace).  And a process that holds the name with a new incarnation, or sends DISCONNECT, proves that the old one
 * is no more.  A wake-up proves nothing: a doorbell outlives its owner as long as another process has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"
#include "transports/control.h"
#include "transports/node/node.h"
#include "transports/node/node_name.h"

#define PIDFD_GONE (-2) /* in peer->pidfd: there is none, for the process is known to have gone */

/* --- names --- */

struct control_name node_name(uint32_t nid, uint32_t pid)
{
	return control_name("portals3/node/%08x/%u", nid, pid);
}

static bool name_is_held(uint32_t nid, uint32_t pid)
{
	const struct control_name name = node_name(nid, pid);

	return control_name_is_held(&name);
}

static int watch(const struct node *node, int fd, uint64_t whose)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = whose};

	return epoll_ctl(node->wait_fd, EPOLL_CTL_ADD, fd, &event);
}

static int make_wait_fd(struct node *node)
{
	node->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	node->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return node->wait_fd < 0 || node->doorbell < 0 || watch(node, node->socket, NODE_SOCKET_EVENT) ||
			       watch(node, node->doorbell, NODE_DOORBELL_EVENT)
		       ? -1
		       : 0;
}

int node_name_claim(struct node *node, uint32_t pid)
{
	const struct control_name name = node_name(node->nid, pid);

	node->wait_fd = node->doorbell = node->socket = -1;
	int rc = control_open(&name);

	if (rc < 0)
		return rc;
	node->socket = rc;
	if (make_wait_fd(node) == 0)
		return 0;
	rc = -errno;
	node_name_release(node);
	return rc;
}

void node_name_release(struct node *node)
{
	if (node->wait_fd >= 0)
		close(node->wait_fd);
	if (node->doorbell >= 0)
		close(node->doorbell);
	if (node->socket >= 0)
		close(node->socket);
	node->wait_fd = node->doorbell = node->socket = -1;
}

/* --- life and death --- */

static bool is_readable(int fd)
{
	UNCANCELLED;
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	return poll(&wait, 1, 0) > 0;
}

void node_doorbell_close(struct node_peer *peer)
{
	UNCANCELLED;
	if (peer->doorbell >= 0)
		close(peer->doorbell);
	peer->doorbell = -1;
}

/* Out of the doorbell first: a forked child, or a dup(), may still hold the pidfd, and closing ours would leave it there. */
void node_unwatch(struct node *node, struct node_peer *peer)
{
	UNCANCELLED;

	if (peer->pidfd >= 0) {
		epoll_ctl(node->wait_fd, EPOLL_CTL_DEL, peer->pidfd, NULL);
		close(peer->pidfd);
	}
	node_doorbell_close(peer);
	peer->pidfd = -1;
	peer->os_pid = 0;
}

void node_peer_ended(struct node *node, struct node_peer *peer)
{
	node_unwatch(node, peer);
	peer->pidfd = PIDFD_GONE;
}

bool node_pidfd_ended(const struct node_peer *peer)
{
	return peer->pidfd >= 0 && is_readable(peer->pidfd);
}

bool node_peer_dead(struct node *node, struct node_peer *peer)
{
	(void)node;
	return peer->pidfd == PIDFD_GONE || node_pidfd_ended(peer) || !name_is_held(peer->nid, peer->pid);
}

bool node_watch(struct node *node, struct node_peer *peer, pid_t os_pid)
{
	if (peer->pidfd < 0 || peer->os_pid != os_pid) {
		node_unwatch(node, peer);
		peer->os_pid = os_pid;
		if (os_pid > 0)
			peer->pidfd = (int)syscall(SYS_pidfd_open, os_pid, 0);
		if (os_pid > 0 && peer->pidfd < 0 && errno == ESRCH)
			return false;
		/* If it cannot be added, its end wakes no thread, and is found when it is asked for. */
		if (peer->pidfd >= 0)
			watch(node, peer->pidfd, peer->index);
	}
	return !node_peer_dead(node, peer);
}

int node_nobody_there(struct node *node, struct node_peer *peer)
{
	peer->connect_sent_at = 0;
	if (peer->meeting == NODE_FOREIGN)
		peer->meeting = NODE_UNVERIFIED;
	if (peer->segment)
		peer->failed = node->any_failed = true;
	return -ENOENT;
}

/* --- waking --- */

bool node_is_doorbell(int fd)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);

	/* An object of the kernel without a type: writing to it never blocks, breaks no pipe, and reaches no file. */
	return flags >= 0 && flags & O_NONBLOCK && fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0;
}

bool node_doorbell_empty(struct node *node)
{
	uint64_t count;

	return read(node->doorbell, &count, sizeof(count)) == sizeof(count);
}

static bool wake_by_control_message(struct node *node, struct node_peer *peer)
{
	const struct control_name name = node_name(peer->nid, peer->pid);
	int rc = control_wake(node->socket, &name);

	if (rc == -ECONNREFUSED)
		node_nobody_there(node, peer);
	return rc == 0 || rc == -ECONNREFUSED;
}

bool node_wake(struct node *node, struct node_peer *peer)
{
	UNCANCELLED;
	const uint64_t once = 1;

	FAULT_POINT("wake-before");
	node->counters.wakes++;
	if (peer->doorbell < 0 || (write(peer->doorbell, &once, sizeof(once)) < 0 && errno != EAGAIN))
		return wake_by_control_message(node, peer);
	return true;
}
