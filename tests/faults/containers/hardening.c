/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes of one node that a kernel or a container keeps apart in some way.  Messages of all sizes get through, by
 * whatever path is left, and PtlNicInfo() says by which and why.
 */
#include "tests/faults/containers/containers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/refuse.h"

#define MOST       ((size_t)4 << 20)
#define NOBODY     65534
#define ATTACHED   "long messages by cross-memory attach"
#define REFUSED    "through slabs (cross-memory attach refused: processes may not trace each other here (EPERM))"
#define OTHER_PIDS "through slabs (cross-memory attach refused: another pid namespace)"

/* What the processes of a test share, as far as they do. */
struct board {
	_Atomic unsigned met;
	ptl_process_id_t ids[2];
};

void meet(unsigned count)
{
	struct board *board = shared_memory();
	static unsigned times;

	atomic_fetch_add(&board->met, 1);
	for (times++; atomic_load(&board->met) < times * count; lend_time())
		; /* how long that may take, on a busy machine for 64 of them, the time limit of the test says */
}

/* --- talking --- */

static const size_t lengths[] = {0, 1, 36, 37, 200, 221, 4096, 8192, 8193, 16384, 16385, 65535, 65536, 300000, MOST};

/* Puts to the peer and gets back what it has put, in every length. */
static void talk(ptl_process_id_t peer)
{
	ptl_handle_eq_t eq = new_eq(16);
	uint8_t *near = memory(MOST), *back = memory(MOST);
	ptl_handle_md_t put_md = bind_md(md_over(near, MOST, QUIET, eq));
	ptl_handle_md_t get_md = bind_md(md_over(back, MOST, PTL_MD_EVENT_START_DISABLE, eq));

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fill_pattern(near, lengths[i], (unsigned)i);
		CHECK_OK(PtlPutRegion(put_md, 0, lengths[i], PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_ACK).mlength, lengths[i]);
		CHECK_OK(PtlGetRegion(get_md, 0, lengths[i], peer, INDEX, 0, BITS, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_REPLY_END).mlength, lengths[i]);
		CHECK_PATTERN(back, lengths[i], (unsigned)i);
	}
}

static void check_info(const char *wanted)
{
	char text[4096];

	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	if (!strstr(text, wanted))
		FAIL("\"%s\" is not in:\n%s", wanted, text);
}

