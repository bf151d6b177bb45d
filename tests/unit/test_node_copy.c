/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long data within the node, without meeting and engine: nodes that know each other from the start exchange real records
 * through real queues, and the kernel's copying is watched, refused or interrupted where a test wants that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/report.h"
#include "tests/support/harness.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_copy_life.h"
#include "transports/node/node_expose.h"
#include "transports/node/node_name.h"
#include "transports/node/node_number.h"
#include "transports/node/node_process.h"
#include "transports/node/node_queue.h"
#include "transports/node/node_read.h"
#include "transports/node/node_split.h"
#include "transports/node/node_voucher.h"

#define PATIENCE   (60000000000u * SLOWNESS) /* ns until something that must happen is missed */
#define PENDING    1                         /* no status of a read */
#define LONG       (4u << 20)
#define MANY_POLLS 20000 /* in which something that must not happen would have happened */
#define WINDOW     16

#define ROW(processes_, test)                                                                                          \
	{                                                                                                              \
		.name = #test, .run = test, .processes = processes_                                                    \
	}

#define DRIVE_UNTIL(condition)                                                                                         \
	do {                                                                                                           \
		uint64_t begun_ = now_ns();                                                                            \
		while (!(condition)) {                                                                                 \
			drive();                                                                                       \
			if (now_ns() - begun_ > PATIENCE)                                                              \
				FAIL("in vain: %s", #condition);                                                       \
		}                                                                                                      \
	} while (0)

/* What processes tell each other outside the code under test. */
struct stage {
	_Atomic uint32_t reads, writes, wakes, at_write, go_on, finished;
};

/* By which a node is known to others. */
struct card {
	pid_t os_pid;
	int segment_fd, voucher_fd; /* -1: none */
	uint64_t nonce, incarnation[2];
};

static struct stage *stage;
static struct node *node, *source; /* source: in the same process */
static bool waits;                 /* a host, here */
static bool patient;               /* staged reads wait as long as it takes */
static int ended;                  /* reads */
static int arrived;                /* messages */
static int *end_order[2 * WINDOW];

/* What the kernel's copying does in this process. */
static bool reads_refused, writes_refused, counting;
static unsigned identified; /* times that it was asked which process is there */
static void (*before_write)(void);
static _Atomic uint8_t *chunks_counted;
static uint64_t counted_base, counted_chunk;

ssize_t __real_process_vm_readv(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
				unsigned long);
ssize_t __real_process_vm_writev(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
				 unsigned long);
ssize_t __wrap_process_vm_readv(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
				unsigned long);
ssize_t __wrap_process_vm_writev(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
				 unsigned long);
bool __wrap_node_wake(struct node *, struct node_peer *);
bool __wrap_node_peer_dead(struct node *, struct node_peer *);

static ssize_t count_chunk(uint64_t address, size_t length)
{
	atomic_fetch_add(&chunks_counted[(address - counted_base) / counted_chunk], 1);
	return (ssize_t)length;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long count, const struct iovec *remote,
				unsigned long remote_count, unsigned long flags)
{
	if (count == 1 && local->iov_len == sizeof(node->incarnation)) { /* only asks which process is there */
		identified++;
		return __real_process_vm_readv(pid, local, count, remote, remote_count, flags);
	}
	atomic_fetch_add(&stage->reads, 1);
	if (counting) {
		memcpy(local[0].iov_base, remote[0].iov_base, local[0].iov_len);
		return (ssize_t)local[0].iov_len + count_chunk((uintptr_t)local[1].iov_base, local[1].iov_len);
	}
	if (reads_refused) {
		errno = EPERM;
		return -1;
	}
	return __real_process_vm_readv(pid, local, count, remote, remote_count, flags);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long count, const struct iovec *remote,
				 unsigned long remote_count, unsigned long flags)
{
	atomic_fetch_add(&stage->writes, 1);
	if (counting)
		return count_chunk((uintptr_t)remote->iov_base, remote->iov_len);
	if (before_write)
		before_write();
	if (writes_refused) {
		errno = EPERM;
		return -1;
	}
	return __real_process_vm_writev(pid, local, count, remote, remote_count, flags);
}

bool __wrap_node_wake(struct node *from, struct node_peer *peer)
{
	(void)from;
	(void)peer;
	atomic_fetch_add(&stage->wakes, 1);
	return true;
}

/* These nodes have no names that could be let go. */
bool __wrap_node_peer_dead(struct node *from, struct node_peer *peer)
{
	struct pollfd exit = {.fd = peer->pidfd, .events = POLLIN};

	(void)from;
	return poll(&exit, 1, 0) > 0;
}

static unsigned char pattern(uint32_t seed, size_t position)
{
	return (unsigned char)(seed * 31 + position * 7 + (position >> 8) * 3 + (position >> 16));
}

static void fill(unsigned char *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern(seed, i);
}

static void check_filled(const unsigned char *bytes, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != pattern(seed, i))
			FAIL("byte %zu of %zu is %u instead of %u", i, length, bytes[i], pattern(seed, i));
}

static void check_only(const unsigned char *bytes, size_t length, unsigned char value)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != value)
			FAIL("byte %zu of %zu is %u instead of %u", i, length, bytes[i], value);
}

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* --- nodes --- */

static void rdma_done(void *owner, void *context, int status)
{
	int *result = context;

	(void)owner;
	CHECK_EQUAL(*result, PENDING);
	*result = status;
	end_order[ended++ % (2 * WINDOW)] = result;
}

static bool host_waits(void *owner)
{
	(void)owner;
	return waits;
}

static void count_message(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
			  size_t body_length)
{
	(void)owner, (void)from, (void)bytes, (void)length, (void)body, (void)body_length;
	arrived++;
}

static const struct transport_sink sink = {.rdma_done = rdma_done, .host_waits = host_waits, .arrived = count_message};

/* Long messages take that way where it is possible, as a tuning file would have it; NODE_UNCHOSEN: they are measured. */
static void go(struct node *made, enum node_way way)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		made->copies->figures[class] = (struct node_figures){.way = way};
		made->copies->fixed[class] = way != NODE_UNCHOSEN;
	}
}

static struct node *make_node(int rank, int peers)
{
	struct node *made = calloc(1, sizeof(*made));

	CHECK(made != NULL);
	made->sink = &sink;
	made->incarnation[0] = (uint64_t)getpid() << 32 | (uint32_t)rank;
	made->incarnation[1] = now_ns();
	made->socket = made->wait_fd = -1;
	made->segment_fd = memfd_create("segment", MFD_CLOEXEC);
	CHECK_EQUAL(ftruncate(made->segment_fd, sizeof(struct node_segment)), 0);
	made->segment =
		mmap(NULL, sizeof(struct node_segment), PROT_READ | PROT_WRITE, MAP_SHARED, made->segment_fd, 0);
	CHECK(made->segment != MAP_FAILED);
	atomic_store(&made->segment->quota, NODE_SLOTS);
	node_voucher_make(made);
	made->peers = calloc((size_t)peers, sizeof(struct node_peer *));
	CHECK(made->peers != NULL);
	for (int i = 0; i < peers; i++)
		CHECK(node_number_give(made, &(struct node_peer){.number = NODE_NO_SENDER}));
	made->peer_count = (uint32_t)peers;
	made->active_senders = 1;
	CHECK_EQUAL(node_copies_open(made), 0);
	go(made, NODE_SPLIT);
	return made;
}

/* One of the descriptors of that process. */
static int open_of(const struct card *card, int fd, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)card->os_pid, fd);
	int opened = open(path, mode | O_CLOEXEC);
	CHECK(opened >= 0);
	return opened;
}

static const struct node_voucher *map_voucher(const struct card *card)
{
	const struct node_voucher *voucher = NULL;

	if (card->voucher_fd >= 0) {
		int fd = open_of(card, card->voucher_fd, O_RDONLY);

		CHECK_EQUAL(node_voucher_map(fd, &voucher), 0);
		close(fd);
	}
	return voucher;
}

/* Numbers are ranks. */
static void add_peer(struct node *to, int own_rank, int rank, const struct card *card, struct node_segment *segment)
{
	struct node_peer *peer = calloc(1, sizeof(*peer));

	CHECK(peer != NULL);
	*peer = (struct node_peer){.segment = segment,
				   .quota = NODE_SLOTS,
				   .sender = (uint16_t)own_rank,
				   .number = (uint16_t)rank,
				   .former = NODE_NO_SENDER,
				   .index = (uint32_t)rank,
				   .meeting = NODE_OPEN,
				   .os_pid = card->os_pid,
				   .pidfd = (int)syscall(SYS_pidfd_open, card->os_pid, 0),
				   .incarnation = {card->incarnation[0], card->incarnation[1]},
				   .voucher = map_voucher(card)};
	CHECK(peer->pidfd >= 0);
	to->peers[rank] = to->senders[rank] = peer;
	node_copy_probe(to, peer, card->nonce);
	CHECK(peer->cross_memory);
}

