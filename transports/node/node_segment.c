/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that peers map.
 *
 * A peer's segment is read for as long as it is mapped, so it must be unable to shrink under us: access beyond the end
 * of a file is a SIGBUS.  The seals say so for ever (F_SEAL_SHRINK, made permanent by F_SEAL_SEAL), and only memory files
 * have seals at all: whatever else a peer may send is refused before it is mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/report.h"
#include "transports/node/node.h"
#include "transports/node/node_memory.h"
#include "transports/node/node_segment.h"

#define MAGIC (UINT64_C(0x50334e4f44450000) | NODE_LAYOUT_VERSION)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct node_segment *map(int fd)
{
	return node_memory_map(fd, sizeof(struct node_segment), PROT_READ | PROT_WRITE);
}

void node_segment_unmap(struct node_segment *segment)
{
	munmap(segment, sizeof(*segment));
}

/*
 * Its pages are first touched by senders, and would lie on their NUMA nodes; we poll it.  A policy of shared memory holds for
 * every process that maps it.  Where it is refused (seccomp) or the node has no memory left, it stays a matter of speed.
 */
static void place(struct node_segment *segment, unsigned home)
{
	unsigned long node = home > 0 && home <= 8 * sizeof(node) ? 1ul << (home - 1) : 0;

	if (node)
		syscall(SYS_mbind, segment, sizeof(*segment), MPOL_PREFERRED, &node, 8 * sizeof(node) + 1, 0);
}

int node_segment_make(struct node *node)
{
	int fd = node_memory_file("portals3-node");

	if (fd < 0)
		return report_error(-errno, "cannot make shared memory: %s%s", strerror(errno),
				    report_descriptor_hint(-errno));
	if (ftruncate(fd, sizeof(struct node_segment)) || fcntl(fd, F_ADD_SEALS, SEALS) || !(node->segment = map(fd))) {
		int rc = -errno;

		close(fd);
		return report_error(rc, "cannot make a segment of %zu bytes of shared memory: %s",
				    sizeof(struct node_segment), strerror(-rc));
	}
	place(node->segment, node->home);
	node->segment->magic = MAGIC;
	node->segment->incarnation[0] = node->incarnation[0];
	node->segment->incarnation[1] = node->incarnation[1];
	node->segment->nid = node->nid;
	node->segment->pid = node->pid;
	node->segment_fd = fd;
	return 0;
}

/* Sealed as ours is, so that it can be written and never shrink; the size is part of the layout. */
static bool is_segment(int fd)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &status) == 0 &&
	       status.st_size == (off_t)sizeof(struct node_segment);
}

static bool belongs_to(const struct node_segment *segment, const struct node_peer *peer)
{
	return segment->magic == MAGIC && segment->nid == peer->nid && segment->pid == peer->pid &&
	       segment->incarnation[0] == peer->incarnation[0] && segment->incarnation[1] == peer->incarnation[1];
}

bool node_segment_spoiled(const struct node *node)
{
	const struct node_peer ourselves = {
		.nid = node->nid, .pid = node->pid, .incarnation = {node->incarnation[0], node->incarnation[1]}};

	return !belongs_to(node->segment, &ourselves);
}

int node_segment_map(int fd, const struct node_peer *peer, struct node_segment **out)
{
	if (!is_segment(fd))
		return -EPROTO;
	struct node_segment *segment = map(fd);

	if (!segment) /* sealed against writing, or open for reading only; or we have no room */
		return errno == EPERM || errno == EACCES ? -EPROTO : -errno;
	if (!belongs_to(segment, peer)) {
		node_segment_unmap(segment);
		return -EPROTO;
	}
	*out = segment;
	return 0;
}
