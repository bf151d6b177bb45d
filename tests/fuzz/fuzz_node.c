/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a misbehaving peer writes into the memory it shares with us, nothing of ours is read or
 * written that it should not be, and no byte of a message is written after its read has ended.  The input is a script
 * of what two peers write and what we do; meeting and segments are stubs, everything else of the node transport is
 * real.
 */
#include "transports/node/node.h"
#include "transports/node/node_meet.h"
#include "transports/node/node_name.h"
#include "transports/node/node_number.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "tests/fuzz/silent.h"

enum { PEERS = 2, SEGMENTS = PEERS + 3, BUFFERS = 8, STEPS = 4000, NID = 1, PID = 100 };

static struct node *node;
static bool all_dead, host_is_waiting;
static struct buffer {
	uint8_t *bytes; /* NULL: no read or memory region uses it */
	struct memory_region memory_region;
} reads[BUFFERS], exposed[BUFFERS];
static struct node_segment segments[SEGMENTS];
static bool segment_used[SEGMENTS];
static uint8_t fruit;

/* Reads every byte, for the sanitizer to see. */
static void look_at(const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		fruit = (uint8_t)(fruit ^ ((const volatile uint8_t *)bytes)[i]);
}

/* --- stubs --- */

/* Mapped again and again, for speed; poisoned while it is not. */
static struct node_segment *new_segment(void)
{
	for (unsigned i = 0; i < SEGMENTS; i++) {
		if (segment_used[i])
			continue;
		segment_used[i] = true;
		ASAN_UNPOISON_MEMORY_REGION(&segments[i], sizeof(segments[i]));
		memset(&segments[i], 0, offsetof(struct node_segment, slabs));
		return &segments[i];
	}
	__builtin_trap();
}

int node_segment_make(struct node *of)
{
	of->segment = new_segment();
	return 0;
}

bool node_segment_spoiled(const struct node *of)
{
	(void)of;
	return false;
}

int node_segment_map(int fd, const struct node_peer *peer, struct node_segment **out)
{
	(void)fd, (void)peer, (void)out;
	return -EPROTO;
}

void node_segment_unmap(struct node_segment *segment)
{
	segment_used[segment - segments] = false;
	ASAN_POISON_MEMORY_REGION(segment, sizeof(*segment));
}

int node_name_claim(struct node *of, uint32_t pid)
{
	(void)of, (void)pid;
	return 0;
}

void node_name_release(struct node *of)
{
	(void)of;
}

int node_connect(struct node *of, struct node_peer *peer)
{
	(void)of, (void)peer;
	return -EAGAIN;
}

int node_read_control(struct node *of)
{
	(void)of;
	return 0;
}

bool node_wake(struct node *of, struct node_peer *peer)
{
	(void)of, (void)peer;
	return true;
}

void node_disconnect(struct node *of)
{
	(void)of;
}

void node_unwatch(struct node *of, struct node_peer *peer)
{
	(void)of;
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	peer->pidfd = -1;
}

void node_peer_ended(struct node *of, struct node_peer *peer)
{
	node_unwatch(of, peer);
}

void node_doorbell_close(struct node_peer *peer)
{
	REQUIRE(peer->doorbell < 0);
}

bool node_pidfd_ended(const struct node_peer *peer)
{
	(void)peer;
	return all_dead;
}

bool node_peer_dead(struct node *of, struct node_peer *peer)
{
	(void)of, (void)peer;
	return all_dead;
}

/* The peers' memory: full of one byte, wherever it is; every identity is right. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long count, const struct iovec *remote,
			 unsigned long remote_count, unsigned long flags)
{
	size_t done = 0;

	(void)remote, (void)remote_count, (void)flags;
	REQUIRE(pid > PID && pid <= PID + PEERS);
	switch (input_number(1) % 16) {
	case 0:
		errno = EPERM;
		return -1;
	case 1:
		errno = EFAULT;
		return -1;
	case 2:
		errno = ESRCH;
		return -1;
	default:
		break;
	}
	for (unsigned long i = 0; i < count; i++) {
		memset(local[i].iov_base, 0, local[i].iov_len);
		done += local[i].iov_len;
	}
	return (ssize_t)(input_number(1) % 16 ? done : done / 2);
}

/* Into a peer's memory: only what we have exposed may go there. */
ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long count, const struct iovec *remote,
			  unsigned long remote_count, unsigned long flags)
{
	(void)remote, (void)remote_count, (void)flags;
	REQUIRE(pid > PID && pid <= PID + PEERS && count == 1);
	look_at(local->iov_base, local->iov_len);
	if (input_number(1) % 8 == 0) {
		errno = EFAULT;
		return -1;
	}
	return (ssize_t)local->iov_len;
}

/* --- the engine --- */