static struct card card_of(const struct node *of)
{
	return (struct card){.os_pid = getpid(),
			     .segment_fd = of->segment_fd,
			     .voucher_fd = of->voucher ? of->voucher_fd : -1,
			     .nonce = (uintptr_t)of->segment->incarnation,
			     .incarnation = {of->incarnation[0], of->incarnation[1]}};
}

static void show_incarnation(struct node *of)
{
	memcpy(of->segment->incarnation, of->incarnation, sizeof(of->incarnation));
}

static struct node_segment *map_segment(const struct card *card)
{
	int fd = open_of(card, card->segment_fd, O_RDWR);
	struct node_segment *segment =
		mmap(NULL, sizeof(struct node_segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(segment != MAP_FAILED);
	close(fd);
	return segment;
}

static int drive(void)
{
	int done = node_consume(node, 16);

	done += node_copy_step(node);
	return done;
}

static void drive_meanwhile(void)
{
	if (node->copies)
		drive();
}

static void meet_others(void)
{
	struct card card[MAX_PROCESSES];

	show_incarnation(node);
	struct card mine = card_of(node);

	gather(&mine, sizeof(mine), card);
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			add_peer(node, my_rank, rank, &card[rank], map_segment(&card[rank]));
	barrier();
	harness_while_waiting(drive_meanwhile);
}

static void meet(void)
{
	stage = shared_memory();
	node = make_node(my_rank, process_count);
	meet_others();
}

static struct memory_region expose(void *base, size_t length)
{
	struct memory_region memory_region;

	CHECK_EQUAL(node_register(&node->base, base, length, REGION_READ, &memory_region), 0);
	return memory_region;
}

/* Every process exposes `length` bytes, and learns of the others'. */
static void exchange(void *base, size_t length, struct memory_region all[MAX_PROCESSES])
{
	struct memory_region mine = expose(base, length);

	gather(&mine, sizeof(mine), all);
}

static int try_read(int rank, void *local, size_t length, const struct memory_region *from, uint64_t offset,
		    int *result)
{
	return node_read(&node->base, &(struct transport_read){.peer = (transport_address)rank,
							       .local = local,
							       .length = length,
							       .remote = from->address + offset,
							       .key = from->key,
							       .context = result});
}

static void start(int rank, void *local, size_t length, const struct memory_region *from, uint64_t offset, int *result)
{
	*result = PENDING;
	CHECK_EQUAL(try_read(rank, local, length, from, offset, result), 0);
	struct node_copies *copies = node->copies;

	if (patient)
		copies->reads[copies->order[copies->read_count - 1]].patience = UINT64_MAX / 2;
}

/* A read of many pieces, cut differently at both ends, with memory in between that has to stay as it is. */
struct list {
	struct iovec local[TRANSPORT_PIECES_MAX];
	struct transport_segment remote[TRANSPORT_PIECES_MAX];
	unsigned local_count, remote_count;
	size_t length;
	unsigned char *to;
};

#define LIST_STRIDE 300u
#define LIST_SPACE  ((size_t)TRANSPORT_PIECES_MAX * LIST_STRIDE)

static struct list cut_list(const struct memory_region *from, unsigned count)
{
	struct list list = {.remote_count = count, .to = map(LIST_SPACE)};

	memset(list.to, 0xee, LIST_SPACE);
	for (unsigned i = 0; i < count; i++) {
		list.remote[i] = (struct transport_segment){from->address + (size_t)i * LIST_STRIDE, from->key,
							    1 + i * 37 % 100};
		list.length += list.remote[i].length;
	}
	for (size_t left = list.length, take; left > 0; left -= take) {
		take = 1 + list.local_count * 91 % 200;
		take = take < left ? take : left;
		list.local[list.local_count] = (struct iovec){list.to + list.local_count * LIST_STRIDE, take};
		list.local_count++;
	}
	CHECK(list.length <= NODE_LIST_MAX);
	return list;
}

static void start_list(int rank, const struct list *list, int *result)
{
	*result = PENDING;
	CHECK_EQUAL(node_read_list(&node->base, &(struct transport_read_list){.peer = (transport_address)rank,
									      .local = list->local,
									      .remote = list->remote,
									      .local_count = list->local_count,
									      .remote_count = list->remote_count,
									      .length = list->length,
									      .context = result}),
		    0);
}

/* Every byte is where it belongs, and no other is touched. */
static void check_list(const struct list *list, uint32_t seed, uint64_t base)
{
	unsigned piece = 0;
	uint64_t within = 0;

	for (unsigned i = 0; i < list->local_count; i++) {
		unsigned char *bytes = list->local[i].iov_base;
		for (size_t j = 0; j < list->local[i].iov_len; j++) {
			CHECK_EQUAL(bytes[j], pattern(seed, list->remote[piece].address - base + within));
			if (++within == list->remote[piece].length) {
				piece++;
				within = 0;
			}
		}
		check_only(bytes + list->local[i].iov_len, LIST_STRIDE - list->local[i].iov_len, 0xee);
	}
}

static void lose_peer(int rank)
{
	node_copies_peer_lost(node, node->peers[rank]);
}

/* --- memory regions --- */

static void a_key_means_what_was_exposed_and_only_while_it_is(void)
{
	enum { COUNT = 1000 };
	static struct memory_region memory_regions[COUNT];
	static unsigned char memory[COUNT + 1];

	meet();
	for (int i = 0; i < COUNT; i++) {
		memory_regions[i] = expose(memory + i, 2);
		for (int j = 0; j < i; j += 97)
			CHECK(memory_regions[i].key != memory_regions[j].key);
	}
	struct memory_region old = memory_regions[500];
	uint64_t base = old.address;

	CHECK(node_exposed(node->copies, old.key, base, 2) == memory + 500);
	CHECK(node_exposed(node->copies, old.key, base + 1, 1) == memory + 501);
	CHECK(node_exposed(node->copies, old.key, base + 2, 0) == memory + 502);
	CHECK(!node_exposed(node->copies, old.key, base, 3));
	CHECK(!node_exposed(node->copies, old.key, base + 1, 2));
	CHECK(!node_exposed(node->copies, old.key, base - 1, 1));
	CHECK(!node_exposed(node->copies, old.key, base + 1, UINT64_MAX));
	CHECK(!node_exposed(node->copies, 0, (uintptr_t)memory, 1));
	CHECK(!node_exposed(node->copies, UINT64_MAX, base, 1));
	node_deregister(&node->base, &memory_regions[500]);
	CHECK(!node_exposed(node->copies, old.key, base, 1));
	CHECK(!node_exposed(node->copies, old.key + (UINT64_C(1) << 32), base, 1));
	memory_regions[500] = expose(memory + 500, 2);
	CHECK(memory_regions[500].key != old.key);
	CHECK(!node_exposed(node->copies, old.key, base, 1));
	CHECK(node_exposed(node->copies, memory_regions[500].key, base, 1) == memory + 500);
}

/* --- split copies --- */

/* The source's side of the race, in a thread of the reader's process. */
static void *help_along(void *other)
{
	while (!atomic_load(&stage->finished)) {
		node_consume(other, 16);
		node_copy_step(other);
	}
	return NULL;
}

static void together_both_ends_take_every_chunk_once(void)
{
	enum { CHUNKS = 3000, ROUNDS = FEWER(100) };
	uint64_t length = CHUNKS * (uint64_t)NODE_CHUNK_MAX - 4097;
	unsigned char *nowhere = map(4096);
	pthread_t thread;
	int result = PENDING;

	stage = shared_memory();
	counting = waits = true;
	chunks_counted = map(CHUNKS);
	counted_chunk = NODE_CHUNK_MAX;
	node = make_node(0, 2);
	source = make_node(1, 2);
	struct card card[2] = {card_of(node), card_of(source)};

	show_incarnation(node);
	show_incarnation(source);
	add_peer(node, 0, 1, &card[1], source->segment);
	add_peer(source, 1, 0, &card[0], node->segment);
	struct memory_region memory_region;
	CHECK_EQUAL(node_register(&source->base, nowhere, length, REGION_READ, &memory_region), 0);
	CHECK_EQUAL(pthread_create(&thread, NULL, help_along, source), 0);
	counted_base = (uintptr_t)nowhere;
	int rounds = 0;

	for (uint64_t begun = now_ns(); rounds < ROUNDS || !stage->reads || !stage->writes; rounds++) {
		if (now_ns() - begun > PATIENCE)
			FAIL("one end took all: %u, %u", stage->reads, stage->writes);
		start(1, nowhere, length, &memory_region, 0, &result);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		for (int i = 0; i < CHUNKS; i++)
			CHECK_EQUAL(atomic_exchange(&chunks_counted[i], 0), 1);
	}
	atomic_store(&stage->finished, 1);
	pthread_join(thread, NULL);
	CHECK_EQUAL(stage->reads + stage->writes, CHUNKS * rounds);
}

static const size_t lengths[] = {0,      1,      4096,   65535,  65536,    65537,          100000,    131072,
				 200001, 262144, 262145, 999999, 1u << 20, (1u << 20) + 1, LONG - 200};

static void read_every_length(unsigned char *to, const struct memory_region *from)
{
	int result = PENDING;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(to, 0xee, lengths[i] + 101);
		start(1, to + 100, lengths[i], from, 0, &result);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_only(to, 100, 0xee);
		check_filled(to + 100, lengths[i], 1);
		check_only(to + 100 + lengths[i], 1, 0xee);
	}
}

static void a_message_of_any_length_arrives_whole_from_both_ends(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = true;
	if (my_rank == 0) {
		unsigned char *to = map(LONG);
		uint64_t begun = now_ns();

		for (int round = 0; round < FEWER(20) || !stage->writes; round++) {
			read_every_length(to, &all[1]);
			if (now_ns() - begun > PATIENCE)
				FAIL("no help after %d rounds", round);
		}
	}
	barrier();
}

static void nobody_helps_unless_a_host_waits(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		unsigned char *to = map(LONG);

		start(1, to, LONG, &all[1], 0, &result);
		DRIVE_UNTIL(result != PENDING);
		check_filled(to, LONG, 1);
		CHECK_EQUAL(stage->reads, LONG / NODE_CHUNK_MAX);
		CHECK_EQUAL(stage->writes, 0);
	}
	barrier();
	/* What is over is forgotten as soon as a host could help. */
	waits = true;
	drive();
	CHECK(!node_copies_pending(node));
	barrier();
}

