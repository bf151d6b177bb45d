/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libfabric transport between processes of this machine, without an engine: what its operations promise.
 * usage: test_ofi [PROVIDER [TEST]]; the provider is tcp unless said otherwise.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/report.h"
#include "tests/support/harness.h"
#include "tests/support/refuse.h"
#include "tests/support/resources.h"
#include "transports/control.h"
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_shm_page.h"
#include "transports/ofi/ofi_table.h"
#include "transports/ofi/ofi_watch.h"

#define LOOPBACK   0x7f000001u
#define ANY_PID    0xffffffffu
#define PATIENCE   (40000000000u * SLOWNESS) /* ns until something that must happen is missed */
#define PENDING    1                         /* no status of a read */
#define LONG       (4u << 20)
#define CHUNK_LONG (1u << 16)

#define READS_GREATEST 4096 /* started by one test and not waited for */
#define IN_VAIN        200  /* tries, and nothing moves any more */

#define ROW(processes_, test)                                                                                          \
	{                                                                                                              \
		.name = #test, .run = test, .processes = processes_                                                    \
	}

/* Every message begins so; the bytes behind follow from sequence and position. */
struct message {
	uint32_t rank, sequence, length, test;
};

static const char *provider = "tcp";
static struct settings settings = {.short_max = SETTING_AUTO, .tuning_file = "", .tuning_save = ""};
static struct transport_config config;
static const char *iface = "lo";
static uint32_t home = LOOPBACK;
static struct transport *transport;
static uint32_t pid_at[MAX_PROCESSES], attempt_at[MAX_PROCESSES];
static transport_address address_of[MAX_PROCESSES];

/* What the sink saw. */
static uint32_t received[MAX_PROCESSES];
static bool repeats_allowed;
static transport_address last_from;
static uint32_t last_sequence;
static void (*on_failure)(void); /* of a read */
static int gone_count;
static transport_address gone_address;

/* Do processes have to meet, by control messages beside the provider, before they send? */
static bool meets(void)
{
	return strcmp(provider, "shm") == 0;
}

static unsigned char pattern(uint32_t sequence, size_t position)
{
	return (unsigned char)(sequence * 31 + position * 7 + (position >> 8));
}

static void fill(unsigned char *bytes, size_t length, uint32_t sequence)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern(sequence, i);
}

static void check_filled(const unsigned char *bytes, size_t length, uint32_t sequence)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != pattern(sequence, i))
			FAIL("byte %zu of %zu, sequence %u, is %u instead of %u", i, length, sequence, bytes[i],
			     pattern(sequence, i));
}

static void arrived(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
		    size_t body_length)
{
	struct message message;

	CHECK(owner == &config);
	CHECK(body == NULL && body_length == 0);
	/* Processes of other programs look for theirs at our port, too. */
	if (length < sizeof(message))
		return;
	memcpy(&message, bytes, sizeof(message));
	if (message.test != (uint32_t)pid_of(0))
		return;
	CHECK(message.rank < MAX_PROCESSES);
	CHECK_EQUAL(message.length, length);
	CHECK(message.sequence == received[message.rank] || repeats_allowed);
	check_filled((const unsigned char *)bytes + sizeof(message), length - sizeof(message), message.sequence);
	received[message.rank]++;
	last_from = from;
	last_sequence = message.sequence;
}

static void rdma_done(void *owner, void *context, int status)
{
	CHECK(owner == &config);
	CHECK_EQUAL(*(int *)context, PENDING);
	*(int *)context = status;
	if (status != 0 && on_failure)
		on_failure();
}

static void peer_gone(void *owner, transport_address peer)
{
	CHECK(owner == &config);
	gone_count++;
	gone_address = peer;
}

static void placed_was_sent(void *owner, void *context);

static const struct transport_sink sink = {
	.arrived = arrived, .rdma_done = rdma_done, .sent = placed_was_sent, .peer_gone = peer_gone};

/* ---- One process ---- */

static void configure(uint32_t pid)
{
	config = (struct transport_config){.settings = &settings,
					   .provider = provider,
					   .iface = iface,
					   .nid = home,
					   .pid = pid,
					   .sink = &sink,
					   .owner = &config};
}

static int open_as(uint32_t pid)
{
	configure(pid);
	int error = transport_ofi.claim(&config, &transport);
	if (error)
		return error;
	error = transport->ops->open(transport);
	if (error)
		fprintf(stderr, "%s\n", report_last_error());
	return error;
}

/* Where others look for the pid first.  Any process of this machine may hold a port. */
static void open_at_first_port(uint32_t pid)
{
	CHECK_EQUAL(open_as(pid), 0);
	if (transport->ops->own_attempt(transport) != 0)
		lose_race("another process holds the first port of our pid");
}

static void drive(void)
{
	CHECK(transport->ops->poll(transport, 64) >= 0);
}

static void shut(void)
{
	transport->ops->close(transport);
	transport = NULL;
}

/* ---- Several processes ---- */

static void exchange_addresses(void)
{
	uint32_t mine[2] = {config.pid, transport->ops->own_attempt(transport)}, all[MAX_PROCESSES][2];

	gather(mine, sizeof(mine), all);
	for (int rank = 0; rank < process_count; rank++) {
		pid_at[rank] = all[rank][0];
		attempt_at[rank] = all[rank][1];
		CHECK_EQUAL(transport->ops->resolve(transport, home, pid_at[rank], attempt_at[rank], &address_of[rank]),
			    0);
	}
}

static void open_and_meet(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	harness_while_waiting(drive);
	exchange_addresses();
}

static void drive_until(const char *what, bool (*reached)(const void *), const void *argument)
{
	uint64_t limit = now_ns() + PATIENCE;

	while (!reached(argument)) {
		drive();
		if (now_ns() > limit)
			FAIL("in vain: %s", what);
	}
}

static void await_at_least(int rank, uint32_t count)
{
	uint64_t limit = now_ns() + PATIENCE;

	for (uint32_t before = received[rank]; received[rank] < count; before = received[rank]) {
		drive();
		if (received[rank] != before)
			limit = now_ns() + PATIENCE;
		if (now_ns() > limit)
			FAIL("in vain: %u of %u messages of process %d have come, %d peers have gone; %s",
			     received[rank], count, rank, gone_count, report_last_error());
	}
}

static void await_messages(int rank, uint32_t count)
{
	await_at_least(rank, count);
	CHECK_EQUAL(received[rank], count);
}

static bool has_ended(const void *status)
{
	return *(const volatile int *)status != PENDING;
}

static int try_send(transport_address to, uint32_t sequence, size_t length)
{
	static unsigned char payload[1 << 20];
	struct message message = {(uint32_t)my_rank, sequence, (uint32_t)length, (uint32_t)pid_of(0)};
	struct iovec parts[3];

	length -= sizeof(message);
	fill(payload, length, sequence);
	parts[0] = (struct iovec){payload, length / 3};
	parts[1] = (struct iovec){payload + length / 3, 0};
	parts[2] = (struct iovec){payload + length / 3, length - length / 3};
	int error = transport->ops->send(transport, to, &message, sizeof(message), parts, length ? 3 : 0);

	return error == -ENOBUFS ? -EAGAIN : error; /* full is as good as not connected, here */
}

/* Retries as an engine does, driving in between. */
static void send_message(transport_address to, uint32_t sequence, size_t length)
{
	uint64_t limit = now_ns() + PATIENCE;
	int error;

	while ((error = try_send(to, sequence, length)) == -EAGAIN) {
		drive();
		if (now_ns() > limit)
			FAIL("message %u of %zu bytes cannot be sent", sequence, length);
	}
	CHECK_EQUAL(error, 0);
}

/* As open_and_meet(), and every pair has exchanged message 0: they are connected. */
static void open_and_greet(void)
{
	open_and_meet();
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			send_message(address_of[rank], 0, 40);
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			await_messages(rank, 1);
	barrier();
}

static int try_read(transport_address peer, void *local, size_t length, const struct memory_region *own,
		    uint64_t remote, uint64_t key, int *status)
{
	*status = PENDING;
	return transport->ops->read(transport, &(struct transport_read){.peer = peer,
									.local = local,
									.length = length,
									.memory_region = own,
									.remote = remote,
									.key = key,
									.context = status});
}

static int start_read(transport_address peer, void *local, size_t length, const struct memory_region *own,
		      uint64_t remote, uint64_t key, int *status)
{
	uint64_t limit = now_ns() + PATIENCE;
	int error;

	while ((error = try_read(peer, local, length, own, remote, key, status)) == -EAGAIN && now_ns() < limit)
		drive();
	return error;
}

/* Whole transfer in chunks, all of them waited for. */
static void read_all(transport_address peer, unsigned char *local, size_t length, const struct memory_region *remote)
{
	static int status[LONG / CHUNK_LONG];
	struct memory_region own = {0};
	bool local_registration = transport->limits.local_registration;
	size_t count = 0;

	if (local_registration)
		CHECK_EQUAL(transport->ops->register_memory(transport, local, length, REGION_LOCAL, &own), 0);
	for (size_t at = 0; at < length; at += CHUNK_LONG, count++)
		CHECK_EQUAL(start_read(peer, local + at, length - at < CHUNK_LONG ? length - at : CHUNK_LONG,
				       local_registration ? &own : NULL, remote->address + at, remote->key,
				       &status[count]),
			    0);
	for (size_t i = 0; i < count; i++) {
		drive_until("wait for reads", has_ended, &status[i]);
		CHECK_EQUAL(status[i], 0);
	}
	if (local_registration)
		transport->ops->deregister(transport, &own);
}

static unsigned char *new_memory(size_t length)
{
	unsigned char *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(bytes != MAP_FAILED);
	return bytes;
}

/* Rank 1 exposes `bytes`; all learn where. */
static struct memory_region publish(unsigned char *bytes, size_t length, unsigned uses)
{
	struct memory_region mine = {0}, all[MAX_PROCESSES];

	if (my_rank == 1)
		CHECK_EQUAL(transport->ops->register_memory(transport, bytes, length, uses, &mine), 0);
	gather(&mine, sizeof(mine), all);
	return all[1];
}

/* ---- Messages ---- */

static void messages_arrive_both_ways(void)
{
	open_and_meet();
	for (uint32_t i = 0; i < 20; i++)
		send_message(address_of[1 - my_rank], i, 40);
	await_messages(1 - my_rank, 20);
	CHECK_EQUAL(last_from, address_of[1 - my_rank]);
	barrier();
	shut();
}

static void every_size_arrives_intact(void)
{
	open_and_meet();
	size_t greatest = transport->limits.short_max;
	uint32_t sequence = 0;

	for (size_t size = sizeof(struct message); size <= greatest; size = size < 300 ? size + 1 : size + size / 7) {
		if (my_rank == 0)
			send_message(address_of[1], sequence, size);
		sequence++;
	}
	if (my_rank == 0) {
		send_message(address_of[1], sequence, greatest);
		CHECK_EQUAL(try_send(address_of[1], sequence + 1, greatest + 1), -EMSGSIZE);
	} else {
		await_messages(0, sequence + 1);
	}
	barrier();
	shut();
}

static void mixed_messages_keep_their_order(void)
{
	open_and_meet();
	uint32_t count = 2000;
	size_t span = transport->limits.short_max - sizeof(struct message);

	for (uint32_t i = 0; i < count; i++)
		send_message(address_of[1 - my_rank], i,
			     sizeof(struct message) + (i % 3 == 0 ? i * 7919u % (span + 1) : i % 200));
	await_messages(1 - my_rank, count);
	barrier();
	shut();
}

static void several_senders_share_the_buffers(void)
{
	open_and_meet();
	uint32_t count = 500;

	if (my_rank > 0)
		for (uint32_t i = 0; i < count; i++)
			send_message(address_of[0], i,
				     sizeof(struct message) + i * 7919u % (transport->limits.short_max - 100));
	else
		for (int rank = 1; rank < process_count; rank++)
			await_messages(rank, count);
	barrier();
	shut();
}

/* More long messages than the posted buffers hold may arrive while the receiver takes a single look. */
static void a_flood_leaves_nobody_deaf(void)
{
	open_and_greet();
	uint32_t count = 2000;
	size_t length = transport->limits.short_max < 4096 ? transport->limits.short_max : 4096;

	if (my_rank > 0)
		for (uint32_t i = 1; i <= count; i++)
			send_message(address_of[0], i, length);
	else
		for (int rank = 1; rank < process_count; rank++)
			await_messages(rank, count + 1);
	barrier();
	shut();
}

static void a_process_reaches_itself(void)
{
	open_and_meet();
	for (uint32_t i = 0; i < 10; i++)
		send_message(address_of[0], i, 16 + i * 100);
	await_messages(0, 10);
	shut();
}

static void an_unknown_sender_is_known_once_it_is_resolved(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	harness_while_waiting(drive);
	uint32_t mine[2] = {config.pid, transport->ops->own_attempt(transport)}, all[2][2];
	gather(mine, sizeof(mine), all);

	transport_address address;
	if (my_rank == 0) {
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, all[1][0], all[1][1], &address), 0);
		send_message(address, 0, 40);
		barrier();
		send_message(address, 1, 40);
	} else {
		await_messages(0, 1);
		transport_address before = last_from; /* processes that had to meet know each other */
		CHECK(meets() == (before != TRANSPORT_ADDRESS_UNKNOWN));
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, all[0][0], all[0][1], &address), 0);
		CHECK(!meets() || before == address);
		barrier();
		await_messages(0, 2);
		CHECK_EQUAL(last_from, address);
	}
	barrier();
	shut();
}

