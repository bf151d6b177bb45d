/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads on two cores: what one hands over and the other one gives back. */
#include "floor.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fail.h"
#include "slots.h"

#define STOP UINT64_MAX

/* Where a thread sleeps: an eventfd in an epoll set, as whoever also waits for sockets must. */
struct bed {
	int event, set;
};

/* What the two threads share. */
struct arena {
	struct word here;
	_Atomic uint32_t bell[2]; /* futexes: rung for the other thread, for the main thread */
	struct bed bed[2];        /* likewise */
	struct slot_queue out, back;
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

/* Plain slots have one sender, that knows the place; claimed ones could have many.  Inlined, so that nothing branches. */
static inline __attribute__((always_inline)) void hand_over(struct slot_queue *queue, uint64_t position,
							    const char *payload, uint64_t *head_seen, bool claimed)
{
	if (claimed) {
		slot_send(queue, payload, head_seen);
	} else {
		slot_wait_for_room(queue, position, head_seen);
		slot_put(queue->slot, position, payload);
	}
}

static inline __attribute__((always_inline)) void queue_here(struct arena *arena, bool claimed)
{
	char payload[sizeof arena->out.slot->payload] = {0};
	uint64_t position = 0, head_seen = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++, position++) {
			hand_over(&arena->out, position, payload, &head_seen, claimed);
			slot_receive(&arena->back, position, payload);
		}
		sample(arena, start, 2);
	}
}

static inline __attribute__((always_inline)) void queue_there(struct arena *arena, bool claimed)
{
	char payload[sizeof arena->out.slot->payload];
	uint64_t head_seen = 0;

	for (uint64_t position = 0; position < (uint64_t)arena->batches * arena->batch; position++) {
		slot_receive(&arena->out, position, payload);
		hand_over(&arena->back, position, payload, &head_seen, claimed);
	}
}

/* As many as fit. */
static inline __attribute__((always_inline)) void stream_here(struct arena *arena, bool claimed)
{
	char payload[sizeof arena->out.slot->payload] = {0};
	uint64_t position = 0, head_seen = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++, position++)
			hand_over(&arena->out, position, payload, &head_seen, claimed);
		sample(arena, start, 1);
	}
}

static void stream_there(struct arena *arena)
{
	char payload[sizeof arena->out.slot->payload];

	for (uint64_t position = 0; position < (uint64_t)arena->batches * arena->batch; position++)
		slot_receive(&arena->out, position, payload);
}

static void plain_here(struct arena *arena)
{
	queue_here(arena, false);
}

static void plain_there(struct arena *arena)
{
	queue_there(arena, false);
}

static void claimed_here(struct arena *arena)
{
	queue_here(arena, true);
}

static void claimed_there(struct arena *arena)
{
	queue_there(arena, true);
}

static void plain_stream_here(struct arena *arena)
{
	stream_here(arena, false);
}

static void claimed_stream_here(struct arena *arena)
{
	stream_here(arena, true);
}

/* Wakes: `who` is 0 for the other thread, 1 for the main thread. */
typedef void (*wake_function)(struct arena *, int who, uint32_t turn);