static void who_reads_alone_reads_as_much_at_a_time_as_it_may(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		go(node, NODE_ALONE);
		start(1, to, NODE_CHUNK_MAX, &all[1], 0, &result);
		CHECK_EQUAL(drive(), 1);
		CHECK_EQUAL(result, 0);
		CHECK_EQUAL(stage->reads, 1);
		start(1, to, LONG, &all[1], 0, &result);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(stage->reads, 1 + LONG / NODE_CHUNK_MAX);
		check_filled(to, LONG, 1);
	}
	barrier();
}

static void helpers_begin_with_the_oldest_message(void)
{
	enum { LENGTH = 1u << 20, PART = 128u << 10 };
	unsigned char *memory = map(LENGTH), *to = map(3 * LENGTH);
	struct memory_region all[MAX_PROCESSES];
	int result[3] = {0};

	meet();
	fill(memory, LENGTH, (uint32_t)my_rank);
	exchange(memory, LENGTH, all);
	harness_while_waiting(NULL);
	if (my_rank == 0)
		for (int i = 0; i < 3; i++)
			start(1, to + i * LENGTH, LENGTH, &all[1], 0, &result[i]);
	barrier();
	if (my_rank == 1) {
		waits = true;
		while (node_consume(node, 16) > 0)
			;
		for (int i = 0; i < 9; i++) /* all of the oldest, one of the next */
			CHECK_EQUAL(node_copy_step(node), 1);
	}
	barrier();
	if (my_rank == 0) {
		check_filled(to, LENGTH, 1);
		check_only(to + LENGTH, LENGTH - PART, 0);
		CHECK_EQUAL(to[2 * LENGTH - 1], pattern(1, LENGTH - 1));
		check_only(to + 2 * LENGTH, LENGTH, 0);
		DRIVE_UNTIL(result[0] == 0 && result[1] == 0 && result[2] == 0);
		for (int i = 0; i < 3; i++)
			check_filled(to + i * LENGTH, LENGTH, 1);
		CHECK_EQUAL(stage->reads, 15);
	}
	barrier();
}

/* As many as fit into one call; of one peer only. */
static void short_messages_of_a_peer_are_copied_by_one_call(void)
{
	enum { COUNT = 3, LENGTH = 128u << 10, ALL = COUNT * LENGTH };
	unsigned char *memory = map(ALL), *to = map(ALL);
	struct memory_region all[MAX_PROCESSES];
	int result[COUNT] = {0};

	meet();
	fill(memory, ALL, (uint32_t)my_rank);
	exchange(memory, ALL, all);
	harness_while_waiting(NULL);
	if (my_rank == 0)
		for (int i = 0; i < COUNT; i++)
			start(1, to + i * LENGTH, LENGTH, &all[1], (uint64_t)i * LENGTH, &result[i]);
	barrier();
	if (my_rank == 1) {
		waits = true;
		while (node_consume(node, 16) > 0)
			;
		CHECK_EQUAL(node_copy_step(node), 1);
		CHECK_EQUAL(stage->writes, 1);
		CHECK_EQUAL(node->counters.chunks_helped, COUNT);
	}
	barrier();
	if (my_rank == 0) {
		for (int i = 0; i < COUNT; i++) {
			check_only(to + i * LENGTH, LENGTH / 2, 0);
			CHECK_EQUAL(to[(i + 1) * LENGTH - 1], pattern(1, (size_t)(i + 1) * LENGTH - 1));
		}
		DRIVE_UNTIL(result[0] == 0 && result[1] == 0 && result[2] == 0);
		check_filled(to, ALL, 1);
		CHECK_EQUAL(stage->reads, 1);
	}
	barrier();
}

/* By its reader alone, or with help. */
static void of_messages_that_are_copied_by_one_call_only_the_bad_one_fails(void)
{
	enum { COUNT = 4, BAD = 1, LENGTH = 64u << 10, ALL = COUNT * LENGTH };
	unsigned char *memory = map(ALL), *to = map(ALL), *expected = map(ALL);
	struct memory_region all[MAX_PROCESSES];
	int result[COUNT] = {0};

	meet();
	fill(expected, ALL, 1);
	fill(memory, ALL, (uint32_t)my_rank);
	exchange(memory, ALL, all);
	harness_while_waiting(NULL);
	CHECK_EQUAL(mprotect(to + BAD * LENGTH, LENGTH, PROT_READ), 0);
	for (int helped = 0; helped < 2; helped++) {
		go(node, helped ? NODE_SPLIT : NODE_ALONE);
		waits = helped && my_rank == 1;
		if (my_rank == 0)
			for (int i = 0; i < COUNT; i++)
				start(1, to + i * LENGTH, LENGTH, &all[1], (uint64_t)i * LENGTH, &result[i]);
		barrier();
		if (my_rank == 1 && helped)
			DRIVE_UNTIL(node->counters.chunks_helped == COUNT);
		barrier();
		if (my_rank == 0) {
			DRIVE_UNTIL(ended == (helped + 1) * COUNT);
			for (int i = 0; i < COUNT; i++) {
				CHECK_EQUAL(result[i], i == BAD ? -EFAULT : 0);
				if (i == BAD)
					continue;
				CHECK(memcmp(to + i * LENGTH, expected + i * LENGTH, LENGTH) == 0);
				memset(to + i * LENGTH, 0, LENGTH);
			}
		}
		barrier();
	}
}

/* It gets longer messages unannounced only where it could not read them. */
static void a_peer_that_reads_what_was_announced_is_behind_if_it_needs_slabs(void)
{
	meet();
	const transport_address other = !my_rank;

	CHECK(!transport_node.behind(&node->base, other, true));
	node->peers[other]->cross_memory = false;
	CHECK(transport_node.behind(&node->base, other, true));
	CHECK(!transport_node.behind(&node->base, other, false));
	barrier();
}

/* Between taking a chunk and writing it; there the process is stopped by another. */
static void linger(void)
{
	before_write = NULL;
	atomic_store(&stage->at_write, 1);
	while (!atomic_load(&stage->go_on))
		cpu_pause();
}

static void catch_helper(void)
{
	while (!atomic_load(&stage->at_write))
		cpu_pause();
	stop_process(1);
}

static void release_helper(void)
{
	atomic_store(&stage->go_on, 1);
	continue_process(1);
}

