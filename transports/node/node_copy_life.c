/* SPDX-License-Identifier: BSD-3-Clause */
/* How copying begins and ends: peers that are lost, the end of the interface. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/report.h"
#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_copy_life.h"
#include "transports/node/node_process.h"
#include "transports/node/node_read.h"
#include "transports/node/node_split.h"

#define CLOSE_WAIT_NS 1000000000u
#define CLOSE_POLL_NS 50000

int node_copies_open(struct node *node)
{
	struct node_copies *copies = calloc(1, sizeof(*copies));

	if (!copies)
		return report_error(-ENOMEM, "no memory for the reads of the node transport");
	for (uint8_t i = 0; i < NODE_READS; i++)
		copies->order[i] = i;
	node->copies = copies;
	node->copy_record = node_copy_record;
	return 0;
}

/* Another peer gets this one's place; this read keeps what is needed to prove that its process is gone. */
static void orphan(struct node *node, struct node_read *read)
{
	UNCANCELLED;
	struct node_peer *ghost = &node->copies->ghosts[read - node->copies->reads];

	*ghost = *read->peer;
	ghost->segment = NULL;
	ghost->voucher = NULL;
	ghost->sign = 0;
	ghost->pidfd = fcntl(ghost->pidfd, F_DUPFD_CLOEXEC, 0); /* if none is free: has_ended() */
	read->peer = ghost;
	read->orphan = true;
}

void node_copies_peer_lost(struct node *node, struct node_peer *peer)
{
	struct node_copies *copies = node->copies;

	node_choice_forget(copies, peer);
	for (uint32_t i = 0; i < NODE_HELPS; i++) {
		if (copies->helps[i].peer == peer) {
			copies->helps[i].peer = NULL;
			copies->helps_alive--;
		}
	}
	for (uint32_t i = copies->pull_count; i-- > 0;)
		if (copies->pulls[i].peer == peer)
			copies->pulls[i] = copies->pulls[--copies->pull_count];
	for (uint32_t i = 0; i < NODE_READS; i++) {
		struct node_read *read = &copies->reads[i];

		if (read->state == READ_FREE || read->peer != peer)
			continue;
		bool gone = !read->split || node_proven_gone(node, peer);

		node_read_finish(node, read, -ECONNRESET);
		if (read->state != READ_SETTLING || read->peer != peer)
			continue;
		if (gone)
			node_read_end(node, read, -ECONNRESET);
		else
			orphan(node, read);
	}
}

bool node_copies_use(const struct node *node, const struct node_segment *segment)
{
	const struct node_copies *copies = node->copies;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		const struct node_read *read = &copies->reads[copies->order[i]];

		if (read->split && read->claim >= segment->claims && read->claim < segment->claims + NODE_CLAIMS)
			return true;
	}
	return false;
}

/* May a helper still write into our memory? */
static bool helpers_owe(struct node *node)
{
	struct node_copies *copies = node->copies;
	uint64_t failed;

	for (uint32_t i = 0; i < copies->read_count; i++) {
		struct node_read *read = &copies->reads[copies->order[i]];

		if (read->split && node_split_result(read, &failed) == -EAGAIN && !node_proven_gone(node, read->peer))
			return true;
	}
	return false;
}

/*
 * A helper that has taken a chunk writes it within microseconds, unless it is stopped or another has its core.  After
 * CLOSE_WAIT_NS it is certainly stopped; then the choice is between a process that cannot end because another is
 * in a debugger, and one chunk of a message that has failed, written into memory that its user may have used anew by the
 * time the other goes on.  We choose to end, and say so.
 */
static void await_helpers(struct node *node)
{
	const struct timespec interval = {.tv_nsec = CLOSE_POLL_NS};
	uint64_t deadline = monotonic_ns() + CLOSE_WAIT_NS;

	while (helpers_owe(node)) {
		if (monotonic_ns() > deadline) {
			report_error(-ETIMEDOUT, "a stopped process of this node holds a chunk of a message to us; it "
						 "will be written when that process goes on");
			return;
		}
		nanosleep(&interval, NULL);
	}
}

void node_copies_close(struct node *node)
{
	struct node_copies *copies = node->copies;

	if (!copies)
		return;
	for (uint32_t i = 0; i < copies->read_count; i++)
		if (copies->reads[copies->order[i]].split)
			node_split_close(&copies->reads[copies->order[i]]);
	await_helpers(node);
	for (uint32_t i = 0; i < NODE_READS; i++)
		if (copies->reads[i].state != READ_FREE && copies->reads[i].orphan && copies->ghosts[i].pidfd >= 0)
			close(copies->ghosts[i].pidfd);
	for (uint32_t i = 0; i < NODE_READS; i++)
		free(copies->reads[i].pieces);
	free(copies->memory_regions);
	free(copies->pulls);
	node_choice_free(copies);
	free(copies);
	node->copies = NULL;
}