/*
 * A process that is to be stopped or killed stands outside the provider then, because shm would keep locks that others wait for:
 * rank 1 steps aside, and rank 0 waits for that.
 */
static void step_aside(void)
{
	atomic_store((atomic_uint *)shared_memory(), 1);
}

static void await_aside(void)
{
	while (atomic_load((atomic_uint *)shared_memory()) == 0)
		drive();
}

static _Noreturn void stay_aside(void)
{
	step_aside();
	for (;;)
		pause();
}

/* A stopped process must not make its peers collect messages without end. */
static void a_peer_that_does_not_read_is_refused_in_the_end(void)
{
	open_and_greet();
	if (my_rank == 0) {
		await_aside();
		stop_process(1);
		uint32_t accepted = 0;
		uint64_t last = now_ns();
		while (now_ns() - last < 100000000 && accepted < 100000) {
			if (try_send(address_of[1], 1 + accepted, 40) == 0) {
				accepted++;
				last = now_ns();
			} else {
				drive();
			}
		}
		CHECK_LESS(accepted, 100000);
		continue_process(1);
		gather(&accepted, sizeof(accepted), (uint32_t[2]){0});
	} else {
		uint32_t accepted[2] = {0};
		harness_while_waiting(NULL);
		step_aside();
		gather(&accepted[1], sizeof(accepted[1]), accepted);
		await_messages(0, 1 + accepted[0]);
		harness_while_waiting(drive);
	}
	barrier();
	shut();
}

/* Sends long messages until the pipe is full and stays full, until it is stopped and let go on. */
static void fill_the_pipe(atomic_uint *sent, atomic_uint *refused, const atomic_uint *over)
{
	for (uint32_t i = 1; !atomic_load(over); i++) {
		while (try_send(address_of[0], i, transport->limits.short_max) != 0) {
			if (atomic_load(over))
				return;
			drive();
			atomic_fetch_add(refused, 1);
		}
		atomic_store(sent, i + 1);
	}
}

/* Returns how many were sent when that has stood still for a while, in which the sender was not idle. */
static uint32_t await_standstill(const atomic_uint *sent, const atomic_uint *refused)
{
	uint32_t before = 0, tried = 0;

	for (uint64_t last = now_ns();;) {
		uint32_t tries = atomic_load(refused); /* before the look: none of them was followed by success */
		uint32_t now = atomic_load(sent);
		if (now != before) {
			before = now;
			last = now_ns();
			tried = atomic_load(refused);
		} else if (before > 0 && tries - tried >= IN_VAIN && now_ns() - last >= 100000000) {
			return before;
		}
	}
}

/*
 * Rank 1 is stopped when one of its messages has half arrived; what rank 2 sends meanwhile fills the receive buffers
 * several times over and must leave the half message alone.
 */
static void a_sender_stopped_in_mid_message_keeps_its_place(void)
{
	open_and_greet();
	atomic_uint *sent = shared_memory(), *over = sent + 1, *stopped = sent + 2, *refused = sent + 3;
	uint32_t others = (3u << 20) / 1000;

	if (my_rank == 1) {
		fill_the_pipe(sent, refused, over);
	} else if (my_rank == 2) {
		while (!atomic_load(stopped))
			drive();
		for (uint32_t i = 1; i <= others; i++)
			send_message(address_of[0], i, 1000);
	} else {
		uint32_t before = await_standstill(sent, refused);
		stop_process(1);
		atomic_store(stopped, 1);
		await_messages(2, others + 1);
		CHECK_LESS(received[1], before);
		atomic_store(over, 1);
		continue_process(1);
		await_at_least(1, before);
	}
	barrier();
	shut();
}

#define VICTIMS 8 /* transports of one process */

struct slaughter {
	uint32_t pid, attempt; /* of rank 0 */
	atomic_uint greeted;   /* lives that rank 0 has heard; it then lets the next messages pile up */
	atomic_uint sent;      /* in the present life */
	atomic_uint refused;   /* likewise */
	atomic_uint ended;     /* lives */
	atomic_bool stop, stopped;
};

/*
 * Reaches rank 0 with several transports, sends until nothing moves any more, stops, is killed.  Every transport begins
 * with one message more than the one before, so that half messages lie at every place of a receive buffer.  It is not
 * killed within the provider, because shm would keep its receiver's lock for ever.
 */
static void be_killed_in_mid_message(struct slaughter *slaughter, uint32_t life)
{
	struct transport *victims[VICTIMS];
	uint32_t sequence[VICTIMS] = {0};

	for (uint32_t i = 0; i < VICTIMS; i++) {
		CHECK_EQUAL(open_as(ANY_PID), 0);
		victims[i] = transport;
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, slaughter->pid, slaughter->attempt,
						    &address_of[0]),
			    0);
		for (; sequence[i] <= i; sequence[i]++)
			send_message(address_of[0], sequence[i], transport->limits.short_max);
	}
	for (uint32_t i = 0; !atomic_load(&slaughter->stop); i = (i + 1) % VICTIMS) {
		transport = victims[i];
		drive();
		if (atomic_load(&slaughter->greeted) <= life)
			continue;
		/* All of them know rank 0 under the number they gave it first, 0. */
		if (try_send(address_of[0], sequence[i], transport->limits.short_max) == 0) {
			sequence[i]++;
			atomic_fetch_add(&slaughter->sent, 1);
		} else {
			atomic_fetch_add(&slaughter->refused, 1);
		}
	}
	atomic_store(&slaughter->stopped, true);
	for (;;)
		pause();
}

static void survive(struct slaughter *slaughter, uint32_t life)
{
	await_messages(1, received[1] + VICTIMS * (VICTIMS + 1) / 2);
	atomic_store(&slaughter->greeted, life + 1);
	while (atomic_load(&slaughter->ended) <= life)
		;
	uint32_t before = received[1];
	unsigned idle = 0;
	for (uint64_t last = now_ns(); idle < IN_VAIN || now_ns() - last < 50000000 * SLOWNESS; idle++) {
		drive();
		if (received[1] == before)
			continue;
		before = received[1];
		last = now_ns();
		idle = 0;
	}
}

static void kill_at_standstill(struct slaughter *slaughter, uint32_t life)
{
	pid_t child = fork_child();

	if (child == 0)
		be_killed_in_mid_message(slaughter, life);
	await_standstill(&slaughter->sent, &slaughter->refused);
	atomic_store(&slaughter->stop, true);
	while (!atomic_load(&slaughter->stopped))
		sched_yield();
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
	atomic_store(&slaughter->stop, false);
	atomic_store(&slaughter->stopped, false);
	atomic_store(&slaughter->sent, 0);
	atomic_fetch_add(&slaughter->ended, 1);
}

/* Many of the deaths leave the provider with a receive buffer that it neither fills nor releases. */
static void senders_killed_in_mid_message_harm_nobody(void)
{
	struct slaughter *slaughter = shared_memory();

	repeats_allowed = true;
	if (my_rank == 0) {
		CHECK_EQUAL(open_as(ANY_PID), 0);
		slaughter->pid = config.pid;
		slaughter->attempt = transport->ops->own_attempt(transport);
	}
	barrier();
	for (uint32_t life = 0; life < 2; life++) {
		if (my_rank == 0)
			survive(slaughter, life);
		else
			kill_at_standstill(slaughter, life);
		barrier();
	}
	if (my_rank == 1)
		CHECK_EQUAL(open_as(ANY_PID), 0);
	harness_while_waiting(drive);
	exchange_addresses();
	uint32_t before = received[1], messages = 3000;
	if (my_rank == 1)
		for (uint32_t i = 0; i < messages; i++)
			send_message(address_of[0], i, 1000);
	else
		await_messages(1, before + messages);
	barrier();
	shut();
}

/* ---- Reads ---- */

static void reads_move_the_bytes(void)
{
	open_and_meet();
	unsigned char *bytes = new_memory(LONG);
	if (my_rank == 1)
		fill(bytes, LONG, 5);
	struct memory_region theirs = publish(bytes, LONG, REGION_READ);

	if (my_rank == 0) {
		read_all(address_of[1], bytes, LONG, &theirs);
		check_filled(bytes, LONG, 5);
		send_message(address_of[1], 0, 40);
		await_messages(1, 1);
	} else {
		await_messages(0, 1);
		transport->ops->deregister(transport, &theirs);
		send_message(address_of[0], 0, 40);
	}
	barrier();
	shut();
}

static void memory_regions_come_and_go(void)
{
	open_and_meet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region kept[3];

	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(transport->ops->register_memory(transport, bytes, LONG, REGION_READ, &kept[i]), 0);
	CHECK(kept[0].key != kept[1].key && kept[1].key != kept[2].key && kept[0].key != kept[2].key);
	for (int i = 0; i < 2000; i++) {
		struct memory_region passing;
		CHECK_EQUAL(transport->ops->register_memory(transport, bytes + i, 1 + (size_t)i, REGION_READ, &passing),
			    0);
		CHECK(passing.key != kept[1].key);
		transport->ops->deregister(transport, &passing);
	}
	transport->ops->deregister(transport, &kept[1]);
	shut(); /* deregisters the other two */
}

/* Nor does a cache of the provider keep it alive. */
static void a_deregistered_key_reads_nothing(void)
{
	open_and_greet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region own = {0}, theirs = publish(bytes, LONG, REGION_READ);
	int status;

	if (my_rank == 1) {
		fill(bytes, LONG, 5);
		transport->ops->deregister(transport, &theirs);
		barrier();
	} else {
		barrier();
		if (transport->limits.local_registration)
			CHECK_EQUAL(transport->ops->register_memory(transport, bytes, LONG, REGION_LOCAL, &own), 0);
		CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG, own.region ? &own : NULL, theirs.address,
				       theirs.key, &status),
			    0);
		drive_until("wait for a read to fail", has_ended, &status);
		CHECK(status != 0);
		for (size_t i = 0; i < LONG; i++)
			CHECK_EQUAL(bytes[i], 0);
	}
	barrier();
	shut();
}

static bool gone(const void *unused)
{
	(void)unused;
	return gone_count > 0;
}

static void a_killed_peer_fails_the_outstanding_read(void)
{
	open_and_greet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region theirs = publish(bytes, LONG, REGION_READ);

	expect_death(1);
	if (my_rank == 1)
		for (;;)
			drive();
	int status[2];
	stop_process(1);
	CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, &status[0]), 0);
	CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, &status[1]), 0);
	for (int i = 0; i < 1000; i++)
		drive();
	CHECK_EQUAL(status[0], PENDING);
	kill(pid_of(1), SIGKILL);
	drive_until("wait for the first read to fail", has_ended, &status[0]);
	drive_until("wait for the second read to fail", has_ended, &status[1]);
	CHECK_LESS(status[0], 0);
	CHECK_LESS(status[1], 0);
	drive_until("wait for the failure", gone, NULL);
	CHECK_EQUAL(gone_address, address_of[1]);
	shut();
}

/* As long as the child of a dead process has its connections, no peer would hear of the death. */
static void a_child_of_a_killed_peer_does_not_keep_its_connections(void)
{
	atomic_int *child = shared_memory();
	open_and_greet();
	unsigned char *bytes = new_memory(CHUNK_LONG);
	struct memory_region theirs = publish(bytes, CHUNK_LONG, REGION_READ);

	expect_death(1);
	if (my_rank == 1) {
		pid_t born = fork();
		if (born == 0) {
			transport->ops->forked(transport);
			atomic_store(child, getpid());
			alarm(240);
			for (;;)
				pause();
		}
		for (;;)
			drive();
	}
	int status;
	while (atomic_load(child) == 0)
		drive();
	stop_process(1);
	CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, &status), 0);
	for (int i = 0; i < 1000; i++)
		drive();
	CHECK_EQUAL(status, PENDING);
	kill(pid_of(1), SIGKILL);
	drive_until("wait for the read to fail", has_ended, &status);
	CHECK(kill(atomic_load(child), SIGKILL) == 0);
	shut();
}

/* ---- Silent peers ---- */

/* Which side connects: all to rank 0, or rank 0 to all.  Answers follow on the same connections. */
static void greet_from(bool zero_connects)
{
	for (int turn = 0; turn < 2; turn++) {
		bool from_zero = (turn == 0) == zero_connects;
		for (int rank = 1; rank < process_count; rank++) {
			if (my_rank == (from_zero ? 0 : rank))
				send_message(address_of[from_zero ? rank : 0], 0, 40);
			if (my_rank == (from_zero ? rank : 0))
				await_messages(from_zero ? 0 : rank, 1);
		}
		barrier();
	}
}

/* Rank 1 stands still while rank 0 reads from it; rank 2, if there is one, goes on.  Returns when the read stands too. */
static struct memory_region read_from_one_who_stands_still(bool zero_connects, unsigned char *bytes, int *status)
{
	open_and_meet();
	greet_from(zero_connects);
	struct memory_region theirs = publish(bytes, CHUNK_LONG, REGION_READ);
	expect_death(1);
	while (my_rank == 1)
		drive();
	if (my_rank != 0)
		return theirs;
	stop_process(1);
	CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, status), 0);
	for (int i = 0; i < 1000; i++)
		drive();
	CHECK_EQUAL(*status, PENDING);
	return theirs;
}

