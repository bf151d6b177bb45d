/* SPDX-License-Identifier: BSD-3-Clause */
#include "bare.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"
#include "fail.h"
#include "measure.h"

#define MATCH_BITS  5
#define SPIN_NS     100000u /* the default of PTL_SPIN */
#define SPIN_CHECKS 64      /* looks at the line for one at the clock */
#define PATH_LOOKS                                                                                                     \
	16 /* at a message of the ways that yield or sleep then: as long as a line takes from core to core, about */

/* Positions in what we send and what we receive, since the run began. */
static uint64_t sent, received, chunks_in, chunks_out, events;

static struct {
	uint64_t word[EVENT_WORDS];
	_Atomic uint64_t sequence;
} event_queue[PATH_SLOTS];

static struct bare_lane *lane_out(const struct session *session)
{
	return &session->common->lane[session->peers.role];
}

static struct bare_lane *lane_in(const struct session *session)
{
	return &session->common->lane[!session->peers.role];
}

static size_t path_stride(uint64_t size)
{
	return (56 + size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* A slot: the sequence word, six words of header, then the bytes. */
static void path_send(struct session *session, uint64_t size)
{
	const uint64_t header[6] = {1, 2, MATCH_BITS, size, sent, 6};
	char *slot = lane_out(session)->slot + sent % PATH_SLOTS * path_stride(size);

	memcpy(slot + 8, header, sizeof(header));
	memcpy(slot + 56, session->source, size);
	atomic_store_explicit((_Atomic uint64_t *)(void *)slot, ++sent, memory_order_release);
}

/* As an implementation has to: one thread writes the event, the one that waits reads it from the queue. */
static void path_event(const uint64_t header[6])
{
	uint64_t taken[EVENT_WORDS];
	size_t at = events % PATH_SLOTS;

	for (int i = 0; i < EVENT_WORDS; i++)
		event_queue[at].word[i] = header[i % 6] + (uint64_t)i;
	atomic_store_explicit(&event_queue[at].sequence, ++events, memory_order_release);
	while (atomic_load_explicit(&event_queue[at].sequence, memory_order_acquire) != events)
		;
	memcpy(taken, event_queue[at].word, sizeof(taken));
	__asm__ volatile("" : : "r"(taken) : "memory"); /* the copy is wanted */
}

static char *path_slot_in(struct session *session, uint64_t size)
{
	return lane_in(session)->slot + received % PATH_SLOTS * path_stride(size);
}

static bool path_has_come(const char *slot)
{
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)slot, memory_order_acquire) == received + 1;
}

static void path_take(struct session *session, const char *slot)
{
	uint64_t header[6];

	memcpy(header, slot + 8, sizeof(header));
	if (header[2] != MATCH_BITS)
		fail("the bare path carried something else");
	memcpy(session->sink, slot + 56, header[3]);
	received++;
	path_event(header);
}

static void path_receive(struct session *session, uint64_t size)
{
	const char *slot = path_slot_in(session, size);

	while (!path_has_come(slot))
		;
	path_take(session, slot);
}

static bool path_spin(const char *slot)
{
	for (int look = 0; look < PATH_LOOKS; look++)
		if (path_has_come(slot))
			return true;
	return false;
}

