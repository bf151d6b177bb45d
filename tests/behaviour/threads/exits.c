/* SPDX-License-Identifier: BSD-3-Clause */
/* exit() without PtlFini: whatever threads and exit handlers are doing, the process ends, and with the code it gave. */
#include "tests/behaviour/threads/threads.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITERS 3
#define TIMES   FEWER(12)
#define CODE    37

static struct {
	ptl_handle_eq_t eq[WAITERS];
	_Atomic pid_t thread[WAITERS];
} room;

static void *wait_for_ever(void *argument)
{
	const uintptr_t number = (uintptr_t)argument;
	ptl_event_t event;
	int which;
	atomic_store(&room.thread[number], gettid());
	for (;;) {
		if (number == 0)
			PtlEQPoll(room.eq, WAITERS, 3, &event, &which);
		else
			PtlEQWait(room.eq[number], &event);
	}
	return NULL;
}

static void open_for_all(ptl_handle_eq_t eq, ptl_match_bits_t bits)
{
	open_window(bits, md_over(memory(LONG), LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, eq));
}

/* A child with an interface, waiting threads and operations under way in both directions; ends by exit(). */
static _Noreturn void live_and_exit(int round)
{
	pthread_t threads[WAITERS];
	open_interface(PTL_PID_ANY);
	if (round % 3)
		CHECK_OK(PtlNicReady(ni)); /* otherwise the network is perhaps still being opened */
	for (uintptr_t i = 0; i < WAITERS; i++)
		open_for_all(room.eq[i] = new_eq(64), BITS + i);
	for (uintptr_t i = 0; i < WAITERS; i++) {
		start_thread(&threads[i], wait_for_ever, (void *)i);
		while (atomic_load(&room.thread[i]) == 0)
			sched_yield();
	}
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	ptl_process_id_t peer = over_self() ? self : id_of[1];
	ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, 0, room.eq[1]));
	for (int i = 0; i < 20; i++) {
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGet(md, peer, INDEX, 0, BITS, 0));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, self, INDEX, 0, BITS + 2, 0, 0));
	}
	if (round % 2)
		await_sleep(atomic_load(&room.thread[2]));
	exit(CODE);
}

/* A code of its own, so that no other way of ending passes for it. */
static void join_with_code(pid_t child, int code)
{
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		FAIL("child ended with status 0x%x", status);
}

static void processes_exit_while_their_threads_wait_and_messages_fly(void)
{
	if (am_target() && process_count > 1) {
		open_interface(PTL_PID_ANY);
		open_for_all(PTL_EQ_NONE, BITS);
		if (in_mode("host"))
			harness_while_waiting(lend_time);
	}
	exchange_ids();
	for (int i = 0; i < TIMES && am_initiator(); i++) {
		pid_t child = fork_child();
		if (child == 0)
			live_and_exit(i);
		join_with_code(child, CODE);
	}
	barrier();
	if (am_target() && process_count > 1) {
		put_to_myself();
		harness_while_waiting(NULL);
		PtlFini();
	}
}

/* ---- One thread closes, another exits ---- */

static _Atomic bool ready_to_end;

static _Noreturn void close_and_stay(unsigned turns)
{
	while (!atomic_load(&ready_to_end))
		;
	for (unsigned i = 0; i < turns; i++)
		atomic_load(&ready_to_end);
	PtlNIFini(ni);
	for (;;)
		pause();
}

static void *close_and_stay_away(void *argument)
{
	close_and_stay((unsigned)(uintptr_t)argument);
}

/* Both stop the interface's threads; each is ahead of the other by any number of turns. */
static void a_process_exits_while_a_thread_closes_its_interface(void)
{
	for (unsigned i = 0; i < FEWER(100); i++) {
		pid_t child = fork_child();
		if (child == 0) {
			pthread_t closer;
			open_interface(PTL_PID_ANY);
			if (i % 2)
				CHECK_OK(PtlNicReady(ni));
			start_thread(&closer, close_and_stay_away, (void *)(uintptr_t)(i * 37 % 2000));
			atomic_store(&ready_to_end, true);
			for (unsigned k = 0; k < i * 53 % 2000; k++)
				atomic_load(&ready_to_end);
			exit(CODE);
		}
		join_with_code(child, CODE);
	}
}

