/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine can do at best between two cores of one node: a cache line, a message queue, memory copies, another
 * process's memory, a sleeper woken.  Nothing here uses Portals; everything is measured.
 */
#include "tests.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "fail.h"
#include "machine.h"
#include "options.h"
#include "output.h"
#include "peers.h"
#include "stats.h"

#define LARGEST ((size_t)4 << 20)
#define SLOTS   256
#define STOP    UINT64_MAX

/* One 64-byte message: the sequence word is written last and says that the rest is there. */
struct slot {
	_Alignas(CACHE_LINE) _Atomic uint64_t sequence;
	char payload[CACHE_LINE - sizeof(uint64_t)];
};

struct word {
	_Alignas(CACHE_LINE) _Atomic uint64_t value;
};

/* What the two threads share. */
struct arena {
	struct word here, there;  /* written by the main thread, and by the other one */
	_Atomic uint32_t bell[2]; /* futexes: rung for the other thread, for the main thread */
	struct slot out[SLOTS], back[SLOTS];
	uint32_t batches, batch;
	struct samples *samples; /* ns one way, or per message */
};

static void sample(struct arena *arena, uint64_t start, double parts)
{
	samples_add(arena->samples, (double)(monotonic_ns() - start) / (arena->batch * parts));
}

/* A line goes to the other core and comes back. */
static void bounce_here(struct arena *arena)
{
	uint64_t turn = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++, turn += 2) {
			atomic_store_explicit(&arena->here.value, turn + 1, memory_order_release);
			while (atomic_load_explicit(&arena->here.value, memory_order_acquire) != turn + 2)
				;
		}
		sample(arena, start, 2);
	}
	atomic_store(&arena->here.value, STOP);
}

static void bounce_there(struct arena *arena)
{
	uint64_t value;

	while ((value = atomic_load_explicit(&arena->here.value, memory_order_acquire)) != STOP)
		if (value & 1)
			atomic_store_explicit(&arena->here.value, value + 1, memory_order_release);
}

/* Writes the payload, then publishes it; pairs with the acquire load in slot_take(). */
static void slot_put(struct slot *slots, uint64_t position, const char *payload)
{
	struct slot *slot = &slots[position % SLOTS];

	memcpy(slot->payload, payload, sizeof slot->payload);
	atomic_store_explicit(&slot->sequence, position + 1, memory_order_release);
}

static void slot_take(struct slot *slots, uint64_t position, char *payload)
{
	struct slot *slot = &slots[position % SLOTS];

	while (atomic_load_explicit(&slot->sequence, memory_order_acquire) != position + 1)
		;
	memcpy(payload, slot->payload, sizeof slot->payload);
}

static void queue_here(struct arena *arena)
{
	char payload[sizeof arena->out->payload] = {0};
	uint64_t position = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++, position++) {
			slot_put(arena->out, position, payload);
			slot_take(arena->back, position, payload);
		}
		sample(arena, start, 2);
	}
}

static void queue_there(struct arena *arena)
{
	char payload[sizeof arena->out->payload];

	for (uint64_t position = 0; position < (uint64_t)arena->batches * arena->batch; position++) {
		slot_take(arena->out, position, payload);
		slot_put(arena->back, position, payload);
	}
}

/* As many as fit; the reader says now and then how far it has come. */
static void stream_here(struct arena *arena)
{
	char payload[sizeof arena->out->payload] = {0};
	uint64_t position = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++, position++) {
			while (position - atomic_load_explicit(&arena->there.value, memory_order_acquire) >= SLOTS)
				;
			slot_put(arena->out, position, payload);
		}
		sample(arena, start, 1);
	}
}

static void stream_there(struct arena *arena)
{
	char payload[sizeof arena->out->payload];

	for (uint64_t position = 0; position < (uint64_t)arena->batches * arena->batch; position++) {
		slot_take(arena->out, position, payload);
		if (position % (SLOTS / 4) == 0)
			atomic_store_explicit(&arena->there.value, position, memory_order_release);
	}
	atomic_store_explicit(&arena->there.value, (uint64_t)arena->batches * arena->batch, memory_order_release);
}

