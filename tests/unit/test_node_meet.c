/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes of one node meet, and wake each other: names, control messages, doorbells and segments alone, with the
 * simplest table of peers and a queue that is only two numbers.  Most tests have several interfaces in one process, so
 * that every step can be chosen; control messages are lost, or made, at sendmsg(), which is wrapped
 * (-Wl,--wrap=sendmsg).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/harness.h"
#include "tests/support/resources.h"
#include "transports/node/node.h"
#include "transports/node/node_meet.h"
#include "transports/node/node_memory.h"
#include "transports/node/node_name.h"
#include "transports/node/node_number.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_process.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_segment.h"
#include "transports/node/node_voucher.h"

#define LOOPBACK  0x7f000001u
#define PATIENCE  (60000000000u * SLOWNESS) /* ns until something that must happen is missed */
#define NOBODY    65534
#define MAX_PEERS 256

#define ROW(processes_, test)                                                                                          \
	{                                                                                                              \
		.name = #test, .run = test, .processes = processes_                                                    \
	}

/* ---- What node_meet.c and node_name.c ask of the rest of its transport ---- */

static int told, lost, met, consumed;
static bool queue_sticks; /* its head is a line that does not come */
static uint64_t probed_nonce;

/* ---- An engine that only keeps what it was told ---- */

struct conversation {
	uint16_t ours, theirs; /* tags; 0: not connected */
	unsigned reports;
};

struct engine {
	uint16_t tags;
	struct conversation with[MAX_PEERS];
};

static struct conversation *conversation_with(const struct node *node, const struct node_peer *peer)
{
	return &((struct engine *)node->owner)->with[peer->index];
}

static void greet(void *owner, uint32_t nid, uint32_t pid, struct transport_greeting *greeting)
{
	struct engine *engine = owner;

	(void)nid, (void)pid;
	*greeting = (struct transport_greeting){.version = 1, .tag = ++engine->tags};
}

static void connected(void *owner, transport_address from, const struct transport_connection *connection)
{
	struct conversation *conversation = &((struct engine *)owner)->with[from];

	conversation->ours = connection->ours.tag;
	conversation->theirs = connection->theirs.tag;
	conversation->reports++;
}

static const struct transport_sink sink = {.greet = greet, .connected = connected};

struct node_peer *node_peer_find(const struct node *node, uint32_t nid, uint32_t pid)
{
	for (uint32_t i = 0; i < node->peer_count; i++)
		if (node->peers[i]->nid == nid && node->peers[i]->pid == pid)
			return node->peers[i];
	return NULL;
}

struct node_peer *node_peer_get(struct node *node, uint32_t nid, uint32_t pid)
{
	struct node_peer *peer = node_peer_find(node, nid, pid);
	if (peer)
		return peer;
	CHECK(node->peer_count < MAX_PEERS);
	peer = calloc(1, sizeof(*peer));
	CHECK(peer != NULL);
	*peer = (struct node_peer){.nid = nid,
				   .pid = pid,
				   .pidfd = -1,
				   .doorbell = -1,
				   .index = node->peer_count,
				   .sender = NODE_NO_SENDER,
				   .number = NODE_NO_SENDER,
				   .former = NODE_NO_SENDER};
	node->peers[node->peer_count++] = peer;
	return peer;
}

void node_peer_rest(struct node *node, struct node_peer *peer)
{
	(void)node, (void)peer;
}

void node_peer_met(struct node *node, struct node_peer *peer)
{
	(void)node;
	CHECK(peer->meeting == NODE_MET && peer->segment != NULL);
	CHECK(peer->sender != NODE_NO_SENDER);
	met++;
}

void node_peer_lost(struct node *node, struct node_peer *peer, bool tell)
{
	lost++;
	told += tell;
	if (peer->number != NODE_NO_SENDER)
		node_number_return(node, peer->number);
	if (peer->segment)
		node_segment_unmap(peer->segment);
	node_voucher_unmap(peer->voucher);
	node_unwatch(node, peer);
	*conversation_with(node, peer) = (struct conversation){0};
	*peer = (struct node_peer){.nid = peer->nid,
				   .pid = peer->pid,
				   .pidfd = -1,
				   .doorbell = -1,
				   .index = peer->index,
				   .sender = NODE_NO_SENDER,
				   .number = NODE_NO_SENDER,
				   .former = NODE_NO_SENDER};
}

void node_copy_probe(struct node *node, struct node_peer *peer, uint64_t nonce)
{
	(void)node;
	CHECK(peer->segment != NULL);
	probed_nonce = nonce;
}

int node_consume(struct node *node, int budget)
{
	int count = 0;

	for (; !queue_sticks && count < budget && node->head < atomic_load(&node->segment->tail); count++)
		node->head++;
	consumed += count;
	return count;
}

/* ---- The post ---- */

static uint64_t control_messages; /* sent since the count was set to 0 */
static uint64_t lose;             /* bit n: control message n does not arrive */
static bool lose_openly;          /* its sender is told, as when the receiver's queue is full */

ssize_t __real_sendmsg(int, const struct msghdr *, int);
ssize_t __wrap_sendmsg(int, const struct msghdr *, int);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	uint64_t control = control_messages++;

	if (control >= 64 || !(lose >> control & 1))
		return __real_sendmsg(fd, message, flags);
	if (!lose_openly)
		return (ssize_t)message->msg_iov[0].iov_len;
	errno = EAGAIN;
	return -1;
}

/* ---- Interfaces ---- */

/* A pid that no other test of this machine uses at this time. */
static uint32_t pid_for(int tag)
{
	return (uint32_t)pid_of(0) | (uint32_t)tag << 22;
}

static struct node *start_as(uint32_t pid)
{
	struct node *node = calloc(1, sizeof(*node));

	CHECK(node != NULL);
	node->nid = LOOPBACK;
	node->pid = pid;
	node->segment_fd = -1;
	node->peers = calloc(MAX_PEERS, sizeof(struct node_peer *));
	node->sink = &sink;
	struct engine *engine = calloc(1, sizeof(struct engine));
	CHECK(node->peers != NULL && engine != NULL);
	engine->tags = (uint16_t)(pid >> 22 << 12); /* so that those of one are never taken for another's */
	node->owner = engine;
	CHECK_EQUAL(getrandom(node->incarnation, sizeof(node->incarnation), 0), sizeof(node->incarnation));
	CHECK_EQUAL(node_name_claim(node, pid), 0);
	CHECK_EQUAL(node_segment_make(node), 0);
	node_voucher_make(node);
	return node;
}

static struct node *start(int tag)
{
	return start_as(pid_for(tag));
}

/* Without a DISCONNECT, as if the process had died. */
static void drop(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++) {
		node_unwatch(node, node->peers[i]);
		if (node->peers[i]->segment)
			node_segment_unmap(node->peers[i]->segment);
		node_voucher_unmap(node->peers[i]->voucher);
		free(node->peers[i]);
	}
	node_name_release(node);
	node_segment_unmap(node->segment);
	close(node->segment_fd);
	node_voucher_drop(node);
	free(node->peers);
	free(node->owner);
	node_numbers_free(node);
	free(node);
}

static void stop(struct node *node)
{
	node_disconnect(node);
	drop(node);
}

/* What a forked child does first, or the name would be held by it too. */
static void close_in_child(struct node *node)
{
	close(node->socket);
	close(node->doorbell);
	close(node->wait_fd);
	close(node->segment_fd);
	if (node->voucher)
		close(node->voucher_fd);
}

static struct node_peer *peer_of(struct node *from, const struct node *to)
{
	return node_peer_get(from, to->nid, to->pid);
}

/* As if no descriptor had been free for it. */
static void lose_doorbell(struct node_peer *peer)
{
	CHECK(peer->doorbell >= 0);
	close(peer->doorbell);
	peer->doorbell = -1;
}

static bool wait_fd_readable(const struct node *node, int timeout)
{
	struct pollfd wait = {.fd = node->wait_fd, .events = POLLIN};

	return poll(&wait, 1, timeout) > 0;
}

/* Until `from` may send to `to`. */
static void reach(struct node *from, struct node *to)
{
	struct node_peer *peer = peer_of(from, to);
	uint64_t deadline = now_ns() + PATIENCE;

	while (peer->meeting != NODE_OPEN) {
		CHECK_EQUAL(node_connect(from, peer), -EAGAIN);
		node_read_control(to);
		node_read_control(from);
		CHECK(now_ns() < deadline);
	}
}