static void arrived(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
		    size_t body_length)
{
	(void)owner;
	REQUIRE(from < PEERS && length <= NODE_MAX_RECORD && body_length <= NODE_SLAB_SIZE);
	look_at(bytes, length);
	look_at(body, body_length);
}

/* The memory is its user's again. */
static void rdma_done(void *owner, void *context, int status)
{
	struct buffer *buffer = context;

	(void)owner;
	REQUIRE(buffer->bytes && status <= 0);
	free(buffer->bytes);
	buffer->bytes = NULL;
}

static void peer_gone(void *owner, transport_address peer)
{
	(void)owner;
	REQUIRE(peer < PEERS);
}

static bool host_waits(void *owner)
{
	(void)owner;
	return host_is_waiting;
}

static const struct transport_sink sink = {
	.arrived = arrived, .rdma_done = rdma_done, .peer_gone = peer_gone, .host_waits = host_waits};

/* --- what happens --- */

static void meet(uint32_t index)
{
	struct node_peer *peer = node_peer_get(node, NID, PID + 1 + index);

	REQUIRE(peer && peer->index == index);
	if (peer->segment)
		return;
	peer->number = peer->sender = (uint16_t)index;
	node->senders[index] = peer;
	if (input_number(1) % 4 == 0) /* it has its number, we have nothing of it yet */
		return;
	peer->segment = new_segment();
	peer->os_pid = (pid_t)(PID + 1 + index);
	peer->pidfd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	peer->cross_memory = input_number(1) % 2;
	peer->meeting = NODE_OPEN;
	node_peer_met(node, peer);
}

/* A line in our queue that looks published. */
static void write_line(void)
{
	uint64_t position = node->head + input_number(1) % 8;
	struct node_slot *slot = &node->segment->slots[position % NODE_SLOTS];

	input_bytes(slot->bytes, sizeof(slot->bytes));
	if (input_number(1) % 4)
		slot->bytes[1] = 0;
	atomic_store(&slot->sequence, (position + 1) << 4 | (input_number(1) & 15));
	atomic_store(&node->segment->tail, position + 1 + input_number(1) % 4);
}

static void write_claim(struct node_segment *segment)
{
	struct node_claim *claim = &segment->claims[input_number(1) % NODE_CLAIMS];
	_Atomic uint64_t *words[] = {&claim->ends, &claim->done, &claim->failed};
	_Atomic uint64_t *word = words[input_number(1) % 3];

	/* Anything, or nearly what it was. */
	atomic_store(word, input_number(1) % 2 ? input_number(8) : atomic_load(word) + input_number(1));
}

static void write_counters(struct node_segment *segment)
{
	_Atomic uint64_t *words[] = {&segment->tail, &segment->head, &segment->quota, &segment->attention,
				     &segment->intent};
	_Atomic uint64_t *word = words[input_number(1) % 5];

	atomic_store(word,
		     input_number(1) % 2 ? input_number(8) : atomic_load(word) + (uint64_t)(int8_t)input_number(1));
}

static void send_something(uint32_t index)
{
	static const uint8_t bytes[NODE_SLAB_SIZE];
	const struct iovec payload = {(void *)(uintptr_t)bytes, input_number(2) % (NODE_SLAB_SIZE + 2)};

	transport_node.send(&node->base, index, bytes, input_number(1) % 100, &payload, 1);
}

static void start_list(uint32_t index)
{
	struct buffer *buffer = &reads[input_number(1) % BUFFERS];
	const uint64_t remote = input_number(4), key = input_number(2);

	if (buffer->bytes)
		return;
	buffer->bytes = malloc(1000);
	const struct iovec local[] = {{buffer->bytes, 300}, {buffer->bytes + 400, 600}};
	const struct transport_segment there[] = {{remote, key, 500}, {remote + 1000, key, 400}};
	if (transport_node.read_list(&node->base, &(struct transport_read_list){.peer = index,
										.local = local,
										.remote = there,
										.local_count = 2,
										.remote_count = 2,
										.length = 900,
										.context = buffer})) {
		free(buffer->bytes);
		buffer->bytes = NULL;
	}
}

static void start_read(uint32_t index)
{
	static const size_t lengths[] = {1, 5000, 65536, 300000};
	struct buffer *buffer = &reads[input_number(1) % BUFFERS];
	size_t length = lengths[input_number(1) % 4];

	if (buffer->bytes)
		return;
	buffer->bytes = malloc(length);
	const uint64_t remote = input_number(4), key = input_number(2);

	if (transport_node.read(&node->base, &(struct transport_read){.peer = index,
								      .local = buffer->bytes,
								      .length = length,
								      .remote = remote,
								      .key = key,
								      .context = buffer})) {
		free(buffer->bytes);
		buffer->bytes = NULL;
	}
}

static void deregister(struct buffer *buffer)
{
	transport_node.deregister(&node->base, &buffer->memory_region);
	free(buffer->bytes);
	buffer->bytes = NULL;
}

