/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting: sleeping and waking, several sleepers, signals. */
#include "tests/behaviour/behaviour.h"
#include "tests/support/resources.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static char area[64];

static struct window open_area(ptl_match_bits_t bits, ptl_handle_eq_t eq)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	return open_window(bits, md_over(area, sizeof(area), options, eq));
}

static ptl_handle_md_t quiet_source(void)
{
	static char bytes[8];
	return bind_md(md_over(bytes, sizeof(bytes), QUIET, PTL_EQ_NONE));
}

/*
 * Pauses between the messages let the waiter fall asleep, and just not, and just about to: no wake-up may be lost.
 * The pauses are what is tested; nothing depends on their length.
 */
static void a_sleeping_waiter_is_woken_by_every_message(void)
{
	enum { ROUNDS = FEWER(400) };
	static const long pauses[] = {0, 20, 80, 100, 120, 200, 1000, 5000}; /* microseconds */
	ptl_handle_eq_t eq = new_eq(8);
	struct window window = open_area(BITS, eq);
	int peer = process_count - 1 - my_rank;
	ptl_handle_md_t md = quiet_source();
	barrier();
	for (int i = 0; i < ROUNDS; i++) {
		bool mine = (i & 1) == my_rank;
		if (mine || process_count == 1) {
			struct timespec pause = {0, pauses[(i / 2) % 8] * 1000};
			nanosleep(&pause, NULL);
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[peer], INDEX, 0, BITS, 0, (ptl_hdr_data_t)i));
		}
		if (!mine || process_count == 1) {
			ptl_event_t event;
			CHECK_OK(PtlEQWait(eq, &event));
			CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
			CHECK_EQUAL(event.hdr_data, i);
		}
	}
	barrier();
	close_window(window);
}

/* ---- Several waiters ---- */

#define WAITERS 4

/* Waiter i sleeps on queues i and i + 1; events go to one queue after the other. */
static struct {
	ptl_handle_eq_t eq[WAITERS + 1];
	_Atomic unsigned taken[WAITERS + 1];
	_Atomic bool over;
} sets;

static void *wait_for_sets(void *argument)
{
	uintptr_t first = (uintptr_t)argument;
	while (!atomic_load(&sets.over)) {
		ptl_event_t event;
		int which;
		int rc = PtlEQPoll(&sets.eq[first], 2, 50, &event, &which);
		if (rc == PTL_EQ_EMPTY)
			continue;
		CHECK_EQUAL(rc, PTL_OK);
		CHECK_EQUAL(event.match_bits, BITS + first + (unsigned)which);
		atomic_fetch_add(&sets.taken[first + (unsigned)which], 1);
	}
	return NULL;
}

static void waiters_on_overlapping_sets_of_queues_share_the_events(void)
{
	enum { EACH = FEWER(300) };
	pthread_t threads[WAITERS];
	for (unsigned i = 0; i <= WAITERS; i++) {
		sets.eq[i] = new_eq(EACH + 1);
		if (am_target())
			open_area(BITS + i, sets.eq[i]);
	}
	open_door();
	for (uintptr_t i = 0; i < WAITERS && am_target(); i++)
		CHECK(pthread_create(&threads[i], NULL, wait_for_sets, (void *)i) == 0);
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = quiet_source();
		for (int round = 0; round < EACH; round++) {
			for (unsigned i = 0; i <= WAITERS; i++)
				put(md, PTL_NO_ACK_REQ, BITS + i);
			if (round % 8 == 0)
				ping(target_id());
		}
	}
	for (unsigned i = 0; i <= WAITERS && am_target(); i++) {
		harness_here(__FILE__, __LINE__);
		while (atomic_load(&sets.taken[i]) < EACH) /* if one is lost, the runner ends it */
			sched_yield();
	}
	atomic_store(&sets.over, true);
	for (int i = 0; i < WAITERS && am_target(); i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i <= WAITERS && am_target(); i++)
		CHECK_EQUAL(atomic_load(&sets.taken[i]), EACH); /* none twice */
	barrier();
}

