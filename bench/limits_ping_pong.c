/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads on two cores: what one hands over and the other one gives back. */
#include "machine_limits.h"

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

/* Where a thread sleeps: an eventfd in an epoll set, as a thread that also waits for sockets must. */
struct sleeper {
	int event, set;
};

/* What the two threads share. */
struct shared {
	struct word here;
	_Atomic uint32_t doorbell[2]; /* futexes: of the other thread, of the main thread */
	struct sleeper sleeper[2];    /* likewise */
	struct slot_queue out, back;
	uint32_t batches, batch;
	struct samples *samples; /* ns one way, or per message */
};

static void sample(struct shared *shared, uint64_t start, double parts)
{
	samples_add(shared->samples, (double)(monotonic_ns() - start) / (shared->batch * parts));
}

/* A line goes to the other core and comes back. */
static void bounce_here(struct shared *shared)
{
	uint64_t turn = 0;

	for (uint32_t batch = 0; batch < shared->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < shared->batch; i++, turn += 2) {
			atomic_store_explicit(&shared->here.value, turn + 1, memory_order_release);
			while (atomic_load_explicit(&shared->here.value, memory_order_acquire) != turn + 2)
				;
		}
		sample(shared, start, 2);
	}
	atomic_store(&shared->here.value, STOP);
}

static void bounce_there(struct shared *shared)
{
	uint64_t value;

	while ((value = atomic_load_explicit(&shared->here.value, memory_order_acquire)) != STOP)
		if (value & 1)
			atomic_store_explicit(&shared->here.value, value + 1, memory_order_release);
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

static inline __attribute__((always_inline)) void queue_here(struct shared *shared, bool claimed)
{
	char payload[sizeof(shared->out.slot->payload)] = {0};
	uint64_t position = 0, head_seen = 0;

	for (uint32_t batch = 0; batch < shared->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < shared->batch; i++, position++) {
			hand_over(&shared->out, position, payload, &head_seen, claimed);
			slot_receive(&shared->back, position, payload);
		}
		sample(shared, start, 2);
	}
}

static inline __attribute__((always_inline)) void queue_there(struct shared *shared, bool claimed)
{
	char payload[sizeof(shared->out.slot->payload)];
	uint64_t head_seen = 0;

	for (uint64_t position = 0; position < (uint64_t)shared->batches * shared->batch; position++) {
		slot_receive(&shared->out, position, payload);
		hand_over(&shared->back, position, payload, &head_seen, claimed);
	}
}

/* As many as fit. */
static inline __attribute__((always_inline)) void stream_here(struct shared *shared, bool claimed)
{
	char payload[sizeof(shared->out.slot->payload)] = {0};
	uint64_t position = 0, head_seen = 0;

	for (uint32_t batch = 0; batch < shared->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < shared->batch; i++, position++)
			hand_over(&shared->out, position, payload, &head_seen, claimed);
		sample(shared, start, 1);
	}
}

static void stream_there(struct shared *shared)
{
	char payload[sizeof(shared->out.slot->payload)];

	for (uint64_t position = 0; position < (uint64_t)shared->batches * shared->batch; position++)
		slot_receive(&shared->out, position, payload);
}

static void plain_here(struct shared *shared)
{
	queue_here(shared, false);
}

static void plain_there(struct shared *shared)
{
	queue_there(shared, false);
}

static void claimed_here(struct shared *shared)
{
	queue_here(shared, true);
}

static void claimed_there(struct shared *shared)
{
	queue_there(shared, true);
}

static void plain_stream_here(struct shared *shared)
{
	stream_here(shared, false);
}

static void claimed_stream_here(struct shared *shared)
{
	stream_here(shared, true);
}

/* Wakes: `which` is 0 for the other thread, 1 for the main thread. */
typedef void (*wake_function)(struct shared *, int which, uint32_t turn);