static void check_severed(bool zero_connects, int *status)
{
	unsigned char *bytes = new_memory(CHUNK_LONG);
	read_from_one_who_stands_still(zero_connects, bytes, status);
	if (my_rank == 0) {
		transport_ofi.sever_unheard(transport, &address_of[1], 1);
		for (int i = 0; i < 1000; i++)
			drive();
		CHECK_EQUAL(*status, PENDING); /* its host acknowledges everything */
		transport_ofi.sever(transport, address_of[1]);
		drive_until("wait for the read to fail", has_ended, status);
		CHECK_LESS(*status, 0);
		kill(pid_of(1), SIGKILL);
	}
}

/* Rank 0 has sent a message that stays where it is, since rank 1 stands still. */
static unsigned char *placed_bytes;
static int placed_status; /* PENDING until the transport needs it no longer */

static void placed_was_sent(void *owner, void *context)
{
	CHECK(owner == &config);
	CHECK(context == &placed_status);
	CHECK_EQUAL(placed_status, PENDING);
	placed_status = 0;
}

static int try_place(uint32_t sequence)
{
	size_t length = transport->limits.short_max;
	struct message message = {0, sequence, (uint32_t)length, (uint32_t)pid_of(0)};
	struct iovec parts[3];

	length -= sizeof(message);
	fill(placed_bytes, length, sequence);
	parts[0] = (struct iovec){placed_bytes, 1};
	parts[1] = (struct iovec){placed_bytes + 1, 0};
	parts[2] = (struct iovec){placed_bytes + 1, length - 1};
	placed_status = PENDING;
	return transport->ops->send_placed(transport, address_of[1], &message, sizeof(message), parts, 3,
					   &placed_status);
}

/* Returns the sequence number of the next message. */
static uint32_t place_for_a_standing_peer(bool zero_connects)
{
	uint32_t sequence = 1;
	int rc;

	open_and_meet();
	placed_bytes = new_memory(transport->limits.short_max);
	greet_from(zero_connects);
	if (my_rank != 0)
		return 0;
	stop_process(1);
	while ((rc = try_place(sequence)) == 0)
		sequence++;
	CHECK_EQUAL(rc, -EINPROGRESS);
	for (int i = 0; i < 1000; i++)
		drive();
	CHECK_EQUAL(placed_status, PENDING);
	return sequence + 1;
}

/* What follows is copied, so that at most one waits. */
static void what_finds_no_room_is_sent_from_its_place_in_order(void)
{
	atomic_uint *sent = shared_memory();
	uint32_t next = place_for_a_standing_peer(true);

	if (my_rank == 0) {
		unsigned char *kept = placed_bytes;

		placed_bytes = new_memory(transport->limits.short_max);
		CHECK_EQUAL(try_place(next++), 0);
		CHECK_EQUAL(try_send(address_of[1], next++, 40), 0);
		atomic_store(sent, next);
		placed_bytes = kept;
		continue_process(1);
		drive_until("wait for it to leave", has_ended, &placed_status);
		memset(kept, 0, transport->limits.short_max);
	} else {
		while (atomic_load(sent) == 0)
			continue;
		await_messages(0, atomic_load(sent));
	}
	barrier();
	shut();
}

static void arm_for_a_sleep(void)
{
	uint64_t limit = now_ns() + PATIENCE;

	while (transport->ops->arm(transport) != 0) {
		drive();
		CHECK(now_ns() < limit);
	}
}

/* A sleeper has been woken and has not looked yet: either it is still to be told, or the engine is. */
static void an_arrival_is_announced_though_a_send_from_its_place_takes_it(void)
{
	atomic_bool *armed = shared_memory();

	open_and_meet();
	placed_bytes = new_memory(transport->limits.short_max);
	greet_from(true);
	if (my_rank == 0) {
		struct pollfd fd = {.fd = transport->ops->wait_fd(transport), .events = POLLIN};

		arm_for_a_sleep();
		atomic_store(armed, true);
		CHECK_EQUAL(poll(&fd, 1, (int)(PATIENCE / 1000000)), 1);
		int rc = try_place(1);
		CHECK(rc == 0 || rc == -EINPROGRESS);
		CHECK(transport->kept || poll(&fd, 1, 0) == 1);
		await_messages(1, 2);
	} else {
		while (!atomic_load(armed))
			drive();
		send_message(address_of[0], 1, 40);
		await_messages(0, 2);
	}
	barrier();
	shut();
}

static void severing_ends_what_is_sent_from_its_place(bool zero_connects)
{
	expect_death(1);
	place_for_a_standing_peer(zero_connects);
	while (my_rank == 1)
		pause();
	transport_ofi.sever(transport, address_of[1]);
	drive_until("wait for it to end", has_ended, &placed_status);
	kill(pid_of(1), SIGKILL);
	barrier();
	shut();
}

static void severing_ends_what_is_sent_over_a_connection_we_made(void)
{
	severing_ends_what_is_sent_from_its_place(true);
}

static void severing_ends_what_is_sent_over_the_only_connection_from_there(void)
{
	severing_ends_what_is_sent_from_its_place(false);
}

static void a_killed_peer_ends_what_is_sent_from_its_place(void)
{
	expect_death(1);
	place_for_a_standing_peer(true);
	while (my_rank == 1)
		pause();
	kill(pid_of(1), SIGKILL);
	drive_until("wait for it to end", has_ended, &placed_status);
	barrier();
	shut();
}

/* Rank 2, of the same host, must not have lost anything: messages are numbered. */
static void check_unhurt(uint32_t next)
{
	for (uint32_t i = next; my_rank == 0 && i < 200; i++)
		send_message(address_of[2], i, 1000);
	if (my_rank == 2)
		await_messages(0, 200);
	barrier();
	shut();
}

static void severing_ends_reads_over_a_connection_we_made(void)
{
	int status = PENDING;
	check_severed(true, &status);
	check_unhurt(1);
}

static void severing_ends_reads_over_the_only_connection_from_there(void)
{
	int status = PENDING;
	check_severed(false, &status);
	barrier();
	shut();
}

static void severing_spares_connections_that_may_be_anybodys(void)
{
	int status = PENDING;
	unsigned char *bytes = new_memory(CHUNK_LONG);
	read_from_one_who_stands_still(false, bytes, &status);
	if (my_rank == 0) {
		transport_ofi.sever(transport, address_of[1]);
		for (int i = 0; i < 1000; i++)
			drive();
		CHECK_EQUAL(status, PENDING);
		kill(pid_of(1), SIGKILL);
		drive_until("wait for the read to fail", has_ended, &status);
	}
	check_unhurt(1);
}

/* As an engine does that has proof.  Rank 2 is sent something before the provider can have noticed anything. */
static void give_up_rank_one(void)
{
	on_failure = NULL;
	transport->ops->sever(transport, address_of[1]);
	send_message(address_of[2], 1, 1000);
}

/* Rank 1 has died, and of its reads only the first is known to have failed. */
static void severing_spares_who_is_left_alone_from_there(void)
{
	enum { READS = 4 };
	unsigned char *bytes = new_memory(CHUNK_LONG);
	int status[READS];
	struct memory_region theirs = read_from_one_who_stands_still(false, bytes, &status[0]);

	if (my_rank == 0) {
		for (int i = 1; i < READS; i++)
			CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG / READS, NULL, theirs.address,
					       theirs.key, &status[i]),
				    0);
		on_failure = give_up_rank_one;
		kill(pid_of(1), SIGKILL);
		for (int i = 0; i < READS; i++)
			drive_until("wait for the reads to fail", has_ended, &status[i]);
		CHECK(on_failure == NULL);
	}
	check_unhurt(2);
}

static void reads_of_one_peer_are_held_to_a_window(void)
{
	open_and_greet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region theirs = publish(bytes, LONG, REGION_READ);

	if (my_rank == 0) {
		size_t chunk = transport->limits.rma_chunk, depth = transport->limits.rma_depth;
		int status[16], error = 0;
		size_t started = 0;
		stop_process(1);
		for (; started < 16 && !error; started += !error) {
			error = try_read(address_of[1], bytes + started * chunk, chunk, NULL,
					 theirs.address + started * chunk, theirs.key, &status[started]);
		}
		CHECK_EQUAL(error, -EAGAIN);
		CHECK_EQUAL(started, depth);
		continue_process(1);
		for (size_t i = 0; i < started; i++)
			drive_until("wait for reads", has_ended, &status[i]);
	}
	barrier();
	shut();
}

/* Messages and reads in turn, as many as the transport takes at once. */
static void crowd(const struct memory_region *theirs, const struct memory_region *mine, unsigned char *bytes,
		  uint32_t *sequence, int *status, size_t *reads)
{
	transport_address peer = address_of[1 - my_rank];
	bool taken = true;

	while (taken && *reads < READS_GREATEST) {
		taken = try_send(peer, *sequence, 40) == 0;
		*sequence += taken;
		size_t length = *reads % 64 ? 8 : 8 << 10;
		if (try_read(peer, bytes, length, mine, theirs->address, theirs->key, &status[*reads]) == 0) {
			++*reads;
			taken = true;
		}
	}
}

/* rxd lets a new message pass those that wait for its window behind a read. */
static void messages_keep_their_order_among_reads(void)
{
	static int status[READS_GREATEST];
	open_and_greet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region mine, exposed[MAX_PROCESSES];
	atomic_uint *sent = shared_memory();
	uint32_t sequence = 1;

	CHECK_EQUAL(transport->ops->register_memory(transport, bytes, LONG, REGION_READ | REGION_LOCAL, &mine), 0);
	gather(&mine, sizeof(mine), exposed);
	for (int round = 0; round < FEWER(20); round++) {
		size_t reads = 0;
		for (int i = 0; i < 20; i++) {
			crowd(&exposed[1 - my_rank], &mine, bytes, &sequence, status, &reads);
			drive();
		}
		for (size_t i = 0; i < reads; i++)
			drive_until("wait for reads", has_ended, &status[i]);
	}
	atomic_store(&sent[my_rank], sequence);
	while (atomic_load(&sent[1 - my_rank]) == 0)
		drive();
	await_messages(1 - my_rank, atomic_load(&sent[1 - my_rank]));
	barrier();
	shut();
}

/* ---- Addresses ---- */

static void a_peer_that_starts_later_gets_its_message(void)
{
	uint32_t pid = 70000 + (uint32_t)pid_of(1);

	if (my_rank == 0) {
		transport_address address;
		CHECK_EQUAL(open_as(ANY_PID), 0);
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid, 0, &address), 0);
		CHECK_EQUAL(try_send(address, 0, 40), meets() ? -ENOENT : -EAGAIN);
		for (int i = 0; i < 1000; i++)
			drive();
		barrier();
		uint64_t limit = now_ns() + PATIENCE;
		struct timespec pause = {0, 1000000};
		while (try_send(address, 0, 40) != 0) { /* as seldom as an engine does */
			CHECK(now_ns() < limit);
			drive();
			nanosleep(&pause, NULL);
		}
		harness_while_waiting(drive);
	} else {
		barrier();
		open_at_first_port(pid);
		await_messages(0, 1);
	}
	barrier();
	shut();
}

static void the_same_attempt_is_the_same_address(void)
{
	transport_address first[9], again;
	CHECK_EQUAL(open_as(ANY_PID), 0);

	for (unsigned k = 0; k < 8; k++)
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, 4711, k, &first[k]), 0);
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, 4711, 8, &first[8]), -ENOENT);
	for (uint32_t pid = 0; pid < 500; pid++) /* makes the table grow */
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK + pid % 3, pid, 0, &again), 0);
	for (unsigned k = 0; k < 8; k++) {
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, 4711, k, &again), 0);
		CHECK_EQUAL(again, first[k]);
		for (unsigned other = 0; other < k; other++)
			CHECK(first[k] != first[other]);
	}
	shut();
}

static void a_pid_belongs_to_one_process_at_a_time(void)
{
	uint32_t pid = 70000 + (uint32_t)pid_of(0);
	struct transport *second;

	if (my_rank == 0)
		CHECK_EQUAL(open_as(pid), 0);
	barrier();
	if (my_rank == 1) {
		configure(pid);
		CHECK_EQUAL(transport_ofi.claim(&config, &second), -EADDRINUSE);
		CHECK(strstr(report_last_error(), "process id"));
	}
	barrier();
	if (my_rank == 0)
		shut();
	barrier();
	if (my_rank == 1) {
		CHECK_EQUAL(open_as(pid), 0);
		shut();
	}
}

/* Claims a pid whose first candidate port is the one that `transport` holds. */
static struct transport *claim_candidate(struct transport_config *candidate)
{
	transport_address own, candidates;

	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, config.pid, 0, &own), 0);
	for (uint32_t pid = 1000000; pid < 1500000; pid++) {
		struct transport *found;
		*candidate = config;
		candidate->pid = pid;
		if (transport_ofi.claim(candidate, &found) != 0)
			continue;
		if (found->ops->own_attempt(found) == 1) { /* or another process holds its first port */
			CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid, 0, &candidates), 0);
			if (candidates == own)
				return found;
		}
		found->ops->close(found);
	}
	FAIL("no pid shares a port");
}

