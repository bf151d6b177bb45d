/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors for event loops: PtlNicEventFd. */
#include "tests/behaviour/behaviour.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char area[64];

/*
 * ---- System calls on one descriptor, seen by standing between the library and libc ----
 *
 * Weak, for behaviour/guarded stands there too.
 */

static _Atomic int watched = -1;
static _Atomic unsigned writes, reads;

#if !UNDER_SANITIZER
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved ones. */
__attribute__((weak)) ssize_t write(int fd, const void *bytes, size_t length)
{
	if (fd == atomic_load_explicit(&watched, memory_order_relaxed))
		atomic_fetch_add_explicit(&writes, 1, memory_order_relaxed);
	return syscall(SYS_write, fd, bytes, length);
}

__attribute__((weak)) ssize_t read(int fd, void *bytes, size_t length)
{
	if (fd == atomic_load_explicit(&watched, memory_order_relaxed))
		atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
	return syscall(SYS_read, fd, bytes, length);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
#endif

static void watch(int fd)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	atomic_store(&watched, ends[1]);
	atomic_store(&writes, 0);
	CHECK(write(ends[1], "", 1) == 1);
	if (atomic_load(&writes) == 0)
		skip_test("somebody else stands before write()");
	close(ends[0]);
	close(ends[1]);
	atomic_store(&watched, fd);
	atomic_store(&writes, 0);
	atomic_store(&reads, 0);
}

/* ---- */

static int fd_of(ptl_handle_eq_t eq)
{
	int fd = -1;
	CHECK_OK(PtlNicEventFd(eq, &fd));
	CHECK(fd >= 0);
	return fd;
}

static bool readable(int fd, int timeout)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	int ready;
	harness_here(__FILE__, __LINE__);
	do
		ready = poll(&wait, 1, timeout);
	while (ready < 0 && errno == EINTR);
	CHECK(ready >= 0 && !(wait.revents & ~POLLIN));
	return ready == 1;
}

/* Takes what is there until there is nothing; returns how many. */
static unsigned drain(ptl_handle_eq_t eq)
{
	ptl_event_t event;
	unsigned count = 0;
	int rc;
	while ((rc = PtlEQGet(eq, &event)) == PTL_OK) {
		CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
		count++;
	}
	CHECK_EQUAL(rc, PTL_EQ_EMPTY);
	return count;
}

static ptl_handle_eq_t open_area(ptl_size_t room)
{
	ptl_handle_eq_t eq = new_eq(room);
	open_window(BITS,
		    md_over(area, sizeof(area), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	open_door();
	return eq;
}

static void put_quietly(ptl_process_id_t to, unsigned count)
{
	static char bytes[8];
	ptl_handle_md_t md = bind_md(md_over(bytes, sizeof(bytes), QUIET, PTL_EQ_NONE));
	for (unsigned i = 0; i < count; i++)
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, BITS, 0, i));
}

/* Nothing that is under way will still arrive at the target. */
static void all_has_arrived(void)
{
	if (am_initiator())
		ping(target_id());
	barrier();
}

static void a_descriptor_is_readable_from_the_first_event_until_the_queue_is_found_empty(void)
{
	ptl_handle_eq_t eq = open_area(64);
	ptl_event_t event;
	int fd = fd_of(eq);
	CHECK_EQUAL(fd_of(eq), fd);
	CHECK(readable(fd, 0)); /* at first */
	CHECK_EQUAL(drain(eq), 0);
	for (int round = 0; round < 3; round++) {
		CHECK(!readable(fd, 0));
		barrier();
		if (am_initiator())
			put_quietly(target_id(), 3);
		all_has_arrived();
		for (int i = 0; i < 3 && am_target(); i++) {
			CHECK(readable(fd, 0)); /* level-triggered, whatever is taken */
			CHECK_OK(PtlEQGet(eq, &event));
		}
		CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	}
	CHECK(!readable(fd, 0));
	barrier();
}