/*
 * The engine of a side that may send was told the tags of both, and that of the other was, or will be before the first message.
 */
static void check_conversation(struct node *from, struct node *to)
{
	const struct node_peer *there = peer_of(from, to), *here = peer_of(to, from);
	const struct conversation *known = conversation_with(from, there), *answered = conversation_with(to, here);

	CHECK(known->ours != 0 && known->theirs != 0);
	CHECK(!there->unreported);
	CHECK_EQUAL(known->ours, here->theirs.tag);
	CHECK_EQUAL(known->theirs, here->ours.tag);
	if (here->unreported)
		return;
	CHECK_EQUAL(answered->ours, known->theirs);
	CHECK_EQUAL(answered->theirs, known->ours);
}

/* Each has the other's memory, and they agree on their numbers. */
static void check_open(struct node *from, struct node *to)
{
	struct node_peer *there = peer_of(from, to), *here = peer_of(to, from);

	CHECK_EQUAL(there->meeting, NODE_OPEN);
	CHECK(here->meeting == NODE_OPEN || here->meeting == NODE_MET);
	CHECK(there->sender < to->sender_count);
	CHECK_EQUAL(there->sender, here->number);
	CHECK_EQUAL(here->sender, there->number);
	CHECK(to->senders[there->sender] == here);
	atomic_fetch_add(&to->segment->tail, 1);
	CHECK_EQUAL(atomic_load(&there->segment->tail), atomic_load(&to->segment->tail));
	atomic_fetch_sub(&there->segment->tail, 1);
	CHECK_EQUAL(atomic_load(&there->segment->tail), atomic_load(&to->segment->tail));
	CHECK_EQUAL(here->segment->incarnation[0], from->incarnation[0]);
	check_conversation(from, to);
}

/* ---- Nothing may be left ---- */

static int fds_before;

static void begin(const struct test *test)
{
	(void)test;
	fds_before = open_descriptors();
}

static void end(const struct test *test)
{
	(void)test;
	CHECK_EQUAL(open_descriptors(), fds_before);
	CHECK_EQUAL(mappings_of("memfd:portals3"), 0);
}

/* ---- Meeting ---- */

static void two_interfaces_meet_by_four_control_messages(void)
{
	struct node *one = start(1), *other = start(2);

	control_messages = 0;
	CHECK_EQUAL(node_connect(one, peer_of(one, other)), -EAGAIN);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(node_read_control(other), 1);
		CHECK_EQUAL(node_read_control(one), 1);
	}
	CHECK_EQUAL(control_messages, 4);
	CHECK_EQUAL(probed_nonce, (uintptr_t)one->incarnation);
	check_open(one, other);
	reach(other, one);
	CHECK_EQUAL(control_messages, 4); /* the other side was open before */
	check_open(other, one);
	CHECK_EQUAL(met, 2);
	CHECK_EQUAL(conversation_with(one, peer_of(one, other))->reports, 1);
	CHECK_EQUAL(conversation_with(other, peer_of(other, one))->reports, 1);
	CHECK_EQUAL(peer_of(one, other)->os_pid, getpid());
	CHECK(!wait_fd_readable(one, 0) && !wait_fd_readable(other, 0));
	CHECK_EQUAL(one->counters.malformed + other->counters.malformed, 0);
	drop(one);
	drop(other);
}

/* By the next poll(): what is read may be news for the engine, which is in the middle of a send. */
static void a_repeated_request_has_its_answer_read(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(one, other);
	uint64_t deadline = now_ns() + PATIENCE;

	CHECK_EQUAL(node_connect(one, peer), -EAGAIN);
	node_read_control(other);
	while (!one->control_due) {
		CHECK_EQUAL(node_connect(one, peer), -EAGAIN);
		CHECK(now_ns() < deadline);
	}
	CHECK_EQUAL(peer->meeting, NODE_UNVERIFIED);
	drop(one);
	drop(other);
}

static void a_name_has_one_holder(void)
{
	struct node *one = start(1), second = {.nid = LOOPBACK};

	CHECK_EQUAL(node_name_claim(&second, one->pid), -EADDRINUSE);
	CHECK_EQUAL(second.socket, -1);
	CHECK_EQUAL(second.wait_fd, -1);
	CHECK_EQUAL(second.doorbell, -1);
	uint32_t pid = one->pid;
	drop(one);
	CHECK_EQUAL(node_name_claim(&second, pid), 0);
	node_name_release(&second);
	node_name_release(&second);
}

static void nobody_is_there_until_somebody_is(void)
{
	struct node *one = start(1);
	struct node_peer *peer = node_peer_get(one, LOOPBACK, pid_for(2));

	for (int i = 0; i < 100; i++)
		CHECK_EQUAL(node_connect(one, peer), -ENOENT);
	CHECK(node_peer_dead(one, peer));
	struct node *other = start(2);
	CHECK(!node_peer_dead(one, peer));
	reach(one, other);
	check_open(one, other);
	drop(one);
	drop(other);
}

static void two_may_connect_at_once(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *there = peer_of(one, other), *here = peer_of(other, one);
	uint64_t deadline = now_ns() + PATIENCE;

	while (there->meeting != NODE_OPEN || here->meeting != NODE_OPEN) {
		if (there->meeting != NODE_OPEN)
			CHECK_EQUAL(node_connect(one, there), -EAGAIN);
		if (here->meeting != NODE_OPEN)
			CHECK_EQUAL(node_connect(other, here), -EAGAIN);
		node_read_control(one);
		node_read_control(other);
		CHECK(now_ns() < deadline);
	}
	CHECK_EQUAL(met, 2);
	CHECK_EQUAL(lost, 0);
	check_open(one, other);
	check_open(other, one);
	drop(one);
	drop(other);
}

/* Every selection of the first seven control messages, with either side or both connecting. */
static void any_control_messages_may_be_lost(void)
{
	for (unsigned round = 0; round < 128 * 4; round++) {
		struct node *one = start(1), *other = start(2);

		control_messages = 0;
		lose = round / 4;
		lose_openly = round & 1;
		if (round & 2)
			node_connect(other, peer_of(other, one));
		reach(one, other);
		reach(other, one);
		lose = 0;
		check_open(one, other);
		CHECK_EQUAL(lost, 0);
		drop(one);
		drop(other);
	}
}

/* A peer that does not answer is asked to connect ever less often. */
static void connection_requests_become_rare(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(one, other);
	uint64_t begun = now_ns(), spent;

	control_messages = 0;
	do {
		CHECK_EQUAL(node_connect(one, peer), -EAGAIN);
		spent = now_ns() - begun;
	} while (spent < 50000000 || control_messages < 2);
	/* After 0.2, 0.6, 1.4, ... 12.6 ms, and then every 20 ms; fewer if this process had to wait. */
	CHECK_LESS(control_messages, 9 + spent / 20000000);
	reach(one, other);
	drop(one);
	drop(other);
}

static uint16_t give(struct node *node)
{
	struct node_peer peer = {.number = NODE_NO_SENDER};

	CHECK(node_number_give(node, &peer));
	return peer.number;
}

static void a_number_comes_again_after_a_thousand_others(void)
{
	enum { LIVING = 3, ROUNDS = 200000, APART = 1024 };
	static unsigned given_at[NODE_MAX_PEERS];
	struct node *one = start(1);

	for (int i = 0; i < LIVING; i++)
		CHECK_EQUAL(give(one), i);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		uint16_t number = give(one);

		CHECK(number >= LIVING);
		CHECK(given_at[number] == 0 || round - given_at[number] >= APART);
		given_at[number] = round;
		node_number_return(one, number);
	}
	CHECK_LESS(one->sender_count, LIVING + APART + 2);
	drop(one);
}

static void a_number_waits_for_the_records_of_its_holder(void)
{
	enum { ENOUGH = 1100, RECORDS = 5 };
	struct node *one = start(1);
	uint16_t taken[ENOUGH];

	for (int i = 0; i < ENOUGH; i++)
		taken[i] = give(one);
	atomic_store(&one->segment->tail, RECORDS);
	for (int i = 0; i < ENOUGH; i++)
		node_number_return(one, taken[i]);
	CHECK_EQUAL(give(one), ENOUGH);
	one->head = RECORDS;
	CHECK_EQUAL(give(one), taken[0]);
	/* Where a misbehaving peer has moved the tail, it is not waited for. */
	atomic_store(&one->segment->tail, UINT64_MAX / 2);
	for (int i = 0; i < ENOUGH; i++)
		node_number_return(one, give(one));
	one->head += NODE_SLOTS;
	for (int i = 0; i < ENOUGH - 1024; i++)
		CHECK_LESS(give(one), ENOUGH + 4);
	drop(one);
}