/* Rank 1 helps rank 0 and stops with a chunk in its hands; what is left is read.  In rank 0: the message. */
static unsigned char *stop_a_helper(int *result)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = my_rank == 1;
	if (my_rank == 1)
		before_write = linger;
	if (my_rank == 0) {
		harness_while_waiting(NULL);
		start(1, to, LONG, &all[1], 0, result);
		catch_helper();
		DRIVE_UNTIL(!node_copies_pending(node));
		check_filled(to, LONG - NODE_CHUNK_MAX, 1);
		check_only(to + LONG - NODE_CHUNK_MAX, NODE_CHUNK_MAX, 0);
	}
	return to;
}

static void a_stopped_helper_is_waited_for_asleep_and_writes_nothing_later(void)
{
	int result = PENDING;
	unsigned char *to = stop_a_helper(&result);

	if (my_rank == 0) {
		for (int i = 0; i < MANY_POLLS; i++)
			CHECK_EQUAL(drive(), 0);
		CHECK_EQUAL(result, PENDING);
		CHECK(!node_copies_blocked(node));
		node_attend(node, NODE_ASLEEP);
		CHECK(node_queue_empty(node) && !node_copies_pending(node));
		release_helper();
		while (!atomic_load(&stage->wakes))
			cpu_pause();
		CHECK(node_copies_pending(node));
		node_attend(node, NODE_AWAKE);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_filled(to, LONG, 1);
		memset(to, 0xee, LONG);
	}
	barrier();
	for (int i = 0; i < MANY_POLLS; i++)
		drive();
	barrier();
	if (my_rank == 0)
		check_only(to, LONG, 0xee);
	CHECK_EQUAL(stage->writes, 1);
}

static void the_death_of_a_helper_that_holds_a_chunk_ends_the_read(void)
{
	int result = PENDING;

	expect_death(1);
	stop_a_helper(&result);
	if (my_rank == 1)
		barrier(); /* helps there, until it dies */
	/* Given up, but not dead: its chunk stays its own. */
	lose_peer(1);
	for (int i = 0; i < MANY_POLLS / 10; i++)
		drive();
	CHECK_EQUAL(result, PENDING);
	CHECK(!node_copies_blocked(node)); /* a sleeper asks at its ticks, which is often enough */
	kill(pid_of(1), SIGKILL);
	DRIVE_UNTIL(result != PENDING);
	CHECK_EQUAL(result, -ECONNRESET);
	CHECK(!node_copies_blocked(node));
}

/* Nor is one free later, and another process has taken its name. */
static void who_had_no_descriptor_to_watch_a_lost_helper_learns_of_its_death(void)
{
	struct rlimit limit;
	int result = PENDING;

	expect_death(1);
	stop_a_helper(&result);
	if (my_rank == 1)
		barrier(); /* helps there, until it dies */
	CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max}), 0);
	lose_peer(1);
	CHECK_EQUAL(node->copies->ghosts[0].pidfd, -1);
	for (int i = 0; i < MANY_POLLS / 10; i++)
		drive();
	CHECK_EQUAL(result, PENDING);
	kill(pid_of(1), SIGKILL);
	DRIVE_UNTIL(result != PENDING);
	CHECK_EQUAL(result, -ECONNRESET);
	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void whoever_is_found_dead_takes_its_reads_along(void)
{
	int result = PENDING;

	expect_death(1);
	stop_a_helper(&result);
	if (my_rank == 1)
		barrier(); /* helps there, until it dies */
	kill(pid_of(1), SIGKILL);
	while (!node_peer_dead(node, node->peers[1]))
		cpu_pause();
	CHECK_EQUAL(result, PENDING);
	lose_peer(1);
	CHECK_EQUAL(result, -ECONNRESET);
}

static void *close_copies(void *unused)
{
	(void)unused;
	node_copies_close(node);
	return NULL;
}

static bool all_taken(void)
{
	uint64_t ends = atomic_load(&node->segment->claims[0].ends);

	return ((ends >> 16) & 0xffff) + (ends & 0xffff) == LONG / NODE_CHUNK_MAX;
}

static void closing_waits_for_a_helper(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	pthread_t thread;
	int result = PENDING;

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = my_rank == 1;
	if (my_rank == 1)
		before_write = linger;
	if (my_rank == 0) {
		harness_while_waiting(NULL);
		start(1, to, LONG, &all[1], 0, &result);
		catch_helper();
		uint64_t begun = now_ns();

		CHECK_EQUAL(pthread_create(&thread, NULL, close_copies, NULL), 0);
		while (!all_taken())
			cpu_pause();
		release_helper();
		pthread_join(thread, NULL);
		if (now_ns() - begun < 900000000u) { /* not given up */
			check_only(to, LONG - NODE_CHUNK_MAX, 0);
			for (size_t i = LONG - NODE_CHUNK_MAX; i < LONG; i++)
				CHECK_EQUAL(to[i], pattern(1, i));
		}
		CHECK_EQUAL(result, PENDING);
	}
	barrier();
	CHECK_EQUAL(stage->writes, 1);
}

static void closing_does_not_wait_for_ever_and_says_so(void)
{
	int result = PENDING;

	stop_a_helper(&result);
	if (my_rank == 0) {
		uint64_t begun = now_ns();

		node_copies_close(node);
		CHECK_LESS(999999999u, now_ns() - begun);
		CHECK(strstr(report_last_error(), "holds a chunk"));
		release_helper();
	}
	barrier();
}

static void what_a_helper_cannot_write_is_read(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = writes_refused = my_rank == 1;
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		while (!atomic_load(&stage->writes))
			cpu_pause();
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_filled(to, LONG, 1);
		CHECK_EQUAL(stage->reads, LONG / NODE_CHUNK_MAX);
	}
	barrier();
	CHECK_EQUAL(stage->writes, 1);
	if (my_rank == 1)
		CHECK(!node->peers[0]->cross_memory && strstr(node->cross_memory_error, "EPERM"));
}

static void a_request_for_help_is_not_taken_for_its_successor(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG), *later = map(NODE_CHUNK_MAX);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		DRIVE_UNTIL(result != PENDING);
		memset(to, 0xee, LONG);
		start(1, later, NODE_CHUNK_MAX, &all[1], 0, &result);
	}
	barrier();
	if (my_rank == 1) {
		waits = true;
		while (drive() > 0)
			;
		CHECK_EQUAL(stage->writes, 2);
	}
	barrier();
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_filled(later, NODE_CHUNK_MAX, 1);
		check_only(to, LONG, 0xee);
	}
	barrier();
}

static void a_deregistered_key_gets_no_help(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region mine, all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	mine = expose(memory, LONG);
	gather(&mine, sizeof(mine), all);
	if (my_rank == 0)
		start(1, to, LONG, &all[1], 0, &result);
	barrier();
	if (my_rank == 1) {
		waits = true;
		CHECK_EQUAL(node_consume(node, 16), 1);
		CHECK_EQUAL(node_copy_step(node), 1);
		node_deregister(&node->base, &mine);
		CHECK_EQUAL(node_copy_step(node), 0);
		CHECK(!node_copies_pending(node));
	}
	barrier();
	CHECK_EQUAL(stage->writes, 1);
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		check_filled(to, LONG, 1);
	}
	barrier();
}

/* --- whose memory it is --- */

static void another_image_of_a_process_is_neither_read_nor_written(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING, short_result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	/* Rank 0 has begun to read when both become another incarnation. */
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		drive();
	}
	barrier();
	memset(node->segment->incarnation, 0, sizeof(node->segment->incarnation));
	barrier();
	if (my_rank == 1) {
		waits = true;
		drive();
		CHECK_EQUAL(stage->writes, 0);
	}
	barrier();
	if (my_rank == 0) {
		start(1, to + LONG - 100, 100, &all[1], 0, &short_result);
		while (node_copy_step(node) > 0)
			;
	}
	barrier();
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING && short_result != PENDING);
		CHECK_EQUAL(result, -ECONNRESET);
		CHECK_EQUAL(short_result, -ECONNRESET);
	}
	barrier();
}

static _Atomic bool holding, ending;

/* As the NIC thread of that node. */
static void *hold_word(void *of)
{
	struct node *const held = of;

	robust_hold(&held->voucher->robust, &held->voucher->thread);
	atomic_store(&holding, true);
	while (!atomic_load(&ending))
		sched_yield();
	return NULL;
}

/* Every process has a thread that vouches for it. */
static pthread_t meet_vouched(void)
{
	pthread_t holder;

	stage = shared_memory();
	node = make_node(my_rank, process_count);
	if (!node->voucher || (syscall(SYS_set_robust_list, NULL, 0) < 0 && errno == ENOSYS))
		skip_test("this system has no words that a process vouches by");
	CHECK_EQUAL(pthread_create(&holder, NULL, hold_word, node), 0);
	while (!atomic_load(&holding))
		sched_yield();
	CHECK(atomic_load(&node->voucher->thread) != 0);
	meet_others();
	harness_while_waiting(NULL);
	return holder;
}

