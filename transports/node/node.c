/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between processes of one node, host and network namespace: what the engine calls.  The table of peers is
 * in node_peers.c, the queue in node_queue.c, names and doorbells in node_name.c, first contact in node_meet.c, long
 * data in node_copy.c.
 *
 * poll() looks at one cache line.  What costs a system call (control messages, wake-ups, deaths) is read every so many
 * polls in vain, or when the wait descriptor was found readable before a sleep.  A thread that shares its
 * core with others that compute may have milliseconds between two polls: so a few polls in vain are enough if they took
 * so long.
 */
#include "transports/node/node.h"
#include "transports/node/node_choice.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_copy_life.h"
#include "transports/node/node_expose.h"
#include "transports/node/node_meet.h"
#include "transports/node/node_name.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_place.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_read.h"
#include "transports/node/node_renew.h"
#include "transports/node/node_segment.h"
#include "transports/node/node_tuning.h"
#include "transports/node/node_voucher.h"
#include "transports/tuning.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/report.h"

#define PID_CHOOSE      0xffffffffu
#define PID_BITS        22   /* Unix pids end at 2^22 on Linux */
#define CONTROL_POLLS   256  /* polls in vain between reads of the control messages */
#define BUSY_POLLS      2048 /* and polls at all */
#define CLOCK_POLLS     4    /* polls in vain between looks at the clock, and what makes control messages due: */
#define CONTROL_LATE_NS 1000000
#define DEFER_POLLS     64
#define RECOVER_POLLS   4096
#define PLACE_POLLS     16
#define RMA_DEPTH       4
#define WAITS_LONG_NS   2000000 /* longer than node_recover() needs where it can help */

/* What goes with its header, unless PTL_SHORT_MAX says otherwise: a quarter of a slab, and room for the header, which goes beside it. */
#define HEADER_ROOM CACHE_LINE
#define SHORT_MAX   (NODE_SLAB_SIZE / 4 + HEADER_ROOM)

/* --- peers --- */

/* Is everything consumed that the peer can have appended?  Another one may be filling a line before its last. */
static bool is_heard_out(const struct node *node, struct node_peer *peer)
{
	/* Asked anew if a misbehaving peer had moved it out of sight. */
	if (!peer->draining || (int64_t)(peer->last_tail - node->head) > NODE_SLOTS)
		peer->last_tail = atomic_load_explicit(&node->segment->tail, memory_order_relaxed);
	peer->draining = true;
	return (int64_t)(peer->last_tail - node->head) <= 0;
}

static void lose_failed(struct node *node)
{
	node->any_failed = false;
	for (uint32_t i = 0; i < node->peer_count; i++) {
		struct node_peer *peer = node->peers[i];

		if (peer->failed && is_heard_out(node, peer))
			node_peer_lost(node, peer, true);
		node->any_failed |= peer->failed;
	}
}

/* --- life --- */

static int claim_pid(struct node *node, struct transport_config *config)
{
	uint32_t own = (uint32_t)getpid();
	int rc = -EADDRINUSE;

	if (config->pid != PID_CHOOSE)
		return node_name_claim(node, config->pid);
	for (uint32_t i = 0; i < 256 && rc == -EADDRINUSE; i++) {
		config->pid = own | i << PID_BITS;
		rc = node_name_claim(node, config->pid);
	}
	return rc;
}

static void release(struct node *node)
{
	node_peers_free(node);
	node_name_release(node);
	if (node->retired)
		node_segment_unmap(node->retired);
	if (node->segment)
		node_segment_unmap(node->segment);
	if (node->segment_fd >= 0)
		close(node->segment_fd);
	node_voucher_drop(node);
	free(node);
}

static int prepare(struct node *node, struct transport_config *config)
{
	int rc = claim_pid(node, config);

	if (rc)
		return report_error(rc, "cannot claim process id %u on this node: %s%s", config->pid,
				    rc == -EADDRINUSE ? "another process has it" : strerror(-rc),
				    report_descriptor_hint(rc));
	node->pid = config->pid;
	if (getrandom(node->incarnation, sizeof(node->incarnation), 0) != sizeof(node->incarnation))
		node->incarnation[0] = monotonic_ns();
	if ((rc = node_segment_make(node)) || (rc = node_copies_open(node)))
		return rc;
	node_voucher_make(node);
	if (config->tuning)
		node_tuning_apply(node->copies, config->tuning);
	tuning_check("node", &node->base.limits);
	node_share_queue(node);
	node_attend(node, node->host_polled ? NODE_HOST_POLLED : NODE_AWAKE);
	return 0;
}

