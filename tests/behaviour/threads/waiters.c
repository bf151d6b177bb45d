/* SPDX-License-Identifier: BSD-3-Clause */
/* Many threads that wait: for one queue, for different ones, for sets of them, all at once. */
#include "tests/behaviour/threads/threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- One event, one waiter ---- */

#define SLEEPERS 6

/* Between two events a sleeper leaves and comes back, and in a mode where hosts drive another takes up its watch. */
#define WAKES_PER_EVENT (in_mode("dedicated") ? 1 : 2)
/* A call handed to the owner of the engine may wait for it in the kernel, which counts here too. */
#define WAKES_BY_CHANCE 20

static struct {
	ptl_handle_eq_t eq;
	_Atomic pid_t thread[SLEEPERS];
	_Atomic unsigned returned, refused;
} sleepers;

static void *sleep_and_return(void *argument)
{
	ptl_event_t event;
	int rc;
	atomic_store(&sleepers.thread[(uintptr_t)argument], gettid());
	while ((rc = PtlEQWait(sleepers.eq, &event)) == PTL_OK)
		atomic_fetch_add(&sleepers.returned, 1);
	CHECK_EQUAL(rc, PTL_EQ_INVALID);
	atomic_fetch_add(&sleepers.refused, 1);
	return NULL;
}

static void await_all_asleep(void)
{
	for (int i = 0; i < SLEEPERS; i++) {
		while (atomic_load(&sleepers.thread[i]) == 0)
			sched_yield();
		await_sleep(atomic_load(&sleepers.thread[i]));
	}
}

static long all_blocked(void)
{
	long sum = 0;
	for (int i = 0; i < SLEEPERS; i++)
		sum += blocked_so_far(atomic_load(&sleepers.thread[i]));
	return sum;
}

static void await_returns(unsigned count)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	while (atomic_load(&sleepers.returned) < count && now_ns() < deadline)
		sched_yield();
	CHECK_EQUAL(atomic_load(&sleepers.returned), count);
}

/* A message from outside: no thread of this process calls Portals but those that wait. */
static void one_event_wakes_one_of_several_waiters(void)
{
	const unsigned events = FEWER(60);
	pthread_t threads[SLEEPERS];
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	if (am_target()) {
		harness_while_waiting(NULL);
		sleepers.eq = new_eq(64);
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, sleepers.eq));
		for (uintptr_t i = 0; i < SLEEPERS; i++)
			start_thread(&threads[i], sleep_and_return, (void *)i);
	}
	long before = 0;
	for (unsigned i = 0; i < events + 5; i++) { /* the first ones make contact */
		if (am_target())
			await_all_asleep();
		if (am_target() && i == 5)
			before = all_blocked();
		barrier();
		if (am_initiator())
			put(md, PTL_NO_ACK_REQ, BITS);
		if (am_target())
			await_returns(i + 1);
	}
	if (am_target()) {
		await_all_asleep();
		CHECK_EQUAL(atomic_load(&sleepers.returned), events + 5);
		CHECK_LESS(all_blocked() - before, (long)events * WAKES_PER_EVENT + WAKES_BY_CHANCE + 1);
		CHECK_OK(PtlEQFree(sleepers.eq));
		for (int i = 0; i < SLEEPERS; i++)
			pthread_join(threads[i], NULL);
		CHECK_EQUAL(atomic_load(&sleepers.refused), SLEEPERS);
	}
	drive_while_waiting();
	barrier();
}

/* ---- Everything at once ---- */

#define QUEUES    3
#define LOOKERS   7
#define MOVERS    2
#define MOST_EACH 400

static struct {
	ptl_handle_eq_t eq[QUEUES];
	ptl_process_id_t peer;
	unsigned each;
	_Atomic unsigned seen[QUEUES][MOVERS * MOST_EACH];
	_Atomic unsigned taken;
} hall;

/* Queue q gets what was sent with bits BITS + q; every number comes once. */
static void note(const ptl_event_t *event)
{
	unsigned queue = (unsigned)(event->match_bits - BITS);
	CHECK_EQUAL(event->type, PTL_EVENT_PUT_END);
	CHECK_LESS(queue, QUEUES);
	CHECK_LESS(event->hdr_data, MOVERS * MOST_EACH);
	CHECK_EQUAL(atomic_fetch_add(&hall.seen[queue][event->hdr_data], 1), 0);
	atomic_fetch_add(&hall.taken, 1);
}