/* Each exposes `memory`, LONG bytes of its own; rank 1 helps. */
static pthread_t expose_vouched(unsigned char *memory, struct memory_region all[MAX_PROCESSES])
{
	pthread_t holder = meet_vouched();

	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = my_rank == 1;
	return holder;
}

/* A split read of rank 0 from rank 1, which writes a chunk of it. */
static void read_with_help(unsigned char *to, const struct memory_region *from, int *result)
{
	barrier();
	if (my_rank == 0) {
		start(1, to, LONG, from, 0, result);
		CHECK_EQUAL(node_copy_step(node), 1);
	}
	barrier();
	if (my_rank == 1)
		drive();
	barrier();
	if (my_rank == 0)
		DRIVE_UNTIL(*result != PENDING);
}

/* The incarnation is gone from the memory that is read, so that all that is read and written was vouched for by the word. */
static void only_the_word_of_a_process_is_asked_until_its_thread_ends(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;
	pthread_t holder = expose_vouched(memory, all);

	memset(node->segment->incarnation, 0, sizeof(node->segment->incarnation));
	identified = 0;
	read_with_help(to, &all[1], &result);
	if (my_rank == 0) {
		CHECK_EQUAL(result, 0);
		check_filled(to, LONG, 1);
	}
	CHECK_EQUAL(stage->writes, 1);
	CHECK_EQUAL(identified, 0);
	barrier();
	atomic_store(&ending, true);
	pthread_join(holder, NULL);
	read_with_help(to, &all[1], &result);
	if (my_rank == 0)
		CHECK_EQUAL(result, -ECONNRESET);
	CHECK_EQUAL(stage->writes, 1);
	barrier();
}

/* And what was exposed before it is not: the thread goes on. */
static void a_process_that_has_renewed_its_segment_is_asked(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;
	pthread_t holder = expose_vouched(memory, all);

	atomic_fetch_add(&node->voucher->renewals, 1);
	read_with_help(to, &all[1], &result);
	if (my_rank == 0)
		CHECK_EQUAL(result, 0);
	CHECK(identified > 0 || my_rank == 0);
	identified = 0;
	read_with_help(to, &all[1], &result);
	CHECK_EQUAL(identified, 0); /* it is known by the new word */
	barrier();
	memset(node->segment->incarnation, 0, sizeof(node->segment->incarnation));
	atomic_fetch_add(&node->voucher->renewals, 1);
	read_with_help(to, &all[1], &result);
	if (my_rank == 0)
		CHECK_EQUAL(result, -ECONNRESET);
	barrier();
	atomic_store(&ending, true);
	pthread_join(holder, NULL);
}

static void kill_the_reader(void)
{
	before_write = NULL;
	kill(pid_of(0), SIGKILL);
	while (!__wrap_node_peer_dead(node, node->peers[0]))
		sched_yield();
}

/* Between a helper's look at its word, and its call. */
static void a_reader_that_dies_before_the_write_is_not_written_to(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	expect_death(0);
	meet_vouched();
	exchange(memory, LONG, all);
	waits = my_rank == 1;
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		atomic_store(&stage->go_on, 1);
		for (;;)
			pause();
	}
	while (!atomic_load(&stage->go_on))
		cpu_pause();
	CHECK(node_vouched(node->peers[0]));
	before_write = kill_the_reader;
	DRIVE_UNTIL(stage->writes > 0);
	CHECK(!node_vouched(node->peers[0]));
	CHECK(node_ascertain(node->peers[0]) != 0);
	CHECK_EQUAL(atomic_load(&node->peers[0]->segment->claims[0].failed) & UINT32_MAX, LONG / NODE_CHUNK_MAX);
	CHECK(!node_help_pending(node));
}

static void memory_that_is_not_there_fails_its_read_only(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result[3] = {0};

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 1)
		CHECK_EQUAL(munmap(memory + LONG / 2, LONG / 2), 0);
	barrier();
	if (my_rank == 0) {
		CHECK_EQUAL(mprotect(to, 4096, PROT_READ), 0);
		start(1, to + LONG / 2, LONG / 2, &all[1], LONG / 4, &result[0]);
		start(1, to, 100, &all[1], 0, &result[1]);
		start(1, to + 4096, 1000, &all[1], 0, &result[2]);
		DRIVE_UNTIL(result[0] != PENDING && result[1] != PENDING && result[2] != PENDING);
		CHECK_EQUAL(result[0], -EFAULT);
		CHECK_EQUAL(result[1], -EFAULT);
		CHECK_EQUAL(result[2], 0);
		check_filled(to + 4096, 1000, 1);
	}
	barrier();
	/* And helpers, if they come late, have nothing to write to. */
	waits = true;
	drive();
	CHECK_EQUAL(stage->writes, 0);
	barrier();
}

static void a_probe_tells_a_peer_from_another_process(void)
{
	uint64_t here[2] = {0};

	meet();
	if (my_rank == 0) {
		struct node_peer *peer = node->peers[1];
		uint64_t nonce = peer->nonce;

		CHECK(node->cross_memory_error == NULL);
		peer->os_pid = getpid(); /* another address space: nothing there, or something else */
		node_copy_probe(node, peer, (uintptr_t)here);
		CHECK(!peer->cross_memory);
		CHECK_STRING(node->cross_memory_error, "another pid namespace");
		peer->os_pid = 0;
		node_copy_probe(node, peer, nonce);
		CHECK(!peer->cross_memory);
		peer->os_pid = pid_of(1);
		node_copy_probe(node, peer, nonce);
		CHECK(peer->cross_memory);
	}
	barrier();
}

/* --- through slabs --- */

/* Both at once, a window of messages of all lengths. */
static void read_through_slabs(int rank, const struct memory_region *from)
{
	enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
	unsigned char *to[COUNT];
	int result[COUNT], done = 0;

	for (int i = 0; i < COUNT; i++) {
		to[i] = map(lengths[i] + 2);
		start(rank, to[i] + 1, lengths[i], from, 0, &result[i]);
	}
	while (done < COUNT) {
		DRIVE_UNTIL(ended > done);
		done = ended;
	}
	for (int i = 0; i < COUNT; i++) {
		CHECK_EQUAL(result[i], 0);
		check_only(to[i], 1, 0);
		check_filled(to[i] + 1, lengths[i], (uint32_t)rank);
		check_only(to[i] + 1 + lengths[i], 1, 0);
	}
}

static void who_may_not_read_gets_everything_through_slabs(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = true;
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			node->peers[rank]->cross_memory = false;
	read_through_slabs((my_rank + 1) % process_count, &all[(my_rank + 1) % process_count]);
	barrier();
	CHECK_EQUAL(stage->reads + stage->writes, 0);
	CHECK_EQUAL(node->counters.malformed, 0);
}

static void who_loses_the_right_to_read_goes_on_through_slabs(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		CHECK(drive() > 0);
		reads_refused = true;
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_filled(to, LONG, 1);
		CHECK(!node->peers[1]->cross_memory && strstr(node->cross_memory_error, "EPERM"));
		CHECK_EQUAL(stage->reads, 2);
	}
	barrier();
}

static void a_deregistered_key_is_refused_even_in_the_middle(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region mine, all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	mine = expose(memory, LONG);
	gather(&mine, sizeof(mine), all);
	if (my_rank == 0) {
		node->peers[1]->cross_memory = false;
		start(1, to, LONG, &all[1], 0, &result);
		CHECK(drive() > 0);
	}
	barrier();
	if (my_rank == 1) {
		CHECK_EQUAL(drive(), 2); /* the request, and a piece */
		node_deregister(&node->base, &mine);
		CHECK_EQUAL(drive(), 1);
		CHECK(!node_copies_pending(node));
	}
	barrier();
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, -EACCES);
		check_filled(to, NODE_PIECE_MAX, 1);
		check_only(to + NODE_PIECE_MAX, LONG - NODE_PIECE_MAX, 0);
	}
	barrier();
}

static void a_source_that_nobody_consumes_from_may_sleep(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		node->peers[1]->cross_memory = false;
		start(1, map(LONG), LONG, &all[1], 0, &result);
		drive();
	}
	barrier();
	if (my_rank == 1) {
		/* The reader does not look. */
		while (node_append(node, node->peers[0], NODE_HELP, "", 0, NULL, 0) == 0)
			;
		while (drive() > 0)
			;
		CHECK(!node_copies_pending(node));
		CHECK(node_copies_blocked(node));
	}
	barrier();
	harness_while_waiting(drive_meanwhile);
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
	}
	barrier();
	CHECK(!node_copies_blocked(node));
}