static size_t short_max(uint64_t payload)
{
	if (payload == SETTING_AUTO)
		return SHORT_MAX;
	if (payload > NODE_SLAB_SIZE - HEADER_ROOM)
		return NODE_SLAB_SIZE;
	return payload + HEADER_ROOM > SHORT_MAX ? payload + HEADER_ROOM : SHORT_MAX;
}

static int node_transport_claim(struct transport_config *config, struct transport **out)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return report_error(-ENOMEM, "no memory for the node transport");
	node->base.ops = &transport_node;
	node->base.limits = (struct transport_limits){
		.behind_max = NODE_SLAB_SIZE,
		.line_max = NODE_MAX_RECORD,
		.inline_max = NODE_MAX_RECORD,
		.rma_chunk = SIZE_MAX, /* node_copy.c cuts by itself */
		.rma_depth = RMA_DEPTH,
		.list_max = NODE_LIST_MAX,
		.verified_uid = true,
		.sleepable = true,
		.compact = true,
		.tells_gone = true,
		.late_doorbell = true,
	};
	tuning_limit(config->tuning, config->settings->short_max, "node", &node->base.limits);
	node->base.limits.short_max = short_max(node->base.limits.payload_max);
	node->base.limits.header_room = HEADER_ROOM;
	node->sink = config->sink;
	node->owner = config->owner;
	node->nid = config->nid;
	node->host_polled = config->host_polled;
	node->home = config->home;
	node->tuning_save = config->settings->tuning_save;
	node->segment_fd = node->socket = node->doorbell = node->wait_fd = -1;
	int rc = prepare(node, config);

	if (rc) {
		node_copies_close(node);
		release(node);
		return rc;
	}
	*out = &node->base;
	return 0;
}

static int node_open(struct transport *transport)
{
	(void)transport;
	return 0;
}

static void node_close(struct transport *transport)
{
	struct node *node = node_of(transport);

	if (*node->tuning_save)
		node_tuning_save(node->copies, &transport->limits, node->tuning_save);
	node_copies_close(node);
	node_attend(node, NODE_CLOSED);
	node_disconnect(node);
	release(node);
}

static void node_threaded(struct transport *transport)
{
	struct node *node = node_of(transport);

	if (node->voucher)
		robust_hold(&node->voucher->robust, &node->voucher->thread);
}

static void node_forked(struct transport *transport)
{
	struct node *node = node_of(transport);

	/* Not as release() does it: the epoll object is the parent's too, and goes on watching for it. */
	close(node->socket);
	close(node->doorbell);
	close(node->wait_fd);
	close(node->segment_fd);
	if (node->voucher)
		close(node->voucher_fd);
	for (uint32_t i = 0; i < node->peer_count; i++) {
		if (node->peers[i]->pidfd >= 0)
			close(node->peers[i]->pidfd);
		if (node->peers[i]->doorbell >= 0)
			close(node->peers[i]->doorbell);
	}
}

/* --- traffic --- */

static int node_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt,
			transport_address *address)
{
	UNCANCELLED;
	struct node *node = node_of(transport);

	if (nid != node->nid || pid == node->pid || attempt > 0)
		return -ENOENT;
	struct node_peer *peer = node_peer_get(node, nid, pid);

	if (!peer)
		return -ENOMEM;
	node_peer_use(peer);
	*address = peer->index;
	return 0;
}

static void node_forget(struct transport *transport, transport_address address)
{
	struct node *node = node_of(transport);

	node_peer_disuse(node, node->peers[address]);
}

static unsigned node_own_attempt(const struct transport *transport)
{
	(void)transport;
	return 0;
}

static int node_send(struct transport *transport, transport_address address, const void *header, size_t header_length,
		     const struct iovec *payload, int count)
{
	struct node *node = node_of(transport);
	struct node_peer *peer = node->peers[address];
	size_t length = 0;

	for (int i = 0; i < count; i++)
		length += payload[i].iov_len;
	if (unlikely(length > NODE_SLAB_SIZE))
		return -EMSGSIZE;
	if (unlikely(peer->meeting != NODE_OPEN))
		return node_connect(node, peer);
	if (unlikely(peer->failed))
		return -EAGAIN;
	int rc = header_length + length <= NODE_MAX_RECORD
			 ? node_append(node, peer, NODE_MESSAGE, header, header_length, payload, count)
			 : node_append_slab(node, peer, NODE_MESSAGE_SLAB, header, header_length, payload, count);

	node->partner = peer;
	/* To look again is to look at one cache line. */
	return unlikely(rc == -EAGAIN) && !peer->failed ? -ENOBUFS : rc;
}