/* What was there before the descriptor, what PtlEQPoll took, and queues that overflow. */
static void a_descriptor_tells_of_what_other_calls_left_or_took(void)
{
	ptl_handle_eq_t eq = open_area(4);
	ptl_event_t event;
	int which, fd;
	barrier();
	if (am_initiator())
		put_quietly(target_id(), 2);
	all_has_arrived();
	fd = fd_of(eq);
	CHECK(readable(fd, 0));
	if (am_target()) {
		CHECK_OK(PtlEQPoll(&eq, 1, 0, &event, &which));
		CHECK_OK(PtlEQWait(eq, &event));
	}
	CHECK_RC(PtlEQPoll(&eq, 1, 0, &event, &which), PTL_EQ_EMPTY);
	CHECK(!readable(fd, 0));
	barrier();
	if (am_initiator())
		put_quietly(target_id(), 9);
	all_has_arrived();
	if (am_target()) {
		CHECK(readable(fd, 0));
		CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_DROPPED);
		CHECK_EQUAL(drain(eq), 3);
		CHECK(!readable(fd, 0));
	}
	barrier();
}

/*
 * Pauses between the messages let the loop fall asleep, and just not, and just about to; the loop takes one event a turn, or
 * drains, or polls a while before it sleeps, or waits for edges.  No wake-up may be lost.
 */
enum habit { DRAINS, TAKES_ONE, POLLS_FIRST, EDGES, HABITS };

static ptl_event_t next_by_loop(ptl_handle_eq_t eq, int epoll, enum habit habit)
{
	struct epoll_event ready;
	ptl_event_t event;
	for (;;) {
		int rc = PTL_EQ_EMPTY;
		for (int i = 0; i < (habit == POLLS_FIRST ? 200 : 1) && rc == PTL_EQ_EMPTY; i++)
			rc = PtlEQGet(eq, &event);
		if (rc == PTL_OK)
			break;
		CHECK_EQUAL(rc, PTL_EQ_EMPTY);
		harness_here(__FILE__, __LINE__);
		if (epoll_wait(epoll, &ready, 1, PATIENCE) != 1)
			FAIL("not woken, habit %d", (int)habit);
	}
	/* This one goes to sleep whether or not more is there. */
	if (habit == TAKES_ONE)
		epoll_wait(epoll, &ready, 1, 0);
	return event;
}

static void an_event_loop_is_woken_by_every_message(void)
{
	enum { ROUNDS = FEWER(400) };
	static const long pauses[] = {0, 20, 80, 100, 120, 200, 1000, 5000}; /* microseconds */
	ptl_handle_eq_t eq = open_area(64);
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd = fd_of(eq), peer = process_count - 1 - my_rank;
	static char bytes[8];
	ptl_handle_md_t md = bind_md(md_over(bytes, sizeof(bytes), QUIET, PTL_EQ_NONE));
	barrier();
	for (enum habit habit = DRAINS; habit < HABITS; habit++) {
		struct epoll_event wanted = {.events = EPOLLIN | (habit == EDGES ? EPOLLET : 0)};
		CHECK(epoll_ctl(epoll, habit == DRAINS ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &wanted) == 0);
		for (int i = 0; i < ROUNDS; i++) {
			bool mine = (i & 1) == my_rank;
			unsigned messages = i % 3 ? 1 : 3;
			if (mine || process_count == 1) {
				struct timespec pause = {0, pauses[(i / 2) % 8] * 1000};
				nanosleep(&pause, NULL);
				for (unsigned j = 0; j < messages; j++)
					CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[peer], INDEX, 0, BITS, 0, i));
			}
			for (unsigned j = 0; j < messages && (!mine || process_count == 1); j++)
				CHECK_EQUAL(next_by_loop(eq, epoll, habit).hdr_data, i);
		}
	}
	barrier();
}

