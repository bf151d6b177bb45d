/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queues: order, loss told once, and every event to one reader only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "offload/event.h"
#include "tests/unit/resident.h"

enum { GENERATION = 7, HANDLE = 0x1234567, SIZE = 4 };

static struct event_queue eq;
static ptl_event_t event;

static int open_queue(void **state)
{
	(void)state;
	memset(&eq, 0, sizeof(eq));
	memset(&event, 0, sizeof(event));
	atomic_store(&eq.item.generation, GENERATION);
	atomic_store(&eq.ring, event_ring_get(SIZE));
	eq.handle = HANDLE;
	return atomic_load(&eq.ring) ? 0 : -1;
}

static int close_queue(void **state)
{
	(void)state;
	event_ring_put(atomic_load(&eq.ring));
	event_rings_free();
	return 0;
}

/* Event number n: every word of it depends on n, so that one that is half another's shows. */
static struct event_record record_of(uint64_t n)
{
	return (struct event_record){
		.info = {.initiator = {.nid = (uint32_t)n, .pid = (uint32_t)n + 1},
			 .uid = (uint32_t)n + 2,
			 .jid = (uint32_t)n + 3,
			 .pt_index = (uint32_t)n + 4,
			 .link = (uint32_t)n + 5,
			 .match_bits = n * 3,
			 .rlength = n * 5,
			 .mlength = n * 7,
			 .offset = ~n,
			 .hdr_data = n},
		.md_start = (void *)(uintptr_t)(n * 11),
		.md_user_ptr = (void *)(uintptr_t)(n * 13),
		.md_length = n * 17,
		.md_max_size = n * 19,
		.md_handle = (uint32_t)n + 6,
		.md_options = (uint32_t)n + 7,
		.md_threshold = -(int32_t)n,
		.kind = (uint16_t)(n % 12),
		.ni_fail = (uint16_t)(n % 6),
	};
}

static void post(uint64_t n)
{
	const struct event_record record = record_of(n);

	event_post(&eq, &record);
}

static bool is_number(const ptl_event_t *e, uint64_t n)
{
	uint32_t low = (uint32_t)n;

	return e->type == n % 12 && e->initiator.nid == low && e->initiator.pid == low + 1 && e->uid == low + 2 &&
	       e->jid == low + 3 && e->pt_index == low + 4 && e->link == low + 5 && e->match_bits == n * 3 &&
	       e->rlength == n * 5 && e->mlength == n * 7 && e->offset == ~n && e->hdr_data == n &&
	       e->md.start == (void *)(uintptr_t)(n * 11) && e->md.user_ptr == (void *)(uintptr_t)(n * 13) &&
	       e->md.length == n * 17 && e->md.max_size == n * 19 && e->md_handle == low + 6 &&
	       e->md.options == low + 7 && e->md.threshold == -(int)n && e->md.eq_handle == HANDLE &&
	       e->ni_fail_type == n % 6 && e->sequence == low + 1;
}

static void assert_taken(uint64_t n, int rc)
{
	assert_int_equal(event_take(&eq, GENERATION, &event), rc);
	assert_true(is_number(&event, n));
}

static void assert_empty(void)
{
	event.hdr_data = 99;
	assert_false(event_ready(&eq));
	assert_int_equal(event_take(&eq, GENERATION, &event), -EAGAIN);
	assert_int_equal(event_peek(&eq, GENERATION, &event), -EAGAIN);
	assert_int_equal(event.hdr_data, 99);
}

static void a_ring_has_room_for_as_many_as_asked(void **state)
{
	static const uint64_t counts[] = {1, 2, 3, 4, 5, 1000, 1024, 1025};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct event_ring *ring = event_ring_get(counts[i]);

		assert_non_null(ring);
		assert_true(ring->size >= counts[i] && (ring->size & (ring->size - 1)) == 0);
		assert_int_equal((uintptr_t)ring->slots % (2 * CACHE_LINE), 0);
		event_ring_put(ring);
	}
	assert_null(event_ring_get(UINT64_C(1) << 32));
	assert_null(event_ring_get(UINT64_MAX));
}