static void sixty_five_thousand_peers_have_a_number_each(void)
{
	struct node *one = start(1);
	struct node_peer late = {.number = NODE_NO_SENDER};

	for (uint32_t i = 0; i < NODE_MAX_PEERS; i++)
		CHECK_EQUAL(give(one), i);
	CHECK(!node_number_give(one, &late));
	node_number_return(one, 77);
	CHECK(node_number_give(one, &late));
	CHECK_EQUAL(late.number, 77);
	drop(one);
}

/* ---- Going, and coming again ---- */

static void a_new_incarnation_is_met_afresh(void)
{
	struct node *one = start(1), *other = start(2);

	reach(one, other);
	uint16_t number = peer_of(one, other)->number;
	drop(other);
	other = start(2);
	CHECK_EQUAL(told, 0);
	reach(other, one);
	CHECK_EQUAL(told, 1);
	CHECK(peer_of(one, other)->number != number);
	CHECK(one->senders[number] == NULL);
	reach(one, other);
	check_open(one, other);
	check_open(other, one);
	drop(one);
	drop(other);
}

/* `from` has the segment of `to`, and what it says to that is still to be read. */
static void begin_to_meet(struct node *from, struct node *to)
{
	struct node_peer *peer = peer_of(from, to);

	peer->connect_sent_at = 0;
	CHECK_EQUAL(node_connect(from, peer), -EAGAIN);
	CHECK_EQUAL(node_read_control(to), 1);
	CHECK_EQUAL(node_read_control(from), 1);
	CHECK_EQUAL(peer->meeting, NODE_MET);
}

/* Both numbers are 0 again: it is the incarnation that counts. */
static void a_new_incarnation_is_noticed_in_mid_meeting(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(one, other);
	uint64_t deadline = now_ns() + PATIENCE;

	begin_to_meet(one, other);
	drop(other);
	other = start(2);
	while (node_read_control(other) == 0) {
		CHECK_EQUAL(node_connect(one, peer), -EAGAIN);
		CHECK(now_ns() < deadline);
	}
	CHECK_EQUAL(peer_of(other, one)->meeting, NODE_MET); /* what `one` has mapped is not this one's */
	CHECK_EQUAL(told, 0);
	node_read_control(one);
	CHECK_EQUAL(told, 1);
	reach(one, other);
	check_open(one, other);
	drop(one);
	drop(other);
}

/* The process lives on, as another may to which its pid has passed; but no process holds the name. */
static void whoever_has_gone_meanwhile_is_not_met(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(other, one);

	begin_to_meet(one, other);
	uint32_t pid = one->pid;
	drop(one);
	control_messages = 0;
	CHECK_EQUAL(node_read_control(other), 1);
	CHECK_EQUAL(peer->meeting, NODE_UNVERIFIED);
	CHECK(peer->segment == NULL);
	CHECK_EQUAL(control_messages, 0);
	one = start_as(pid);
	reach(other, one);
	drop(one);
	drop(other);
}

/* What the old one has appended is to be delivered before it is let go, whatever blocks the queue. */
static void a_new_incarnation_waits_for_the_records_of_the_old(void)
{
	struct node *one = start(1), *other = start(2);

	reach(other, one);
	atomic_fetch_add(&peer_of(other, one)->segment->tail, 3);
	drop(other);
	other = start(2);
	struct node_peer *here = peer_of(one, other), *there = peer_of(other, one);
	CHECK_EQUAL(here->meeting, NODE_OPEN);
	queue_sticks = true;
	CHECK_EQUAL(node_connect(other, there), -EAGAIN);
	one->control_due = false;
	CHECK_EQUAL(node_read_control(one), 0);
	CHECK(one->control_due);
	CHECK(node_peer_dead(one, here)); /* so that a line it has not published is passed over */
	CHECK_EQUAL(told, 0);
	CHECK_EQUAL(here->meeting, NODE_OPEN);
	queue_sticks = false;
	node_read_control(one);
	CHECK_EQUAL(consumed, 3);
	CHECK_EQUAL(told, 1);
	reach(other, one);
	check_open(other, one);
	drop(one);
	drop(other);
}

static void a_disconnect_is_told_once(void)
{
	struct node *one = start(1), *other = start(2);

	reach(one, other);
	struct node_peer *peer = peer_of(one, other);
	atomic_fetch_add(&peer_of(other, one)->segment->tail, 2);
	stop(other);
	queue_sticks = true;
	node_read_control(one);
	CHECK_EQUAL(told, 0);
	CHECK(wait_fd_readable(one, 0)); /* it is not forgotten */
	queue_sticks = false;
	node_read_control(one);
	CHECK_EQUAL(consumed, 2);
	CHECK_EQUAL(told, 1);
	CHECK_EQUAL(peer->meeting, NODE_UNVERIFIED);
	CHECK(!wait_fd_readable(one, 0));
	CHECK_EQUAL(node_connect(one, peer), -ENOENT);
	drop(one);
}

/* The engine may be told from poll() only. */
static void a_connection_request_lets_nobody_go(void)
{
	struct node *one = start(1), *leaving = start(2), *third = start(3);
	struct node_peer *peer = peer_of(one, third);
	uint64_t deadline = now_ns() + PATIENCE;

	reach(one, leaving);
	stop(leaving);
	one->control_due = false;
	while (!one->control_due) {
		CHECK_EQUAL(node_connect(one, peer), -EAGAIN);
		CHECK(now_ns() < deadline);
	}
	CHECK_EQUAL(told, 0);
	node_read_control(one);
	CHECK_EQUAL(told, 1);
	reach(one, third);
	drop(one);
	drop(third);
}

static void who_was_forgotten_meets_again(void)
{
	struct node *one = start(1), *other = start(2);

	reach(one, other);
	reach(other, one);
	node_peer_lost(other, peer_of(other, one), false);
	reach(other, one);
	CHECK_EQUAL(told, 1); /* here, where what was sent is lost */
	reach(one, other);
	check_open(one, other);
	check_open(other, one);
	drop(one);
	drop(other);
}

/* ---- Any course of events ---- */

#define CROWD 3

static struct node *crowd[CROWD];
static uint64_t chance_state;
static bool forgetting; /* peers may be forgotten without a reason */

static unsigned chance(unsigned below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (unsigned)(chance_state >> 33) % below;
}

/* What an OPEN peer accepts from us, it accepts as ours, and can see our memory; no other has our number. */
static void check_appending_is_safe(struct node *from, struct node *to)
{
	struct node_peer *there = peer_of(from, to), *here = peer_of(to, from);

	if (there->meeting != NODE_OPEN || there->incarnation[0] != to->incarnation[0])
		return;
	CHECK(there->sender < to->sender_count);
	struct node_peer *taken_for = to->senders[there->sender];
	CHECK(taken_for == here || (forgetting && taken_for == NULL));
	if (taken_for == NULL)
		return;
	CHECK(here->segment != NULL);
	CHECK_EQUAL(here->incarnation[0], from->incarnation[0]);
	CHECK_EQUAL(here->segment->incarnation[0], from->incarnation[0]);
	CHECK_EQUAL(here->sender, there->number);
	check_conversation(from, to);
}

static void check_crowd(void)
{
	for (int i = 0; i < CROWD; i++)
		for (int k = 0; k < CROWD; k++)
			if (i != k)
				check_appending_is_safe(crowd[i], crowd[k]);
}