static bool exchange(const void *candidate)
{
	CHECK(((struct transport *)candidate)->ops->poll((struct transport *)candidate, 16) >= 0);
	return received[0] > 0;
}

/* They have one address; which is meant is for the engine's HELLO to say. */
static void pids_that_share_their_ports_coexist(void)
{
	struct transport_config candidate_config;
	struct transport *candidate;
	transport_address second;

	open_at_first_port(70000 + (uint32_t)getpid());
	candidate = claim_candidate(&candidate_config);
	CHECK_EQUAL(candidate->ops->open(candidate), 0);
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, candidate_config.pid, 1, &second), 0);
	uint64_t limit = now_ns() + PATIENCE;
	while (try_send(second, 0, 40) == -EAGAIN) {
		exchange(candidate);
		drive();
		CHECK(now_ns() < limit);
	}
	drive_until("wait for the message", exchange, candidate);
	candidate->ops->close(candidate);
	shut();
}

/* The port an open or claimed transport holds, from its description "... at A.B.C.D:PORT, ...". */
static uint16_t port_of(const struct transport *described)
{
	char text[1024];
	CHECK(described->ops->describe(described, text, sizeof(text)) > 0);
	const char *colon = strstr(text, "127.0.0.1:");
	CHECK(colon);
	return (uint16_t)atoi(colon + strlen("127.0.0.1:"));
}

/* Or -1: another process does. */
static int try_to_listen_on(uint16_t port)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0) {
		CHECK_EQUAL(errno, EADDRINUSE);
		close(fd);
		return -1;
	}
	CHECK_EQUAL(listen(fd, 1), 0);
	return fd;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQUAL(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* What a call before has left behind, as recv() of an empty socket does. */
static void drive_with_leftover_errno(void)
{
	errno = EAGAIN;
	drive();
}

static bool has_no_more_than(const void *descriptors)
{
	drive_with_leftover_errno();
	return open_descriptors() <= *(const int *)descriptors;
}

static void who_hangs_up_before_greeting_leaves_no_descriptor_whatever_errno_says(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	if (transport->ops->own_attempt(transport) != 0)
		lose_race("another process holds our first port");
	int before = open_descriptors();

	for (int i = 0; i < 20; i++) {
		int near = connect_to(port_of(transport));

		/* Taken while it is open still, and with its end in one go. */
		for (int times = 0; times < i % 4; times++)
			drive_with_leftover_errno();
		close(near);
		drive_with_leftover_errno();
	}
	drive_until("wait for closed connections to be closed", has_no_more_than, &before);
	shut();
}

/*
 * A newcomer behind them waits for all of them.  Counted in polls, as nothing here sleeps: the provider's own looks at its listener are
 * so far apart in time that there are some ten thousand between two.
 */
static void connections_are_taken_as_fast_as_we_poll(void)
{
	enum { CONNECTIONS = 200, POLLS_FOR_EACH = 64 };
	int near[CONNECTIONS];
	unsigned polls = 0;

	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct pollfd listener = {.fd = ofi_of(transport)->listener_fd, .events = POLLIN};

	if (listener.fd < 0)
		lose_race("another process holds our first port");
	if (ofi_of(transport)->library->version() != FI_VERSION(1, 17))
		skip_test("fi_trywait() takes connections in libfabric 1.17 (ofi_sleep.c)");
	for (int i = 0; i < CONNECTIONS; i++)
		near[i] = connect_to(port_of(transport));
	for (; poll(&listener, 1, 0) == 1; polls++)
		drive();
	CHECK_LESS(polls, CONNECTIONS * POLLS_FOR_EACH);
	for (int i = 0; i < CONNECTIONS; i++)
		close(near[i]);
	shut();
}

/* Where the provider does not listen on the TCP port of our number, the application may. */
static void connections_of_the_application_are_left_alone(void)
{
	char byte = 1;
	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = htons(port_of(transport)), .sin_addr.s_addr = htonl(LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) != 0) {
		CHECK_EQUAL(errno, EADDRINUSE);
		shut();
		skip_test("the provider listens on the port itself");
	}
	CHECK_EQUAL(listen(listener, 1), 0);
	CHECK_EQUAL(connect(near, (struct sockaddr *)&name, sizeof(name)), 0);
	int far = accept(listener, NULL, NULL);
	CHECK_LESS(0, far);
	shut();
	CHECK_EQUAL(send(far, &byte, 1, MSG_NOSIGNAL), 1);
	CHECK_EQUAL(recv(near, &byte, 1, 0), 1);
	close(near);
	close(far);
	close(listener);
}

/* Drops all that comes to the socket, unseen and unacknowledged, as if its host had vanished. */
static void make_deaf(int fd, bool deaf)
{
	struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
	struct sock_fprog filter = {.len = 1, .filter = &nothing};

	CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, deaf ? SO_ATTACH_FILTER : SO_DETACH_FILTER, &filter, sizeof(filter)), 0);
}

/* Leaves nothing behind that would keep its port. */
static void reset(int fd)
{
	const struct linger none = {.l_onoff = 1};

	CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	close(fd);
}

static bool is_sent_again(const void *fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	CHECK_EQUAL(getsockopt(*(const int *)fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	return info.tcpi_retransmits >= 3; /* after 1.4 s */
}

/* A connection as the provider makes them, to a process whose host has vanished: is it severed? */
static bool is_severed_when_unheard(void)
{
	char byte = 1;
	transport_address address;
	uint32_t pid = config.pid + 1; /* or another that no process of this host has */
	int listener, near = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in name = {0};
	socklen_t length = sizeof(name);

	while ((listener = try_to_listen_on(ofi_candidate_port(pid, 0))) < 0)
		pid++;
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid, 0, &address), 0);
	CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&name, &length), 0);
	CHECK_EQUAL(connect(near, (struct sockaddr *)&name, length), 0);
	int far = accept(listener, NULL, NULL);
	CHECK_LESS(0, far);
	make_deaf(far, true);
	CHECK_EQUAL(send(near, &byte, 1, MSG_NOSIGNAL), 1);
	drive_until("wait for retransmissions", is_sent_again, &near);
	transport->ops->sever_unheard(transport, &address, 1);
	bool severed = recv(near, &byte, 1, MSG_DONTWAIT) == 0;
	reset(far);
	reset(near);
	close(listener);
	return severed;
}

/* Half of the time after which silence counts as death; without such a time it never does. */
static void a_vanished_host_is_severed_unless_silence_means_nothing(void)
{
	static const struct {
		uint64_t peer_timeout;
		bool severed;
	} cases[] = {{2000000000u, true}, {600000000000u, false}, {0, false}};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		settings.peer_timeout = cases[i].peer_timeout;
		CHECK_EQUAL(open_as(ANY_PID), 0);
		CHECK_EQUAL(is_severed_when_unheard(), cases[i].severed);
		shut();
	}
}

/* The provider's: no other sockets of this process are connected. */
static void make_connections_deaf(bool deaf)
{
	struct sockaddr_in name = {0};

	for (int fd = 3; fd < 256; fd++) {
		socklen_t length = sizeof(name);
		if (getpeername(fd, (struct sockaddr *)&name, &length) == 0 && name.sin_family == AF_INET)
			make_deaf(fd, deaf);
	}
}

static bool has_sent_all(const void *sender)
{
	const struct transport *from = sender;

	return from->ops->unsent(from) == 0;
}

/* A side that closed now would lose it, if it has not read all that the other side has sent. */
static void what_has_not_been_acknowledged_counts_as_unsent(void)
{
	open_and_greet();
	if (my_rank == 1)
		make_connections_deaf(true);
	barrier();
	if (my_rank == 0) {
		send_message(address_of[1], 1, 40);
		for (int i = 0; i < 1000; i++)
			drive();
		CHECK(!has_sent_all(transport));
	}
	barrier();
	if (my_rank == 1)
		make_connections_deaf(false);
	if (my_rank == 0)
		drive_until("wait for the acknowledgement", has_sent_all, transport);
	else
		await_messages(0, 2);
	barrier();
	shut();
}

static bool has_more_than(const void *descriptors)
{
	return open_descriptors() > *(const int *)descriptors;
}

/* libfabric 1.17 forgets a connection that it has accepted, and whose greeting has not come, when its endpoint closes. */
static void who_has_not_greeted_when_we_close_leaves_no_descriptor(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	shut(); /* what libfabric keeps of its first time is there from now on */
	const int closed = open_descriptors();
	CHECK_EQUAL(open_as(ANY_PID), 0);
	const int outsider = connect_to(port_of(transport)), connected = open_descriptors();
	drive_until("accept a connection", has_more_than, &connected);
	shut();
	CHECK_EQUAL(open_descriptors(), closed + 1); /* the other's own end */
	close(outsider);
}

static void another_process_on_the_port_is_avoided(void)
{
	uint32_t pid = 70000 + (uint32_t)pid_of(1);

	if (my_rank == 1) {
		configure(pid);
		CHECK_EQUAL(transport_ofi.claim(&config, &transport), 0);
		if (transport->ops->own_attempt(transport) != 0)
			lose_race("another process holds the first port of our pid");
		int outsider = try_to_listen_on(port_of(transport));
		if (outsider < 0)
			lose_race("another process listens on our port");
		CHECK_EQUAL(transport->ops->open(transport), 0);
		CHECK(transport->ops->own_attempt(transport) > 0);
		close(outsider);
	} else {
		CHECK_EQUAL(open_as(ANY_PID), 0);
	}
	harness_while_waiting(drive);
	exchange_addresses();
	send_message(address_of[1 - my_rank], 0, 40);
	await_messages(1 - my_rank, 1);
	barrier();
	shut();
}

/* A process that takes one message and ends without a DISCONNECT. */
static void live_once(uint32_t pid, atomic_uint *lives)
{
	repeats_allowed = true;
	open_at_first_port(pid);
	while (received[0] == 0)
		drive();
	atomic_fetch_add(lives, 1);
	_exit(0);
}

/* What is sent right after a death is lost without a word: an engine says HELLO until it is answered, and so do we. */
static void a_restarted_peer_is_reached_at_the_same_address(void)
{
	uint32_t pid = 70000 + (uint32_t)pid_of(1);
	atomic_uint *lives = shared_memory();
	transport_address address = 0;

	if (my_rank == 0) {
		CHECK_EQUAL(open_as(ANY_PID), 0);
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid, 0, &address), 0);
	}
	for (uint32_t life = 0; life < 3; life++) {
		if (my_rank == 1) {
			pid_t child = fork_child();
			if (child == 0)
				live_once(pid, lives);
			join_child(child);
		}
		uint64_t limit = now_ns() + PATIENCE;
		struct timespec pause = {0, 2000000};
		while (my_rank == 0 && atomic_load(lives) == life) {
			CHECK(now_ns() < limit);
			try_send(address, 0, 40);
			drive();
			nanosleep(&pause, NULL);
		}
	}
	barrier();
	if (my_rank == 0)
		shut();
}

/* Opens, leaves a forked child behind, ends. */
static void live_and_leave_a_child(uint32_t pid, atomic_int *orphan)
{
	open_at_first_port(pid);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		transport->ops->forked(transport);
		atomic_store(orphan, getpid());
		alarm(120 * SLOWNESS);
		for (;;)
			pause();
	}
	while (atomic_load(orphan) == 0)
		;
	_exit(0);
}

static void a_forked_child_does_not_keep_the_pid(void)
{
	uint32_t pid = 70000 + (uint32_t)getpid();
	atomic_int *orphan = shared_memory();
	pid_t child = fork_child();

	if (child == 0)
		live_and_leave_a_child(pid, orphan);
	join_child(child);
	int error = open_as(pid);
	kill(atomic_load(orphan), SIGKILL);
	CHECK_EQUAL(error, 0);
	if (transport->ops->own_attempt(transport) != 0)
		lose_race("the child, or another process, holds our first port");
	shut();
}

static void *open_claimed(void *opened)
{
	CHECK_EQUAL(transport->ops->open(transport), 0);
	atomic_store((atomic_bool *)opened, true);
	return NULL;
}

/* What is not open yet has no descriptors that a child could close. */
static void children_forked_while_it_opens_lose_nothing(void)
{
	atomic_bool opened = false;
	pthread_t opener;

	CHECK_EQUAL(dup2(open("/dev/null", O_RDONLY), STDIN_FILENO), STDIN_FILENO);
	configure(ANY_PID);
	CHECK_EQUAL(transport_ofi.claim(&config, &transport), 0);
	CHECK_EQUAL(pthread_create(&opener, NULL, open_claimed, &opened), 0);
	while (!atomic_load(&opened)) {
		pid_t child = fork_child();
		if (child == 0) {
			transport->ops->forked(transport);
			_exit(fcntl(STDIN_FILENO, F_GETFD) < 0 ? 1 : 0);
		}
		join_child(child);
	}
	pthread_join(opener, NULL);
	shut();
}

/* ---- Liveness ---- */

/* Whose first port no process holds. */
static uint32_t unborn_pid(void)
{
	uint32_t pid = 4711;
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(LOOPBACK)};

	for (int error = -1; error != 0;) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		name.sin_port = htons(ofi_candidate_port(++pid, 0));
		error = bind(fd, (struct sockaddr *)&name, sizeof(name));
		close(fd);
	}
	return pid;
}