static void a_ring_given_back_serves_an_equal_request_without_its_events(void **state)
{
	struct event_ring *ring = atomic_load(&eq.ring), *other;

	(void)state;
	post(0);
	post(1);
	event_ring_put(ring);
	other = event_ring_get(SIZE + 1);
	assert_ptr_not_equal(other, ring);
	event_ring_put(other);
	assert_ptr_equal(event_ring_get(SIZE), ring);
	for (uint64_t i = 0; i < ring->size; i++)
		assert_int_equal(atomic_load(&ring->slots[i].sequence), 0);
}

static size_t resident_bytes(struct event_ring *ring)
{
	return resident_in(ring, sizeof(*ring) + ring->size * sizeof(ring->slots[0]));
}

enum { LARGE = 1 << 20, USED = 1 << 18, FEW_BYTES = 4 << 20 }; /* a page may be 2 MiB */

/* Neither what was used of it nor what was not is touched when it is taken again. */
static void a_large_ring_given_back_gives_its_memory_back(void **state)
{
	struct event_ring *ring = event_ring_get(LARGE);

	(void)state;
	assert_non_null(ring);
	for (int round = 0; round < 3; round++) {
		assert_true(resident_bytes(ring) <= FEW_BYTES);
		for (uint64_t i = 0; i < USED; i++) {
			assert_int_equal(atomic_load(&ring->slots[i].sequence), 0);
			atomic_store(&ring->slots[i].sequence, i + 1);
		}
		assert_true(resident_bytes(ring) >= USED * sizeof(ring->slots[0]));
		event_ring_put(ring);
		assert_true(resident_bytes(ring) <= FEW_BYTES);
		assert_ptr_equal(event_ring_get(LARGE), ring);
	}
	event_ring_put(ring);
}

static void *take_an_event(void *rc)
{
	*(int *)rc = event_take(&eq, GENERATION, &event);
	return rc;
}

/* A reader that finds the memory of its queue given back, before it can see that there is no ring, looks again. */
static void a_reader_leaves_a_queue_that_is_freed_under_its_eyes(void **state)
{
	const struct timespec instant = {0, 1000000};
	struct timespec used = {0};
	struct event_ring *ring = atomic_load(&eq.ring);
	pthread_t reader;
	clockid_t clock;
	int rc = 1;

	(void)state;
	post(0);
	event_ring_put(ring);
	assert_ptr_equal(event_ring_get(SIZE), ring);
	assert_int_equal(pthread_create(&reader, NULL, take_an_event, &rc), 0);
	assert_int_equal(pthread_getcpuclockid(reader, &clock), 0);
	while (used.tv_sec == 0 && used.tv_nsec < 5000000) { /* it is inside by then */
		nanosleep(&instant, NULL);
		assert_int_equal(clock_gettime(clock, &used), 0);
	}
	atomic_store(&eq.ring, NULL);
	pthread_join(reader, NULL);
	assert_int_equal(rc, -EAGAIN);
	atomic_store(&eq.ring, ring);
}

static void events_come_in_their_order_and_once(void **state)
{
	(void)state;
	assert_empty();
	for (uint64_t n = 0; n < 10 * SIZE; n += SIZE) {
		for (uint64_t i = 0; i < SIZE; i++)
			post(n + i);
		assert_true(event_ready(&eq));
		for (uint64_t i = 0; i < SIZE; i++) {
			assert_int_equal(event_unread(&eq), SIZE - i);
			assert_taken(n + i, 0);
		}
		assert_empty();
	}
}

/* Of a large ring too: each page that is touched for the first time is a fault. */
static void a_queue_whose_events_are_soon_taken_uses_little_of_its_ring(void **state)
{
	struct event_ring *ring = event_ring_get(LARGE);
	uint64_t posted = 0, taken = 0;

	(void)state;
	assert_non_null(ring);
	event_ring_put(atomic_exchange(&eq.ring, ring));
	while (posted < USED) {
		for (unsigned i = 0; i < 1 + posted % 5; i++)
			post(posted + i);
		posted += 1 + posted % 5;
		while (taken < posted)
			assert_taken(taken++, 0);
	}
	assert_empty();
	assert_true(resident_bytes(ring) <= FEW_BYTES);
}

static void a_look_consumes_nothing(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < SIZE + 3; n++)
		post(n);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(event_peek(&eq, GENERATION, &event), -EOVERFLOW);
		assert_true(is_number(&event, 3));
	}
	assert_taken(3, -EOVERFLOW);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(event_peek(&eq, GENERATION, &event), 0);
		assert_true(is_number(&event, 4));
	}
	assert_taken(4, 0);
}