static void futex_wake(struct shared *shared, int which, uint32_t turn)
{
	atomic_store(&shared->doorbell[which], turn);
	syscall(SYS_futex, &shared->doorbell[which], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_sleep(struct shared *shared, int which, uint32_t turn)
{
	uint32_t value;

	while ((value = atomic_load(&shared->doorbell[which])) != turn)
		syscall(SYS_futex, &shared->doorbell[which], FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void event_wake(struct shared *shared, int which, uint32_t turn)
{
	(void)turn;
	if (eventfd_write(shared->sleeper[which].event, 1))
		fail("cannot write to an eventfd: %s", strerror(errno));
}

static void event_sleep(struct shared *shared, int which, uint32_t turn)
{
	struct epoll_event event;
	eventfd_t value;

	(void)turn;
	while (epoll_wait(shared->sleeper[which].set, &event, 1, -1) < 0 && errno == EINTR)
		;
	if (eventfd_read(shared->sleeper[which].event, &value))
		fail("cannot read an eventfd: %s", strerror(errno));
}

static void wake_here(struct shared *shared, wake_function wake, wake_function sleep)
{
	uint32_t turn = 0;

	for (uint32_t batch = 0; batch < shared->batches; batch++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < shared->batch; i++) {
			wake(shared, 0, ++turn);
			sleep(shared, 1, turn);
		}
		sample(shared, start, 2);
	}
}

static void wake_there(struct shared *shared, wake_function wake, wake_function sleep)
{
	for (uint32_t turn = 1; turn <= shared->batches * shared->batch; turn++) {
		sleep(shared, 0, turn);
		wake(shared, 1, turn);
	}
}

static void futex_here(struct shared *shared)
{
	wake_here(shared, futex_wake, futex_sleep);
}

static void futex_there(struct shared *shared)
{
	wake_there(shared, futex_wake, futex_sleep);
}

static void event_here(struct shared *shared)
{
	wake_here(shared, event_wake, event_sleep);
}

static void event_there(struct shared *shared)
{
	wake_there(shared, event_wake, event_sleep);
}

struct ping_pong {
	const char *what;
	void (*here)(struct shared *), (*there)(struct shared *);
	uint32_t batch;
	bool same_core;
	double unit; /* ns */
	const char *unit_name;
};

static const struct ping_pong ping_pongs[] = {
	{"cache line bounced, one way", bounce_here, bounce_there, 1000, false, 1, "ns"},
	{"slot queue, 64-byte message, one way", plain_here, plain_there, 1000, false, 1, "ns"},
	{"slot queue, streaming, per message", plain_stream_here, stream_there, 10000, false, 1, "ns"},
	{"slot queue with claims, one way", claimed_here, claimed_there, 1000, false, 1, "ns"},
	{"slot queue with claims, streaming", claimed_stream_here, stream_there, 10000, false, 1, "ns"},
	{"futex wake, one way, other core", futex_here, futex_there, 20, false, 1e3, "us"},
	{"futex wake, one way, same core", futex_here, futex_there, 100, true, 1e3, "us"},
	{"eventfd and epoll wake, one way, other core", event_here, event_there, 20, false, 1e3, "us"},
};

/* The other thread of a ping-pong. */
struct partner {
	const struct ping_pong *ping_pong;
	struct shared *shared;
	struct peers place;
};

static void *run_partner(void *argument)
{
	struct partner *partner = argument;

	peers_pin(&partner->place);
	partner->ping_pong->there(partner->shared);
	return NULL;
}

static struct sleeper make_sleeper(void)
{
	struct sleeper sleeper = {eventfd(0, EFD_CLOEXEC), epoll_create1(EPOLL_CLOEXEC)};
	struct epoll_event event = {.events = EPOLLIN};

	if (sleeper.event < 0 || sleeper.set < 0 || epoll_ctl(sleeper.set, EPOLL_CTL_ADD, sleeper.event, &event))
		fail("cannot make an eventfd to sleep on: %s", strerror(errno));
	return sleeper;
}

static struct shared *new_shared(const struct ping_pong *ping_pong, struct samples *samples)
{
	struct shared *shared = aligned_alloc(CACHE_LINE, sizeof(*shared));

	if (!shared)
		fail("no memory for the threads to share");
	memset(shared, 0, sizeof(*shared));
	shared->samples = samples;
	shared->batch = ping_pong->batch;
	shared->batches = 100;
	shared->sleeper[0] = make_sleeper();
	shared->sleeper[1] = make_sleeper();
	return shared;
}

static void free_shared(struct shared *shared)
{
	for (int which = 0; which < 2; which++) {
		close(shared->sleeper[which].event);
		close(shared->sleeper[which].set);
	}
	free(shared);
}

static void play(const struct ping_pong *ping_pong, const struct peers *place)
{
	struct samples samples = {0};
	struct shared *shared = new_shared(ping_pong, &samples);
	struct partner partner = {ping_pong, shared, *place};
	pthread_t thread;

	partner.place.role = ping_pong->same_core ? INITIATOR : TARGET;
	bool possible = ping_pong->same_core || place->cpu[INITIATOR] != place->cpu[TARGET];
	if (possible && pthread_create(&thread, NULL, run_partner, &partner))
		fail("cannot start a second thread");
	if (possible) {
		ping_pong->here(shared);
		pthread_join(thread, NULL);
	}
	limits_row(ping_pong->what, &samples, ping_pong->unit, ping_pong->unit_name);
	free_shared(shared);
}

void limits_ping_pongs(const struct peers *place)
{
	for (size_t i = 0; i < sizeof(ping_pongs) / sizeof(ping_pongs[0]); i++)
		play(&ping_pongs[i], place);
}
