/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment whose control words a peer has spoiled is dropped, and the peers are met anew.
 *
 * Every process that has a segment can write to all of it, and one that misbehaves may write anything.  What it writes
 * into lines is malformed, and dropped; what it writes to `head`, `tail`, `attention` or the constants would separate
 * honest processes for good: a sender that finds an impossible head believes that we misbehave, and finds the same again when
 * it has met us anew.  Only we can tell: the owner of a segment has what it has stored there in private memory too.
 *
 * HOW IT IS NOTICED.  We compare whenever our queue looks stuck and whenever there was a control message
 * (node_note_spoiled()): a sender that cannot make sense of our words forgets us and connects anew, so there will be
 * some.  It would not do to write the right words over the wrong ones: senders have taken lines by the wrong tail, and
 * with another they would be given twice.
 *
 * WHAT HAPPENS.  In poll(), when all that can be is consumed, we become another incarnation of ourselves under the same
 * name, with another segment, as if the interface had been closed and opened again at this instant; so there is nothing
 * for the peers to know that they do not know of restarts.  We send DISCONNECT, and the old segment says NODE_CLOSED,
 * for peers that the control message does not reach.  All peers are lost here too, and the engine is told: what was
 * under way with them fails as if they had died, what it sends then begins with a connection request.
 *   No one consumes the old queue, so all numbers are free at once: a peer that has the old segment still may append
 * there under any of them.  But a helper may still owe us chunks (node_copy.c), and says in the old segment that it has
 * written them: that stays mapped for as long, and until then there is no other renewal.
 *   Until the last peer is lost nothing is met and no connection request is sent (`renewing`): the numbers of those to come are not to be
 * lost with the others'.
 *
 * A misbehaving peer that goes on cannot make this a storm: each renewal doubles the pause before the next, up to
 * PAUSE_MOST_NS; in between the interface is deaf, as it was before there was this file.
 */
#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/report.h"
#include "transports/node/node.h"
#include "transports/node/node_copy_life.h"
#include "transports/node/node_meet.h"
#include "transports/node/node_number.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_renew.h"
#include "transports/node/node_segment.h"

#define PAUSE_LEAST_NS 1000000u
#define PAUSE_MOST_NS  1000000000u
#define CALM_PAUSES    16 /* after so many of them the next is the least again */

void node_note_spoiled(struct node *node)
{
	node->spoiled |= node_queue_spoiled(node) || node_segment_spoiled(node);
}

static void draw_incarnation(struct node *node)
{
	const uint64_t last = node->incarnation[0];

	if (getrandom(node->incarnation, sizeof(node->incarnation), 0) != sizeof(node->incarnation))
		node->incarnation[0] = monotonic_ns();
	node->incarnation[0] += node->incarnation[0] == last;
}

/* All that depends on the segment begins again.  The new one is zero, but for its constants. */
static void begin_anew(struct node *node)
{
	node->head = node->stuck_at = node->attention = 0;
	node->spoiled = node->any_failed = false;
	node_numbers_restart(node);
	node_attend(node, node->host_polled ? NODE_HOST_POLLED : NODE_AWAKE);
	node_share_queue(node);
}

static void lose_all(struct node *node)
{
	node->renewing = true;
	for (uint32_t i = 0; i < node->peer_count; i++) {
		struct node_peer *peer = node->peers[i];
		bool known = peer->segment != NULL;

		if (!known && peer->number == NODE_NO_SENDER && peer->former == NODE_NO_SENDER)
			continue;
		node_peer_lost(node, peer, false);
		peer->to_be_told = known && peer->uses > 0;
	}
	node->renewing = false;
}

/* Only now: it may send, and so meet. */
static void tell_all(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++) {
		struct node_peer *peer = node->peers[i];

		if (!peer->to_be_told)
			continue;
		peer->to_be_told = false;
		node->sink->peer_gone(node->owner, peer->index);
	}
}

static void drop_retired(struct node *node)
{
	if (!node->retired || node_copies_use(node, node->retired))
		return;
	node_segment_unmap(node->retired);
	node->retired = NULL;
}

static void change_segment(struct node *node)
{
	const uint64_t former[2] = {node->incarnation[0], node->incarnation[1]};
	struct node_segment *segment = node->segment;
	int fd = node->segment_fd;

	node_disconnect(node);
	draw_incarnation(node);
	if (node_segment_make(node)) { /* reported; later, perhaps */
		node->incarnation[0] = former[0];
		node->incarnation[1] = former[1];
		node->segment = segment;
		return;
	}
	/* Before anything is let go of: node_voucher.c. */
	if (node->voucher)
		atomic_fetch_add(&node->voucher->renewals, 1);
	atomic_store_explicit(&segment->attention, NODE_CLOSED, memory_order_release);
	close(fd);
	node->retired = segment;
	begin_anew(node);
	lose_all(node);
	drop_retired(node);
	tell_all(node);
}

static void note_pause(struct node *node, uint64_t now)
{
	uint64_t pause = node->renew_pause * 2;

	if (pause == 0 || now - node->renew_at > CALM_PAUSES * node->renew_pause)
		pause = PAUSE_LEAST_NS;
	node->renew_pause = pause < PAUSE_MOST_NS ? pause : PAUSE_MOST_NS;
	node->renew_at = now + node->renew_pause;
}

bool node_renewal_due(const struct node *node)
{
	return node->spoiled && monotonic_ns() >= node->renew_at;
}

int node_renew(struct node *node)
{
	UNCANCELLED;

	if (!node_renewal_due(node))
		return 0;
	note_pause(node, monotonic_ns());
	while (node_consume(node, NODE_SLOTS) > 0)
		;
	drop_retired(node);
	if (node->retired)
		return 0;
	node->counters.renewals++;
	report(LOG_WARN, "another process has spoiled the shared memory of process %u of this node: peers are met anew",
	       node->pid);
	change_segment(node);
	return 1;
}