static int threads_before;

/* Registered before PtlInit: what the library runs on goes away next.  The thread that closes is the program's. */
static void see_that_the_nic_thread_is_gone(void)
{
	CHECK_LESS(living_threads(), threads_before + 2);
	_exit(CODE);
}

static void keep_a_put_unsent(void)
{
	static char byte;
	CHECK_OK(
		PtlPut(bind_md(md_over(&byte, 1, QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, nobody(), INDEX, 0, BITS, 0, 0));
}

/* Closing takes PTL_LINGER, and the interface is in no table meanwhile. */
static void the_nic_thread_of_an_interface_that_lingers_ends_at_exit(void)
{
	pid_t child = fork_child();
	if (child == 0) {
		pthread_t closer;
		threads_before = living_threads();
		atexit(see_that_the_nic_thread_is_gone);
		open_interface(PTL_PID_ANY);
		CHECK_OK(PtlNicReady(ni));
		keep_a_put_unsent();
		atomic_store(&ready_to_end, true);
		start_thread(&closer, close_and_stay_away, NULL);
		while (PtlNIInitialized(PTL_IFACE_DEFAULT))
			sched_yield();
		exit(0);
	}
	join_with_code(child, CODE);
}

/* ---- Exit handlers that call Portals ---- */

static int handlers_run;
static bool closes_in_handler;

/* Of a program that registered it after PtlInit: runs before the library's own. */
static void talk_before_the_library_stops(void)
{
	put_to_myself();
	if (!over_self())
		ping(target_id());
	handlers_run++;
}

/* Registered before PtlInit: runs after the library has stopped its threads. */
static void talk_after_the_library_stopped(void)
{
	CHECK_EQUAL(handlers_run, 1);
	put_to_myself();
	if (!over_self())
		ping(target_id());
	if (closes_in_handler) {
		CHECK_OK(PtlNIFini(ni));
		PtlFini();
	}
	handlers_run++;
}

/* Registered first, runs last. */
static void see_that_all_ran(void)
{
	CHECK_EQUAL(handlers_run, 2);
	_exit(CODE);
}

static void exit_handlers_may_call_portals(void)
{
	if (am_target() && process_count > 1) {
		open_interface(PTL_PID_ANY);
		open_door();
		if (in_mode("host"))
			harness_while_waiting(lend_time);
	}
	exchange_ids();
	for (int i = 0; i < 4 && am_initiator(); i++) {
		pid_t child = fork_child();
		if (child == 0) {
			closes_in_handler = i % 2;
			atexit(see_that_all_ran);
			atexit(talk_after_the_library_stopped);
			open_interface(PTL_PID_ANY);
			atexit(talk_before_the_library_stops);
			exit(0);
		}
		join_with_code(child, CODE);
	}
	barrier();
	if (am_target() && process_count > 1) {
		harness_while_waiting(NULL);
		PtlFini();
	}
}

const struct test exit_tests[] = {
	{.name = "processes_exit_while_their_threads_wait_and_messages_fly",
	 .run = processes_exit_while_their_threads_wait_and_messages_fly,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_BARE,
	 .environment = "PTL_PEER_TIMEOUT=5s"},
	{.name = "a_process_exits_while_a_thread_closes_its_interface",
	 .run = a_process_exits_while_a_thread_closes_its_interface,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER},
	{.name = "the_nic_thread_of_an_interface_that_lingers_ends_at_exit",
	 .run = the_nic_thread_of_an_interface_that_lingers_ends_at_exit,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NETWORK | TRAIT_NO_TSAN,
	 .environment = "PTL_LINGER=5s"},
	{.name = "exit_handlers_may_call_portals",
	 .run = exit_handlers_may_call_portals,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_BARE},
	{0},
};
