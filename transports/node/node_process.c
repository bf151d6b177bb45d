/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose memory can be reached, and whether that process is still there. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transports/node/node_name.h"
#include "transports/node/node_process.h"

int node_identify(const struct node_peer *peer)
{
	uint64_t nonce[2];
	struct iovec local = {nonce, sizeof(nonce)}, remote = {(void *)(uintptr_t)peer->nonce, sizeof(nonce)};
	ssize_t got = process_vm_readv(peer->os_pid, &local, 1, &remote, 1, 0);

	if (got < 0 && errno != EFAULT)
		return -errno;
	return got == sizeof(nonce) && memcmp(nonce, peer->incarnation, sizeof(nonce)) == 0 ? 0 : -ECONNRESET;
}

int node_ascertain(struct node_peer *peer)
{
	if (node_vouched(peer))
		return 0;
	const uint64_t sign = node_sign(peer);
	int rc = node_identify(peer);

	peer->sign = rc == 0 ? sign : 0;
	return rc;
}

void node_refuse_cross_memory(struct node *node, struct node_peer *peer, int error)
{
	peer->cross_memory = false;
	switch (error) {
	case ESRCH: /* it has died, or its first thread has ended before the others */
		break;
	case EPERM:
		node->cross_memory_error = "processes may not trace each other here (EPERM)";
		break;
	case ENOSYS:
		node->cross_memory_error = "this kernel has no process_vm_readv() (ENOSYS)";
		break;
	case ECONNRESET:
		node->cross_memory_error = "another pid namespace";
		break;
	default:
		node->cross_memory_error = "process_vm_readv() failed";
	}
}

void node_copy_probe(struct node *node, struct node_peer *peer, uint64_t nonce)
{
	peer->nonce = nonce;
	peer->sign = 0;
	int rc = peer->os_pid > 0 ? node_ascertain(peer) : -ECONNRESET;

	peer->cross_memory = rc == 0;
	if (rc)
		node_refuse_cross_memory(node, peer, -rc);
}

/* Of a process whose memory cannot be found any more, and that no pidfd watches.  Without a free descriptor: once it is no zombie. */
static bool has_ended(pid_t os_pid)
{
	UNCANCELLED;
	const struct node_peer process = {.pidfd = (int)syscall(SYS_pidfd_open, os_pid, 0)};

	if (process.pidfd < 0)
		return errno == ESRCH;
	bool ended = node_pidfd_ended(&process);

	close(process.pidfd);
	return ended;
}

bool node_proven_gone(struct node *node, struct node_peer *peer)
{
	if (node_peer_dead(node, peer))
		return true;
	int rc = node_identify(peer);

	/* ESRCH alone can also be a first thread that has ended before the others. */
	return rc == -ECONNRESET || (rc == -ESRCH && peer->pidfd < 0 && has_ended(peer->os_pid));
}