static _Atomic bool about_to_wait;

static void *wait_for_nothing(void *argument)
{
	ptl_handle_eq_t *eq = argument;
	ptl_event_t event;
	atomic_store(&about_to_wait, true);
	CHECK_RC(PtlEQWait(*eq, &event), PTL_EQ_INVALID);
	return NULL;
}

static void freeing_a_queue_sends_its_waiters_home(void)
{
	static const long pauses[] = {0, 1000000, 20000000};
	for (int i = 0; i < 3; i++) {
		ptl_handle_eq_t eq = new_eq(8);
		pthread_t thread;
		struct timespec pause = {0, pauses[i]};
		atomic_store(&about_to_wait, false);
		CHECK(pthread_create(&thread, NULL, wait_for_nothing, &eq) == 0);
		while (!atomic_load(&about_to_wait))
			sched_yield();
		nanosleep(&pause, NULL);
		CHECK_OK(PtlEQFree(eq));
		pthread_join(thread, NULL);
	}
}

/* ---- Signals ---- */

static _Atomic unsigned alarms;

static void on_alarm(int number)
{
	(void)number;
	atomic_fetch_add(&alarms, 1);
}

/* A timer interrupts everything, every 200 us, without SA_RESTART, while messages of both kinds go to and fro. */
static void waiting_survives_a_storm_of_signals(void)
{
	enum { ROUNDS = FEWER(1500) };
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LONG);
	int peer = process_count - 1 - my_rank;
	open_window(BITS, md_over(bytes, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, QUIET, PTL_EQ_NONE));
	barrier();
	struct sigaction action = {.sa_handler = on_alarm};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	struct itimerval storm = {{0, 200 * SLOWNESS}, {0, 200 * SLOWNESS}}, calm = {{0, 0}, {0, 0}};
	CHECK(setitimer(ITIMER_REAL, &storm, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		bool mine = (i & 1) == my_rank;
		ptl_event_t event;
		int which;
		size_t length = i % 100 == 0 ? LONG : 8;
		if (mine || process_count == 1)
			CHECK_OK(PtlPutRegion(md, 0, length, PTL_NO_ACK_REQ, id_of[peer], INDEX, 0, BITS, 0, 0));
		if (mine && process_count > 1)
			continue;
		if (i % 3)
			CHECK_OK(PtlEQWait(eq, &event));
		else
			CHECK_OK(PtlEQPoll(&eq, 1, PATIENCE, &event, &which));
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
	}
	unsigned before = atomic_load(&alarms);
	while (atomic_load(&alarms) < before + 10) { /* signals that find this process stopped come as one */
		uint64_t start = now_ns();
		ptl_event_t event;
		int which;
		CHECK_RC(PtlEQPoll(&eq, 1, 200, &event, &which), PTL_EQ_EMPTY);
		CHECK_LESS(199999999ull, now_ns() - start);
	}
	CHECK(setitimer(ITIMER_REAL, &calm, NULL) == 0);
	barrier();
}

#define TRIO 3

static struct {
	ptl_handle_eq_t eq[TRIO];
	_Atomic unsigned taken;
} trio;

static void *take_one(void *argument)
{
	ptl_event_t event;
	CHECK_OK(PtlEQWait(trio.eq[(uintptr_t)argument], &event));
	atomic_fetch_add(&trio.taken, 1);
	return NULL;
}

/*
 * Of three threads that sleep, one sleeps for the engine.  When it and another leave at about the same time, the third
 * has to take over, although no other thread of this process calls Portals: no barrier while it waits.
 */