static void path_yield_receive(struct session *session, uint64_t size)
{
	const char *slot = path_slot_in(session, size);

	while (!path_spin(slot))
		sched_yield();
	path_take(session, slot);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Chunks go round; pairs with the loads and stores in stage_receive(). */
static void stage_send(struct session *session, uint64_t size, uint64_t chunk)
{
	struct bare_lane *lane = lane_out(session);

	for (uint64_t at = 0; at < size; at += chunk) {
		while (chunks_out - atomic_load_explicit(&lane->freed.value, memory_order_acquire) >= STAGE_CHUNKS)
			cpu_pause();
		memcpy(lane->chunk[chunks_out % STAGE_CHUNKS], session->source + at, smaller(chunk, size - at));
		atomic_store_explicit(&lane->full.value, ++chunks_out, memory_order_release);
	}
}

static void stage_receive(struct session *session, uint64_t size, uint64_t chunk)
{
	struct bare_lane *lane = lane_in(session);

	for (uint64_t at = 0; at < size; at += chunk) {
		while (atomic_load_explicit(&lane->full.value, memory_order_acquire) <= chunks_in)
			cpu_pause();
		memcpy(session->sink + at, lane->chunk[chunks_in % STAGE_CHUNKS], smaller(chunk, size - at));
		atomic_store_explicit(&lane->freed.value, ++chunks_in, memory_order_release);
	}
}

static void stage_send_16k(struct session *session, uint64_t size)
{
	stage_send(session, size, 16384);
}

static void stage_receive_16k(struct session *session, uint64_t size)
{
	stage_receive(session, size, 16384);
}

static void stage_send_64k(struct session *session, uint64_t size)
{
	stage_send(session, size, STAGE_CHUNK);
}

static void stage_receive_64k(struct session *session, uint64_t size)
{
	stage_receive(session, size, STAGE_CHUNK);
}

/* The addresses never change. */
static void line_send(struct session *session, uint64_t size)
{
	(void)size;
	atomic_store_explicit(&lane_out(session)->line.value, ++sent, memory_order_release);
}

static void line_receive(struct session *session)
{
	received++;
	while (atomic_load_explicit(&lane_in(session)->line.value, memory_order_acquire) < received)
		;
}

static void cross_read(struct session *session, uint64_t size)
{
	const struct bare_lane *lane = lane_in(session);
	struct iovec local = {session->sink, size}, remote = {(void *)(uintptr_t)lane->source, size};

	if (process_vm_readv(lane->pid, &local, 1, &remote, 1, 0) != (ssize_t)size)
		fail("process_vm_readv: %s", strerror(errno));
}

static void cross_receive(struct session *session, uint64_t size)
{
	line_receive(session);
	cross_read(session, size);
}

static void split_send(struct session *session, uint64_t size)
{
	struct bare_lane *lane = lane_out(session);
	uint64_t half = size / 2;
	struct iovec local = {session->source + half, size - half};
	struct iovec remote = {lane_in(session)->sink + half, size - half};

	line_send(session, size);
	if (process_vm_writev(lane_in(session)->pid, &local, 1, &remote, 1, 0) != (ssize_t)(size - half))
		fail("process_vm_writev: %s", strerror(errno));
	atomic_store_explicit(&lane->written.value, sent, memory_order_release);
}

static void split_receive(struct session *session, uint64_t size)
{
	line_receive(session);
	cross_read(session, size / 2);
	while (atomic_load_explicit(&lane_in(session)->written.value, memory_order_acquire) < received)
		;
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/*
 * A thread that goes to sleep says so and then looks again; the sender looks for sleepers after publishing: in the one
 * order of sequentially consistent operations one of the two sees the other.
 */
static void write_doorbell(struct session *session, uint64_t size)
{
	struct bare_lane *lane = lane_out(session);

	(void)size;
	atomic_store(&lane->doorbell, (uint32_t)++sent);
	if (atomic_load(&lane->asleep))
		futex(&lane->doorbell, FUTEX_WAKE, 1);
}

static bool spin_for_doorbell(struct bare_lane *lane, uint32_t wanted, uint64_t spin_ns)
{
	uint64_t end = monotonic_ns() + spin_ns;

	do
		for (int i = 0; i < SPIN_CHECKS; i++)
			if (atomic_load_explicit(&lane->doorbell, memory_order_acquire) == wanted)
				return true;
	while (monotonic_ns() < end);
	return false;
}

/* There is never more than one message under way. */
static void await_doorbell(struct session *session, uint64_t spin_ns)
{
	struct bare_lane *lane = lane_in(session);
	uint32_t value, wanted = (uint32_t)++received;

	if (spin_for_doorbell(lane, wanted, spin_ns))
		return;
	atomic_store(&lane->asleep, 1);
	while ((value = atomic_load(&lane->doorbell)) != wanted)
		futex(&lane->doorbell, FUTEX_WAIT, value);
	atomic_store(&lane->asleep, 0);
}

static void block_receive(struct session *session, uint64_t size)
{
	(void)size;
	await_doorbell(session, SPIN_NS);
}

/* As above: publish, then look for sleepers; say that one sleeps, then look again. */
static void path_wake_send(struct session *session, uint64_t size)
{
	struct bare_lane *lane = lane_out(session);

	path_send(session, size);
	atomic_store(&lane->doorbell, (uint32_t)sent);
	if (atomic_load(&lane->asleep))
		futex(&lane->doorbell, FUTEX_WAKE, 1);
}

static void path_sleep_receive(struct session *session, uint64_t size)
{
	struct bare_lane *lane = lane_in(session);
	const char *slot = path_slot_in(session, size);

	if (!path_spin(slot)) {
		atomic_store(&lane->asleep, 1);
		while (atomic_load(&lane->doorbell) != (uint32_t)received + 1)
			futex(&lane->doorbell, FUTEX_WAIT, (uint32_t)received);
		atomic_store(&lane->asleep, 0);
	}
	path_take(session, slot);
}

static void wake_receive(struct session *session, uint64_t size)
{
	(void)size;
	await_doorbell(session, 0);
}

static const struct {
	void (*send)(struct session *, uint64_t size), (*receive)(struct session *, uint64_t size);
} ways[BARE_WAYS] = {
	[BARE_PATH] = {path_send, path_receive},
	[BARE_YIELDING] = {path_send, path_yield_receive},
	[BARE_SLEEPING] = {path_wake_send, path_sleep_receive},
	[BARE_STAGED_16K] = {stage_send_16k, stage_receive_16k},
	[BARE_STAGED_64K] = {stage_send_64k, stage_receive_64k},
	[BARE_CROSS] = {line_send, cross_receive},
	[BARE_SPLIT] = {split_send, split_receive},
	[BARE_BLOCKING] = {write_doorbell, block_receive},
	[BARE_WAKE] = {write_doorbell, wake_receive},
};

/* Each side clears the lane that it will write. */
static void bare_prepare(struct session *session, const struct run *run)
{
	struct bare_lane *lane = lane_out(session);
	struct peers one_core = session->peers;

	if (run->variant >= BARE_WAYS)
		fail("there is no bare way %u", run->variant);
	sent = received = chunks_in = chunks_out = events = 0;
	memset(lane, 0, offsetof(struct bare_lane, chunk));
	for (size_t i = 0; i < PATH_SLOTS; i++)
		atomic_store(&event_queue[i].sequence, 0);
	lane->pid = getpid();
	lane->source = session->source;
	lane->sink = session->sink;
	one_core.role = INITIATOR;
	if (run->variant == BARE_WAKE)
		peers_pin(&one_core);
}

static void bare_finish(struct session *session, const struct run *run)
{
	if (run->variant == BARE_WAKE)
		peers_pin(&session->peers);
}

static void bare_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	ways[run->variant].send(session, run->size);
	ways[run->variant].receive(session, run->size);
}

static void bare_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	ways[run->variant].receive(session, run->size);
	ways[run->variant].send(session, run->size);
}

const struct exchange bare_exchange = {bare_prepare, bare_initiate, bare_serve, bare_finish};

/* For the ways of long messages: they never have more under way than there is room for. */
static void bare_window_initiate(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	for (uint32_t slot = 0; slot < run->window; slot++)
		ways[run->variant].send(session, run->size);
	line_receive(session);
}

static void bare_window_serve(struct session *session, const struct run *run, uint32_t iteration)
{
	(void)iteration;
	for (uint32_t slot = 0; slot < run->window; slot++)
		ways[run->variant].receive(session, run->size);
	line_send(session, 0);
}

const struct exchange bare_window_exchange = {bare_prepare, bare_window_initiate, bare_window_serve, bare_finish};