static void futex_ring(struct arena *arena, int who, uint32_t turn)
{
	atomic_store(&arena->bell[who], turn);
	syscall(SYS_futex, &arena->bell[who], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_sleep(struct arena *arena, int who, uint32_t turn)
{
	uint32_t value;

	while ((value = atomic_load(&arena->bell[who])) != turn)
		syscall(SYS_futex, &arena->bell[who], FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void event_ring(struct arena *arena, int who, uint32_t turn)
{
	(void)turn;
	if (eventfd_write(arena->bed[who].event, 1))
		fail("cannot write to an eventfd: %s", strerror(errno));
}

static void event_sleep(struct arena *arena, int who, uint32_t turn)
{
	struct epoll_event event;
	eventfd_t value;

	(void)turn;
	while (epoll_wait(arena->bed[who].set, &event, 1, -1) < 0 && errno == EINTR)
		;
	if (eventfd_read(arena->bed[who].event, &value))
		fail("cannot read an eventfd: %s", strerror(errno));
}

static void wake_here(struct arena *arena, wake_function ring, wake_function sleep)
{
	uint32_t turn = 0;

	for (uint32_t batch = 0; batch < arena->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < arena->batch; i++) {
			ring(arena, 0, ++turn);
			sleep(arena, 1, turn);
		}
		sample(arena, start, 2);
	}
}

static void wake_there(struct arena *arena, wake_function ring, wake_function sleep)
{
	for (uint32_t turn = 1; turn <= arena->batches * arena->batch; turn++) {
		sleep(arena, 0, turn);
		ring(arena, 1, turn);
	}
}

static void futex_here(struct arena *arena)
{
	wake_here(arena, futex_ring, futex_sleep);
}

static void futex_there(struct arena *arena)
{
	wake_there(arena, futex_ring, futex_sleep);
}

static void event_here(struct arena *arena)
{
	wake_here(arena, event_ring, event_sleep);
}

static void event_there(struct arena *arena)
{
	wake_there(arena, event_ring, event_sleep);
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
	{"slot queue, 64-byte message, one way", plain_here, plain_there, 1000, false, 1, "ns"},
	{"slot queue, streaming, per message", plain_stream_here, stream_there, 10000, false, 1, "ns"},
	{"slot queue with claims, one way", claimed_here, claimed_there, 1000, false, 1, "ns"},
	{"slot queue with claims, streaming", claimed_stream_here, stream_there, 10000, false, 1, "ns"},
	{"futex wake, one way, other core", futex_here, futex_there, 20, false, 1e3, "us"},
	{"futex wake, one way, same core", futex_here, futex_there, 100, true, 1e3, "us"},
	{"eventfd and epoll wake, one way, other core", event_here, event_there, 20, false, 1e3, "us"},
};

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

static struct bed make_bed(void)
{
	struct bed bed = {eventfd(0, EFD_CLOEXEC), epoll_create1(EPOLL_CLOEXEC)};
	struct epoll_event event = {.events = EPOLLIN};

	if (bed.event < 0 || bed.set < 0 || epoll_ctl(bed.set, EPOLL_CTL_ADD, bed.event, &event))
		fail("cannot make an eventfd to sleep on: %s", strerror(errno));
	return bed;
}

static struct arena *new_arena(const struct duet *duet, struct samples *samples)
{
	struct arena *arena = aligned_alloc(CACHE_LINE, sizeof *arena);

	if (!arena)
		fail("no memory for the threads to share");
	memset(arena, 0, sizeof *arena);
	arena->samples = samples;
	arena->batch = duet->batch;
	arena->batches = 100;
	arena->bed[0] = make_bed();
	arena->bed[1] = make_bed();
	return arena;
}

static void free_arena(struct arena *arena)
{
	for (int who = 0; who < 2; who++) {
		close(arena->bed[who].event);
		close(arena->bed[who].set);
	}
	free(arena);
}

static void play(const struct duet *duet, const struct peers *place)
{
	struct samples samples = {0};
	struct arena *arena = new_arena(duet, &samples);
	struct partner partner = {duet, arena, *place};
	pthread_t thread;

	partner.place.role = duet->same_core ? INITIATOR : TARGET;
	bool possible = duet->same_core || place->cpu[INITIATOR] != place->cpu[TARGET];
	if (possible && pthread_create(&thread, NULL, run_partner, &partner))
		fail("cannot start a second thread");
	if (possible) {
		duet->here(arena);
		pthread_join(thread, NULL);
	}
	floor_row(duet->what, &samples, duet->unit, duet->unit_name);
	free_arena(arena);
}

void floor_duets(const struct peers *place)
{
	for (size_t i = 0; i < sizeof duets / sizeof duets[0]; i++)
		play(&duets[i], place);
}