/* Which of two processes we are need not be our rank: a child plays its parent's part. */
static void play(int part, ptl_pid_t pid, const char *path)
{
	struct board *board = shared_memory();

	open_interface(pid);
	open_window(BITS,
		    md_over(memory(MOST), MOST, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	CHECK_OK(PtlGetId(ni, &board->ids[part]));
	meet(2);
	talk(board->ids[1 - part]);
	meet(2); /* the other may be reading still */
	check_info(path);
	meet(2);
	PtlFini();
}

/* --- what keeps them apart --- */

static void nothing_keeps_them_apart(void)
{
	play(my_rank, PTL_PID_ANY, ATTACHED);
}

static void a_filter_refuses_cross_memory_attach(void)
{
	if (!refuse_cross_memory())
		skip_test("this kernel has no seccomp filters");
	play(my_rank, PTL_PID_ANY, REFUSED);
}

/* For good; and visible in /proc as before. */
static void become_nobody(void)
{
	CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0); /* changing user has cleared it */
}

static void only_one_of_them_is_refused(void)
{
	if (my_rank == 1 && !refuse_cross_memory())
		skip_test("this kernel has no seccomp filters");
	play(my_rank, PTL_PID_ANY, my_rank == 1 ? REFUSED : ATTACHED);
}

/* Refused as by yama's ptrace_scope, without changing the whole machine. */
static void undumpable_processes_may_not_be_read(void)
{
	if (geteuid() == 0)
		become_nobody();
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	play(my_rank, PTL_PID_ANY, REFUSED);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* In a child, because a process cannot change its own.  It cannot see its parent either, so fork_child() will not do. */
static pid_t fork_into_new_pid_namespace(void)
{
	if (unshare(CLONE_NEWPID))
		skip_test("no new pid namespace for us");
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		CHECK_EQUAL(getpid(), 1);
	}
	return child;
}

static void they_are_in_different_pid_namespaces(void)
{
	const ptl_pid_t pid = own_pid(0);

	if (my_rank == 0) {
		play(0, pid, ATTACHED); /* it sees the other */
		return;
	}
	pid_t child = fork_into_new_pid_namespace();

	if (child == 0) {
		play(1, pid, OTHER_PIDS);
		_exit(0);
	}
	join_child(child);
	_exit(0); /* it can start no threads any more, which its sanitizer would do at exit() */
}

static void they_are_in_pid_namespaces_of_which_neither_sees_the_other(void)
{
	const ptl_pid_t pid = own_pid(0);

	pid_t child = fork_into_new_pid_namespace();

	if (child == 0) {
		play(my_rank, pid, OTHER_PIDS);
		_exit(0);
	}
	join_child(child);
	_exit(0); /* it can start no threads any more, which its sanitizer would do at exit() */
}

/* The same user, who may have no id of its own seen from there. */
static void they_are_in_different_user_namespaces(void)
{
	char map[64];

	snprintf(map, sizeof(map), "%u %u 1", geteuid(), geteuid());
	if (my_rank == 1) {
		if (unshare(CLONE_NEWUSER))
			skip_test("no new user namespace for us");
		write_file("/proc/self/uid_map", map);
	}
	/* A process in the outer one may read the other, if it is privileged or its own user made the namespace. */
	play(my_rank, PTL_PID_ANY, my_rank == 0 ? "long messages" : REFUSED);
}

static void dev_shm_is_as_small_as_in_a_container(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev/shm", "tmpfs", 0, "size=64m"))
		skip_test("no mounts of our own");
	play(my_rank, PTL_PID_ANY, ATTACHED);
}

static void dev_shm_cannot_be_written_at_all(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev/shm", "tmpfs", MS_RDONLY, "size=4k"))
		skip_test("no mounts of our own");
	play(my_rank, PTL_PID_ANY, ATTACHED);
}

/* --- another user --- */

static void another_user_is_refused_without_delay(void)
{
	ptl_handle_eq_t eq;
	uint8_t *bytes = memory(8);

	if (my_rank == 1)
		become_nobody();
	open_interface(PTL_PID_ANY);
	exchange_ids();
	drive_while_waiting();
	open_window(BITS, md_over(bytes, 8, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq = new_eq(8)));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));

	CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[1 - my_rank], INDEX, 0, BITS, 0, 0));
	CHECK_EQUAL(take_failed(eq, PTL_EVENT_SEND_END).ni_fail_type, PTL_NI_UNREACHABLE);
	barrier();
	CHECK_EMPTY(eq);
	PtlFini();
}

static void another_user_is_reached_through_the_network(void)
{
	struct board *board = shared_memory();

	/* The runner has made it the loopback, which is no network. */
	unsetenv("PTL_IFACE");
	if (my_rank == 1)
		become_nobody();
	int count, rc = PtlInit(&count);

	CHECK_OK(rc);
	if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) != PTL_OK)
		skip_test("no interface but the loopback");
	CHECK_OK(PtlGetId(ni, &board->ids[my_rank]));
	if (board->ids[my_rank].nid >> 24 == 127)
		skip_test("no interface but the loopback");
	if (PtlNicReady(ni) != PTL_OK)
		skip_test("no provider of a network");
	/* Entry 0 is for the same user at first. */
	CHECK_OK(PtlACEntry(ni, 0, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	open_window(BITS,
		    md_over(memory(MOST), MOST, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	meet(2);
	talk(board->ids[1 - my_rank]);
	meet(2);
	check_info("0 peers"); /* by shared memory */
	meet(2);
	PtlFini();
}

#define APART(test)                                                                                                    \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_SEVERAL | TRAIT_BARE                       \
	}

const struct test hardening_tests[] = {
	APART(nothing_keeps_them_apart),
	APART(a_filter_refuses_cross_memory_attach),
	APART(only_one_of_them_is_refused),
	APART(undumpable_processes_may_not_be_read),
	APART(they_are_in_different_pid_namespaces),
	APART(they_are_in_pid_namespaces_of_which_neither_sees_the_other),
	{.name = "they_are_in_different_user_namespaces",
	 .run = they_are_in_different_user_namespaces,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_NO_TSAN},
	APART(dev_shm_is_as_small_as_in_a_container),
	APART(dev_shm_cannot_be_written_at_all),
	/* The time for first contact is longer than any process here waits for an event. */
	{.name = "another_user_is_refused_without_delay",
	 .run = another_user_is_refused_without_delay,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_ROOT,
	 .environment = "PTL_CONNECT_TIMEOUT=600s"},
	{.name = "another_user_is_reached_through_the_network",
	 .run = another_user_is_reached_through_the_network,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_ROOT,
	 .environment = "PTL_TRANSPORT=auto"},
	{0},
};