static void do_anything(void)
{
	int i = (int)chance(CROWD), k = (i + 1 + (int)chance(CROWD - 1)) % CROWD;
	struct node_peer *peer = peer_of(crowd[i], crowd[k]);
	char byte;

	switch (chance(16)) {
	case 0:
		chance(2) ? stop(crowd[i]) : drop(crowd[i]);
		crowd[i] = start(1 + i);
		break;
	case 1:
		if (forgetting)
			node_peer_lost(crowd[i], peer, false);
		break;
	case 2:
		recv(crowd[i]->socket, &byte, 1, MSG_DONTWAIT); /* a control message gets lost */
		break;
	case 3:
		queue_sticks = !queue_sticks;
		break;
	case 4:
	case 5:
		if (peer->meeting == NODE_OPEN)
			atomic_fetch_add(&peer->segment->tail, 1);
		break;
	case 6:
	case 7:
	case 8:
		peer->connect_sent_at = 0;
		if (peer->meeting != NODE_OPEN)
			node_connect(crowd[i], peer);
		break;
	default:
		node_read_control(crowd[i]);
	}
}

/* A peer that has gone and that no message told of is found by poll() and by probes, which are not here. */
static void let_go_of_closed_peers(void)
{
	for (int i = 0; i < CROWD; i++)
		for (int k = 0; k < CROWD; k++) {
			struct node_peer *peer = i == k ? NULL : peer_of(crowd[i], crowd[k]);
			if (peer && peer->segment && peer->incarnation[0] != crowd[k]->incarnation[0])
				node_peer_lost(crowd[i], peer, true);
		}
}

static void run_a_course(uint64_t seed)
{
	chance_state = seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < CROWD; i++)
		crowd[i] = start(1 + i);
	for (int step = 0; step < 60; step++) {
		do_anything();
		check_crowd();
	}
	queue_sticks = false;
	let_go_of_closed_peers();
	for (int i = 0; i < CROWD; i++)
		for (int k = 0; k < CROWD; k++)
			if (i != k)
				reach(crowd[i], crowd[k]);
	check_crowd();
	for (int i = 0; i < CROWD; i++)
		drop(crowd[i]);
}

static void any_course_of_events_ends_in_meetings(void)
{
	for (uint64_t seed = 1; seed <= FEWER(2000); seed++)
		run_a_course(seed);
}

static void any_course_with_forgetting_ends_in_meetings(void)
{
	forgetting = true;
	for (uint64_t seed = 1; seed <= FEWER(1000); seed++)
		run_a_course(seed);
}

/* ---- Other processes ---- */

static void processes_meet_and_one_is_killed(void)
{
	struct node *node = start(1 + my_rank);
	struct node_peer *peer = node_peer_get(node, LOOPBACK, pid_for(2 - my_rank));
	uint64_t deadline = now_ns() + PATIENCE;

	barrier();
	while (peer->meeting != NODE_OPEN) {
		int rc = node_connect(node, peer);
		CHECK(rc == -EAGAIN);
		node_read_control(node);
		CHECK(now_ns() < deadline);
	}
	CHECK_EQUAL(peer->os_pid, pid_of(1 - my_rank));
	CHECK(!node_peer_dead(node, peer));
	barrier();
	if (my_rank == 1) {
		expect_death(1);
		raise(SIGKILL);
	}
	while (told == 0) {
		CHECK(wait_fd_readable(node, 10000));
		node_read_control(node);
	}
	CHECK_EQUAL(told, 1);
	CHECK_EQUAL(peer->meeting, NODE_UNVERIFIED);
	CHECK(!wait_fd_readable(node, 0));
	drop(node);
}

static void a_death_waits_for_the_records_of_the_dead(void)
{
	struct node *node = start(1);
	int ready[2], done[2];
	char byte;

	CHECK_EQUAL(pipe(ready), 0);
	CHECK_EQUAL(pipe(done), 0);
	pid_t child = fork_child();
	if (child == 0) {
		close_in_child(node);
		struct node *mine = start(2);
		struct node_peer *parent = peer_of(mine, node);
		while (parent->meeting != NODE_OPEN) {
			node_connect(mine, parent);
			node_read_control(mine);
		}
		atomic_fetch_add(&parent->segment->tail, 4);
		if (fork() == 0) { /* holds the name until the test has ended */
			close(done[1]);
			_exit((int)read(done[0], &byte, 1));
		}
		CHECK_EQUAL(write(ready[1], "", 1), 1);
		pause();
		_exit(1);
	}
	struct pollfd wait = {.fd = ready[0], .events = POLLIN};
	while (poll(&wait, 1, 0) == 0)
		node_read_control(node);
	CHECK_EQUAL(read(ready[0], &byte, 1), 1);
	struct node_peer *peer = node_peer_get(node, LOOPBACK, pid_for(2));
	CHECK_EQUAL(peer->meeting, NODE_OPEN);
	int copy = dup(peer->pidfd); /* which must not keep the wait descriptor readable */
	CHECK(!node_peer_dead(node, peer));
	queue_sticks = true;
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
	CHECK(node_peer_dead(node, peer));
	node_read_control(node);
	CHECK_EQUAL(told, 0);
	CHECK(wait_fd_readable(node, 0));
	queue_sticks = false;
	node_read_control(node);
	CHECK_EQUAL(consumed, 4);
	CHECK_EQUAL(told, 1);
	CHECK(!wait_fd_readable(node, 0));
	close(copy);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(done[i]);
	}
	drop(node);
}

static void a_forked_child_has_no_segment(void)
{
	struct node *one = start(1), *other = start(2);

	reach(one, other);
	CHECK_EQUAL(mappings_of("memfd:portals3"), 8);
	pid_t child = fork_child();
	if (child == 0) {
		CHECK_EQUAL(mappings_of("memfd:portals3"), 0);
		_exit(0);
	}
	join_child(child);
	drop(one);
	drop(other);
}