static void a_reader_whose_request_finds_no_room_may_sleep(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		while (node_append(node, node->peers[1], NODE_HELP, "", 0, NULL, 0) == 0)
			;
		node->peers[1]->cross_memory = false;
		start(1, to, LONG, &all[1], 0, &result);
		CHECK(node_copies_pending(node));
		CHECK_EQUAL(drive(), 0);
		CHECK(!node_copies_pending(node));
		CHECK(node_copies_blocked(node));
	}
	barrier();
	harness_while_waiting(drive_meanwhile);
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		check_filled(to, LONG, 1);
	}
	barrier();
}

/* --- lists of pieces --- */

static void read_lists(const struct memory_region *from)
{
	int result = PENDING;

	for (unsigned count = 1; count <= TRANSPORT_PIECES_MAX; count += 51) {
		struct list list = cut_list(from, count);
		start_list(1, &list, &result);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_list(&list, 1, from->address);
		CHECK_EQUAL(munmap(list.to, LIST_SPACE), 0);
	}
}

static void pieces_are_read_at_once(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		read_lists(&all[1]);
		CHECK_EQUAL(stage->reads, 6);
	}
	barrier();
}

static void pieces_that_may_not_be_read_come_through_slabs(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = true;
	if (my_rank == 0) {
		node->peers[1]->cross_memory = false;
		read_lists(&all[1]);
		CHECK_EQUAL(stage->reads, 0);
	}
	barrier();
	CHECK_EQUAL(node->counters.malformed, 0);
}

static void who_loses_the_right_to_read_gets_the_pieces_through_slabs(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	reads_refused = my_rank == 0;
	if (my_rank == 0) {
		read_lists(&all[1]);
		CHECK_EQUAL(stage->reads, 1);
	}
	barrier();
}

/* Of three lists the second one's source, the last one's sink has a piece that is not there. */
static void fail_in_lists(const struct memory_region *from, int status_of_source)
{
	struct list good = cut_list(from, 200), sourceless = cut_list(from, 200), sinkless = cut_list(from, 200);
	int result[3];

	sourceless.remote[100].address = from->address + LONG / 2;
	CHECK_EQUAL(mprotect(sinkless.to, 4096, PROT_READ), 0);
	start_list(1, &sourceless, &result[1]);
	start_list(1, &sinkless, &result[2]);
	start_list(1, &good, &result[0]);
	DRIVE_UNTIL(result[0] != PENDING && result[1] != PENDING && result[2] != PENDING);
	CHECK_EQUAL(result[0], 0);
	CHECK_EQUAL(result[1], status_of_source);
	CHECK_EQUAL(result[2], -EFAULT);
	check_list(&good, 1, from->address);
}

static void a_piece_that_is_not_there_fails_its_list_only(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 1)
		CHECK_EQUAL(munmap(memory + LONG / 2, LONG / 2), 0);
	barrier();
	if (my_rank == 0) {
		fail_in_lists(&all[1], -EFAULT);
		node->peers[1]->cross_memory = false;
		fail_in_lists(&all[1], -EACCES);
	}
	barrier();
}

/* --- through slabs although there is another way --- */

/* The source may take as long as it likes, or next to none. */
static void stage_reads(bool patiently)
{
	go(node, NODE_STAGED);
	patient = patiently;
}

/* All of rank 1's memory comes, whichever way. */
static void read_all(const struct memory_region *from, unsigned char *to)
{
	int result = PENDING;

	start(1, to, LONG, from, 0, &result);
	DRIVE_UNTIL(result != PENDING);
	CHECK_EQUAL(result, 0);
	check_filled(to, LONG, 1);
}

static void a_staged_message_of_any_length_arrives_whole(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	stage_reads(true);
	waits = true;
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	read_through_slabs((my_rank + 1) % process_count, &all[(my_rank + 1) % process_count]);
	barrier();
	CHECK(node->counters.slab_bodies > 0);
	CHECK_EQUAL(stage->writes, 0);
	CHECK_EQUAL(node->counters.malformed, 0);
}

/* Rank 1 comes when all is over, and its pieces with it. */
static void a_source_that_does_not_come_is_not_waited_for_and_changes_nothing_later(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	stage_reads(false);
	waits = true;
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		drive();
		CHECK(node_copies_pending(node)); /* nothing would wake it */
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_filled(to, LONG, 1);
		CHECK(stage->reads > 0);
		memset(to, 0x55, LONG);
	}
	barrier();
	harness_while_waiting(drive_meanwhile);
	if (my_rank == 1)
		DRIVE_UNTIL(node->counters.slab_bodies > 0 && node->copies->pull_count == 0);
	barrier();
	if (my_rank == 0) {
		DRIVE_UNTIL(node_queue_empty(node));
		check_only(to, LONG, 0x55);
		CHECK_EQUAL(node->counters.malformed, 0);
	}
	barrier();
}

static void a_source_that_computes_says_so_and_copies_nothing(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	stage_reads(true);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		read_all(&all[1], map(LONG));
		CHECK(stage->reads > 0);
	}
	barrier();
	CHECK_EQUAL(node->counters.slab_bodies, 0);
}

static void a_source_whose_queue_is_full_is_not_asked(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	stage_reads(true);
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		while (node_append(node, node->peers[1], NODE_HELP, "", 0, NULL, 0) == 0)
			;
		read_all(&all[1], map(LONG));
	}
	barrier();
}

/* The source has said that it computes, or has not come, when the reader finds that it may not read any more. */
static void who_waits_no_longer_and_may_not_read_waits_after_all(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	stage_reads(false);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		reads_refused = true;
		read_all(&all[1], map(LONG));
		CHECK(!node->peers[1]->cross_memory);
	}
	barrier();
}

/* Of rank 1's slabs so many are used by a long message that is not consumed, and short ones still find some. */
static void fill_slabs(uint32_t active_senders, uint64_t expected)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	stage_reads(true);
	waits = true;
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		start(1, to, LONG, &all[1], 0, &result);
		drive();
	}
	barrier();
	node->active_senders = active_senders;
	for (int i = 0; my_rank == 1 && i < MANY_POLLS; i++)
		drive();
	if (my_rank == 1) {
		CHECK_EQUAL(node->counters.slab_bodies, expected);
		CHECK_EQUAL(node_append_slab(node, node->peers[0], NODE_MESSAGE_SLAB, "", 1,
					     &(struct iovec){memory, 1000}, 1),
			    0);
	}
	barrier();
	harness_while_waiting(drive_meanwhile);
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		CHECK_EQUAL(arrived, 1);
		check_filled(to, LONG, 1);
	}
	barrier();
}

static void staged_pieces_leave_slabs_for_others(void)
{
	fill_slabs(1, NODE_SLABS_AHEAD);
}

static void staged_pieces_leave_slabs_for_others_among_many_senders_too(void)
{
	fill_slabs(9, NODE_SLABS_AHEAD / 2);
}

/* The source comes to them when their reads have ended, and to the last one, which has not. */
static void requests_that_were_given_up_do_not_keep_others_from_being_answered(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result[NODE_PEER_PULLS + 1] = {0};

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		node->peers[1]->cross_memory = false;
		CHECK_EQUAL(mprotect(to, 4096, PROT_READ), 0);
		for (int i = 0; i < NODE_PEER_PULLS; i++)
			start(1, to, 4096, &all[1], 0, &result[i]);
		start(1, to + 4096, LONG - 4096, &all[1], 0, &result[NODE_PEER_PULLS]);
		for (int i = 0; i <= NODE_PEER_PULLS; i++)
			drive();
		CHECK_EQUAL(ended, NODE_PEER_PULLS);
		for (int i = 0; i < NODE_PEER_PULLS; i++)
			CHECK_EQUAL(result[i], -EFAULT);
	}
	barrier();
	harness_while_waiting(drive_meanwhile);
	if (my_rank == 0) {
		DRIVE_UNTIL(result[NODE_PEER_PULLS] != PENDING);
		CHECK_EQUAL(result[NODE_PEER_PULLS], 0);
		check_filled(to + 4096, LONG - 4096, 1);
	}
	barrier();
	CHECK_EQUAL(node->counters.malformed, 0);
}

/* --- several reads --- */