static void the_last_of_three_sleepers_is_woken_too(void)
{
	static const unsigned order[TRIO] = {0, 2, 1};
	pthread_t threads[TRIO] = {0};
	for (unsigned i = 0; i < TRIO && am_target(); i++)
		open_area(BITS + i, trio.eq[i] = new_eq(16));
	open_door();
	for (unsigned round = 0; round < FEWER(10); round++) {
		barrier();
		for (uintptr_t i = 0; i < TRIO && am_target(); i++)
			CHECK(pthread_create(&threads[i], NULL, take_one, (void *)i) == 0);
		for (unsigned i = 0; i < TRIO && am_initiator(); i++) {
			for (int pause = 0; pause < (i == 1 ? 0 : 20); pause++)
				lend_time();
			put(quiet_source(), PTL_NO_ACK_REQ, BITS + order[i]);
		}
		for (unsigned i = 0; i < TRIO && am_target(); i++)
			pthread_join(threads[i], NULL);
		CHECK(!am_target() || atomic_load(&trio.taken) == TRIO * (round + 1));
	}
	barrier();
}

static _Atomic unsigned handler_ok, handler_failed, handler_other;

static void call_from_handler(int number)
{
	ptl_sr_value_t value;
	(void)number;
	int rc = PtlNIStatus(ni, PTL_SR_DROP_COUNT, &value);
	atomic_fetch_add(rc == PTL_OK ? &handler_ok : rc == PTL_FAIL ? &handler_failed : &handler_other, 1);
}

static unsigned calls_from_handler(void)
{
	return atomic_load(&handler_ok) + atomic_load(&handler_failed) + atomic_load(&handler_other);
}

/*
 * The specification leaves it undefined; this library promises that it neither hangs nor does harm.  One signal at a time:
 * a handler may take longer than any interval of a timer, and the calls that it interrupts must get on.
 */
static void a_call_from_a_signal_handler_does_not_hang(void)
{
	struct sigaction action = {.sa_handler = call_from_handler};
	const struct itimerval soon = {.it_value = {0, 50 * SLOWNESS}};
	uint64_t end = now_ns() + 300000000ull * SLOWNESS;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	do {
		const unsigned before = calls_from_handler();
		CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
		while (calls_from_handler() == before) {
			ptl_handle_md_t md = quiet_source();
			CHECK_OK(PtlMDUnlink(md));
		}
	} while (now_ns() < end);
	CHECK_EQUAL(atomic_load(&handler_other), 0);
}

/* ---- A core to spend ---- */

static unsigned long long chunks_written_for_readers(void)
{
	static const char name[] = "chunks written for readers ";
	char text[4096];
	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	if (!strstr(text, "cross-memory attach;"))
		skip_test("processes here may not read each other");
	const char *at = strstr(text, name);
	CHECK(at != NULL);
	return strtoull(at + strlen(name), NULL, 10);
}

static int by_get(ptl_handle_eq_t eq, ptl_event_t *event)
{
	return PtlEQGet(eq, event);
}

static int by_progress(ptl_handle_eq_t eq, ptl_event_t *event)
{
	CHECK_OK(PtlProgress(ni, 0));
	int rc = PtlEQPeek(eq, event);
	return rc == PTL_OK ? PtlEQGet(eq, event) : rc;
}

/* Until a chunk was: a source that is on the reader's core is not asked. */
static void put_until_a_chunk_is_helped_with(int (*poll)(ptl_handle_eq_t, ptl_event_t *))
{
	const size_t length = 4 * LONG;
	const uint64_t end = now_ns() + 3 * PATIENCE * 1000000ull;
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1)
		skip_test("there is but one core");
	ptl_handle_eq_t eq = new_eq(64);
	unsigned long long helped = 0;
	if (am_target())
		open_window(BITS,
			    md_over(memory(length), length, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET, PTL_EQ_NONE));
	open_door();
	barrier();
	ptl_handle_md_t md =
		bind_md(md_over(memory(length), length, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq));
	while (am_initiator() && helped == 0 && now_ns() < end) {
		ptl_event_t event;
		int rc;
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		while ((rc = poll(eq, &event)) == PTL_EQ_EMPTY)
			;
		CHECK_EQUAL(rc, PTL_OK);
		CHECK_EQUAL(event.type, PTL_EVENT_ACK);
		helped = chunks_written_for_readers();
	}
	CHECK(!am_initiator() || helped > 0);
	barrier();
}