/* The loop's thread sleeps outside Portals from the beginning; only the NIC thread is there to drive. */
static void long_messages_and_first_contacts_progress_while_the_loop_sleeps(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	int fd = fd_of(eq), peer = process_count - 1 - my_rank;
	open_window(BITS,
		    md_over(memory(LONG), LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq));
	ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, PTL_MD_EVENT_START_DISABLE, eq));
	unsigned ends[3] = {0};
	barrier();
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[peer], INDEX, 0, BITS, 0, 0));
	while (ends[0] + ends[1] + ends[2] < 3) {
		ptl_event_t event;
		CHECK(readable(fd, PATIENCE));
		int rc = PtlEQGet(eq, &event);
		if (rc == PTL_EQ_EMPTY)
			continue;
		CHECK_EQUAL(rc, PTL_OK);
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
		ends[event.type == PTL_EVENT_PUT_END ? 0 : event.type == PTL_EVENT_SEND_END ? 1 : 2]++;
	}
	CHECK(ends[0] == 1 && ends[1] == 1 && ends[2] == 1);
	barrier();
}

/* ---- Threads ---- */

enum { LOOPS = 3 };

static struct {
	ptl_handle_eq_t eq;
	int fd, end[2];
	_Atomic unsigned taken;
	unsigned wanted;
} shared;

/* Each sleeps on the same descriptor, takes one event a turn, and ends when all have been taken. */
static void *loop(void *unused)
{
	(void)unused;
	for (;;) {
		struct pollfd wait[2] = {{.fd = shared.fd, .events = POLLIN}, {.fd = shared.end[0], .events = POLLIN}};
		ptl_event_t event;
		if (poll(wait, 2, -1) > 0 && wait[1].revents)
			return NULL;
		int rc = PtlEQGet(shared.eq, &event);
		if (rc == PTL_EQ_EMPTY)
			continue;
		CHECK_EQUAL(rc, PTL_OK);
		if (atomic_fetch_add(&shared.taken, 1) + 1 == shared.wanted)
			CHECK(write(shared.end[1], "", 1) == 1);
	}
}

static void several_loops_share_the_events_of_a_queue(void)
{
	pthread_t threads[LOOPS] = {0};
	shared.wanted = FEWER(3000);
	shared.eq = open_area(shared.wanted + 1);
	shared.fd = fd_of(shared.eq);
	CHECK(pipe(shared.end) == 0);
	barrier();
	for (int i = 0; i < LOOPS && am_target(); i++)
		CHECK(pthread_create(&threads[i], NULL, loop, NULL) == 0);
	for (unsigned sent = 0; sent < shared.wanted && am_initiator(); sent++) {
		put_quietly(target_id(), 1);
		if (sent % 8 == 0) {
			struct timespec pause = {0, (long)(sent % 5) * 50000};
			nanosleep(&pause, NULL);
		}
	}
	harness_here(__FILE__, __LINE__);
	for (int i = 0; i < LOOPS && am_target(); i++)
		pthread_join(threads[i], NULL);
	if (am_target())
		CHECK_EQUAL(atomic_load(&shared.taken), shared.wanted);
	barrier();
}

/* ---- Cost ---- */

static void a_burst_is_announced_by_one_system_call(void)
{
	enum { BURST = 64 };
	ptl_handle_eq_t eq = open_area(2 * BURST);
	int fd = fd_of(eq);
	for (int round = 0; round < 5; round++) {
		drain(eq);
		watch(fd);
		barrier();
		if (am_initiator())
			put_quietly(target_id(), BURST);
		all_has_arrived();
		if (am_target()) {
			CHECK(readable(fd, 0));
			CHECK_EQUAL(drain(eq), BURST);
			CHECK_EQUAL(atomic_load(&writes), 1);
			CHECK_EQUAL(atomic_load(&reads), 1);
		}
		barrier();
	}
}

/* A thread that polls is told of nothing; only what the NIC thread finds while it does not have the processor is announced. */
static void polling_a_queue_with_a_descriptor_makes_no_system_call_for_it(void)
{
	enum { MESSAGES = 5000 };
	static char bytes[8];
	ptl_handle_eq_t eq = open_area(64);
	ptl_handle_md_t md = bind_md(md_over(bytes, sizeof(bytes), QUIET, PTL_EQ_NONE));
	int fd = fd_of(eq);
	ptl_event_t event;
	drain(eq);
	for (int i = 0; i < MESSAGES; i++) {
		if (i == MESSAGES / 5)
			watch(fd);
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[0], INDEX, 0, BITS, 0, 0));
		while (PtlEQGet(eq, &event) == PTL_EQ_EMPTY)
			;
	}
	CHECK_LESS(atomic_load(&writes), MESSAGES / 8);
	CHECK_LESS(atomic_load(&reads), MESSAGES / 8);
}