/* Until the queues are freed.  The k-th way of looking: which queues, and by which call. */
static void *look(void *argument)
{
	static const struct {
		int first, count, timeout; /* timeout -1: PtlEQWait, -2: PtlEQGet */
	} ways[LOOKERS] = {{0, 1, -1}, {0, 1, -1}, {1, 1, -1}, {0, 3, 20}, {0, 3, 3}, {1, 2, 1}, {2, 1, -2}};
	const int way = (int)(uintptr_t)argument, first = ways[way].first, timeout = ways[way].timeout;
	for (;;) {
		ptl_event_t event;
		int which = 0;
		int rc = timeout == -1   ? PtlEQWait(hall.eq[first], &event)
			 : timeout == -2 ? PtlEQGet(hall.eq[first], &event)
					 : PtlEQPoll(&hall.eq[first], ways[way].count, timeout, &event, &which);
		if (rc == PTL_EQ_INVALID)
			return NULL;
		if (rc == PTL_EQ_EMPTY)
			continue;
		CHECK_OK(rc);
		CHECK_EQUAL(event.match_bits, BITS + (unsigned)(first + which));
		note(&event);
	}
}

/* Sends to the peer's queues while it makes and unmakes queues and entries here. */
static void *move_and_meddle(void *argument)
{
	const unsigned number = (unsigned)(uintptr_t)argument;
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE));
	for (unsigned i = 0; i < hall.each; i++) {
		for (unsigned q = 0; q < QUEUES; q++)
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, hall.peer, INDEX, 0, BITS + q, 0, number * MOST_EACH + i));
		ptl_handle_eq_t eq = new_eq(8);
		struct window window = open_window_on(INDEX_SIDE, BITS + number, md_over(NULL, 0, PTL_MD_OP_PUT, eq));
		ptl_event_t event;
		int which;
		CHECK_RC(PtlEQPoll(&eq, 1, 0, &event, &which), PTL_EQ_EMPTY);
		close_window(window);
		CHECK_OK(PtlEQFree(eq));
	}
	unlink_soon(md);
	return NULL;
}

static void threads_wait_poll_send_and_meddle_all_at_once(void)
{
	pthread_t lookers[LOOKERS], movers[MOVERS];
	hall.each = FEWER(MOST_EACH);
	hall.peer = id_of[process_count - 1 - my_rank];
	for (unsigned q = 0; q < QUEUES; q++) {
		hall.eq[q] = new_eq(MOVERS * MOST_EACH);
		open_window(BITS + q, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, hall.eq[q]));
	}
	for (uintptr_t i = 0; i < LOOKERS; i++)
		start_thread(&lookers[i], look, (void *)i);
	barrier();
	for (uintptr_t i = 0; i < MOVERS; i++)
		start_thread(&movers[i], move_and_meddle, (void *)i);
	for (int i = 0; i < MOVERS; i++)
		pthread_join(movers[i], NULL);
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	while (atomic_load(&hall.taken) < QUEUES * MOVERS * hall.each && now_ns() < deadline)
		sched_yield();
	CHECK_EQUAL(atomic_load(&hall.taken), QUEUES * MOVERS * hall.each);
	barrier(); /* the peer may still need this process's lookers in host mode */
	for (unsigned q = 0; q < QUEUES; q++)
		CHECK_OK(PtlEQFree(hall.eq[q]));
	for (int i = 0; i < LOOKERS; i++)
		pthread_join(lookers[i], NULL);
	CHECK_EQUAL(drops(), 0);
	barrier();
}

static struct {
	ptl_handle_eq_t freed;
	atomic_bool over;
} errors;

static void *err_again_and_again(void *unused)
{
	(void)unused;
	while (!atomic_load(&errors.over)) {
		CHECK_RC(PtlEQFree(errors.freed), PTL_EQ_INVALID);
		CHECK(strstr(PtlNicErrorText(), "this event queue is gone") != NULL);
	}
	return NULL;
}

/* A thread that drives runs the calls of others too, and their errors are theirs. */
static void nobody_is_told_the_errors_of_another_thread(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_event_t event;
	pthread_t thread;
	errors.freed = new_eq(8);
	CHECK_OK(PtlEQFree(errors.freed));
	start_thread(&thread, err_again_and_again, NULL);
	CHECK_RC(PtlEQGet(eq, NULL), PTL_SEGV);
	for (int i = 0; i < FEWER(20000); i++) {
		CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
		CHECK_STRING(PtlNicErrorText(), "event must not be NULL");
	}
	atomic_store(&errors.over, true);
	pthread_join(thread, NULL);
}

const struct test waiter_tests[] = {
	ALONE(nobody_is_told_the_errors_of_another_thread),
	TWO(one_event_wakes_one_of_several_waiters),
	PAIR(threads_wait_poll_send_and_meddle_all_at_once),
	{0},
};
