/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces that come and go and processes that die while others talk to them. */
#include "tests/behaviour/stress/stress.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AREA (512u << 10)

static void open_survivor(void)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	open_window(BITS, md_over(memory(AREA), AREA, options, PTL_EQ_NONE));
	open_door();
}

/* A process without Portals of its own makes children that flood the survivor, and kills each in full swing. */
static _Noreturn void flood_until_killed(_Atomic int *started)
{
	open_interface(PTL_PID_ANY);
	ptl_handle_eq_t eq = new_eq(64);
	char *bytes = memory(AREA);
	ptl_handle_md_t md = bind_md(md_over(bytes, AREA, QUIET, eq));
	for (uint32_t random = (uint32_t)getpid();;) {
		size_t length = next_random(&random) % 2 ? AREA : 100;
		CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, length, id_of[0], INDEX, 0, BITS, 0));
		atomic_fetch_add(started, 1);
		ptl_event_t event;
		PtlEQGet(eq, &event);
	}
}

static void raise_and_kill_children(void)
{
	_Atomic int *started = shared_memory();
	uint32_t random = 7;
	for (int i = 0; i < FEWER(12); i++) {
		atomic_store(started, 0);
		pid_t child = fork_child();
		if (child == 0)
			flood_until_killed(started);
		while (atomic_load(started) < 10)
			sched_yield();
		struct timespec pause = {0, (long)(next_random(&random) % 20000) * 1000}; /* any moment will do */
		nanosleep(&pause, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

static void a_survivor_outlives_peers_that_are_killed_in_full_swing(void)
{
	if (my_rank != 1) {
		open_interface(PTL_PID_ANY);
		drive_while_waiting();
		open_survivor();
	}
	exchange_ids();
	if (my_rank == 1)
		raise_and_kill_children();
	for (int i = 0; i < 20 && my_rank == 2; i++)
		ping(id_of[0]);
	barrier();
	if (my_rank == 0)
		ping(id_of[2]);
	if (my_rank == 2)
		ping(id_of[0]);
	barrier();
}

/* Opens and closes an interface under the same pid all the time; leaves it open. */
static void come_and_go(ptl_pid_t pid, _Atomic int *over)
{
	for (int i = 0; i < FEWER(12); i++) {
		open_interface(pid);
		open_survivor();
		for (int turn = 0; turn < 20; turn++)
			lend_time();
		CHECK_OK(PtlNIFini(ni));
	}
	atomic_store(over, 1);
	open_interface(pid);
	open_survivor();
}

static void put_all_the_time(ptl_process_id_t peer, _Atomic int *over)
{
	enum { IN_FLIGHT = 64 };
	ptl_handle_eq_t eq = new_eq(4 * IN_FLIGHT);
	ptl_handle_md_t md = bind_md(md_over(memory(8), 8, PTL_MD_EVENT_START_DISABLE, eq));
	int in_flight = 0;
	while (!atomic_load(over)) {
		ptl_event_t event;
		int which;
		if (in_flight < IN_FLIGHT) {
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
			in_flight++;
		}
		if (PtlEQPoll(&eq, 1, in_flight < IN_FLIGHT ? 0 : 10, &event, &which) == PTL_OK)
			in_flight -= event.type == PTL_EVENT_SEND_END;
	}
}

static void an_interface_that_comes_and_goes_harms_nobody(void)
{
	_Atomic int *over = shared_memory();
	ptl_process_id_t ids[MAX_PROCESSES], mine = {0x7f000001u, 0x90000000u + (ptl_pid_t)getpid()};
	gather(&mine, sizeof(mine), ids);
	if (my_rank == 1) {
		come_and_go(ids[1].pid, over);
	} else {
		open_interface(ids[0].pid);
		put_all_the_time(ids[1], over);
	}
	drive_while_waiting();
	barrier();
	if (my_rank == 0)
		ping_until_answered(ids[1]);
}

#define CHURN(test, count)                                                                                             \
	{                                                                                                              \
		.name = #test, .run = test, .processes = count, .traits = TRAIT_SEVERAL | TRAIT_BARE,                  \
		.environment = "PTL_PEER_TIMEOUT=5s"                                                                   \
	}

const struct test churn_tests[] = {
	CHURN(a_survivor_outlives_peers_that_are_killed_in_full_swing, 3),
	CHURN(an_interface_that_comes_and_goes_harms_nobody, 2),
	{0},
};