static void peers_take_turns_and_the_oldest_read_goes_first(void)
{
	enum { LENGTH = 1u << 20, EACH = 4 };
	unsigned char *memory = map(LENGTH);
	struct memory_region all[MAX_PROCESSES];
	int result[2 * EACH];

	meet();
	fill(memory, LENGTH, (uint32_t)my_rank);
	exchange(memory, LENGTH, all);
	if (my_rank == 0) {
		unsigned char *to = map(2 * EACH * LENGTH);

		for (int i = 0; i < 2 * EACH; i++)
			start(1 + i / EACH, to + i * LENGTH, LENGTH, &all[1 + i / EACH], 0, &result[i]);
		DRIVE_UNTIL(ended == 2 * EACH);
		for (int i = 0; i < 2 * EACH; i++) {
			int expected = i / 2 + (end_order[0] >= &result[EACH] ? i + 1 : i) % 2 * EACH;

			CHECK(end_order[i] == &result[expected]);
			CHECK_EQUAL(result[i], 0);
			check_filled(to + i * LENGTH, LENGTH, (uint32_t)(1 + i / EACH));
		}
	}
	barrier();
}

static void a_full_table_takes_reads_again_when_one_has_ended(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result[NODE_READS + 1];

	meet();
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		unsigned char *to = map(LONG);

		for (int i = 0; i < NODE_READS; i++)
			start(1, to + i * 4096, 4096, &all[1], (uint64_t)i * 4096, &result[i]);
		CHECK_EQUAL(try_read(1, to, 4096, &all[1], 0, &result[NODE_READS]), -EAGAIN);
		CHECK(drive() > 0);
		CHECK_EQUAL(ended, NODE_BATCH);
		start(1, to + NODE_READS * 4096, 4096, &all[1], NODE_READS * 4096, &result[NODE_READS]);
		DRIVE_UNTIL(ended == NODE_READS + 1);
		check_filled(to, (NODE_READS + 1) * 4096, 1);
	}
	barrier();
}

static void without_room_for_a_request_for_help_the_reader_does_it_all(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	waits = true;
	if (my_rank == 0) {
		unsigned char *to = map(LONG);

		while (node_append(node, node->peers[1], NODE_HELP, "", 0, NULL, 0) == 0)
			;
		start(1, to, LONG, &all[1], 0, &result);
		DRIVE_UNTIL(result != PENDING);
		check_filled(to, LONG, 1);
	}
	barrier();
	drive();
	CHECK_EQUAL(stage->writes, 0);
	CHECK_EQUAL(node->counters.malformed, 0);
}

/* --- misbehaving peers --- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* Something near what makes sense, or at the edge of what there is. */
static uint64_t some_number(const struct memory_region *memory_region)
{
	const uint64_t sensible[] = {0,
				     1,
				     NODE_CHUNK_MAX,
				     NODE_CHUNK_MAX + 1,
				     65536,
				     LONG,
				     UINT32_MAX,
				     UINT64_MAX,
				     memory_region->key,
				     memory_region->key + 1,
				     memory_region->address,
				     memory_region->address + LONG - 1,
				     NODE_CLAIMS - 1,
				     NODE_CLAIMS,
				     UINT64_C(1) << 32};
	uint64_t choice = random_number() % (sizeof(sensible) / sizeof(sensible[0]) + 1);

	return choice < sizeof(sensible) / sizeof(sensible[0]) ? sensible[choice] : random_number();
}

static void misbehaving_requests_show_nothing_that_is_not_exposed(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	memset(memory, 0xaa, LONG);
	exchange(memory + 4096, LONG - 8192, all);
	waits = my_rank == 1;
	if (my_rank == 0) {
		unsigned char *to = map(LONG);

		for (int i = 0; i < FEWER(20000); i++) {
			uint64_t record[7];
			enum node_kind kind = NODE_HELP + i % 3;

			for (int j = 0; j < 7; j++)
				record[j] = some_number(&all[1]);
			if (kind == NODE_HELP && i % 2) { /* claims that look open, writes that go nowhere */
				record[0] = all[1].key;
				record[1] = all[1].address + random_number() % LONG;
				record[2] = random_number() % 4096;
				record[5] = random_number() % NODE_CLAIMS;
				atomic_store(&node->segment->claims[record[5]].ends, random_number() % 4);
			}
			size_t length = i % 5 ? (kind == NODE_PULL ? 40 : 48) : random_number() % sizeof(record);

			while (node_append(node, node->peers[1], kind, record, length, NULL, 0))
				node_consume(node, 16);
			node_consume(node, 16);
		}
		check_only(to, LONG, 0);
		atomic_store(&stage->go_on, 1);
		DRIVE_UNTIL(atomic_load(&stage->finished));
		/* And still: */
		memset(node->segment->claims, 0, sizeof(node->segment->claims));
		start(1, to, LONG - 8192, &all[1], 0, &result);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_only(to, LONG - 8192, 0xaa);
		node->peers[1]->cross_memory = false;
		start(1, to, LONG - 8192, &all[1], 0, &result);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
	}
	if (my_rank == 1) {
		DRIVE_UNTIL(atomic_load(&stage->go_on) && node_queue_empty(node) && !node_copies_pending(node));
		CHECK(node->counters.malformed > 0);
		atomic_store(&stage->finished, 1);
	}
	barrier();
	check_only(memory, LONG, 0xaa);
}

/* One request for each read, and the newest of them. */
static void a_peer_gets_what_it_may_ask_for_at_a_time_and_no_more(void)
{
	const uint64_t generation = UINT64_C(1) << 32;
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];

	meet();
	harness_while_waiting(NULL);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		uint64_t record[5] = {all[1].key, all[1].address, NODE_PULL_MAX + 1, generation, 0};

		CHECK_EQUAL(node_append(node, node->peers[1], NODE_PULL, record, sizeof(record), NULL, 0), 0);
		record[2] = NODE_PULL_MAX;
		record[4] = 2; /* neither optional nor not */
		CHECK_EQUAL(node_append(node, node->peers[1], NODE_PULL, record, sizeof(record), NULL, 0), 0);
		record[4] = 0;
		record[3] = generation + NODE_READS; /* no such read */
		CHECK_EQUAL(node_append(node, node->peers[1], NODE_PULL, record, sizeof(record), NULL, 0), 0);
		for (uint64_t i = 0; i < 2 * NODE_READS; i++) {
			record[3] = (1 + i / NODE_READS) * generation + i % NODE_READS;
			CHECK_EQUAL(node_append(node, node->peers[1], NODE_PULL, record, sizeof(record), NULL, 0), 0);
		}
	}
	barrier();
	if (my_rank == 1) {
		while (node_consume(node, 16) > 0)
			;
		CHECK_EQUAL(node->copies->pull_count, NODE_READS);
		for (uint64_t i = 0; i < NODE_READS; i++) {
			CHECK_EQUAL(node->copies->pulls[i].length, NODE_PULL_MAX);
			CHECK_EQUAL(node->copies->pulls[i].token, 2 * generation + i);
		}
		CHECK_EQUAL(node->counters.malformed, 3);
	}
	barrier();
}

/* Ranks 1 and 2 send pieces to rank 0, which waits for some from rank 1. */
static void pieces_that_were_not_asked_for_are_dropped(void)
{
	unsigned char *memory = map(LONG), *to = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	const uint64_t token = UINT64_C(1) << 32; /* of the first read */
	const struct {
		uint32_t slab, length;
		uint64_t token, status;
		int from;
	} pieces[] = {{0, 100, token, 0, 2},
		      {0, 100, token, EACCES, 2},
		      {0, 100, token + (UINT64_C(1) << 32), 0, 1},
		      {0, 100, token + 1, 0, 1},
		      {0, 100, token + NODE_READS, 0, 1},
		      {NODE_SLABS, 100, token, 0, 1},
		      {UINT32_MAX, 100, token, 0, 1},
		      {0, 10000 + 1, token, 0, 1},
		      {0, 0, token, 0, 1}};
	enum { COUNT = sizeof(pieces) / sizeof(pieces[0]) };
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	fill(memory, LONG, (uint32_t)my_rank);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		node->peers[1]->cross_memory = false;
		start(1, to, 10000, &all[1], 0, &result);
		drive();
	}
	barrier();
	for (int i = 0; i < COUNT; i++)
		if (pieces[i].from == my_rank)
			CHECK_EQUAL(node_append(node, node->peers[0], NODE_PULLED, &pieces[i], 24, NULL, 0), 0);
	barrier();
	if (my_rank == 0) {
		while (node_consume(node, 16) > 0)
			;
		CHECK_EQUAL(node->counters.malformed, COUNT);
		CHECK_EQUAL(result, PENDING);
		check_only(to, LONG, 0);
	}
	barrier();
	harness_while_waiting(drive_meanwhile);
	if (my_rank == 0) {
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, 0);
		check_filled(to, 10000, 1);
	}
	barrier();
}