/* The answer may come a moment after the question; then the next probe tells. */
static void check_refused_in_the_end(transport_address address)
{
	uint64_t limit = now_ns() + PATIENCE;

	while (transport->ops->probe(transport, address) != -ECONNREFUSED)
		CHECK(now_ns() < limit);
}

static void probes_tell_the_dead_from_the_living(void)
{
	open_and_greet();
	expect_death(1);
	barrier();
	atomic_uint *drives_no_more = (atomic_uint *)shared_memory() + 1;
	if (my_rank == 1) {
		while (!atomic_load(drives_no_more))
			drive();
		stay_aside();
	}
	transport_address unborn;
	struct timespec pause = {0, 2000000};
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, unborn_pid(), 0, &unborn), 0);
	for (int i = 0; i < 20; i++) {
		CHECK_EQUAL(transport->ops->probe(transport, address_of[1]), 0);
		nanosleep(&pause, NULL);
	}
	check_refused_in_the_end(unborn);
	atomic_store(drives_no_more, 1);
	await_aside();
	stop_process(1);
	for (int i = 0; i < 20; i++) {
		CHECK_EQUAL(transport->ops->probe(transport, address_of[1]), 0);
		nanosleep(&pause, NULL);
	}
	kill(pid_of(1), SIGKILL);
	check_refused_in_the_end(address_of[1]);
	check_refused_in_the_end(unborn);
	CHECK_EQUAL(transport->ops->probe(transport, address_of[0]), 0);
	shut();
}

/* ---- Sleeping ---- */

static int arm_in_the_end(void)
{
	uint64_t limit = now_ns() + PATIENCE;

	for (;;) {
		int error = transport->ops->arm(transport);
		if (error != -EAGAIN)
			return error;
		drive();
		CHECK(now_ns() < limit);
	}
}

/* As the engine does it: the descriptor in an epoll set of the engine's own. */
static int new_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	CHECK_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, transport->ops->wait_fd(transport), &event), 0);
	return epoll;
}

/* To stop this process and let it go on wakes it, too. */
static void sleep_in(int epoll)
{
	struct epoll_event event;
	int woken = epoll_wait(epoll, &event, 1, 5000 * SLOWNESS);

	CHECK(woken == 1 || (woken < 0 && errno == EINTR));
}

static void no_sleeper_misses_a_message(void)
{
	open_and_greet();
	CHECK(transport->limits.sleepable);
	uint32_t rounds = FEWER(500);
	atomic_uint *asleep = shared_memory();
	int epoll = new_epoll();

	for (uint32_t i = 1; i <= rounds; i++) {
		if (my_rank == 0) {
			while (atomic_load(&asleep[0]) != i)
				drive();
			/* Sometimes into the falling asleep, sometimes into deep sleep. */
			for (uint64_t start = now_ns(); now_ns() - start < i % 10 * 20000;)
				;
			send_message(address_of[1], i, i % 2 ? 40 : 4000);
			await_messages(1, i + 1);
		} else {
			atomic_store(&asleep[0], i);
			while (received[0] <= i) {
				if (arm_in_the_end() == 0 && received[0] <= i)
					sleep_in(epoll);
				drive();
			}
			send_message(address_of[0], i, 40);
		}
	}
	barrier();
	shut();
}

/* No peer has connected before, so that the sleeper's sockets but the listener are made while it sleeps. */
static void a_sleeper_hears_who_was_never_connected(void)
{
	open_and_meet();
	atomic_uint *asleep = shared_memory();

	if (my_rank == 0) {
		while (atomic_load(asleep) == 0)
			drive();
		send_message(address_of[1], 0, 40);
		await_messages(1, 1);
	} else {
		int epoll = new_epoll();

		for (; received[0] == 0; drive()) {
			if (arm_in_the_end() != 0 || received[0] > 0)
				continue;
			atomic_store(asleep, 1);
			sleep_in(epoll);
		}
		send_message(address_of[0], 0, 40);
	}
	barrier();
	shut();
}

/* Of an epoll set. */
static int count_watched(int set)
{
	char path[64], line[256];
	int count = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", set);
	FILE *file = fopen(path, "r");
	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		count += strncmp(line, "tfd:", strlen("tfd:")) == 0;
	fclose(file);
	return count;
}

static bool is_made_of_known_sets(void)
{
	return ofi_of(transport)->profile.tcp_sockets && ofi_library_load()->version() == FI_VERSION(1, 17);
}

static int watched_by_sleepers(void)
{
	return count_watched(transport->ops->wait_fd(transport));
}

/* Watching costs time with every segment that arrives, beginning and ending it with every connection there is. */
static void sets_are_watched_from_a_sleep_until_much_has_come(void)
{
	open_and_greet();
	if (!is_made_of_known_sets())
		skip_test("made of what libfabric 1.17's queues are made of");
	CHECK_EQUAL(watched_by_sleepers(), 0);
	for (uint32_t round = 0; round < 3; round++) {
		uint32_t first = 1 + 65 * round;

		CHECK_EQUAL(arm_in_the_end(), 0);
		CHECK(watched_by_sleepers() > 0);
		drive();
		CHECK(watched_by_sleepers() > 0);
		barrier();
		send_message(address_of[1 - my_rank], first, 40);
		await_messages(1 - my_rank, first + 1);
		drive();
		CHECK(watched_by_sleepers() > 0);
		barrier();
		for (uint32_t i = 1; i <= 64; i++)
			send_message(address_of[1 - my_rank], first + i, 40);
		await_messages(1 - my_rank, first + 65);
		drive();
		CHECK_EQUAL(watched_by_sleepers(), 0);
		barrier();
	}
	shut();
}

static uint32_t version_of_tomorrow(void)
{
	return FI_VERSION(9, 9);
}

/* What is known of the sets was seen in one version: in others sleepers look by themselves now and then. */
static void sets_of_unknown_versions_are_not_trusted(void)
{
	struct ofi_library tomorrow;

	CHECK_EQUAL(open_as(ANY_PID), 0);
	if (!is_made_of_known_sets())
		skip_test("made of what libfabric 1.17's queues are made of");
	struct ofi *ofi = ofi_of(transport);

	CHECK(ofi->watch_fd >= 0);
	CHECK_EQUAL(transport->limits.poll_interval, 0);
	ofi_watch_give_back(ofi);
	CHECK(ofi->watch_fd < 0);
	tomorrow = *ofi->library;
	tomorrow.version = version_of_tomorrow;
	ofi->library = &tomorrow;
	ofi_watch_take(ofi);
	CHECK(ofi->watch_fd >= 0);
	CHECK_EQUAL(transport->limits.poll_interval, 100000);
	shut();
}

/* Whatever the provider adds to the descriptor later wakes a sleeper, as it would have without us. */
static void what_the_queue_comes_to_watch_later_wakes_a_sleeper(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
	const uint64_t one = 1;
	int later = eventfd(0, EFD_CLOEXEC);

	CHECK_EQUAL(open_as(ANY_PID), 0);
	if (!is_made_of_known_sets())
		skip_test("made of what libfabric 1.17's queues are made of");
	struct ofi *ofi = ofi_of(transport);
	int epoll = new_epoll();

	CHECK_EQUAL(epoll_ctl(ofi->cq_fd, EPOLL_CTL_ADD, later, &event), 0);
	CHECK_EQUAL(arm_in_the_end(), 0);
	CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	CHECK_EQUAL(write(later, &one, sizeof(one)), (ssize_t)sizeof(one));
	CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
	CHECK_EQUAL(epoll_ctl(ofi->cq_fd, EPOLL_CTL_DEL, later, NULL), 0);
	close(later);
	shut();
}

/* Of a set in which nothing else is than a signal that tells nothing, sleepers would hear nothing. */
static void a_queue_of_which_nothing_can_be_taken_is_slept_on_itself(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct ofi *ofi = ofi_of(transport);

	if (!is_made_of_known_sets() || ofi->edge_fd < 0)
		skip_test("made of net's queue of libfabric 1.17");
	int queue = ofi->cq_fd, signal = eventfd(1, EFD_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = ofi->stale_event};

	ofi_watch_give_back(ofi);
	ofi->cq_fd = epoll_create1(EPOLL_CLOEXEC);
	CHECK_EQUAL(epoll_ctl(ofi->cq_fd, EPOLL_CTL_ADD, signal, &event), 0);
	ofi_watch_take(ofi);
	CHECK(ofi->watch_fd < 0);
	CHECK_EQUAL(count_watched(ofi->cq_fd), 1);
	close(ofi->cq_fd);
	close(signal);
	ofi->cq_fd = queue;
	shut();
}

static int errno_seen;

/* NOLINTNEXTLINE(readability-non-const-parameter): libfabric's signature */
static ssize_t leave_an_errno(struct fid_cq *queue, void *found, size_t count, fi_addr_t *sources)
{
	(void)queue, (void)found, (void)count, (void)sources;
	errno = EAGAIN;
	return -FI_EAGAIN;
}

static int see_errno(struct fid_fabric *fabric, struct fid **objects, int count)
{
	(void)fabric, (void)objects, (void)count;
	errno_seen = errno;
	return FI_SUCCESS;
}

/* The provider drives its connections there as well: ofi_clear_errno() says what becomes of one. */
static void whoever_falls_asleep_leaves_the_provider_no_errno(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct ofi *ofi = ofi_of(transport);
	struct fi_ops_cq *real_queue = ofi->cq->ops, queue = *real_queue;
	struct fi_ops_fabric *real_fabric = ofi->fabric->ops, fabric = *real_fabric;

	if (!ofi->profile.tcp_sockets)
		skip_test("about connections");
	queue.readfrom = leave_an_errno;
	fabric.trywait = see_errno;
	errno_seen = -1;
	ofi->cq->ops = &queue;
	ofi->fabric->ops = &fabric;
	CHECK(transport->ops->arm(transport) >= 0);
	CHECK_EQUAL(errno_seen, 0);
	ofi->cq->ops = real_queue;
	ofi->fabric->ops = real_fabric;
	shut();
}

static unsigned looks;

/* The second look finds a completion of which no caller asked to be told. */
static ssize_t find_at_the_second_look(struct fid_cq *queue, void *found, size_t count, fi_addr_t *sources)
{
	(void)queue, (void)count;
	if (looks++ != 1)
		return -FI_EAGAIN;
	*(struct fi_cq_data_entry *)found = (struct fi_cq_data_entry){.op_context = NULL};
	*sources = FI_ADDR_NOTAVAIL;
	return 1;
}

/* A caller that finds that there was nothing counts on having read everything that had come. */
static void a_poll_that_leaves_something_behind_says_that_there_was_something(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct ofi *ofi = ofi_of(transport);
	struct fi_ops_cq *real = ofi->cq->ops, scripted = *real;

	scripted.readfrom = find_at_the_second_look;
	looks = 0;
	ofi->cq->ops = &scripted;
	ofi->doubts++;
	CHECK(transport->ops->poll(transport, 64) > 0);
	CHECK_EQUAL(ofi->stashed, 1);
	ofi->doubts--;
	CHECK_EQUAL(transport->ops->poll(transport, 64), 1);
	CHECK_EQUAL(transport->ops->poll(transport, 64), 0);
	ofi->cq->ops = real;
	shut();
}

static void sleeping_costs_no_cpu(void)
{
	open_and_meet();
	for (uint32_t i = 0; i < 50; i++)
		send_message(address_of[1 - my_rank], i, i * 80 + 20);
	await_messages(1 - my_rank, 50);
	barrier();
	struct epoll_event event;
	int epoll = new_epoll();
	uint64_t cpu = cpu_ns(), end = now_ns() + 1000000000;
	while (now_ns() < end) {
		CHECK_EQUAL(arm_in_the_end(), 0);
		epoll_wait(epoll, &event, 1, (int)((end - now_ns()) / 1000000) + 1);
		drive();
	}
	/* A virtual machine charges us with what its host takes away while we run. */
	if (cpu_ns() - cpu >= 20000000 * SLOWNESS)
		lose_race("a second asleep took more than 20 ms of the processor");
	barrier();
	shut();
}

static void a_sleeping_target_serves_reads(void)
{
	open_and_meet();
	unsigned char *bytes = new_memory(LONG);
	atomic_uint *over = shared_memory();
	if (my_rank == 1)
		fill(bytes, LONG, 9);
	struct memory_region theirs = publish(bytes, LONG, REGION_READ);

	if (my_rank == 0) {
		for (int i = 0; i < 5; i++) {
			memset(bytes, 0, LONG);
			read_all(address_of[1], bytes, LONG, &theirs);
			check_filled(bytes, LONG, 9);
		}
		atomic_store(over, 1);
		send_message(address_of[1], 0, 40);
	} else {
		int epoll = new_epoll();
		while (received[0] == 0) {
			if (arm_in_the_end() == 0 && received[0] == 0)
				sleep_in(epoll);
			drive();
		}
		CHECK_EQUAL(atomic_load(over), 1);
	}
	barrier();
	shut();
}

/* ---- Opening ---- */

static void handler(int number)
{
	(void)number;
}

