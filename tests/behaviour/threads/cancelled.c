/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that are cancelled, or interrupted by a signal handler, inside a Portals call. */
#include "tests/behaviour/threads/threads.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define VICTIMS       FEWER(240)
#define LIVES_AT_MOST 1000000u /* ns */
#define PUTS_AT_MOST  50000    /* of a process: the thread that cancels the others may be late, and the target slow */

static ptl_handle_eq_t queue;

static void *poll_briefly(void *argument)
{
	ptl_event_t event;
	int which;
	for (;; pthread_testcancel())
		PtlEQPoll(&queue, 1, 1, &event, &which);
	return argument;
}

static void *look(void *argument)
{
	ptl_event_t event;
	for (;; pthread_testcancel())
		PtlEQGet(queue, &event);
	return argument;
}

static void *send(void *argument)
{
	static atomic_int left = PUTS_AT_MOST;
	const ptl_handle_md_t *md = argument;
	for (;; pthread_testcancel())
		if (atomic_fetch_sub(&left, 1) > 0)
			CHECK_OK(PtlPut(*md, PTL_NO_ACK_REQ, id_of[process_count - 1 - my_rank], INDEX, 0, BITS, 0, 0));
		else
			sched_yield();
	return argument;
}

/* A thread that died while it owned the engine, or slept for it, would take the interface along. */
static void cancelled_threads_leave_the_interface_to_the_others(void)
{
	void *(*const ways[])(void *) = {poll_briefly, look, send};
	static char byte;
	queue = new_eq(64);
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, QUIET, PTL_EQ_NONE));
	open_window(BITS, md_over(&byte, 1, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, queue));
	barrier();
	for (unsigned i = 0; i < VICTIMS; i++) {
		const struct timespec life = {0, (i * 7919 + (unsigned)my_rank) * 104729 % LIVES_AT_MOST};
		ptl_process_id_t id;
		pthread_t victim;
		start_thread(&victim, ways[i % 3], &md);
		nanosleep(&life, NULL);
		pthread_cancel(victim);
		CHECK(pthread_join(victim, NULL) == 0);
		CHECK_OK(PtlGetId(ni, &id));
		CHECK_OK(PtlEQFree(new_eq(2)));
	}
	drive_while_waiting();
	barrier();
	put_to_myself();
}

static _Atomic pid_t sleeper;

static void *wait_until_refused(void *argument)
{
	ptl_event_t event;
	atomic_store(&sleeper, gettid());
	CHECK_RC(PtlEQWait(queue, &event), PTL_EQ_INVALID);
	return argument;
}

/* No cancellation point: it goes on waiting, and the end of the queue ends it. */
static void a_cancelled_thread_waits_on(void)
{
	pthread_t thread;
	void *result;
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	queue = new_eq(2);
	start_thread(&thread, wait_until_refused, &queue);
	while (atomic_load(&sleeper) == 0)
		;
	await_sleep(atomic_load(&sleeper));
	pthread_cancel(thread);
	put_to_myself();
	CHECK_EQUAL(pthread_tryjoin_np(thread, &result), EBUSY);
	CHECK_OK(PtlNIFini(ni));
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == &queue);
	PtlFini();
}

static struct {
	pthread_t waiter;
	_Atomic pid_t thread; /* of the waiter */
	ptl_handle_md_t event_source;
	atomic_int round, refused, closed;
} interrupted;

static void try_to_close(int number)
{
	(void)number;
	/* NOLINTBEGIN(bugprone-signal-handler): that they are not for handlers is what this is about */
	if (PtlNIFini(ni) == PTL_FAIL) {
		PtlFini(); /* has no code, and does nothing */
		atomic_fetch_add(&interrupted.refused, 1);
	} else {
		atomic_fetch_add(&interrupted.closed, 1);
	}
	/* NOLINTEND(bugprone-signal-handler) */
}

/* The handler has closed: where the waiter slept, nothing was too early. */
static _Noreturn void give_up(int round)
{
	if (round % 2 == 1)
		FAIL("a handler closed what its thread was waiting for");
	lose_race("the signal came before the call");
}

/* Signals the waiter, in every other round asleep for certain, and then ends its wait by an event. */
static void *interrupt_and_release(void *rounds)
{
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	for (int i = 0; i < (int)(intptr_t)rounds; i++) {
		const struct timespec perhaps_awake = {0, 20000 * i};
		while (atomic_load(&interrupted.round) == i)
			sched_yield();
		if (i % 2 == 1)
			await_sleep(atomic_load(&interrupted.thread));
		else
			nanosleep(&perhaps_awake, NULL);
		CHECK(pthread_kill(interrupted.waiter, SIGALRM) == 0);
		while (atomic_load(&interrupted.refused) == i)
			if (atomic_load(&interrupted.closed) > 0)
				give_up(i);
		CHECK_OK(PtlPut(interrupted.event_source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	}
	return NULL;
}

/* Closing waits until no thread waits any more, which this thread cannot stop to do. */
static void a_handler_that_closes_what_its_thread_waits_for_is_refused(void)
{
	enum { ROUNDS = 20 };
	static char byte;
	ptl_event_t event;
	pthread_t thread;
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	queue = new_eq(2);
	open_window(BITS, md_over(&byte, 1, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, queue));
	interrupted.event_source = bind_md(md_over(&byte, 1, QUIET, PTL_EQ_NONE));
	interrupted.waiter = pthread_self();
	atomic_store(&interrupted.thread, gettid());
	signal(SIGALRM, try_to_close);
	start_thread(&thread, interrupt_and_release, (void *)(intptr_t)ROUNDS);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&interrupted.round, i + 1);
		int rc = PtlEQWait(queue, &event);
		if (atomic_load(&interrupted.closed) > 0)
			give_up(i);
		CHECK_OK(rc);
	}
	CHECK(pthread_join(thread, NULL) == 0);
	put_to_myself();
	PtlFini();
}

const struct test cancelled_tests[] = {
	{.name = "cancelled_threads_leave_the_interface_to_the_others",
	 .run = cancelled_threads_leave_the_interface_to_the_others,
	 .processes = 2,
	 .traits = TRAIT_PAIR},
	{.name = "a_cancelled_thread_waits_on",
	 .run = a_cancelled_thread_waits_on,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{.name = "a_handler_that_closes_what_its_thread_waits_for_is_refused",
	 .run = a_handler_that_closes_what_its_thread_waits_for_is_refused,
	 .processes = 1,
	 /* which keeps the signal until PtlEQWait calls a function that it knows */
	 .traits = TRAIT_BARE | TRAIT_NO_TSAN},
	{0},
};