static void ring(_Atomic uint32_t *bell, uint32_t turn)
{
	atomic_store(bell, turn);
	syscall(SYS_futex, bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void sleep_until(_Atomic uint32_t *bell, uint32_t turn)
{
	uint32_t value;

	while ((value = atomic_load(bell)) != turn)
		syscall(SYS_futex, bell, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_here(struct arena *arena)
{
	uint32_t turn = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++) {
			ring(&arena->bell[0], ++turn);
			sleep_until(&arena->bell[1], turn);
		}
		sample(arena, start, 2);
	}
}

static void futex_there(struct arena *arena)
{
	for (uint32_t turn = 1; turn <= arena->batches * arena->batch; turn++) {
		sleep_until(&arena->bell[0], turn);
		ring(&arena->bell[1], turn);
	}
}

struct duet {
	const char *what;
	void (*here)(struct arena *), (*there)(struct arena *);
	uint32_t batch;
	bool same_core;
	double unit; /* ns */
	const char *unit_name;
};

static const struct duet duets[] = {
	{"cache line bounced, one way", bounce_here, bounce_there, 1000, false, 1, "ns"},
	{"slot queue, 64-byte message, one way", queue_here, queue_there, 1000, false, 1, "ns"},
	{"slot queue, streaming, per message", stream_here, stream_there, 10000, false, 1, "ns"},
	{"futex wake, one way, other core", futex_here, futex_there, 20, false, 1e3, "us"},
	{"futex wake, one way, same core", futex_here, futex_there, 100, true, 1e3, "us"},
};

enum { COLUMN_WHAT, COLUMN_MEDIAN, COLUMN_P10, COLUMN_P90, COLUMN_UNIT, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_WHAT] = {"What", "what", -38}, [COLUMN_MEDIAN] = {"median", "median", 2},
	[COLUMN_P10] = {"p10", "p10", 2},      [COLUMN_P90] = {"p90", "p90", 2},
	[COLUMN_UNIT] = {"unit", "unit", -5},
};

static void print_row(const char *what, struct samples *samples, double unit, const char *unit_name)
{
	struct summary summary = samples_summary(samples);

	output_row((union cell[COLUMN_COUNT]){
		[COLUMN_WHAT] = {.text = what},
		[COLUMN_MEDIAN] = {summary.median / unit},
		[COLUMN_P10] = {summary.p10 / unit},
		[COLUMN_P90] = {summary.p90 / unit},
		[COLUMN_UNIT] = {.text = unit_name},
	});
	samples_free(samples);
}

/* The other thread of a duet. */
struct partner {
	const struct duet *duet;
	struct arena *arena;
	struct peers place;
};

static void *run_partner(void *argument)
{
	struct partner *partner = argument;

	peers_pin(&partner->place);
	partner->duet->there(partner->arena);
	return NULL;
}

static void play(const struct duet *duet, const struct peers *place)
{
	struct samples samples = {0};
	struct arena *arena = aligned_alloc(CACHE_LINE, sizeof *arena);
	struct partner partner = {duet, arena, *place};
	pthread_t thread;

	partner.place.role = duet->same_core ? INITIATOR : TARGET;
	if (!arena)
		fail("no memory for the threads to share");
	memset(arena, 0, sizeof *arena);
	arena->samples = &samples;
	arena->batch = duet->batch;
	arena->batches = 100;
	bool possible = duet->same_core || place->cpu[INITIATOR] != place->cpu[TARGET];
	if (possible && pthread_create(&thread, NULL, run_partner, &partner))
		fail("cannot start a second thread");
	if (possible) {
		duet->here(arena);
		pthread_join(thread, NULL);
	}
	print_row(duet->what, &samples, duet->unit, duet->unit_name);
	free(arena);
}

/* Copies within this process, or out of another one's memory. */
typedef bool (*copy_function)(void *to, void *from, size_t size, pid_t other);

static bool copy_here(void *to, void *from, size_t size, pid_t other)
{
	(void)other;
	memcpy(to, from, size);
	__asm__ volatile("" : : "r"(to), "r"(from) : "memory"); /* the copy is wanted */
	return true;
}

static bool copy_across(void *to, void *from, size_t size, pid_t other)
{
	struct iovec local = {to, size}, remote = {from, size};

	return process_vm_readv(other, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* A row for one size; 10^9 bytes a second.  False if the system refuses. */
static bool measure_copy(const char *name, copy_function copy, char *to, char *from, size_t size, pid_t other)
{
	struct samples samples = {0};
	uint32_t batch = (uint32_t)(LARGEST / size);
	char what[64];
	bool allowed = copy(to, from, size, other);

	for (int batches = 0; allowed && batches < 50; batches++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < batch; i++)
			copy(to, from, size, other);
		samples_add(&samples, (double)batch * (double)size / (double)(monotonic_ns() - start));
	}
	snprintf(what, sizeof what, "%s, %zu KiB", name, size >> 10);
	print_row(what, &samples, 1, "GB/s");
	return allowed;
}

static const size_t copy_sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};

static bool measure_copies(const char *name, copy_function copy, char *to, char *from, pid_t other)
{
	bool allowed = true;

	for (size_t i = 0; i < sizeof copy_sizes / sizeof copy_sizes[0]; i++)
		allowed = measure_copy(name, copy, to, from, copy_sizes[i], other) && allowed;
	return allowed;
}

/* A process that owns pages of its own at `memory`, and sleeps until it is killed. */
static pid_t start_owner(char *memory)
{
	int ends[2];
	char token = 0;

	if (pipe(ends))
		fail("cannot make a pipe: %s", strerror(errno));
	pid_t child = fork();
	if (child < 0)
		fail("cannot fork: %s", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memset(memory, 2, LARGEST);
		if (write(ends[1], &token, 1) == 1)
			pause();
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &token, 1) != 1)
		fail("the process whose memory was to be read has died");
	close(ends[0]);
	return child;
}

static void measure_memory(void)
{
	char *memory = mmap(NULL, 2 * LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("no memory for two buffers of %zu bytes", LARGEST);
	memset(memory, 1, 2 * LARGEST);
	char *from = memory, *to = memory + LARGEST;
	measure_copies("memcpy", copy_here, to, from, 0);
	pid_t owner = start_owner(from);
	if (!measure_copies("process_vm_readv", copy_across, to, from, owner))
		output_note("process_vm_readv", "refused: %s", strerror(errno));
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	munmap(memory, 2 * LARGEST);
}

int machine_floor(const struct options *options)
{
	struct peers place;

	(void)options;
	peers_prepare(&place);
	peers_pin(&place);
	machine_facts();
	output_fact("pinning", "threads on CPU %d and CPU %d", place.cpu[INITIATOR], place.cpu[TARGET]);
	output_table(columns, COLUMN_COUNT);
	for (size_t i = 0; i < sizeof duets / sizeof duets[0]; i++)
		play(&duets[i], &place);
	measure_memory();
	return 0;
}