static void opening_leaves_signal_handlers_alone(void)
{
	struct sigaction own = {.sa_handler = handler, .sa_flags = SA_RESTART}, now;

	CHECK_EQUAL(sigaction(SIGINT, &own, NULL), 0);
	CHECK_EQUAL(sigaction(SIGSEGV, NULL, &own), 0);
	CHECK_EQUAL(open_as(ANY_PID), 0);
	CHECK_EQUAL(sigaction(SIGINT, NULL, &now), 0);
	CHECK(now.sa_handler == handler && now.sa_flags & SA_RESTART);
	CHECK_EQUAL(sigaction(SIGSEGV, NULL, &now), 0);
	CHECK(now.sa_handler == own.sa_handler);
	CHECK_EQUAL(sigaction(SIGTERM, NULL, &now), 0);
	CHECK(now.sa_handler == SIG_DFL);
	shut();
}

static void check_refused(const char *name, const char *reason)
{
	struct transport *refused;

	configure(ANY_PID);
	config.provider = name;
	CHECK_EQUAL(transport_ofi.claim(&config, &refused), 0);
	CHECK_LESS(refused->ops->open(refused), 0);
	const char *text = report_last_error();
	if (!strstr(text, reason) || !strstr(text, "lo") || !strstr(text, "127.0.0.1"))
		FAIL("%s is refused with: %s", name, text);
	refused->ops->close(refused);
}

static void refusals_say_why(void)
{
	check_refused("nonsense", "nonsense: not available");
	check_refused("nonsense", "tcp;ofi_rxm");
	check_refused("verbs", "verbs;ofi_rxm");
	check_refused("efa", "efa: its addresses have to be published");
	check_refused("cxi", "cxi: its addresses have to be published");
}

static void an_address_we_do_not_have_is_refused(void)
{
	struct transport *refused;

	configure(ANY_PID);
	config.nid = 0xc0000201; /* 192.0.2.1, for documentation */
	CHECK_LESS(transport_ofi.claim(&config, &refused), 0);
	CHECK(strstr(report_last_error(), "192.0.2.1"));
}

static void the_best_provider_opens_and_describes_itself(void)
{
	char text[1024];

	provider = NULL;
	CHECK_EQUAL(open_as(ANY_PID), 0);
	int length = transport->ops->describe(transport, text, sizeof(text));
	CHECK_EQUAL(length, strlen(text));
	CHECK(strstr(text, "libfabric") && strstr(text, "127.0.0.1:") && strstr(text, "short "));
	CHECK(strstr(text, "verbs;ofi_rxm"));
	shut();
}

static void opening_twice_in_one_process_works(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct transport *first = transport;
	uint32_t pid = config.pid;
	CHECK_EQUAL(open_as(ANY_PID), 0);
	CHECK(config.pid != pid);
	first->ops->close(first);
	shut();
	CHECK_EQUAL(open_as(ANY_PID), 0);
	CHECK_EQUAL(config.pid, pid);
	shut();
}

/* rxm's share of this is in the environment. */
static void a_larger_short_max_is_honoured(void)
{
	settings.short_max = 100000;
	open_and_meet();
	CHECK_LESS(100000, transport->limits.short_max);
	for (uint32_t i = 0; i < 200; i++)
		send_message(address_of[1 - my_rank], i, transport->limits.short_max);
	await_messages(1 - my_rank, 200);
	barrier();
	shut();
}

static void a_short_max_beyond_the_provider_is_cut(void)
{
	settings.short_max = 1u << 30;
	open_and_meet();
	CHECK_LESS(transport->limits.short_max, 1u << 20);
	for (uint32_t i = 0; i < 20; i++)
		send_message(address_of[1 - my_rank], i, transport->limits.short_max);
	await_messages(1 - my_rank, 20);
	barrier();
	shut();
}

/* Settings and tuning files may raise the limit at one end only; buffers must have room for either's messages. */
static void ends_with_unequal_limits_lose_nothing(void)
{
	size_t all[MAX_PROCESSES];

	settings.short_max = my_rank == 0 ? 90000 : SETTING_AUTO;
	open_and_meet();
	gather(&transport->limits.short_max, sizeof(all[0]), all);
	CHECK_LESS(all[1], all[0]);
	if (my_rank == 0)
		for (uint32_t i = 0; i < 40; i++)
			send_message(address_of[1], i, transport->limits.short_max);
	else
		await_messages(0, 40);
	barrier();
	shut();
}

/* ---- Addresses that are not used any more (tcp and net) ---- */

#define NEIGHBOUR (LOOPBACK + 1) /* where nothing is sent */

static transport_address resolved(uint32_t nid, uint32_t pid, unsigned attempt)
{
	transport_address address;

	CHECK_EQUAL(transport->ops->resolve(transport, nid, pid, attempt, &address), 0);
	return address;
}

static bool only_few_are_unused(const void *unused)
{
	(void)unused;
	return ofi_of(transport)->unused_count <= OFI_UNUSED_KEPT;
}

/* Until all that were forgotten before are, and nothing is left of them. */
static void forget_many_others(void)
{
	static uint32_t pid;

	for (int i = 0; i < OFI_UNUSED_KEPT; i++)
		transport->ops->forget(transport, resolved(NEIGHBOUR, ++pid, 0));
	drive_until("forget", only_few_are_unused, NULL);
}

static void skip_where_addresses_are_kept(void)
{
	if (ofi_of(transport)->grave == FI_ADDR_NOTAVAIL)
		skip_test("this version of libfabric's addresses are kept (ofi_forget.c)");
}

static void addresses_are_used_again(void)
{
	CHECK_EQUAL(open_as(ANY_PID), 0);
	skip_where_addresses_are_kept();
	struct ofi *ofi = ofi_of(transport);
	transport_address held = resolved(NEIGHBOUR, 1u << 20, 0), regained = resolved(NEIGHBOUR, 1u << 21, 0);

	CHECK_EQUAL(resolved(NEIGHBOUR, 1u << 20, 0), held);
	transport->ops->forget(transport, held); /* one use is left */
	transport->ops->forget(transport, regained);
	CHECK_EQUAL(resolved(NEIGHBOUR, 1u << 21, 0), regained);
	for (int i = 0; i < 8; i++)
		forget_many_others();
	CHECK(ofi->address_count < 3 * OFI_UNUSED_KEPT);
	for (size_t i = 0; i < ofi->address_count; i++)
		CHECK(ofi->addresses[i].number == FI_ADDR_NOTAVAIL || ofi->addresses[i].number < 3 * OFI_UNUSED_KEPT);
	CHECK_EQUAL(resolved(NEIGHBOUR, 1u << 20, 0), held);
	CHECK_EQUAL(resolved(NEIGHBOUR, 1u << 21, 0), regained);
	shut();
}

/* Its connection is open and its number another's, and still no peer is taken for another. */
static void who_was_forgotten_is_nobody_until_it_is_resolved(void)
{
	open_and_greet();
	skip_where_addresses_are_kept();
	struct ofi *ofi = ofi_of(transport);
	fi_addr_t former = ofi->addresses[address_of[1]].number;

	if (my_rank == 0) {
		transport->ops->forget(transport, address_of[1]);
		transport->ops->forget(transport, address_of[2]);
		forget_many_others();
		forget_many_others();
		address_of[2] = resolved(home, pid_at[2], attempt_at[2]);
		CHECK_EQUAL(ofi->addresses[address_of[2]].number, former);
	}
	barrier();
	if (my_rank == 1) {
		send_message(address_of[0], 1, 40);
	} else if (my_rank == 0) {
		await_messages(1, 2);
		CHECK_EQUAL(last_from, TRANSPORT_ADDRESS_UNKNOWN);
	}
	barrier();
	if (my_rank == 2) {
		send_message(address_of[0], 1, 40);
	} else if (my_rank == 0) {
		await_messages(2, 2);
		CHECK_EQUAL(last_from, address_of[2]);
		address_of[1] = resolved(home, pid_at[1], attempt_at[1]);
	}
	barrier();
	if (my_rank == 1) {
		send_message(address_of[0], 2, 40);
	} else if (my_rank == 0) {
		await_messages(1, 3);
		CHECK_EQUAL(last_from, address_of[1]);
		send_message(address_of[1], 1, 40);
		send_message(address_of[2], 1, 40);
	}
	if (my_rank != 0)
		await_messages(0, 2);
	barrier();
	shut();
}

static struct {
	struct fi_ops_av ops;
	int (*insert)(struct fid_av *, const void *, size_t, fi_addr_t *, uint64_t, void *);
	int left; /* insertions for which there is memory */
} scarce;

static int insert_scarcely(struct fid_av *av, const void *names, size_t count, fi_addr_t *numbers, uint64_t flags,
			   void *context)
{
	return scarce.left-- > 0 ? scarce.insert(av, names, count, numbers, flags, context) : -FI_ENOMEM;
}

static void have_memory_for(int insertions)
{
	struct fid_av *av = ofi_of(transport)->av;

	if (av->ops != &scarce.ops) {
		scarce.ops = *av->ops;
		scarce.insert = av->ops->insert;
		scarce.ops.insert = insert_scarcely;
		av->ops = &scarce.ops;
	}
	scarce.left = insertions;
}

/* So many more than are kept; pids may share a port. */
static void have_unused(unsigned more)
{
	static uint32_t pid = 1u << 22;

	if (ofi_of(transport)->grave == FI_ADDR_NOTAVAIL)
		skip_test("this libfabric keeps addresses");
	while (ofi_of(transport)->unused_count < OFI_UNUSED_KEPT + more)
		transport->ops->forget(transport, resolved(NEIGHBOUR, ++pid, 0));
}

/* The address of rank 1 is forgotten while there is memory for so many insertions only, and then others come. */
static void forget_with_memory_for(int insertions)
{
	struct ofi *ofi = ofi_of(transport);
	transport_address newcomer;

	transport->ops->forget(transport, address_of[1]);
	have_unused(1);
	have_memory_for(insertions);
	for (int i = 0; i < 100; i++)
		drive();
	CHECK_EQUAL(ofi->unused_count, OFI_UNUSED_KEPT + 1);
	have_memory_for(INT32_MAX);
	CHECK_EQUAL(transport->ops->resolve(transport, NEIGHBOUR, 1u << 20, 0, &newcomer), -ENOMEM);
	drive_until("forget", only_few_are_unused, NULL);
	for (uint32_t i = 0; i < 2; i++)
		resolved(NEIGHBOUR, (1u << 20) + i, 0);
}

static void a_peer_forgotten_while_memory_has_run_out_is_taken_for_no_other(void)
{
	for (int insertions = 0; insertions < 2; insertions++) {
		open_and_greet();
		if (my_rank == 0)
			forget_with_memory_for(insertions);
		barrier();
		if (my_rank == 1) {
			send_message(address_of[0], 1, 40);
		} else {
			await_messages(1, 2);
			CHECK_EQUAL(last_from, TRANSPORT_ADDRESS_UNKNOWN);
		}
		barrier();
		shut();
		memset(received, 0, sizeof(received));
	}
}

static int count_connections(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_in peer = {0};
		socklen_t length = sizeof(peer);
		count += getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sin_family == AF_INET;
	}
	return count;
}

/* A forgotten peer may live, and is to learn when we die. */
static void a_forked_child_keeps_no_connection_to_forgotten_peers(void)
{
	open_and_meet();
	greet_from(true);
	if (my_rank == 0) {
		CHECK_LESS(0, count_connections());
		transport->ops->forget(transport, address_of[1]);
		have_unused(1);
		drive_until("forget", only_few_are_unused, NULL);
		pid_t child = fork_child();
		if (child == 0) {
			transport->ops->forked(transport);
			CHECK_EQUAL(count_connections(), 0);
			_exit(0);
		}
		join_child(child);
		CHECK_LESS(0, count_connections());
	}
	barrier();
	shut();
}

static bool is_known(uint32_t pid)
{
	const struct ofi_address *address = ofi_find_address(ofi_of(transport), NEIGHBOUR, ofi_candidate_port(pid, 0));

	return address && address->number != FI_ADDR_NOTAVAIL;
}

/* By when they were in use last, not by when they were forgotten first. */
static void the_longest_unused_addresses_go_first(void)
{
	enum { FIRST = 1u << 20, AGAIN = FIRST + 3 };
	CHECK_EQUAL(open_as(ANY_PID), 0);
	for (uint32_t pid = FIRST; pid < FIRST + 8; pid++)
		transport->ops->forget(transport, resolved(NEIGHBOUR, pid, 0));
	have_unused(0);
	transport->ops->forget(transport, resolved(NEIGHBOUR, AGAIN, 0));
	have_unused(8);
	drive_until("forget", only_few_are_unused, NULL);
	for (uint32_t pid = FIRST; pid < FIRST + 8; pid++)
		CHECK_EQUAL(is_known(pid), pid == AGAIN);
	shut();
}

/* Until nothing is taken any more: the provider holds some of it. */
static uint32_t send_in_vain(transport_address to)
{
	uint32_t next = 1;

	for (int in_vain = 0; in_vain < IN_VAIN; drive()) {
		bool taken = try_send(to, next, transport->limits.short_max) == 0;

		next += taken;
		in_vain = taken ? 0 : in_vain + 1;
	}
	return next;
}