/* Becomes another user, which must not be reached, nor reach us. */
static void run_foreign(struct node *node, void (*act)(struct node *))
{
	uint32_t pid = node->pid;

	close_in_child(node);
	CHECK_EQUAL(setuid(NOBODY), 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	act(start_as(pid + (1u << 22)));
	_exit(0);
}

static void connect_in_vain(struct node *mine)
{
	struct node_peer *parent = node_peer_get(mine, LOOPBACK, mine->pid - (1u << 22));
	int rc;

	while ((rc = node_connect(mine, parent)) == -EAGAIN)
		node_read_control(mine);
	CHECK_EQUAL(rc, -EHOSTUNREACH);
	CHECK_EQUAL(parent->meeting, NODE_FOREIGN);
	CHECK_EQUAL(node_connect(mine, parent), -EHOSTUNREACH);
	CHECK(parent->segment == NULL);
}

static void listen_in_vain(struct node *mine)
{
	_Atomic int *parent_has_its_answer = shared_memory();

	while (!atomic_load(parent_has_its_answer))
		node_read_control(mine);
	CHECK(mine->counters.refused_uid > 0);
	CHECK_EQUAL(mine->peer_count, 0);
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip_test("only root can become another user");
}

static void another_user_is_refused(void)
{
	need_root();
	struct node *node = start(1);
	pid_t child = fork_child();

	if (child == 0)
		run_foreign(node, connect_in_vain);
	while (node->counters.refused_uid == 0)
		node_read_control(node);
	CHECK_EQUAL(node->peer_count, 0);
	join_child(child);
	drop(node);
}

static void another_user_is_not_reached(void)
{
	need_root();
	struct node *node = start(1);
	struct node_peer *peer = node_peer_get(node, LOOPBACK, pid_for(2));
	pid_t child = fork_child();
	int rc;

	if (child == 0)
		run_foreign(node, listen_in_vain);
	while ((rc = node_connect(node, peer)) != -EHOSTUNREACH) {
		CHECK(rc == -EAGAIN || rc == -ENOENT);
		node_read_control(node);
	}
	CHECK_EQUAL(peer->number, NODE_NO_SENDER); /* so it was not sent our segment */
	atomic_store((_Atomic int *)shared_memory(), 1);
	join_child(child);
	/* The name passes to one of ours, which comes to us. */
	struct node *ours = start(2);
	reach(ours, node);
	check_open(ours, node);
	drop(ours);
	drop(node);
}

/* Without a pid, and so without a pidfd: the name is the only witness. */
static void a_process_that_cannot_be_seen_is_watched_by_its_name(void)
{
	need_root();
	struct node *node = start(1);
	uint64_t deadline = now_ns() + PATIENCE;
	_Atomic int *seen_alive = shared_memory();
	pid_t child = fork_child();

	if (child == 0) {
		close_in_child(node);
		if (unshare(CLONE_NEWPID) != 0)
			_exit(77);
		pid_t inner = fork();
		if (inner != 0) {
			int status;
			waitpid(inner, &status, 0);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
		}
		struct node *mine = start(2);
		struct node_peer *peer = peer_of(mine, node);
		while (peer->meeting != NODE_OPEN) {
			node_connect(mine, peer);
			node_read_control(mine);
		}
		CHECK_EQUAL(peer->os_pid, 0);
		CHECK_EQUAL(peer->pidfd, -1);
		CHECK(!node_peer_dead(mine, peer));
		atomic_store(seen_alive, 1);
		while (!node_peer_dead(mine, peer))
			CHECK(now_ns() < deadline);
		node_wake(mine, peer);
		CHECK(!peer->failed); /* the doorbell is still there, though nothing hears it */
		lose_doorbell(peer);
		node_wake(mine, peer);
		CHECK(peer->failed && mine->any_failed);
		_exit(0);
	}
	int status = 0;
	while (!atomic_load(seen_alive) && waitpid(child, &status, WNOHANG) == 0) {
		node_read_control(node);
		CHECK(now_ns() < deadline);
	}
	bool refused = !atomic_load(seen_alive);
	drop(node);
	if (refused) {
		CHECK_EQUAL(WEXITSTATUS(status), 77);
		skip_test("no process namespace can be made here");
	}
	join_child(child);
}

/* ---- Doorbells ---- */

static uint64_t wakes_in(const struct node *node)
{
	uint64_t count = 0;

	CHECK(read(node->doorbell, &count, sizeof(count)) == sizeof(count) || errno == EAGAIN);
	return count;
}

static bool has_control(const struct node *node)
{
	char byte;

	return recv(node->socket, &byte, sizeof(byte), MSG_DONTWAIT | MSG_PEEK) >= 0;
}

static void many_wakes_are_one(void)
{
	struct node *one = start(1), *other = start(2), *third = start(3);

	reach(one, other);
	reach(third, other);
	CHECK(!wait_fd_readable(other, 0));
	for (int i = 0; i < 20; i++) {
		node_wake(one, peer_of(one, other));
		node_wake(third, peer_of(third, other));
	}
	CHECK_EQUAL(one->counters.wakes, 20);
	CHECK(wait_fd_readable(other, 0));
	CHECK(!has_control(other));
	CHECK_EQUAL(node_read_control(other), 1);
	CHECK(!wait_fd_readable(other, 0));
	CHECK_EQUAL(node_read_control(other), 0);
	node_wake(one, peer_of(one, other));
	CHECK(wait_fd_readable(other, 0));
	CHECK(!wait_fd_readable(one, 0) && !wait_fd_readable(third, 0));
	CHECK_EQUAL(wakes_in(other), 1);
	drop(one);
	drop(other);
	drop(third);
}

/* Wake-ups of either side reach the other, whichever has connected. */
static void both_sides_get_the_others_doorbell(void)
{
	struct node *one = start(1), *other = start(2);

	reach(one, other);
	CHECK_EQUAL(fcntl(peer_of(one, other)->doorbell, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_EQUAL(fcntl(peer_of(one, other)->doorbell, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	node_wake(other, peer_of(other, one));
	CHECK_EQUAL(wakes_in(one), 1);
	CHECK_EQUAL(wakes_in(other), 0);
	node_wake(one, peer_of(one, other));
	CHECK_EQUAL(wakes_in(one), 0);
	CHECK_EQUAL(wakes_in(other), 1);
	drop(one);
	drop(other);
}

static void a_full_doorbell_is_as_good_as_written_to(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(one, other);
	const uint64_t most = UINT64_MAX - 1, none = 0;

	reach(one, other);
	CHECK_EQUAL(write(peer->doorbell, &most, sizeof(most)), sizeof(most));
	CHECK_EQUAL(write(peer->doorbell, &none, sizeof(none)), sizeof(none));
	node_wake(one, peer);
	node_wake(one, peer);
	CHECK(wait_fd_readable(other, 0));
	CHECK(!has_control(other));
	CHECK_EQUAL(node_read_control(other), 1);
	CHECK(!wait_fd_readable(other, 0));
	node_wake(one, peer);
	CHECK_EQUAL(wakes_in(other), 1);
	drop(one);
	drop(other);
}

static void without_a_doorbell_a_control_message_wakes(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(one, other);

	reach(one, other);
	lose_doorbell(peer);
	for (int i = 0; i < 20; i++)
		node_wake(one, peer);
	CHECK_EQUAL(one->counters.wakes, 20);
	CHECK_EQUAL(wakes_in(other), 0);
	CHECK(wait_fd_readable(other, 0));
	CHECK(node_read_control(other) > 0);
	CHECK(!wait_fd_readable(other, 0));
	CHECK_EQUAL(other->counters.malformed, 0);
	drop(one);
	drop(other);
}

/* Rank 1 sleeps in poll() until it is woken, again and again; a wake that is missed is a round that does not end. */
static void a_sleeper_is_woken_by_the_doorbell(void)
{
	struct node *node = start(1 + my_rank);
	struct node_peer *peer = node_peer_get(node, LOOPBACK, pid_for(2 - my_rank));
	_Atomic uint64_t *round = shared_memory();
	uint64_t deadline = now_ns() + PATIENCE;

	barrier();
	while (peer->meeting != NODE_OPEN) {
		CHECK_EQUAL(node_connect(node, peer), -EAGAIN);
		node_read_control(node);
		CHECK(now_ns() < deadline);
	}
	barrier();
	for (int i = 0; i < 2; i++) { /* connection requests that were still on their way, and then their answers */
		node_read_control(node);
		barrier();
	}
	for (uint64_t i = 1; i <= FEWER(2000); i++) {
		deadline = now_ns() + PATIENCE;
		if (my_rank == 0) {
			node_wake(node, peer);
			while (atomic_load(round) != i)
				CHECK(now_ns() < deadline);
		} else {
			CHECK(wait_fd_readable(node, (int)(PATIENCE / 1000000)));
			CHECK(!has_control(node));
			CHECK_EQUAL(node_read_control(node), 1);
			CHECK(!wait_fd_readable(node, 0));
			atomic_store(round, i);
		}
	}
	barrier();
	drop(node);
}

/*
 * The doorbell of a process that has gone is closed, or descriptors would not balance; death is noticed though the
 * doorbell is not.
 */
static void waking_the_dead_is_harmless(void)
{
	struct node *node = start(1);
	struct node_peer *peer = node_peer_get(node, LOOPBACK, pid_for(2));
	uint64_t deadline = now_ns() + PATIENCE;
	int before = open_descriptors();
	pid_t child = fork_child();

	if (child == 0) {
		close_in_child(node);
		struct node *mine = start(2);
		for (;;)
			node_read_control(mine);
	}
	while (peer->meeting != NODE_OPEN) {
		int rc = node_connect(node, peer);
		CHECK(rc == -EAGAIN || rc == -ENOENT);
		node_read_control(node);
		CHECK(now_ns() < deadline);
	}
	CHECK_EQUAL(open_descriptors(), before + 2); /* a pidfd and a doorbell */
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
	node_wake(node, peer);
	CHECK(!peer->failed);
	CHECK(node_peer_dead(node, peer));
	CHECK(wait_fd_readable(node, 0));
	CHECK(node_read_control(node) > 0); /* the death, and what the child still answered to a second CONNECT */
	CHECK_EQUAL(told, 1);
	CHECK_EQUAL(open_descriptors(), before);
	drop(node);
}

/* Unread control messages count against their sender, of which wake-ups must not depend. */
static void a_wake_passes_when_others_read_nothing(void)
{
	struct node *one = start(1), *other = start(2);
	struct sockaddr_un name[MAX_PEERS] = {0};
	socklen_t length[MAX_PEERS];
	int deaf[MAX_PEERS], more;
	char page[1000] = {0};

	reach(one, other);
	for (int i = 0; i < MAX_PEERS; i++) {
		struct sockaddr_un any = {.sun_family = AF_UNIX};
		deaf[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		CHECK(deaf[i] >= 0);
		CHECK_EQUAL(bind(deaf[i], (struct sockaddr *)&any, sizeof(sa_family_t)), 0);
		length[i] = sizeof(name[i]);
		CHECK_EQUAL(getsockname(deaf[i], (struct sockaddr *)&name[i], &length[i]), 0);
	}
	do {
		more = 0;
		for (int i = 0; i < MAX_PEERS; i++)
			more += sendto(one->socket, page, sizeof(page), MSG_DONTWAIT, (struct sockaddr *)&name[i],
				       length[i]) > 0;
	} while (more > 0);
	node_wake(one, peer_of(one, other));
	CHECK_EQUAL(wakes_in(other), 1);
	CHECK(!has_control(other));
	lose_doorbell(peer_of(one, other));
	node_wake(one, peer_of(one, other));
	CHECK(has_control(other));
	for (int i = 0; i < MAX_PEERS; i++)
		close(deaf[i]);
	drop(one);
	drop(other);
}

/* ---- Hostile control messages ---- */

static socklen_t name_of(const struct node *node, struct sockaddr_un *name)
{
	socklen_t length = sizeof(*name);

	CHECK_EQUAL(getsockname(node->socket, (struct sockaddr *)name, &length), 0);
	return length;
}

static void post(int from, const struct node *to, const void *bytes, size_t length, const int *fds, int count)
{
	struct sockaddr_un name;
	_Alignas(struct cmsghdr) char ancillary[CMSG_SPACE(253 * sizeof(int))] = {0};
	struct iovec body = {(void *)(uintptr_t)bytes, length};
	struct msghdr message = {
		.msg_name = &name, .msg_namelen = name_of(to, &name), .msg_iov = &body, .msg_iovlen = 1};

	if (count > 0) {
		message.msg_control = ancillary;
		/* Their types are size_t or socklen_t, as the C library has it. */
		message.msg_controllen = (socklen_t)CMSG_SPACE((size_t)count * sizeof(int));
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = (socklen_t)CMSG_LEN((size_t)count * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, (size_t)count * sizeof(int));
	}
	CHECK_EQUAL(__real_sendmsg(from, &message, MSG_DONTWAIT), length);
}

/* The control message that `from` sends first to `to`, taken from the socket. */
static size_t intercept(struct node *from, struct node *to, char *bytes, size_t room)
{
	struct node_peer *peer = peer_of(from, to);

	peer->connect_sent_at = 0;
	CHECK_EQUAL(node_connect(from, peer), -EAGAIN);
	ssize_t length = recv(to->socket, bytes, room, MSG_DONTWAIT);
	CHECK(length > 1);
	return (size_t)length;
}

static void check_unharmed(struct node *victim, uint64_t malformed)
{
	CHECK_EQUAL(victim->counters.malformed, malformed);
	CHECK(!wait_fd_readable(victim, 0));
	for (uint32_t i = 0; i < victim->peer_count; i++)
		CHECK(victim->peers[i]->segment == NULL);
}

static void random_control_messages_are_dropped(void)
{
	struct node *victim = start(1), *honest = start(2);
	unsigned char bytes[512];

	for (unsigned length = 0; length < sizeof(bytes); length++) {
		CHECK_EQUAL(getrandom(bytes, sizeof(bytes), 0), sizeof(bytes));
		post(honest->socket, victim, bytes, length, NULL, 0);
		CHECK_EQUAL(node_read_control(victim), 1);
	}
	check_unharmed(victim, sizeof(bytes) - 1); /* one was a wake-up */
	reach(honest, victim);
	drop(victim);
	drop(honest);
}

/* A true control message with any one bit changed, from its true sender: dropped, or as harmless as the true one. */
static void changed_control_messages_do_no_harm(void)
{
	struct node *victim = start(1), *honest = start(2);
	char bytes[512];
	size_t length = intercept(honest, victim, bytes, sizeof(bytes));

	for (size_t bit = 0; bit < length * 8; bit++) {
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		post(honest->socket, victim, bytes, length, NULL, 0);
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		CHECK_EQUAL(node_read_control(victim), 1);
		while (recv(honest->socket, bytes + length, 1, MSG_DONTWAIT) > 0)
			; /* an answer, and with it a segment */
	}
	check_unharmed(victim, victim->counters.malformed);
	CHECK(victim->counters.malformed >= 32 + 64); /* magic, nid and pid at least */
	CHECK_EQUAL(victim->peer_count, 1);
	reach(honest, victim);
	check_open(honest, victim);
	drop(victim);
	drop(honest);
}

static void nobody_speaks_in_anothers_name(void)
{
	struct node *victim = start(1), *honest = start(2), *liar = start(3);
	char bytes[512];
	size_t length = intercept(honest, victim, bytes, sizeof(bytes));
	int nameless = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	post(liar->socket, victim, bytes, length, &liar->segment_fd, 1);
	post(nameless, victim, bytes, length, &liar->segment_fd, 1);
	CHECK_EQUAL(node_read_control(victim), 2);
	check_unharmed(victim, 2);
	CHECK_EQUAL(victim->peer_count, 0);
	/* Nor in our own. */
	length = intercept(victim, honest, bytes, sizeof(bytes));
	post(victim->socket, victim, bytes, length, NULL, 0);
	CHECK_EQUAL(node_read_control(victim), 1);
	check_unharmed(victim, 3);
	close(nameless);
	drop(liar);
	reach(honest, victim);
	drop(victim);
	drop(honest);
}

static void only_passed_descriptors_are_taken_and_only_with_a_control_message(void)
{
	struct node *victim = start(1), *honest = start(2);
	char first[512], second[512], rest[512];
	size_t length = intercept(honest, victim, first, sizeof(first));
	int fds[253];

	/* The first control message gives no number, the second would do with the right descriptors. */
	begin_to_meet(honest, victim);
	recv(victim->socket, rest, sizeof(rest), MSG_DONTWAIT);
	CHECK_EQUAL(intercept(honest, victim, second, sizeof(second)), length);
	int before = open_descriptors();
	for (int i = 0; i < 253; i++)
		fds[i] = i == 1 ? honest->doorbell : i == 2 ? honest->voucher_fd : honest->segment_fd;
	post(honest->socket, victim, second, length, fds, 4);
	post(honest->socket, victim, second, length, fds, 253);
	CHECK_EQUAL(node_read_control(victim), 2);
	check_unharmed(victim, 2);
	post(honest->socket, victim, "", 1, fds, 2); /* with a wake-up */
	post(honest->socket, victim, second, length - 1, fds, 253);
	CHECK_EQUAL(node_read_control(victim), 2);
	check_unharmed(victim, 3);
	post(honest->socket, victim, first, length, fds, 2);
	CHECK_EQUAL(node_read_control(victim), 1);
	check_unharmed(victim, 4);
	while (recv(honest->socket, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	CHECK_EQUAL(open_descriptors(), before);
	post(honest->socket, victim, second, length, fds, 2);
	CHECK_EQUAL(node_read_control(victim), 1);
	CHECK_EQUAL(peer_of(victim, honest)->meeting, NODE_OPEN);
	CHECK_EQUAL(open_descriptors(), before + 1); /* the doorbell */
	post(honest->socket, victim, second, length, fds, 2);
	CHECK_EQUAL(node_read_control(victim), 1);
	CHECK_EQUAL(open_descriptors(), before + 1);
	reach(honest, victim);
	check_open(honest, victim);
	drop(victim);
	drop(honest);
}

/* What would be sent would bear it. */
static void a_control_message_without_a_number_opens_nothing(void)
{
	enum { NUMBER_AT = 56 }; /* of the sender for its receiver; then the one that it was given */
	const uint16_t none = NODE_NO_SENDER;
	struct node *victim = start(1), *honest = start(2);
	char control[512], changed[512];
	int fds[2] = {honest->segment_fd, honest->doorbell};

	begin_to_meet(honest, victim);
	recv(victim->socket, control, sizeof(control), MSG_DONTWAIT);
	size_t length = intercept(honest, victim, control, sizeof(control));
	memcpy(changed, control, length);
	memcpy(changed + NUMBER_AT + 2, &none, sizeof(none));
	post(honest->socket, victim, changed, length, fds, 2);
	CHECK_EQUAL(node_read_control(victim), 1);
	CHECK_EQUAL(peer_of(victim, honest)->meeting, NODE_MET);
	memcpy(changed, control, length);
	memcpy(changed + NUMBER_AT, &none, sizeof(none));
	post(honest->socket, victim, changed, length, NULL, 0);
	CHECK_EQUAL(node_read_control(victim), 1);
	CHECK_EQUAL(peer_of(victim, honest)->meeting, NODE_MET);
	reach(honest, victim);
	reach(victim, honest);
	check_open(honest, victim);
	drop(victim);
	drop(honest);
}

/* Leaves room for `spare` more descriptors; the others are `taken`. */
static int use_up_descriptors(int *taken, int most, int spare)
{
	const struct rlimit few = {.rlim_cur = (rlim_t)most, .rlim_max = (rlim_t)most};
	int count = 0;

	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((taken[count] = dup(STDOUT_FILENO)) >= 0)
		count++;
	for (; spare > 0 && count > 0; spare--)
		close(taken[--count]);
	return count;
}

static void whoever_has_no_descriptors_left_meets_later(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *peer = peer_of(one, other);
	int taken[100] = {0}, count = use_up_descriptors(taken, 100, 0);

	uint64_t until = now_ns() + 5000000, deadline = until + PATIENCE;
	while (now_ns() < until || !one->told_shortage) {
		CHECK_EQUAL(node_connect(one, peer), -EAGAIN);
		node_read_control(other);
		node_read_control(one);
		CHECK(now_ns() < deadline);
	}
	CHECK(peer->meeting != NODE_OPEN);
	CHECK_EQUAL(one->counters.malformed + other->counters.malformed, 0);
	while (count > 0)
		close(taken[--count]);
	reach(one, other);
	check_open(one, other);
	CHECK(peer->doorbell >= 0);
	drop(one);
	drop(other);
}

/* One for the pidfd of the peer that connects, which is first, and one for the segment, closed again when that is mapped. */
static void two_descriptors_are_enough_to_meet(void)
{
	struct node *one = start(1), *other = start(2);
	struct node_peer *there = peer_of(one, other), *here = peer_of(other, one);
	int taken[100] = {0}, count = use_up_descriptors(taken, 100, 2);

	reach(one, other);
	check_open(one, other);
	CHECK(!there->voucher && !here->voucher);
	CHECK_EQUAL(there->doorbell, -1);
	CHECK_EQUAL(here->doorbell, -1);
	CHECK(!one->told_shortage && !other->told_shortage);
	CHECK_EQUAL(one->counters.malformed + other->counters.malformed, 0);
	node_wake(one, there);
	CHECK(has_control(other));
	CHECK(wait_fd_readable(other, 0));
	while (count > 0)
		close(taken[--count]);
	drop(one);
	drop(other);
}

/* Nothing that would break, block or be written to; and then the control message as a whole is void. */
static void only_an_eventfd_is_taken_for_a_doorbell(void)
{
	struct node *victim = start(1), *liar = start(2);
	int own = liar->doorbell, ends[2], blocking;

	CHECK_EQUAL(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	blocking = eventfd(0, EFD_CLOEXEC);
	CHECK(blocking >= 0);
	const int doorbells[] = {ends[1], liar->socket, liar->segment_fd, blocking, STDOUT_FILENO};
	for (size_t i = 0; i < sizeof(doorbells) / sizeof(*doorbells); i++) {
		uint64_t deadline = now_ns() + PATIENCE;

		liar->doorbell = doorbells[i];
		while (victim->counters.malformed <= i) {
			CHECK_EQUAL(node_connect(liar, peer_of(liar, victim)), -EAGAIN);
			node_read_control(victim);
			node_read_control(liar);
			CHECK(now_ns() < deadline);
		}
		CHECK(peer_of(victim, liar)->segment == NULL);
		CHECK_EQUAL(peer_of(victim, liar)->doorbell, -1);
	}
	close(ends[0]);
	close(ends[1]);
	close(blocking);
	liar->doorbell = own;
	reach(liar, victim);
	drop(victim);
	drop(liar);
}

static void another_version_is_refused(void)
{
	struct node *victim = start(1), *newer = start(2);
	struct node_peer *peer = peer_of(newer, victim);
	char bytes[512];
	size_t length = intercept(newer, victim, bytes, sizeof(bytes) - 8);
	uint16_t version;

	memcpy(&version, bytes + 4, sizeof(version)); /* behind the magic */
	CHECK_EQUAL(
		version,
		NODE_LAYOUT_VERSION); /* a peer that could not use our segment learns it from the first control message */
	bytes[4]++;
	post(newer->socket, victim, bytes, length + 8, NULL, 0);
	CHECK_EQUAL(node_read_control(victim), 1);
	check_unharmed(victim, 0);
	CHECK_EQUAL(victim->peer_count, 0);
	node_read_control(newer);
	CHECK_EQUAL(peer->meeting, NODE_FOREIGN);
	CHECK_EQUAL(node_connect(newer, peer), -EHOSTUNREACH);
	drop(victim);
	drop(newer);
}

/* ---- Hostile memory ---- */

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* A copy of the interface's segment, of that size and with those seals. */
static int forge(const struct node *node, size_t size, int seals)
{
	int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t constants = offsetof(struct node_segment, attention);

	CHECK(fd >= 0);
	CHECK_EQUAL(pwrite(fd, node->segment, constants, 0), constants);
	CHECK_EQUAL(ftruncate(fd, (off_t)size), 0);
	CHECK_EQUAL(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int plain_file(size_t size)
{
	char path[] = "/tmp/portals3-meet-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	unlink(path);
	CHECK_EQUAL(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static int read_only(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(again >= 0);
	close(fd);
	return again;
}

static int pipe_end(void)
{
	int ends[2];

	CHECK_EQUAL(pipe(ends), 0);
	close(ends[1]);
	return ends[0];
}

#define WHOLE sizeof(struct node_segment)

static int hostile_fd(const struct node *node, int which)
{
	switch (which) {
	case 0:
		return plain_file(WHOLE);
	case 1:
		return pipe_end();
	case 2:
		return forge(node, 4096, SEALS);
	case 3:
		return forge(node, WHOLE + 4096, SEALS);
	case 4:
		return forge(node, WHOLE, F_SEAL_SHRINK | F_SEAL_GROW);
	case 5:
		return forge(node, WHOLE, F_SEAL_GROW | F_SEAL_SEAL);
	case 6:
		return forge(node, WHOLE, SEALS | F_SEAL_WRITE);
	case 7:
		return forge(node, WHOLE, SEALS | F_SEAL_FUTURE_WRITE);
	case 8:
		return read_only(forge(node, WHOLE, SEALS));
	case 9:
		return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	case 10:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	default:
		return open("/proc/self", O_RDONLY | O_CLOEXEC);
	}
}

#define HOSTILE_FDS 12

static void hostile_memory_is_refused(void)
{
	struct node *node = start(1);
	struct node_peer claimed = {.nid = node->nid, .pid = node->pid};
	struct node_segment *segment = NULL;

	memcpy(claimed.incarnation, node->incarnation, sizeof(claimed.incarnation));
	for (int i = 0; i < HOSTILE_FDS; i++) {
		int fd = hostile_fd(node, i);
		CHECK(fd >= 0);
		CHECK_EQUAL(node_segment_map(fd, &claimed, &segment), -EPROTO);
		close(fd);
	}
	CHECK_EQUAL(node_segment_map(-1, &claimed, &segment), -EPROTO);
	CHECK(segment == NULL);
	int good = forge(node, WHOLE, SEALS);
	CHECK_EQUAL(node_segment_map(good, &claimed, &segment), 0);
	segment->magic++; /* of the forgery: another layout */
	struct node_segment *second = NULL;
	CHECK_EQUAL(node_segment_map(good, &claimed, &second), -EPROTO);
	node_segment_unmap(segment);
	close(good);
	struct node_peer wrong[4] = {claimed, claimed, claimed, claimed};
	wrong[0].nid++;
	wrong[1].pid++;
	wrong[2].incarnation[0]++;
	wrong[3].incarnation[1]++;
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(node_segment_map(node->segment_fd, &wrong[i], &second), -EPROTO);
	CHECK_EQUAL(node_segment_map(node->segment_fd, &claimed, &second), 0);
	node_segment_unmap(second);
	drop(node);
}

static void hostile_memory_is_not_met(void)
{
	for (int i = 0; i < HOSTILE_FDS; i++) {
		struct node *victim = start(1), *liar = start(2);
		int own = liar->segment_fd;
		uint64_t deadline = now_ns() + PATIENCE;

		liar->segment_fd = hostile_fd(liar, i);
		while (victim->counters.malformed == 0) {
			CHECK_EQUAL(node_connect(liar, peer_of(liar, victim)), -EAGAIN);
			node_read_control(victim);
			node_read_control(liar);
			CHECK(now_ns() < deadline);
		}
		CHECK_EQUAL(peer_of(victim, liar)->meeting, NODE_UNVERIFIED);
		CHECK_EQUAL(peer_of(liar, victim)->meeting, NODE_MET);
		close(liar->segment_fd);
		liar->segment_fd = own;
		reach(liar, victim);
		drop(victim);
		drop(liar);
	}
}

#define VOUCHER_SEALS (SEALS | F_SEAL_FUTURE_WRITE)

static int forge_voucher(size_t size, int seals)
{
	int fd = node_memory_file("forged");

	CHECK(fd >= 0);
	CHECK_EQUAL(ftruncate(fd, (off_t)size), 0);
	CHECK_EQUAL(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void need_vouchers(const struct node *node)
{
	if (!node->voucher)
		skip_test("this system locks no memory, or has no seal that keeps others from writing to it");
}

/* Neither through what was passed to it, nor through the same opened again, nor through its own mapping. */
static void a_peer_reads_a_voucher_and_cannot_write_to_it(void)
{
	const size_t size = sizeof(struct node_voucher);
	struct node *owner = start(1), *reader = start(2);
	char path[64];

	need_vouchers(owner);
	reach(reader, owner);
	const struct node_voucher *seen = peer_of(reader, owner)->voucher;
	CHECK(seen != NULL && seen != owner->voucher);
	atomic_store(&owner->voucher->thread, 4711);
	CHECK_EQUAL(atomic_load(&seen->thread), 4711);
	uintptr_t page = (uintptr_t)seen;
	CHECK(mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", owner->voucher_fd);
	const int fds[] = {owner->voucher_fd, open(path, O_RDWR | O_CLOEXEC)};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		CHECK(fds[i] >= 0);
		CHECK(node_memory_map(fds[i], size, PROT_READ | PROT_WRITE) == NULL);
		CHECK(pwrite(fds[i], "", 1, 0) < 0);
		CHECK(fallocate(fds[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size) != 0);
		CHECK(ftruncate(fds[i], 0) != 0);
	}
	CHECK_EQUAL(atomic_load(&seen->thread), 4711);
	CHECK(fcntl(owner->voucher_fd, F_GETFD) & FD_CLOEXEC);
	close(fds[1]);
	drop(reader);
	drop(owner);
}

static void a_peer_without_a_voucher_is_met(void)
{
	struct node *plain = start(1), *other = start(2);

	node_voucher_drop(plain);
	reach(plain, other);
	check_open(plain, other);
	CHECK(peer_of(other, plain)->voucher == NULL);
	CHECK(!other->voucher || peer_of(plain, other)->voucher != NULL);
	CHECK_EQUAL(plain->counters.malformed + other->counters.malformed, 0);
	drop(plain);
	drop(other);
}

/* What could be written to by others, or shrink, vouches for nothing. */
static void a_hostile_voucher_is_none(void)
{
	const size_t size = sizeof(struct node_voucher);
	struct node *victim = start(1), *liar = start(2);

	need_vouchers(liar);
	const int own = liar->voucher_fd, hostile[] = {
						  plain_file(size),
						  pipe_end(),
						  forge_voucher(size, SEALS),
						  forge_voucher(size, VOUCHER_SEALS & ~F_SEAL_SHRINK),
						  forge_voucher(size, VOUCHER_SEALS & ~F_SEAL_SEAL),
						  forge_voucher(size - 1, VOUCHER_SEALS),
					  };
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		const struct node_voucher *mapped = NULL;

		CHECK_EQUAL(node_voucher_map(hostile[i], &mapped), -EPROTO);
		CHECK(mapped == NULL);
	}
	liar->voucher_fd = hostile[2];
	reach(victim, liar);
	CHECK(peer_of(victim, liar)->voucher == NULL);
	CHECK_EQUAL(victim->counters.malformed, 1);
	liar->voucher_fd = own;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
		close(hostile[i]);
	drop(victim);
	drop(liar);
}

static void our_own_segment_is_sealed_and_empty(void)
{
	struct node *node = start(1);

	CHECK_EQUAL(fcntl(node->segment_fd, F_GET_SEALS) & SEALS, SEALS);
	CHECK(ftruncate(node->segment_fd, 0) != 0);
	CHECK(ftruncate(node->segment_fd, (off_t)WHOLE * 2) != 0);
	CHECK(fcntl(node->segment_fd, F_ADD_SEALS, F_SEAL_WRITE) != 0);
	CHECK(fcntl(node->segment_fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(node->socket, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(node->doorbell, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(node->wait_fd, F_GETFD) & FD_CLOEXEC);
	for (int i = 0; i < NODE_SLOTS; i++)
		CHECK_EQUAL(atomic_load(&node->segment->slots[i].sequence), 0);
	CHECK_EQUAL(atomic_load(&node->segment->tail), 0);
	drop(node);
}

static const struct test tests[] = {
	ROW(1, two_interfaces_meet_by_four_control_messages),
	ROW(1, a_repeated_request_has_its_answer_read),
	ROW(1, a_name_has_one_holder),
	ROW(1, nobody_is_there_until_somebody_is),
	ROW(1, two_may_connect_at_once),
	ROW(1, any_control_messages_may_be_lost),
	ROW(1, connection_requests_become_rare),
	ROW(1, a_number_comes_again_after_a_thousand_others),
	ROW(1, a_number_waits_for_the_records_of_its_holder),
	ROW(1, sixty_five_thousand_peers_have_a_number_each),
	ROW(1, a_new_incarnation_is_met_afresh),
	ROW(1, a_new_incarnation_is_noticed_in_mid_meeting),
	ROW(1, whoever_has_gone_meanwhile_is_not_met),
	ROW(1, a_new_incarnation_waits_for_the_records_of_the_old),
	ROW(1, a_disconnect_is_told_once),
	ROW(1, a_connection_request_lets_nobody_go),
	ROW(1, who_was_forgotten_meets_again),
	ROW(1, any_course_of_events_ends_in_meetings),
	ROW(1, any_course_with_forgetting_ends_in_meetings),
	ROW(2, processes_meet_and_one_is_killed),
	ROW(1, a_death_waits_for_the_records_of_the_dead),
	ROW(1, a_forked_child_has_no_segment),
	ROW(1, another_user_is_refused),
	ROW(1, another_user_is_not_reached),
	ROW(1, a_process_that_cannot_be_seen_is_watched_by_its_name),
	{.name = "a_sleeper_is_woken_by_the_doorbell",
	 .run = a_sleeper_is_woken_by_the_doorbell,
	 .processes = 2,
	 .seconds = 100}, /* two switches between processes a round, each of which may have to wait its turn */
	ROW(1, many_wakes_are_one),
	ROW(1, both_sides_get_the_others_doorbell),
	ROW(1, a_full_doorbell_is_as_good_as_written_to),
	ROW(1, without_a_doorbell_a_control_message_wakes),
	ROW(1, waking_the_dead_is_harmless),
	ROW(1, a_wake_passes_when_others_read_nothing),
	ROW(1, random_control_messages_are_dropped),
	ROW(1, changed_control_messages_do_no_harm),
	ROW(1, nobody_speaks_in_anothers_name),
	ROW(1, only_passed_descriptors_are_taken_and_only_with_a_control_message),
	ROW(1, a_control_message_without_a_number_opens_nothing),
	ROW(1, whoever_has_no_descriptors_left_meets_later),
	ROW(1, two_descriptors_are_enough_to_meet),
	ROW(1, only_an_eventfd_is_taken_for_a_doorbell),
	ROW(1, another_version_is_refused),
	ROW(1, hostile_memory_is_refused),
	ROW(1, hostile_memory_is_not_met),
	ROW(1, our_own_segment_is_sealed_and_empty),
	ROW(1, a_peer_reads_a_voucher_and_cannot_write_to_it),
	ROW(1, a_peer_without_a_voucher_is_met),
	ROW(1, a_hostile_voucher_is_none),
	{.name = NULL},
};

int main(int argc, char **argv)
{
	static const struct test *const tables[] = {tests, NULL};
	struct harness harness = {.tables = tables, .begin = begin, .end = end, .only = argc > 1 ? argv[1] : NULL};

	return harness_run(&harness);
}