static void who_polls_by_PtlEQGet_helps_with_a_split_copy(void)
{
	put_until_a_chunk_is_helped_with(by_get);
}

static void who_polls_by_PtlProgress_helps_with_a_split_copy(void)
{
	put_until_a_chunk_is_helped_with(by_progress);
}

/* A poller that never comes back owes nothing. */
static void a_split_copy_ends_without_the_poller_who_began_it(void)
{
	const size_t length = 4 * LONG;
	ptl_handle_eq_t eq = new_eq(64), in = new_eq(64);
	ptl_event_t event;
	char *bytes = memory(length);
	if (am_target())
		open_window(BITS, md_over(bytes, length,
					  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, in));
	else
		fill_pattern(bytes, length, 3);
	open_door();
	for (int round = 0; round < FEWER(40); round++) {
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(bytes, length, PTL_MD_EVENT_START_DISABLE, eq));
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			for (int i = 0; i < round % 4; i++)
				(void)PtlEQGet(eq, &event);
		}
		harness_while_waiting(NULL); /* from here on the initiator calls nothing, until the target has it all */
		if (am_target()) {
			take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(bytes, length, 3);
			memset(bytes, 0, length);
		}
		barrier();
		drive_while_waiting();
	}
}

/*
 * Its NIC thread rests, without a timer, before the waiter is woken, and has to look after the interface again, though the waiter does
 * nothing for that.
 */
static void who_has_slept_long_and_computes_then_is_served(void)
{
	const uint64_t many_ticks = 30000000;
	_Atomic pid_t *nic_thread = shared_memory();
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target()) {
		open_area(BITS, eq);
		atomic_store(nic_thread, await_thread("portals-nic"));
	}
	barrier();
	harness_while_waiting(NULL);
	for (int round = 0; round < 3; round++) {
		if (am_initiator()) {
			ptl_handle_md_t md =
				bind_md(md_over(area, 8, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, eq));
			await_rest(*nic_thread, many_ticks);
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			barrier();
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			take(eq, PTL_EVENT_ACK);
			CHECK_OK(PtlMDUnlink(md));
		} else {
			take(eq, PTL_EVENT_PUT_END);
			barrier();
		}
		barrier(); /* until then the target calls nothing */
		if (am_target())
			take(eq, PTL_EVENT_PUT_END);
		barrier();
	}
	drive_while_waiting();
}

#define OVER_NODE(test, more)                                                                                          \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_NODE | (more)                              \
	}

const struct test wait_tests[] = {
	OVER_NODE(who_polls_by_PtlEQGet_helps_with_a_split_copy, 0),
	OVER_NODE(who_polls_by_PtlProgress_helps_with_a_split_copy, 0),
	OVER_NODE(a_split_copy_ends_without_the_poller_who_began_it, TRAIT_NIC_THREAD),
	{.name = "who_has_slept_long_and_computes_then_is_served",
	 .run = who_has_slept_long_and_computes_then_is_served,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_SLEEPS | TRAIT_NIC_THREAD},
	PAIR(a_sleeping_waiter_is_woken_by_every_message),
	PAIR(waiters_on_overlapping_sets_of_queues_share_the_events),
	TWO(the_last_of_three_sleepers_is_woken_too),
	ALONE(freeing_a_queue_sends_its_waiters_home),
	PAIR(waiting_survives_a_storm_of_signals),
	{.name = "a_call_from_a_signal_handler_does_not_hang",
	 .run = a_call_from_a_signal_handler_does_not_hang,
	 .processes = 1,
	 .environment = "PTL_LOG=off"},
	{0},
};