static void spoiled_claims_fail_the_read(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result = PENDING;

	meet();
	harness_while_waiting(NULL);
	exchange(memory, LONG, all);
	if (my_rank == 0) {
		unsigned char *to = map(LONG);
		const uint64_t chunks = LONG / NODE_CHUNK_MAX;
		/* Front; back; their sum; generation; done; the failed chunk. */
		const struct {
			uint64_t ends, done, failed;
		} spoils[] = {{5 << 16, 0, 0}, {chunks + 1, 0, 0}, {0xffffffff, 0, 0}, {1ull << 32, 0, 0},
			      {0, 1, 0},       {0, 1ull << 32, 0}, {1, 1, 1},          {1, 1, chunks + 1}};

		for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
			struct node_claim *claim = &node->segment->claims[0];

			start(1, to, LONG, &all[1], 0, &result);
			atomic_fetch_add(&claim->ends, spoils[i].ends);
			atomic_fetch_add(&claim->done, spoils[i].done);
			atomic_fetch_add(&claim->failed, spoils[i].failed);
			DRIVE_UNTIL(result != PENDING);
			CHECK_EQUAL(result, -EPROTO);
		}
		/* While a helper owes a chunk. */
		start(1, to, LONG, &all[1], 0, &result);
		atomic_fetch_add(&node->segment->claims[0].ends, 1);
		DRIVE_UNTIL(!node_copies_pending(node));
		CHECK_EQUAL(result, PENDING);
		atomic_fetch_add(&node->segment->claims[0].ends, UINT64_C(1) << 32);
		DRIVE_UNTIL(result != PENDING);
		CHECK_EQUAL(result, -EPROTO);
	}
	barrier();
}

/* --- peers that have gone --- */

static int peers_gone;

static void note_gone(void *owner, transport_address peer)
{
	(void)owner;
	CHECK_EQUAL(peer, 1);
	peers_gone++;
}

static void drop_message(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
			 size_t body_length)
{
	(void)owner, (void)bytes, (void)length, (void)body, (void)body_length;
	CHECK(from > 1);
}

/* What others have appended behind its last line is no reason to wait, however much of it there always is. */
static void a_dead_peer_is_let_go_though_others_never_pause(void)
{
	enum { NODES = 4, AHEAD = 40, BUDGET = 16, ROUNDS = 1000 }; /* the receiver, the dead, and two */
	static const struct transport_sink told = {.arrived = drop_message, .peer_gone = note_gone};
	static struct node *all[NODES];
	int waiting = 0;

	stage = shared_memory();
	for (int rank = 0; rank < NODES; rank++) {
		all[rank] = make_node(rank, NODES);
		show_incarnation(all[rank]);
	}
	node = all[0];
	node->sink = &told;
	for (int rank = 0; rank < NODES; rank++) {
		const struct card theirs = card_of(all[rank]), ours = card_of(node);

		add_peer(node, 0, rank, &theirs, map_segment(&theirs));
		if (rank > 0)
			add_peer(all[rank], rank, 0, &ours, node->segment);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int rank = 2; rank < NODES; rank++)
			while (waiting < AHEAD &&
			       node_append(all[rank], all[rank]->peers[0], NODE_MESSAGE, "", 1, NULL, 0) == 0)
				waiting++;
		CHECK_EQUAL(waiting, AHEAD);
		if (round == 10)
			node->peers[1]->failed = node->any_failed = true;
		waiting -= transport_node.poll(&node->base, BUDGET);
	}
	CHECK_EQUAL(peers_gone, 1);
}

static void lost_peers_leave_nothing_behind(void)
{
	unsigned char *memory = map(LONG);
	struct memory_region all[MAX_PROCESSES];
	int result[3] = {0};

	meet();
	harness_while_waiting(NULL);
	exchange(memory, LONG, all);
	int other = !my_rank;

	start(other, map(LONG), LONG, &all[other], 0, &result[0]);
	start(other, map(100), 100, &all[other], 0, &result[1]);
	node->peers[other]->cross_memory = false;
	start(other, map(LONG), LONG, &all[other], 0, &result[2]);
	drive();
	barrier();
	while (node_consume(node, 16) > 0)
		;
	barrier();
	lose_peer(other);
	waits = true;
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(result[i], -ECONNRESET);
	CHECK(!node_copies_pending(node));
	CHECK(!node_copies_blocked(node));
	CHECK_EQUAL(drive(), 0);
	barrier();
}

static const struct test tests[] = {
	ROW(1, a_key_means_what_was_exposed_and_only_while_it_is),
	ROW(1, together_both_ends_take_every_chunk_once),
	ROW(2, a_message_of_any_length_arrives_whole_from_both_ends),
	ROW(2, nobody_helps_unless_a_host_waits),
	ROW(2, who_reads_alone_reads_as_much_at_a_time_as_it_may),
	ROW(2, helpers_begin_with_the_oldest_message),
	ROW(2, a_peer_that_reads_what_was_announced_is_behind_if_it_needs_slabs),
	ROW(2, short_messages_of_a_peer_are_copied_by_one_call),
	ROW(2, of_messages_that_are_copied_by_one_call_only_the_bad_one_fails),
	ROW(2, a_stopped_helper_is_waited_for_asleep_and_writes_nothing_later),
	ROW(2, the_death_of_a_helper_that_holds_a_chunk_ends_the_read),
	ROW(2, who_had_no_descriptor_to_watch_a_lost_helper_learns_of_its_death),
	ROW(2, whoever_is_found_dead_takes_its_reads_along),
	ROW(2, closing_waits_for_a_helper),
	ROW(2, closing_does_not_wait_for_ever_and_says_so),
	ROW(2, what_a_helper_cannot_write_is_read),
	ROW(2, a_request_for_help_is_not_taken_for_its_successor),
	ROW(2, a_deregistered_key_gets_no_help),
	ROW(2, another_image_of_a_process_is_neither_read_nor_written),
	ROW(2, only_the_word_of_a_process_is_asked_until_its_thread_ends),
	ROW(2, a_process_that_has_renewed_its_segment_is_asked),
	ROW(2, a_reader_that_dies_before_the_write_is_not_written_to),
	ROW(2, memory_that_is_not_there_fails_its_read_only),
	ROW(2, a_probe_tells_a_peer_from_another_process),
	ROW(2, who_may_not_read_gets_everything_through_slabs),
	ROW(3, who_may_not_read_gets_everything_through_slabs),
	ROW(2, who_loses_the_right_to_read_goes_on_through_slabs),
	ROW(2, a_deregistered_key_is_refused_even_in_the_middle),
	ROW(2, a_source_that_nobody_consumes_from_may_sleep),
	ROW(2, a_reader_whose_request_finds_no_room_may_sleep),
	ROW(2, pieces_are_read_at_once),
	ROW(2, pieces_that_may_not_be_read_come_through_slabs),
	ROW(2, who_loses_the_right_to_read_gets_the_pieces_through_slabs),
	ROW(2, a_piece_that_is_not_there_fails_its_list_only),
	ROW(2, a_staged_message_of_any_length_arrives_whole),
	ROW(3, a_staged_message_of_any_length_arrives_whole),
	ROW(2, a_source_that_does_not_come_is_not_waited_for_and_changes_nothing_later),
	ROW(2, a_source_that_computes_says_so_and_copies_nothing),
	ROW(2, a_source_whose_queue_is_full_is_not_asked),
	ROW(2, who_waits_no_longer_and_may_not_read_waits_after_all),
	ROW(2, staged_pieces_leave_slabs_for_others),
	ROW(2, staged_pieces_leave_slabs_for_others_among_many_senders_too),
	ROW(2, requests_that_were_given_up_do_not_keep_others_from_being_answered),
	ROW(3, peers_take_turns_and_the_oldest_read_goes_first),
	ROW(2, a_full_table_takes_reads_again_when_one_has_ended),
	ROW(2, without_room_for_a_request_for_help_the_reader_does_it_all),
	ROW(2, misbehaving_requests_show_nothing_that_is_not_exposed),
	ROW(2, a_peer_gets_what_it_may_ask_for_at_a_time_and_no_more),
	ROW(3, pieces_that_were_not_asked_for_are_dropped),
	ROW(2, spoiled_claims_fail_the_read),
	ROW(1, a_dead_peer_is_let_go_though_others_never_pause),
	ROW(2, lost_peers_leave_nothing_behind),
	{0},
};

static void end(const struct test *test)
{
	(void)test;
	node_copies_close(node);
}

int main(int argc, char **argv)
{
	const struct test *const tables[] = {tests, NULL};
	const struct harness harness = {.tables = tables, .end = end, .only = argc > 1 ? argv[1] : NULL};

	return harness_run(&harness);
}