static void register_or_deregister(void)
{
	struct buffer *buffer = &exposed[input_number(1) % BUFFERS];
	size_t length = 1 + input_number(3) % 300000;

	if (buffer->bytes) {
		deregister(buffer);
		return;
	}
	buffer->bytes = calloc(1, length);
	REQUIRE(transport_node.register_memory(&node->base, buffer->bytes, length, REGION_READ,
					       &buffer->memory_region) == 0);
}

/* What a peer says that knows the form, what we expose and what we read, and gets some of it wrong. */
static void write_likely_line(void)
{
	const struct buffer *buffer = &exposed[input_number(1) % BUFFERS];
	const uint64_t token = input_number(1) % 4 << 32 | input_number(1) % 4;
	const struct node_slab_place place = {(uint32_t)input_number(1) % (NODE_SLABS + 1), (uint32_t)input_number(2)};
	struct node_slot *slot = &node->segment->slots[node->head % NODE_SLOTS];
	uint8_t kind = (uint8_t)(input_number(1) % NODE_KINDS), bytes[NODE_LINE_BYTES] = {0},
		*data = bytes + NODE_RECORD_HEAD;
	uint64_t words[4] = {buffer->memory_region.key,
			     buffer->memory_region.address + (uint64_t)(int8_t)input_number(1), input_number(2), token};
	static const uint8_t lengths[NODE_KINDS] = {20, 30, 48, 32, 24};

	if (kind == NODE_HELP) { /* key, source, destination, length; claim, generation, chunk */
		words[3] = words[2];
		words[2] = input_number(4);
		memcpy(data + 32,
		       &(uint32_t[]){(uint32_t)input_number(1), (uint32_t)input_number(1) % 4,
				     (uint32_t)input_number(3)},
		       12);
	} else if (kind != NODE_PULL) { /* the place of a slab, then token and status */
		words[0] = place.slab | (uint64_t)place.length << 32;
		words[1] = token;
		words[2] = input_number(1) % 8 ? 0 : EACCES;
	}
	memcpy(bytes, &(uint8_t[]){(uint8_t)(input_number(1) % PEERS), 0, kind, lengths[kind]}, NODE_RECORD_HEAD);
	memcpy(data, words, sizeof(words));
	memcpy(slot->bytes, bytes, sizeof(bytes));
	atomic_store(&slot->sequence, (node->head + 1) << 4 | 1);
	atomic_store(&node->segment->tail, node->head + 1);
}

static void step(void)
{
	uint32_t index = (uint32_t)input_number(1) % PEERS;
	struct node_segment *theirs = node->peers[index]->segment;

	switch (input_number(1) % 13) {
	case 0:
	case 1:
		write_line();
		break;
	case 2:
		write_likely_line();
		break;
	case 3:
		write_claim(node->segment);
		break;
	case 4:
		if (theirs)
			write_claim(theirs);
		break;
	case 5:
		write_counters(node->segment);
		break;
	case 6:
		if (theirs)
			write_counters(theirs);
		break;
	case 7:
		send_something(index);
		break;
	case 8:
		start_read(index);
		break;
	case 9:
		register_or_deregister();
		break;
	case 10:
		start_list(index);
		break;
	case 11:
		host_is_waiting = input_number(1) % 2;
		meet(index);
		node_recover(node);
		break;
	default:
		transport_node.arm(&node->base);
		transport_node.probe(&node->base, index);
	}
	transport_node.poll(&node->base, 16);
}

static void open_node(void)
{
	static const struct settings settings = {.short_max = SETTING_AUTO, .tuning_file = "", .tuning_save = ""};
	struct transport_config config = {.settings = &settings, .nid = NID, .pid = PID, .sink = &sink};
	struct transport *transport;

	all_dead = false;
	config.host_polled = input_number(1) % 2;
	REQUIRE(transport_node.claim(&config, &transport) == 0);
	node = node_of(transport);
	for (uint32_t index = 0; index < PEERS; index++)
		REQUIRE(node_number_give(node, &(struct node_peer){.number = NODE_NO_SENDER}));
	for (uint32_t index = 0; index < PEERS; index++)
		meet(index);
}

static void close_node(void)
{
	all_dead = true; /* or it would wait for helpers that owe chunks */
	transport_node.close(&node->base);
	for (unsigned i = 0; i < BUFFERS; i++) {
		free(reads[i].bytes);
		free(exposed[i].bytes);
		reads[i].bytes = exposed[i].bytes = NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	input = bytes;
	input_length = length;
	open_node();
	for (int i = 0; i < STEPS && input_length > 0; i++)
		step();
	/* What is left settles, with no peer there any more. */
	for (int i = 0; i < 100; i++)
		transport_node.poll(&node->base, 16);
	close_node();
	return 0;
}