static void a_full_queue_has_lost_nothing_and_one_more_loses_the_oldest(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < SIZE; n++)
		post(n);
	assert_taken(0, 0);
	post(SIZE);
	post(SIZE + 1);
	assert_taken(2, -EOVERFLOW);
	for (uint64_t n = 3; n < SIZE + 2; n++)
		assert_taken(n, 0);
	assert_empty();
}

static void each_overrun_is_told_once_and_the_newest_events_survive_it(void **state)
{
	uint64_t n = 0;

	(void)state;
	for (int overrun = 0; overrun < 3; overrun++) {
		for (int i = 0; i < 3 * SIZE + 1 + overrun; i++)
			post(n++);
		assert_taken(n - SIZE, -EOVERFLOW);
		for (uint64_t newest = n - SIZE + 1; newest < n; newest++)
			assert_taken(newest, 0);
		assert_empty();
	}
}

static void a_stale_generation_finds_no_event(void **state)
{
	static const uint32_t stale[] = {0, GENERATION - 1, GENERATION + 1, UINT32_MAX};

	(void)state;
	post(0);
	for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++) {
		assert_int_equal(event_take(&eq, stale[i], &event), -EBADF);
		assert_int_equal(event_peek(&eq, stale[i], &event), -EBADF);
	}
	assert_taken(0, 0);
	assert_int_equal(event_take(&eq, GENERATION + 1, &event), -EBADF);
}

static void a_freed_queue_is_stale(void **state)
{
	struct pool pool;

	(void)state;
	assert_int_equal(pool_open(&pool, sizeof(struct event_queue), 1, GENERATION, 0), 0);
	struct event_queue *pooled = pool_take(&pool);
	struct event_ring *ring = event_ring_get(SIZE);

	atomic_store(&pooled->ring, ring);
	assert_int_equal(event_take(pooled, 1, &event), -EAGAIN);
	pool_give(&pool, pooled);
	assert_int_equal(event_take(pooled, 1, &event), -EBADF);
	assert_int_equal(event_peek(pooled, 1, &event), -EBADF);
	event_ring_put(ring);
	pool_close(&pool);
}

static void the_greatest_values_of_a_record_reach_the_event(void **state)
{
	struct event_record record;

	(void)state;
	memset(&record, 0xff, sizeof(record));
	record.kind = PTL_EVENT_UNLINK;
	record.md_threshold = INT32_MIN;
	event_post(&eq, &record);
	assert_int_equal(event_take(&eq, GENERATION, &event), 0);
	assert_int_equal(event.type, PTL_EVENT_UNLINK);
	assert_int_equal(event.initiator.nid, UINT32_MAX);
	assert_true(event.match_bits == UINT64_MAX && event.hdr_data == UINT64_MAX && event.offset == UINT64_MAX);
	assert_true(event.rlength == UINT64_MAX && event.mlength == UINT64_MAX && event.md.length == UINT64_MAX);
	assert_true(event.md.max_size == UINT64_MAX && event.md.options == UINT32_MAX);
	assert_int_equal(event.md.threshold, INT32_MIN);
	assert_int_equal(event.ni_fail_type, UINT16_MAX);
}

/* --- several readers at once --- */

enum { READERS = 3, EVENTS = 500000 };
enum outcome { LOST, IN_ORDER, AFTER_LOSS };

static struct {
	_Atomic uint8_t outcomes[EVENTS];
	_Atomic unsigned torn, twice;
	_Atomic bool finished;
} race;

static void *read_events(void *unused)
{
	for (;;) {
		bool finished = atomic_load(&race.finished); /* before the look: nothing comes after it */
		ptl_event_t e;
		int rc = event_take(&eq, GENERATION, &e);

		if (rc == -EAGAIN) {
			if (finished)
				return unused;
			sched_yield();
		} else if (e.hdr_data >= EVENTS || !is_number(&e, e.hdr_data)) {
			atomic_fetch_add(&race.torn, 1);
		} else if (atomic_exchange(&race.outcomes[e.hdr_data], rc ? AFTER_LOSS : IN_ORDER) != LOST) {
			atomic_fetch_add(&race.twice, 1);
		}
	}
}