/* ---- The end ---- */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_descriptor_ends_with_its_queue_or_its_interface(void)
{
	ptl_handle_eq_t eq = new_eq(8), other = new_eq(8);
	int fd = fd_of(eq), other_fd = fd_of(other);
	CHECK(fd != other_fd);
	CHECK_EQUAL(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_OK(PtlEQFree(eq));
	CHECK(!is_open(fd));
	CHECK(is_open(other_fd));
	pid_t child = fork_child();
	if (child == 0) {
		CHECK(!is_open(other_fd));
		_exit(0);
	}
	join_child(child);
	CHECK(is_open(other_fd));
	CHECK_OK(PtlNIFini(ni));
	CHECK(!is_open(other_fd));
	CHECK_RC(PtlNicEventFd(other, &fd), PTL_EQ_INVALID);
	open_interface(PTL_PID_ANY);
	fd = fd_of(new_eq(8));
	PtlFini();
	CHECK(!is_open(fd));
	CHECK_RC(PtlNicEventFd(other, &fd), PTL_NO_INIT);
}

static void a_descriptor_that_cannot_be_had_is_refused(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	struct rlimit limit, none;
	int fd = -7;
	CHECK_RC(PtlNicEventFd(eq, NULL), PTL_SEGV);
	CHECK_RC(PtlNicEventFd(PTL_EQ_NONE, &fd), PTL_EQ_INVALID);
	CHECK_RC(PtlNicEventFd(ni, &fd), PTL_EQ_INVALID);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	int rc = PtlNicEventFd(eq, &fd);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK_RC(rc, PTL_NO_SPACE);
	CHECK_EQUAL(fd, -7);
	fd_of(eq);
}

static void in_host_mode_a_descriptor_is_refused_with_the_reason(void)
{
	int fd = -7;
	CHECK_RC(PtlNicEventFd(new_eq(8), &fd), PTL_FAIL);
	CHECK_EQUAL(fd, -7);
	CHECK(strstr(PtlNicErrorText(), "PTL_NIC_MODE") != NULL);
}

/* Rows: they need a thread that drives. */
#define LOOP_PAIR(test)                                                                                                \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_PAIR | TRAIT_NIC_THREAD                    \
	}
#define LOOP_ALONE(test)                                                                                               \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .traits = TRAIT_NIC_THREAD                                 \
	}

const struct test event_fd_tests[] = {
	LOOP_PAIR(a_descriptor_is_readable_from_the_first_event_until_the_queue_is_found_empty),
	LOOP_PAIR(a_descriptor_tells_of_what_other_calls_left_or_took),
	LOOP_PAIR(an_event_loop_is_woken_by_every_message),
	LOOP_PAIR(long_messages_and_first_contacts_progress_while_the_loop_sleeps),
	LOOP_PAIR(several_loops_share_the_events_of_a_queue),
	{.name = "a_burst_is_announced_by_one_system_call",
	 .run = a_burst_is_announced_by_one_system_call,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_NIC_THREAD | TRAIT_NO_SANITIZER},
	{.name = "polling_a_queue_with_a_descriptor_makes_no_system_call_for_it",
	 .run = polling_a_queue_with_a_descriptor_makes_no_system_call_for_it,
	 .processes = 1,
	 .traits = TRAIT_NIC_THREAD | TRAIT_SLEEPS | TRAIT_SELF | TRAIT_NO_SANITIZER},
	LOOP_ALONE(a_descriptor_ends_with_its_queue_or_its_interface),
	LOOP_ALONE(a_descriptor_that_cannot_be_had_is_refused),
	{.name = "in_host_mode_a_descriptor_is_refused_with_the_reason",
	 .run = in_host_mode_a_descriptor_is_refused_with_the_reason,
	 .processes = 1,
	 .traits = TRAIT_HOST_MODE},
	{0},
};