static void sends_under_way_keep_an_address(void)
{
	uint32_t sent[2] = {0};

	open_and_greet();
	harness_while_waiting(NULL);
	if (my_rank == 0) {
		const struct ofi_address *address = &ofi_of(transport)->addresses[address_of[1]];

		uint32_t mine = send_in_vain(address_of[1]);
		fi_addr_t number = address->number;

		CHECK(address->sends > 0);
		transport->ops->forget(transport, address_of[1]);
		forget_many_others();
		forget_many_others();
		CHECK_EQUAL(ofi_of(transport)->addresses[address_of[1]].number, number);
		CHECK_EQUAL(resolved(home, pid_at[1], attempt_at[1]), address_of[1]);
		harness_while_waiting(drive);
		gather(&mine, sizeof(mine), sent);
	} else {
		gather(&sent[1], sizeof(sent[1]), sent);
		await_messages(0, sent[0]);
		harness_while_waiting(drive);
	}
	barrier();
	shut();
}

/* ---- shm: processes that have to meet before they send ---- */

static uint32_t pid_for(int rank)
{
	return 70000 + (uint32_t)pid_of(rank);
}

/* Another one, which is no other process's. */
static uint32_t second_pid_for(int rank)
{
	return pid_for(rank) + (1u << 22);
}

/* The provider would give all that do not exist yet the same address. */
static void unborn_peers_get_their_own_messages(void)
{
	repeats_allowed = true;
	if (my_rank == 0) {
		transport_address to[3];
		CHECK_EQUAL(open_as(pid_for(0)), 0);
		for (int rank = 1; rank < 3; rank++) {
			CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid_for(rank), 0, &to[rank]), 0);
			for (int i = 0; i < 100; i++) {
				CHECK_EQUAL(try_send(to[rank], 0, 40), -ENOENT);
				drive();
			}
		}
		barrier();
		for (int rank = 1; rank < 3; rank++) {
			uint64_t limit = now_ns() + PATIENCE;
			int error;
			while ((error = try_send(to[rank], (uint32_t)rank, 40)) == -ENOENT || error == -EAGAIN) {
				CHECK(now_ns() < limit);
				drive();
			}
			CHECK_EQUAL(error, 0);
		}
		harness_while_waiting(drive);
	} else {
		barrier();
		open_at_first_port(pid_for(my_rank));
		await_messages(0, 1);
		CHECK_EQUAL(last_sequence, my_rank);
	}
	barrier();
	shut();
}

/* Opens, sends one message, and is killed or (the last) leaves. */
static void live_to_send_once(uint32_t life, bool last)
{
	transport_address to;

	open_at_first_port(pid_for(1));
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid_for(0), 0, &to), 0);
	send_message(to, life, 40);
	if (!last)
		raise(SIGKILL);
	shut();
	_exit(0);
}

static void lives_of_one_pid_are_told_apart(void)
{
	uint32_t lives = 4;

	if (my_rank == 0)
		open_at_first_port(pid_for(0));
	barrier();
	for (uint32_t life = 0; life < lives; life++) {
		if (my_rank == 1) {
			pid_t child = fork_child();
			if (child == 0)
				live_to_send_once(life, life == lives - 1);
			if (life == lives - 1)
				join_child(child);
			else
				join_killed_child(child);
		} else {
			await_messages(1, life + 1);
			/* The old life is let go when the next one connects, and not before. */
			CHECK_EQUAL(gone_count, life);
		}
		barrier();
	}
	if (my_rank == 0)
		shut();
}

static int files_of(uint16_t port)
{
	char pattern_text[64];
	glob_t found;

	snprintf(pattern_text, sizeof(pattern_text), "/dev/shm/*7f000001:%u*", port);
	int error = glob(pattern_text, 0, NULL, &found);
	CHECK(error == 0 || error == GLOB_NOMATCH);
	int count = error ? 0 : (int)found.gl_pathc;
	globfree(&found);
	return count;
}

static void what_the_killed_leave_is_removed(void)
{
	atomic_uint *port = shared_memory();

	for (int same = 0; same < 2; same++) {
		atomic_store(port, 0);
		pid_t child = fork_child();
		if (child == 0) {
			open_at_first_port(pid_for(0));
			atomic_store(port, port_of(transport));
			raise(SIGKILL);
		}
		join_killed_child(child);
		CHECK_EQUAL(files_of((uint16_t)atomic_load(port)), 2);
		open_at_first_port(same ? pid_for(0) : second_pid_for(0));
		uint16_t own = port_of(transport);
		CHECK_EQUAL(own == atomic_load(port), same);
		CHECK_EQUAL(files_of((uint16_t)atomic_load(port)), same ? 2 : 0);
		shut();
		CHECK_EQUAL(files_of(own), 0);
	}
}

static void who_has_left_gets_nothing_more(void)
{
	open_and_greet();
	harness_while_waiting(NULL); /* rank 1 has nothing to drive any more */
	if (my_rank == 1) {
		shut();
		barrier();
		return;
	}
	barrier();
	CHECK_EQUAL(try_send(address_of[1], 1, 40), -ENOENT);
	drive_until("wait for the failure", gone, NULL);
	CHECK_EQUAL(gone_address, address_of[1]);
	CHECK_EQUAL(try_send(address_of[1], 1, 40), -ENOENT);
	CHECK_EQUAL(transport->ops->probe(transport, address_of[1]), -ECONNREFUSED);
	shut();
}

static void who_was_killed_gets_nothing_more(void)
{
	open_and_greet();
	expect_death(1);
	barrier();
	if (my_rank == 1)
		stay_aside();
	await_aside();
	kill(pid_of(1), SIGKILL);
	uint64_t limit = now_ns() + PATIENCE;
	for (uint32_t i = 1;; i++) {
		int error = try_send(address_of[1], i, 40);
		if (error == -ENOENT)
			break;
		CHECK(error == 0 || error == -EAGAIN);
		CHECK(now_ns() < limit);
		drive();
	}
	drive_until("wait for the failure", gone, NULL);
	shut();
}

static void without_cross_memory_attach_reads_still_work(void)
{
	if (!refuse_cross_memory())
		skip_test("this kernel has no seccomp filters");
	reads_move_the_bytes();
}

static void without_cross_memory_attach_a_sleeping_target_serves_reads(void)
{
	if (!refuse_cross_memory())
		skip_test("this kernel has no seccomp filters");
	a_sleeping_target_serves_reads();
}

static void without_cross_memory_attach_a_killed_peer_fails_the_read(void)
{
	if (!refuse_cross_memory())
		skip_test("this kernel has no seccomp filters");
	open_and_greet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region theirs = publish(bytes, LONG, REGION_READ);
	int status, later = PENDING;

	expect_death(1);
	if (my_rank == 1)
		stay_aside();
	await_aside();
	stop_process(1);
	CHECK_EQUAL(start_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, &status), 0);
	for (int i = 0; i < 1000; i++)
		drive();
	CHECK_EQUAL(status, PENDING);
	CHECK_EQUAL(try_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, &later), -EAGAIN);
	CHECK_EQUAL(transport->ops->arm(transport), 1); /* its end will not be announced */
	kill(pid_of(1), SIGKILL);
	drive_until("wait for the read to fail", has_ended, &status);
	CHECK_EQUAL(status, -ECONNRESET);
	drive_until("wait for the failure", gone, NULL);
	shut();
}

static void reads_of_memory_that_is_not_there_fail(void)
{
	open_and_greet();
	unsigned char *bytes = new_memory(LONG);
	struct memory_region theirs = publish(bytes, LONG, REGION_READ);
	atomic_uint *over = (atomic_uint *)shared_memory() + 1;

	if (my_rank == 1)
		munmap(bytes, LONG);
	barrier();
	if (my_rank == 0) {
		int status;
		await_aside();
		stop_process(1); /* such an error is reported by our own call: ofi_shm_reap() relies on it */
		for (int i = 0; i < 3; i++) {
			int refused =
				start_read(address_of[1], bytes, CHUNK_LONG, NULL, theirs.address, theirs.key, &status);
			if (!refused) /* libfabric 2.1 refuses it */
				drive_until("wait for a read", has_ended, &status);
			CHECK_LESS(refused ? refused : status, 0);
			CHECK(refused != -EAGAIN);
		}
		atomic_store(over, 1);
		continue_process(1);
		send_message(address_of[1], 1, 40);
	} else {
		step_aside();
		while (!atomic_load(over))
			;
		await_messages(0, 2);
	}
	barrier();
	shut();
}

static void files_of_another_user_are_left_alone(void)
{
	char path[64];
	transport_address to;

	if (geteuid() != 0)
		skip_test("needs root to make files of another user");
	CHECK_EQUAL(open_as(pid_for(0)), 0);
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, second_pid_for(0), 0, &to), 0);
	configure(second_pid_for(0));
	struct transport *other;
	CHECK_EQUAL(transport_ofi.claim(&config, &other), 0);
	if (other->ops->own_attempt(other) != 0)
		lose_race("another process holds the first port of our second pid");
	snprintf(path, sizeof(path), "/dev/shm/portals3-7f000001:%u", port_of(other));
	FILE *file = fopen(path, "w");
	CHECK(file != NULL && chown(path, 65534, 65534) == 0);
	fclose(file);
	CHECK_EQUAL(try_send(to, 0, 40), -EHOSTUNREACH);
	int error = other->ops->open(other);
	unlink(path);
	CHECK_EQUAL(error, -EPERM);
	CHECK(strstr(report_last_error(), "another user"));
	other->ops->close(other);
	shut();
}

static void a_peer_of_another_version_is_refused_aloud(void)
{
	char path[64];
	uint32_t ready;
	transport_address to;

	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct transport *own = transport;
	CHECK_EQUAL(open_as(ANY_PID), 0);
	struct transport *other = transport;
	transport = own;
	CHECK_EQUAL(own->ops->resolve(own, LOOPBACK, config.pid, other->ops->own_attempt(other), &to), 0);
	snprintf(path, sizeof(path), "/dev/shm/portals3-7f000001:%u", port_of(other));
	int page = open(path, O_RDWR | O_CLOEXEC);
	CHECK_EQUAL(pread(page, &ready, sizeof(ready), 0), sizeof(ready));
	ready++;
	CHECK_EQUAL(pwrite(page, &ready, sizeof(ready), 0), sizeof(ready));
	close(page);
	CHECK_EQUAL(try_send(to, 0, 40), -EHOSTUNREACH);
	CHECK(strstr(report_last_error(), "another version"));
	other->ops->close(other);
	shut();
}

static void handlers_are_left_alone_though_libfabric_was_loaded_before(void)
{
	static const int numbers[] = {SIGINT, SIGBUS, SIGSEGV, SIGTERM};
	struct sigaction before[4], after;

	provider = "tcp";
	CHECK_EQUAL(open_as(ANY_PID), 0);
	shut();
	provider = "shm";
	for (int i = 0; i < 4; i++)
		sigaction(numbers[i], NULL, &before[i]);
	CHECK_EQUAL(open_as(ANY_PID), 0);
	for (int i = 0; i < 4; i++) {
		sigaction(numbers[i], NULL, &after);
		CHECK(after.sa_handler == before[i].sa_handler);
	}
	shut();
}

#define PEERS_GREATEST 256 /* of the provider */

/* One of the many: sends a message to rank 0, says whether it is refused at first and when it was sent, stays. */
static void be_one_of_many(uint32_t own_pid, atomic_int *result)
{
	transport_address to;
	uint64_t limit = now_ns() + PATIENCE;
	int error;

	CHECK_EQUAL(open_as(own_pid), 0);
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid_for(0), 0, &to), 0);
	while ((error = try_send(to, 0, 40)) != 0) {
		if (error != -EAGAIN) {
			CHECK(strstr(report_last_error(), "256"));
			atomic_store(result, error);
		}
		drive();
		CHECK(now_ns() < limit);
	}
	atomic_store(result, 0);
	for (;;)
		pause();
}

static void await_result(const atomic_int *result, int past)
{
	uint64_t limit = now_ns() + PATIENCE;

	while (atomic_load(result) == past)
		CHECK(now_ns() < limit);
}

static pid_t add_one(uint32_t own_pid, atomic_int *result, int expected)
{
	atomic_store(result, PENDING);
	pid_t child = fork_child();
	if (child == 0)
		be_one_of_many(own_pid, result);
	await_result(result, PENDING);
	CHECK_EQUAL(atomic_load(result), expected);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The first opening loads libfabric, so that the children need not. */
static void add_many(atomic_int *result)
{
	static pid_t children[PEERS_GREATEST + 1];
	uint32_t pid = pid_for(1) | 1u << 23;

	CHECK_EQUAL(open_as(pid), 0);
	shut();
	for (uint32_t i = 0; i < PEERS_GREATEST; i++)
		children[i] = add_one(pid + i, result, 0);
	children[PEERS_GREATEST] = add_one(pid + PEERS_GREATEST, result, -EHOSTUNREACH);
	end_child(children[7]); /* then there is room for the peer that was refused */
	await_result(result, -EHOSTUNREACH);
	CHECK_EQUAL(atomic_load(result), 0);
	children[7] = add_one(pid + PEERS_GREATEST + 1, result, -EHOSTUNREACH);
	end_child(children[7]); /* first: it goes on trying, and the others make room */
	for (int i = 0; i <= PEERS_GREATEST; i++)
		if (i != 7)
			end_child(children[i]);
}

static void one_peer_too_many_is_told_so(void)
{
	struct statvfs space;

	if (statvfs("/dev/shm", &space) != 0 || space.f_bavail * space.f_frsize < (uint64_t)2 << 30)
		skip_test("/dev/shm has less than 2 GiB free");
	repeats_allowed = true;
	if (my_rank == 0) {
		open_at_first_port(pid_for(0));
		harness_while_waiting(drive);
	}
	barrier();
	if (my_rank == 1)
		add_many(shared_memory());
	barrier();
	if (my_rank == 0) {
		CHECK_EQUAL(received[1], PEERS_GREATEST + 1);
		shut();
	}
}

static void interfaces_of_one_process_do_not_meet(void)
{
	transport_address to;

	open_at_first_port(pid_for(0));
	struct transport *first = transport;
	CHECK_EQUAL(open_as(second_pid_for(0)), 0);
	CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid_for(0), 0, &to), 0);
	CHECK_EQUAL(try_send(to, 0, 40), -EHOSTUNREACH);
	first->ops->close(first);
	shut();
}