static int node_send_line(struct transport *transport, transport_address address,
			  const uint64_t words[TRANSPORT_LINE_WORDS], size_t length, const void *rest)
{
	struct node *node = node_of(transport);
	struct node_peer *peer = node->peers[address];

	if (unlikely(peer->meeting != NODE_OPEN || peer->failed))
		return -EAGAIN;
	node->partner = peer;
	return node_append_line(node, peer, words, length, rest);
}

/*
 * Whose memory we can read can read ours, as a rule: then several of its messages come by one system call (node_copy.c), each copied
 * once, which is quicker than through slabs.  Where copying is quicker, node_choice.c finds that out.
 */
static bool behind(struct transport *transport, transport_address address, bool reading)
{
	struct node *node = node_of(transport);
	const struct node_peer *peer = node->peers[address];

	return !peer->cross_memory && (reading || node_behind(node, peer));
}

/*
 * The queue is looked at again after the wake-ups have been taken back: a host that drives now and then may not come
 * again soon.
 */
static int read_control(struct node *node, int budget)
{
	UNCANCELLED;
	node->control_late_at = cycle_clock() + cycles_in(CONTROL_LATE_NS);
	int count = node_read_control(node);

	if (count > 0)
		node_note_spoiled(node);

	/* A peer is not let go before the whole queue is consumed, and the line that is missing may be its own. */
	if (unlikely(node->control_due))
		node_recover(node);
	return count > 0 ? count + node_consume(node, budget) : 0;
}

static bool control_late(const struct node *node)
{
	return node->fruitless % CLOCK_POLLS == 0 && cycle_clock() >= node->control_late_at;
}

/* What is done only every so many polls in vain. */
static int look_further(struct node *node, int budget)
{
	uint32_t polls = ++node->fruitless;

	if (polls % PLACE_POLLS == 1)
		node_note_places(node);
	if (polls % DEFER_POLLS == 0 && node->deferring)
		node_wake_deferred(node, false);
	if (polls % RECOVER_POLLS == 0)
		node_recover(node);
	return polls % CONTROL_POLLS == 0 || control_late(node) ? read_control(node, budget) : 0;
}

static void stay_awake(struct node *node)
{
	node_attend(node, node->host_polled ? NODE_HOST_POLLED : NODE_AWAKE);
}

static int node_poll(struct transport *transport, int budget)
{
	struct node *node = node_of(transport);

	if (unlikely(node_attention_state(node->attention) == NODE_ASLEEP)) {
		FAULT_POINT("wake");
		stay_awake(node);
	}
	FAULT_POINT("poll");
	int done = node_consume(node, budget);

	if (unlikely(node->any_failed))
		lose_failed(node);
	if (unlikely(node_copies_any(node->copies)))
		done += node_copy_step(node);
	if (done > 0)
		node->fruitless = 0;
	else
		done += look_further(node, budget);
	if (unlikely(node->control_due || ++node->polls % BUSY_POLLS == 0)) {
		node->control_due = false;
		done += read_control(node, budget);
	}
	if (unlikely(node->spoiled))
		done += node_renew(node);
	return done;
}

static bool woken(const struct node *node)
{
	struct pollfd wait = {.fd = node->wait_fd, .events = POLLIN};

	return poll(&wait, 1, 0) > 0;
}

/* A sender stands still where it may not be passed over: to be looked after now and then, not all the time. */
static bool waits_for_line(const struct node *node)
{
	return node->stuck_at != 0 && node->stuck_head == node->head && monotonic_ns() - node->stuck_at > WAITS_LONG_NS;
}