/* To a reader that drives: the writer itself.  False: older ones are unread. */
static bool hand_over(uint64_t n)
{
	const struct event_record record = record_of(n);
	ptl_event_t e;

	if (!event_hand_over(&eq, &record, &e))
		return false;
	atomic_store(&race.outcomes[n], IN_ORDER);
	if (!is_number(&e, n))
		atomic_fetch_add(&race.torn, 1);
	return true;
}

/* Posts all events, at first without readers; patient: only when there is room.  Returns how many no reader got. */
static unsigned run_race(uint64_t size, uint64_t head_start, bool patient, bool takes)
{
	pthread_t readers[READERS];
	unsigned lost = 0;

	memset(&race, 0, sizeof(race));
	event_ring_put(atomic_load(&eq.ring));
	atomic_store(&eq.ring, event_ring_get(size));
	for (uint64_t n = 0; n < head_start; n++)
		post(n);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_events, NULL), 0);
	for (uint64_t n = head_start; n < EVENTS; n++) {
		while (patient && event_unread(&eq) == size)
			sched_yield();
		if (!takes || !hand_over(n))
			post(n);
	}
	atomic_store(&race.finished, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	for (int n = 0; n < EVENTS; n++)
		lost += race.outcomes[n] == LOST;
	assert_int_equal(race.torn, 0);
	assert_int_equal(race.twice, 0);
	assert_empty();
	return lost;
}

static void readers_share_all_events_of_a_writer_that_waits_for_them(void **state)
{
	(void)state;
	assert_int_equal(run_race(64, 0, true, false), 0);
	for (int n = 0; n < EVENTS; n++)
		assert_int_equal(race.outcomes[n], IN_ORDER);
}

static void an_event_is_handed_over_if_none_before_it_is_unread(void **state)
{
	const struct event_record first = record_of(0), second = record_of(1), third = record_of(2);

	(void)state;
	assert_true(event_hand_over(&eq, &first, &event));
	assert_true(is_number(&event, 0));
	assert_empty();
	event_post(&eq, &second);
	assert_false(event_hand_over(&eq, &third, &event));
	event_post(&eq, &third);
	assert_int_equal(event_take(&eq, GENERATION, &event), 0);
	assert_true(is_number(&event, 1));
	assert_int_equal(event_take(&eq, GENERATION, &event), 0);
	assert_true(is_number(&event, 2));
	assert_empty();
}

static void in_the_middle_of_a_hand_over_nothing_is_unread(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < SIZE; n++) { /* old events in every slot */
		post(n);
		assert_taken(n, 0);
	}
	atomic_store(&eq.taken, SIZE + 1);
	assert_empty();
	assert_int_equal(event_peek(&eq, GENERATION, &event), -EAGAIN);
	assert_int_equal(atomic_load(&eq.taken), SIZE + 1);
}

/* The writer takes what it can, with readers in the middle of everything. */
static void events_handed_over_are_nobody_elses(void **state)
{
	(void)state;
	assert_int_equal(run_race(64, 0, true, true), 0);
	for (int n = 0; n < EVENTS; n++)
		assert_int_equal(race.outcomes[n], IN_ORDER);
}

static void nor_on_the_smallest_ring(void **state)
{
	(void)state;
	assert_int_equal(run_race(2, 0, true, true), 0);
}

/* As small a ring as there is: the writer is as often as possible in the slot that a reader copies. */
static void readers_get_whole_events_once_while_the_writer_overruns_them(void **state)
{
	unsigned lost = run_race(2, 6, false, false);

	(void)state;
	assert_in_range(lost, 4, EVENTS - 2);
	assert_true(race.outcomes[EVENTS - 2] != LOST && race.outcomes[EVENTS - 1] != LOST);
	/* The taker of an event heard of a loss if and only if the event before it was lost. */
	for (int n = 0; n < EVENTS; n++) {
		bool before_lost = n > 0 && race.outcomes[n - 1] == LOST;

		if (race.outcomes[n] != LOST && (race.outcomes[n] == AFTER_LOSS) != before_lost)
			fail_msg("event %d: outcome %d, the one before was %s", n, race.outcomes[n],
				 before_lost ? "lost" : "taken");
	}
}

/* --- a reader that stands still while its queue is freed, and its place is another's --- */

static struct event_queue *place;

static void post_at_place(uint64_t hdr_data)
{
	const struct event_record record = {.info = {.hdr_data = hdr_data}};

	event_post(place, &record);
}

