/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever control messages come to the socket by which processes of a node meet, from whomever and
 * with whatever descriptors, they are dropped or have an effect that the protocol allows; no descriptor is lost.  The
 * input is a script of control messages.  Control messages, names and segments are real; the table of peers and the
 * queue are stubs.
 */
#include "transports/node/node_meet.c" /* for the form of a control message */
#include "transports/node/node_meet.h"
#include "transports/node/node_name.h"
#include "transports/node/node_number.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_process.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_segment.h"
#include "transports/node/node_voucher.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "tests/fuzz/input.h"
#include "tests/fuzz/silent.h"

enum { SENDERS = 2, PEERS = 16, CONTROL_MESSAGES = 64, NID = 0x7f000001 };

static struct node *victim, *senders[SENDERS];
static int outsider = -1, objects[4]; /* a socket without a name; what may be passed */

/* --- stubs --- */

struct node_peer *node_peer_find(const struct node *node, uint32_t nid, uint32_t pid)
{
	for (uint32_t i = 0; i < node->peer_count; i++)
		if (node->peers[i]->nid == nid && node->peers[i]->pid == pid)
			return node->peers[i];
	return NULL;
}

static void clear(struct node_peer *peer, uint32_t nid, uint32_t pid, uint32_t index)
{
	*peer = (struct node_peer){.nid = nid,
				   .pid = pid,
				   .pidfd = -1,
				   .doorbell = -1,
				   .index = index,
				   .sender = NODE_NO_SENDER,
				   .number = NODE_NO_SENDER,
				   .former = NODE_NO_SENDER};
}

struct node_peer *node_peer_get(struct node *node, uint32_t nid, uint32_t pid)
{
	struct node_peer *peer = node_peer_find(node, nid, pid);

	if (peer || node->peer_count == PEERS || !(peer = malloc(sizeof(*peer))))
		return peer;
	clear(peer, nid, pid, node->peer_count);
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
	REQUIRE(peer->meeting == NODE_MET && peer->segment && peer->sender != NODE_NO_SENDER);
}

void node_peer_lost(struct node *node, struct node_peer *peer, bool tell)
{
	(void)tell;
	if (peer->number != NODE_NO_SENDER)
		node_number_return(node, peer->number);
	if (peer->segment)
		node_segment_unmap(peer->segment);
	node_voucher_unmap(peer->voucher);
	node_unwatch(node, peer);
	clear(peer, peer->nid, peer->pid, peer->index);
}

void node_copy_probe(struct node *node, struct node_peer *peer, uint64_t nonce)
{
	(void)node, (void)nonce;
	REQUIRE(peer->segment);
}

int node_consume(struct node *node, int budget)
{
	(void)budget;
	node->head = atomic_load(&node->segment->tail);
	return 0;
}

static void greet(void *owner, uint32_t nid, uint32_t pid, struct transport_greeting *greeting)
{
	(void)owner, (void)nid, (void)pid;
	*greeting = (struct transport_greeting){.version = 1, .tag = 1};
}

/* An engine may send to the peer from now on, and believes what it was told. */
static void connected(void *owner, transport_address from, const struct transport_connection *connection)
{
	const struct node *node = owner;

	REQUIRE(from < node->peer_count && node->peers[from]->meeting == NODE_OPEN);
	REQUIRE(connection->pid == node->peers[from]->pid && connection->ours.version && connection->theirs.version);
}

static const struct transport_sink sink = {.greet = greet, .connected = connected};

/* --- interfaces --- */

static struct node *start(uint32_t tag)
{
	struct node *node = calloc(1, sizeof(*node));
	uint32_t pid = (uint32_t)getpid() | tag << 22;

	REQUIRE(node && (node->peers = calloc(PEERS, sizeof(struct node_peer *))));
	node->nid = NID;
	node->pid = pid;
	node->sink = &sink;
	node->owner = node;
	node->segment_fd = -1;
	node->incarnation[0] = node->incarnation[1] = tag;
	REQUIRE(node_name_claim(node, pid) == 0 && node_segment_make(node) == 0);
	node_voucher_make(node);
	return node;
}