/* As ofi_shm_control.c writes it: "I cannot insert you". */
struct forgery {
	struct control_header header;
	uint32_t nid;
	uint16_t port, unused;
	uint64_t from, to;
};

/* A user says in the name of `from` that it has no room for us. */
static void forge_refusal(uint16_t from, uid_t user)
{
	struct forgery control = {
		.header = {.magic = 0x50334c32u, .version = SHM_LAYOUT_VERSION, .kind = 2, .flags = 4},
		.nid = LOOPBACK,
		.port = from};
	uint16_t own = port_of(transport);

	CHECK_EQUAL(ofi_shm_page_find(LOOPBACK, from, &control.from, NULL), 0);
	CHECK_EQUAL(ofi_shm_page_find(LOOPBACK, own, &control.to, NULL), 0);
	const struct control_name name =
		control_name("portals3/shm/%08x/%u/%016lx", LOOPBACK, own, (unsigned long)control.to);
	pid_t child = fork_child();
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		CHECK_EQUAL(setresuid(user, user, user), 0);
		CHECK_EQUAL(control_send(fd, &name, &control, sizeof(control), NULL, 0), 0);
		_exit(0);
	}
	join_child(child);
}

static void control_messages_of_another_user_are_not_believed(void)
{
	transport_address to;

	if (geteuid() != 0)
		skip_test("needs root to write control messages as another user");
	open_at_first_port(pid_for(my_rank));
	uint16_t port = port_of(transport), ports[MAX_PROCESSES];
	gather(&port, sizeof(port), ports);
	if (my_rank == 0) {
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid_for(1), 0, &to), 0);
		stop_process(1);
		CHECK_EQUAL(try_send(to, 0, 40), -EAGAIN);
		forge_refusal(ports[1], 65534);
		CHECK_EQUAL(transport->ops->arm(transport), 0); /* empties the doorbell */
		CHECK_EQUAL(try_send(to, 0, 40), -EAGAIN);
		forge_refusal(ports[1], geteuid()); /* it was not for a mistake in it */
		CHECK_EQUAL(transport->ops->arm(transport), -EAGAIN);
		CHECK_EQUAL(try_send(to, 0, 40), -EHOSTUNREACH);
		continue_process(1);
		uint64_t limit = now_ns() + PATIENCE;
		while (try_send(to, 0, 40) != 0) {
			drive();
			CHECK(now_ns() < limit);
		}
	} else {
		await_messages(0, 1);
	}
	barrier();
	shut();
}

static void a_control_message_read_before_sleeping_keeps_awake(void)
{
	transport_address to;

	open_at_first_port(pid_for(my_rank));
	barrier();
	if (my_rank == 0) {
		CHECK_EQUAL(transport->ops->resolve(transport, LOOPBACK, pid_for(1), 0, &to), 0);
		CHECK_EQUAL(try_send(to, 0, 40), -EAGAIN);
		struct pollfd doorbell = {.fd = transport->ops->wait_fd(transport), .events = POLLIN};
		CHECK_EQUAL(poll(&doorbell, 1, (int)(PATIENCE / 1000000)), 1);
		CHECK_EQUAL(transport->ops->arm(transport), -EAGAIN);
		CHECK_EQUAL(transport->ops->arm(transport), 0);
		send_message(to, 0, 40);
	} else {
		await_messages(0, 1);
	}
	barrier();
	shut();
}

static const struct fi_ops *endpoint_ops;
static uint16_t closing_port;

static int close_endpoint(struct fid *endpoint)
{
	uint64_t nonce;

	CHECK_EQUAL(files_of(closing_port), 2);
	CHECK_EQUAL(ofi_shm_page_find(LOOPBACK, closing_port, &nonce, NULL), -ENOENT); /* no peer is to come */
	closing_port = 0;
	return endpoint_ops->close(endpoint);
}

/* Otherwise the provider may remove the segment of a process that has taken the name meanwhile. */
static void the_name_is_kept_until_the_segment_is_removed(void)
{
	static struct fi_ops ops;

	CHECK_EQUAL(open_as(pid_for(0)), 0);
	struct fid *endpoint = &ofi_of(transport)->ep->fid;
	uint16_t port = closing_port = port_of(transport);
	endpoint_ops = endpoint->ops;
	ops = *endpoint_ops;
	ops.close = close_endpoint;
	endpoint->ops = &ops;
	shut();
	CHECK_EQUAL(closing_port, 0);
	CHECK_EQUAL(files_of(port), 0);
}

static const struct test common_tests[] = {
	ROW(2, messages_arrive_both_ways),
	ROW(2, every_size_arrives_intact),
	ROW(2, mixed_messages_keep_their_order),
	ROW(4, several_senders_share_the_buffers),
	ROW(4, a_flood_leaves_nobody_deaf),
	ROW(1, a_process_reaches_itself),
	ROW(2, an_unknown_sender_is_known_once_it_is_resolved),
	ROW(2, a_peer_that_does_not_read_is_refused_in_the_end),
	{.name = "senders_killed_in_mid_message_harm_nobody",
	 .run = senders_killed_in_mid_message_harm_nobody,
	 .processes = 2,
	 .seconds = 240}, /* each victim opens eight transports */
	ROW(2, reads_move_the_bytes),
	ROW(1, memory_regions_come_and_go),
	ROW(2, messages_keep_their_order_among_reads),
	ROW(2, a_peer_that_starts_later_gets_its_message),
	ROW(1, the_same_attempt_is_the_same_address),
	ROW(2, a_pid_belongs_to_one_process_at_a_time),
	ROW(2, a_restarted_peer_is_reached_at_the_same_address),
	ROW(1, a_forked_child_does_not_keep_the_pid),
	ROW(1, children_forked_while_it_opens_lose_nothing),
	ROW(2, probes_tell_the_dead_from_the_living),
	ROW(2, no_sleeper_misses_a_message),
	ROW(2, a_sleeper_hears_who_was_never_connected),
	ROW(2, sets_are_watched_from_a_sleep_until_much_has_come),
	ROW(1, sets_of_unknown_versions_are_not_trusted),
	ROW(1, what_the_queue_comes_to_watch_later_wakes_a_sleeper),
	ROW(1, a_queue_of_which_nothing_can_be_taken_is_slept_on_itself),
	ROW(1, whoever_falls_asleep_leaves_the_provider_no_errno),
	ROW(1, a_poll_that_leaves_something_behind_says_that_there_was_something),
	ROW(2, sleeping_costs_no_cpu),
	ROW(2, a_sleeping_target_serves_reads),
	ROW(1, opening_leaves_signal_handlers_alone),
	ROW(1, refusals_say_why),
	ROW(1, an_address_we_do_not_have_is_refused),
	ROW(1, the_best_provider_opens_and_describes_itself),
	ROW(1, opening_twice_in_one_process_works),
	ROW(2, a_short_max_beyond_the_provider_is_cut),
	{.name = NULL},
};

/* Providers with sockets: messages and reads are under way for a while, and ports may be taken. */
static const struct test socket_tests[] = {
	ROW(2, a_deregistered_key_reads_nothing), /* shm does not check keys */
	ROW(1, pids_that_share_their_ports_coexist),
	ROW(3, a_sender_stopped_in_mid_message_keeps_its_place),
	ROW(2, a_killed_peer_fails_the_outstanding_read),
	ROW(2, a_child_of_a_killed_peer_does_not_keep_its_connections),
	ROW(3, severing_ends_reads_over_a_connection_we_made),
	ROW(2, severing_ends_reads_over_the_only_connection_from_there),
	ROW(3, severing_spares_connections_that_may_be_anybodys),
	ROW(3, severing_spares_who_is_left_alone_from_there),
	ROW(1, a_vanished_host_is_severed_unless_silence_means_nothing),
	ROW(2, what_has_not_been_acknowledged_counts_as_unsent),
	ROW(2, another_process_on_the_port_is_avoided),
	ROW(1, who_has_not_greeted_when_we_close_leaves_no_descriptor),
	ROW(1, who_hangs_up_before_greeting_leaves_no_descriptor_whatever_errno_says),
	ROW(1, connections_are_taken_as_fast_as_we_poll),
	ROW(2, reads_of_one_peer_are_held_to_a_window),
	{.name = "a_larger_short_max_is_honoured",
	 .run = a_larger_short_max_is_honoured,
	 .processes = 2,
	 .environment = "FI_OFI_RXM_BUFFER_SIZE=131072"},
	{.name = "ends_with_unequal_limits_lose_nothing",
	 .run = ends_with_unequal_limits_lose_nothing,
	 .processes = 2,
	 .environment = "FI_OFI_RXM_BUFFER_SIZE=131072"},
	{.name = NULL},
};

/* Providers that were seen to rename connections: ofi_forget.c. */
static const struct test forgetting_tests[] = {
	ROW(1, addresses_are_used_again),
	ROW(3, who_was_forgotten_is_nobody_until_it_is_resolved),
	ROW(2, a_peer_forgotten_while_memory_has_run_out_is_taken_for_no_other),
	ROW(1, the_longest_unused_addresses_go_first),
	ROW(2, a_forked_child_keeps_no_connection_to_forgotten_peers),
	ROW(2, sends_under_way_keep_an_address),
	{.name = NULL},
};

/* Providers that send from where the payload is. */
static const struct test placing_tests[] = {
	ROW(2, what_finds_no_room_is_sent_from_its_place_in_order),
	ROW(2, an_arrival_is_announced_though_a_send_from_its_place_takes_it),
	ROW(2, severing_ends_what_is_sent_over_a_connection_we_made),
	ROW(2, severing_ends_what_is_sent_over_the_only_connection_from_there),
	ROW(2, a_killed_peer_ends_what_is_sent_from_its_place),
	{.name = NULL},
};

/* Providers that bind no TCP port: the application may. */
static const struct test without_tcp_tests[] = {
	ROW(1, connections_of_the_application_are_left_alone),
	{.name = NULL},
};

static const struct test shm_tests[] = {
	ROW(3, unborn_peers_get_their_own_messages),
	ROW(2, lives_of_one_pid_are_told_apart),
	ROW(1, what_the_killed_leave_is_removed),
	ROW(2, who_has_left_gets_nothing_more),
	ROW(2, who_was_killed_gets_nothing_more),
	ROW(2, without_cross_memory_attach_reads_still_work),
	ROW(2, without_cross_memory_attach_a_sleeping_target_serves_reads),
	ROW(2, without_cross_memory_attach_a_killed_peer_fails_the_read),
	ROW(2, reads_of_memory_that_is_not_there_fail),
	ROW(1, files_of_another_user_are_left_alone),
	ROW(1, a_peer_of_another_version_is_refused_aloud),
	ROW(1, handlers_are_left_alone_though_libfabric_was_loaded_before),
	{.name = "one_peer_too_many_is_told_so", .run = one_peer_too_many_is_told_so, .processes = 2},
	ROW(1, interfaces_of_one_process_do_not_meet),
	ROW(2, control_messages_of_another_user_are_not_believed),
	ROW(2, a_control_message_read_before_sleeping_keeps_awake),
	ROW(1, the_name_is_kept_until_the_segment_is_removed),
	{.name = NULL},
};

int main(int argc, char **argv)
{
	static const struct test *const with_sockets[] = {common_tests, socket_tests, NULL};
	static const struct test *const forgetting[] = {common_tests, socket_tests, forgetting_tests, NULL};
	static const struct test *const over_net[] = {common_tests, socket_tests, forgetting_tests, placing_tests,
						      NULL};
	static const struct test *const over_udp[] = {common_tests, socket_tests, without_tcp_tests, NULL};
	static const struct test *const without[] = {common_tests, shm_tests, without_tcp_tests, NULL};
	struct harness harness = {.tables = with_sockets};

	if (argc > 1)
		provider = argv[1];
	if (meets())
		harness.tables = without;
	else if (strcmp(provider, "udp") == 0)
		harness.tables = over_udp;
	else if (strcmp(provider, "net") == 0)
		harness.tables = over_net;
	else if (strcmp(provider, "tcp") == 0)
		harness.tables = forgetting;
	if (argc > 2)
		harness.only = argv[2];
	if (argc > 4) { /* an interface with a device beneath it, and its address: for providers without the loopback */
		iface = argv[3];
		home = ntohl(inet_addr(argv[4]));
	}
	return harness_run(&harness);
}