/* As pool_give() and pool_take() do, and what PtlEQAlloc does then; the same ring comes first. */
static void begin_another_queue(int signal, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct event_ring *ring = atomic_load(&place->ring);

	(void)signal, (void)context;
	if (mprotect((void *)((uintptr_t)info->si_addr & ~(page - 1)), page, PROT_READ | PROT_WRITE))
		_exit(1);
	for (uint64_t i = 0; i < ring->size; i++)
		atomic_store(&ring->slots[i].sequence, 0);
	memset(&place->item + 1, 0, sizeof(*place) - sizeof(place->item));
	atomic_store(&place->item.generation, GENERATION + 1);
	event_number(place);
	atomic_store(&place->ring, ring);
	for (uint64_t i = 0; i < ring->size; i++)
		post_at_place(2);
}

/* It stands still where it first touches the page of `where`. */
static void stand_still_at(void *where, int (*read_event)(struct event_queue *, uint32_t, ptl_event_t *))
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct sigaction action = {.sa_sigaction = begin_another_queue, .sa_flags = SA_SIGINFO}, before;

	event_number(place);
	post_at_place(1);
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect((void *)((uintptr_t)where & ~(page - 1)), page, PROT_NONE), 0);
	assert_int_equal(read_event(place, GENERATION, &event), -EBADF);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(atomic_load(&place->item.generation), GENERATION + 1);
	assert_int_equal(event_take(place, GENERATION + 1, &event), 0);
	assert_int_equal(event.hdr_data, 2);
}

static void who_reads_a_queue_that_was_freed_takes_nothing_of_its_successor(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(pages != MAP_FAILED);
	for (int turn = 0; turn < 4; turn++) {
		struct event_ring *ring = event_ring_get(2 * page / sizeof(struct event_slot));

		assert_non_null(ring);
		place = (struct event_queue *)(void *)(pages + page - offsetof(struct event_queue, posted));
		memset(place, 0, sizeof(*place));
		atomic_store(&place->item.generation, GENERATION);
		atomic_store(&place->ring, ring);
		/* Before it has seen how much was taken; after that, and before it has copied the event. */
		stand_still_at(turn % 2 ? (void *)&place->posted : (void *)ring, turn < 2 ? event_take : event_peek);
		event_ring_put(ring);
	}
	munmap(pages, 2 * page);
}

static atomic_bool over;

static void *get_and_put_rings(void *unused)
{
	enum { ROUNDS = 20000 };

	for (int i = 0; i < ROUNDS; i++) {
		struct event_ring *first = event_ring_get(2), *second = event_ring_get(2);

		event_ring_put(first);
		event_ring_put(second);
	}
	atomic_store(&over, true);
	return unused;
}

/* PtlEQFree and PtlFini in different threads. */
static void rings_may_be_given_back_while_all_others_are_freed(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, get_and_put_rings, NULL), 0);
	while (!atomic_load(&over))
		event_rings_free();
	pthread_join(thread, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_queue, close_queue)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_ring_has_room_for_as_many_as_asked),
		TEST(a_ring_given_back_serves_an_equal_request_without_its_events),
		TEST(a_large_ring_given_back_gives_its_memory_back),
		TEST(a_reader_leaves_a_queue_that_is_freed_under_its_eyes),
		TEST(events_come_in_their_order_and_once),
		TEST(a_queue_whose_events_are_soon_taken_uses_little_of_its_ring),
		TEST(a_look_consumes_nothing),
		TEST(a_full_queue_has_lost_nothing_and_one_more_loses_the_oldest),
		TEST(each_overrun_is_told_once_and_the_newest_events_survive_it),
		TEST(a_stale_generation_finds_no_event),
		TEST(a_freed_queue_is_stale),
		TEST(the_greatest_values_of_a_record_reach_the_event),
		TEST(readers_share_all_events_of_a_writer_that_waits_for_them),
		TEST(an_event_is_handed_over_if_none_before_it_is_unread),
		TEST(in_the_middle_of_a_hand_over_nothing_is_unread),
		TEST(events_handed_over_are_nobody_elses),
		TEST(nor_on_the_smallest_ring),
		TEST(readers_get_whole_events_once_while_the_writer_overruns_them),
		TEST(who_reads_a_queue_that_was_freed_takes_nothing_of_its_successor),
		TEST(rings_may_be_given_back_while_all_others_are_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