static void stop(struct node *node)
{
	for (uint32_t i = 0; i < node->peer_count; i++) {
		node_peer_lost(node, node->peers[i], false);
		free(node->peers[i]);
	}
	node_numbers_free(node);
	node_segment_unmap(node->segment);
	close(node->segment_fd);
	node_voucher_drop(node);
	node_name_release(node);
	free(node->peers);
	free(node);
}

static unsigned count_descriptors(void)
{
	unsigned count = 0;
	DIR *directory = opendir("/proc/self/fd");

	REQUIRE(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* --- the script --- */

static struct introduction make_text(const struct node *from)
{
	struct introduction text = introduction_of(from, (enum kind)(input_number(1) % 6));
	struct node_peer *known = node_peer_find(victim, from->nid, from->pid);
	uint8_t wrong = (uint8_t)input_number(1);

	text.header.flags = (uint8_t)input_number(1) & OPEN;
	memcpy(text.to, victim->incarnation, sizeof(text.to));
	text.number = (uint16_t)(input_number(1) % 4);
	text.its_number = known ? known->number : (uint16_t)input_number(2);
	text.greeting = (struct transport_greeting){.version = (uint16_t)(input_number(1) % 4),
						    .tag = (uint16_t)input_number(1)};
	/* Now and then something is not as it should be. */
	if (wrong & 1)
		text.from[0] = input_number(1);
	if (wrong & 2)
		text.to[0] = input_number(1);
	if (wrong & 4)
		text.its_number = (uint16_t)input_number(2);
	if (wrong & 8)
		text.number = (uint16_t)input_number(2);
	if (wrong & 16)
		text.pid += (uint32_t)input_number(1);
	if (wrong & 32)
		input_bytes((uint8_t *)&text + input_number(1) % sizeof(text), 1);
	return text;
}

static void post_control(void)
{
	const struct node *from = senders[input_number(1) % SENDERS];
	struct introduction text = make_text(from);
	uint8_t shape = (uint8_t)input_number(1);
	size_t length = shape & 1 ? input_number(1) % (sizeof(text) + 1) : sizeof(text);
	int other = objects[input_number(1) % 4];
	int passed[4] = {from->segment_fd, from->doorbell, from->voucher ? from->voucher_fd : other, other};
	unsigned count = shape >> 1 & 3;
	struct control_name name = node_name(victim->nid, victim->pid);
	_Alignas(struct cmsghdr) char ancillary[CMSG_SPACE(sizeof(passed))] = {0};
	struct iovec body = {&text, length};
	struct msghdr message = {
		.msg_name = &name.address, .msg_namelen = name.length, .msg_iov = &body, .msg_iovlen = 1};

	if (shape & 8)
		passed[input_number(1) % 3] = other;
	if (shape & 32 && count > 0)
		count++;
	if (count > 0) {
		message.msg_control = ancillary;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(rights), passed, count * sizeof(int));
	}
	sendmsg(shape & 16 ? outsider : from->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void drain(const struct node *node)
{
	char byte;

	while (recv(node->socket, &byte, 1, MSG_DONTWAIT) >= 0)
		;
}

static void open_objects(void)
{
	static const char nonsense[64];

	outsider = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	objects[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
	objects[1] = memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	objects[2] = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	objects[3] = eventfd(0, EFD_CLOEXEC); /* blocks */
	REQUIRE(write(objects[1], nonsense, sizeof(nonsense)) == sizeof(nonsense));
	REQUIRE(ftruncate(objects[2], sizeof(struct node_segment)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (outsider < 0)
		open_objects();
	unsigned before = count_descriptors();

	input = bytes;
	input_length = length;
	victim = start(1);
	for (uint32_t i = 0; i < SENDERS; i++)
		senders[i] = start(2 + i);
	for (int i = 0; i < CONTROL_MESSAGES && input_length > 0; i++) {
		post_control();
		if (input_number(1) % 4)
			node_read_control(victim);
		for (uint32_t s = 0; s < SENDERS; s++)
			drain(senders[s]);
	}
	node_read_control(victim);
	stop(victim);
	for (uint32_t i = 0; i < SENDERS; i++)
		stop(senders[i]);
	REQUIRE(count_descriptors() == before);
	return 0;
}