static int node_arm(struct transport *transport)
{
	struct node *node = node_of(transport);

	if (node_copies_pending(node))
		return -EAGAIN;
	if (unlikely(node->spoiled))
		return node_renewal_due(node) ? -EAGAIN : 1;
	node_wake_deferred(node, true); /* may find that a peer has gone */
	if (node->any_failed) {
		node_recover(node); /* it may be waiting for a line that no sender will publish */
		return waits_for_line(node) ? 1 : -EAGAIN;
	}
	if (woken(node)) {
		node->control_due = true;
		return -EAGAIN;
	}
	FAULT_POINT("sleep-before-attention");
	node_attend(node, NODE_ASLEEP);
	FAULT_POINT("sleep-after-attention");
	/* Only now: a helper that is done looks whether we sleep after it has said so (tell_reader()). */
	bool pending = node_copies_pending(node);

	if (node_queue_empty(node) && !pending)
		return node_copies_blocked(node);
	node_recover(node);
	stay_awake(node);
	return !pending && waits_for_line(node) ? 1 : -EAGAIN;
}

/* What we have appended is the receiver's: nothing that the end of this process could take back. */
static unsigned node_unsent(const struct transport *transport)
{
	(void)transport;
	return 0;
}

static int node_wait_fd(const struct transport *transport)
{
	return ((const struct node *)(const void *)transport)->wait_fd;
}

static int node_probe(struct transport *transport, transport_address address)
{
	struct node *node = node_of(transport);
	struct node_peer *peer = node->peers[address];

	if (peer->meeting != NODE_OPEN && peer->meeting != NODE_MET)
		return 0;
	uint64_t attention = atomic_load_explicit(&peer->segment->attention, memory_order_relaxed);

	return node_attention_state(attention) == NODE_CLOSED || node_peer_dead(node, peer) ? -ECONNREFUSED : 0;
}

/* How long messages travel, as far as it is known: each peer is tried when it is met. */
static const char *describe_long(const struct node *node, uint32_t met, uint32_t cross)
{
	uint64_t copy[2];
	struct iovec local = {copy, sizeof(copy)}, remote = {(void *)(uintptr_t)node->incarnation, sizeof(copy)};

	if (met > 0)
		return cross == met ? "by cross-memory attach"
		       : cross > 0  ? "by cross-memory attach, to some peers through slabs"
				    : "through slabs";
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(copy)
		       ? "by cross-memory attach if that works with a peer (none was met yet)"
		       : "through slabs (cross-memory attach is forbidden here)";
}

static int node_describe(const struct transport *transport, char *text, size_t size)
{
	const struct node *node = (const struct node *)(const void *)transport;
	const char *why = node->cross_memory_error;
	uint32_t met = 0, cross = 0;
	char limit[64];

	tuning_describe_limit(&transport->limits, limit, sizeof(limit));
	for (uint32_t i = 0; i < node->peer_count; i++) {
		met += node->peers[i]->segment != NULL;
		cross += node->peers[i]->cross_memory;
	}
	size_t used = (size_t)snprintf(
		text, size,
		"shared memory, %d lines, %d slabs of %d bytes, short %zu%s, %u peers, long messages %s%s%s%s; "
		"malformed %llu, passed over %llu, other users refused %llu, wakes %llu, "
		"chunks written for readers %llu, renewed %llu",
		NODE_SLOTS, NODE_SLABS, NODE_SLAB_SIZE, transport->limits.short_max, limit, met,
		describe_long(node, met, cross), why ? " (cross-memory attach refused: " : "", why ? why : "",
		why ? ")" : "", (unsigned long long)node->counters.malformed,
		(unsigned long long)node->counters.skipped, (unsigned long long)node->counters.refused_uid,
		(unsigned long long)node->counters.wakes, (unsigned long long)node->counters.chunks_helped,
		(unsigned long long)node->counters.renewals);

	return (int)(used < size ? used + (size_t)node_choice_describe(node->copies, text + used, size - used) : used);
}

const struct transport_ops transport_node = {
	.name = "node",
	.claim = node_transport_claim,
	.open = node_open,
	.close = node_close,
	.threaded = node_threaded,
	.forked = node_forked,
	.resolve = node_resolve,
	.forget = node_forget,
	.own_attempt = node_own_attempt,
	.send = node_send,
	.send_line = node_send_line,
	.behind = behind,
	.read = node_read,
	.read_list = node_read_list,
	.register_memory = node_register,
	.deregister = node_deregister,
	.poll = node_poll,
	.arm = node_arm,
	.unsent = node_unsent,
	.wait_fd = node_wait_fd,
	.probe = node_probe,
	.describe = node_describe,
};
