/* SPDX-License-Identifier: BSD-3-Clause */
/* What each of the four processes does, from its beginning to its end. */
#include "tests/faults/crash/crash.h"
#include "tests/faults/crash/points.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/refuse.h"
#include "tests/support/resources.h"

#define LOOK_MS 1

static int victim_fd; /* pidfd; for the watcher */

/* --- the watcher --- */

static bool victim_is_dead(int wait_ms)
{
	struct pollfd wait = {.fd = victim_fd, .events = POLLIN};

	return poll(&wait, 1, wait_ms) > 0;
}

static bool victim_stands_still(void)
{
	char path[64], line[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid_of(VICTIM));
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	size_t got = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[got] = 0;
	const char *end = strrchr(line, ')');

	return end && end[2] == 'T';
}

/* The survivors get on with each other while the victim stands still. */
static void see_survivors_work(void)
{
	enum { MORE = 4 };
	if (!atomic_load(&stage->talking[FIRST]) || !atomic_load(&stage->talking[THIRD]))
		return; /* they wait for the victim, to begin */
	unsigned goal = USUAL_OPERATIONS + atomic_fetch_add(&stage->more, MORE) + MORE;
	uint64_t deadline = now_ns() + PATIENCE * 1000000ull;

	while (!atomic_load(&stage->over) &&
	       (atomic_load(&stage->between[FIRST]) < goal || atomic_load(&stage->between[THIRD]) < goal)) {
		if (now_ns() > deadline)
			FAIL("the others do not get on while the victim stands still: %u and %u of %u operations",
			     atomic_load(&stage->between[FIRST]), atomic_load(&stage->between[THIRD]), goal);
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
}

/* A thread of its own: the victim may stop whenever it wants, even at its end. */
static void *watch(void *unused)
{
	uint64_t random = plan.seed ^ WATCHER;

	(void)unused;
	while (!victim_is_dead(LOOK_MS)) {
		if (!victim_stands_still())
			continue;
		atomic_store(&stage->reached, true);
		if (!(plan.traits & POINT_BLOCKS))
			see_survivors_work();
		/* However long it stands still. */
		nanosleep(&(struct timespec){.tv_nsec = (long)(next_number(&random) % 20000000)}, NULL);
		continue_process(VICTIM);
	}
	return NULL;
}

/* Until all that are alive have finished. */
static void await_end_of_traffic(void)
{
	for (;;) {
		bool dead = victim_is_dead(LOOK_MS);

		if (atomic_load(&stage->finished[FIRST]) && atomic_load(&stage->finished[THIRD]) &&
		    (dead || atomic_load(&stage->finished[VICTIM])))
			break;
	}
	atomic_store(&stage->over, true);
}

static void open_as(enum role role)
{
	open_interface(id_of[role].pid);
	drive_while_waiting();
	traffic_open(role);
}

static void close_again(int descriptors)
{
	harness_while_waiting(NULL);
	CHECK_OK(PtlNIFini(ni));
	PtlFini();
	CHECK_EQUAL(open_descriptors(), descriptors);
}

/* All pass the same barriers: the windows are open, the traffic is over, its successor's windows are open, that
 * traffic is over, the books are checked. */
static void play_watcher(void)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, watch, NULL), 0);
	barrier();
	await_end_of_traffic();
	barrier();
	bool died = victim_is_dead(0);

	if (died) /* it opens files */
		CHECK_EQUAL(pthread_join(thread, NULL), 0);
	int descriptors = open_descriptors();

	atomic_store(&stage->died, died);
	if (died)
		open_as(VICTIM);
	barrier();
	if (died)
		traffic_run_with_successor();
	barrier();
	if (died)
		traffic_check();
	barrier();
	if (died)
		close_again(descriptors);
	else
		CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

/* --- the others --- */

static void arm_fault(void)
{
	char text[128];

	snprintf(text, sizeof(text), "%s:%u:%s", plan.point, plan.passage, plan.kill ? "KILL" : "STOP");
	setenv("PORTALS_FAULT", text, 1);
	if (plan.kill)
		expect_death(VICTIM);
}

static void play_role(void)
{
	int descriptors = open_descriptors();

	if (my_rank == VICTIM)
		arm_fault();
	open_as((enum role)my_rank);
	barrier();
	traffic_run();
	barrier();
	barrier();
	if (atomic_load(&stage->died))
		traffic_run_with_successor();
	barrier();
	traffic_check();
	barrier();
	close_again(descriptors);
}

void play(void)
{
	CHECK(!plan.refuse || refuse_cross_memory());
	if (plan.kill)
		setenv("PTL_CONNECT_TIMEOUT", "1s",
		       1); /* what is begun after its death waits for another of its name */
	victim_fd = (int)syscall(SYS_pidfd_open, pid_of(VICTIM), 0);
	CHECK(victim_fd >= 0);
	announce_ids(0);
	if (my_rank < ROLES)
		stage->ids[my_rank] = id_of[my_rank];
	if (my_rank == WATCHER)
		play_watcher();
	else
		play_role();
}
