/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library must not do to the process it lives in: signals it raises, descriptors it lets others inherit. */
#include "tests/behaviour/behaviour.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- SIGPIPE --- */

enum { WINDOW = 16, ROUND = 64 };

static volatile sig_atomic_t pipes_broken;

static void on_broken_pipe(int number)
{
	(void)number;
	pipes_broken++;
}

static void die(void)
{
	expect_death(my_rank);
	kill(getpid(), SIGKILL);
}

/* Sends, short and long in turns, never more than a window of them under way; returns how many have failed. */
static int keep_sending(ptl_handle_md_t md, ptl_handle_eq_t eq, int count)
{
	int under_way = 0, failed = 0;

	for (int sent = 0; sent < count || under_way > 0;) {
		if (sent < count && under_way < WINDOW) {
			CHECK_OK(PtlPutRegion(md, 0, sent++ % 2 ? LONG : 1000, PTL_NO_ACK_REQ, target_id(), INDEX, 0,
					      BITS, 0, 0));
			under_way++;
			continue;
		}
		failed += take_any(eq).ni_fail_type != PTL_NI_OK;
		under_way--;
	}
	return failed;
}

/*
 * Writing to a connection whose other end is gone raises SIGPIPE, which by default ends the process.  It does not matter
 * here when the death is noticed: what was under way and what comes later fails or is lost, and no other process dies of it.
 */
static void a_killed_peer_raises_no_signal(void)
{
	ptl_handle_eq_t eq = new_eq(4 * WINDOW);
	char *bytes = memory(LONG);

	signal(SIGPIPE, on_broken_pipe);
	if (am_target())
		open_window(BITS, md_over(bytes, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET, PTL_EQ_NONE));
	open_door();
	CHECK_OK(PtlNicReady(ni));
	barrier();
	if (am_target()) {
		barrier();
		die();
	}
	ptl_handle_md_t md = bind_md(md_over(bytes, LONG, PTL_MD_EVENT_START_DISABLE, eq));

	ping_until_answered(target_id());
	CHECK_EQUAL(keep_sending(md, eq, WINDOW), 0);
	barrier(); /* it dies a moment later: a round may still come to a good end */
	while (keep_sending(md, eq, ROUND) == 0)
		;
	CHECK_EQUAL(pipes_broken, 0);
}

/* --- descriptors --- */

enum { DESCRIPTORS = 4096 };

struct inventory {
	bool open[DESCRIPTORS];
};

static void take_inventory(struct inventory *inventory, void (*act)(const struct inventory *, int fd))
{
	DIR *directory = opendir("/proc/self/fd");

	CHECK(directory != NULL);
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(directory))
			continue;
		CHECK_LESS(fd, DESCRIPTORS);
		if (act)
			act(inventory, fd);
		else
			inventory->open[fd] = true;
	}
	closedir(directory);
}

static int inherited;

/*
 * What libfabric 1.17 opens without the flag, and what cannot be told from the application's own when it is opened behind
 * our back: pairs of sockets it signals itself by, sets to poll, and connections.  Its listener is the library's to mark.
 */
static bool is_libfabrics(int fd, const char *what)
{
	int family = 0, listens = 0;
	socklen_t size = sizeof(family);

	if (over_self() || over_transport("node"))
		return false;
	if (strcmp(what, "anon_inode:[eventpoll]") == 0)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
		return false;
	int type = 0;
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
	return type == SOCK_STREAM && !listens && (family == AF_UNIX || family == AF_INET);
}

static void must_be_closed_on_exec(const struct inventory *before, int fd)
{
	char path[32], what[256] = "";

	if (before->open[fd])
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, what, sizeof(what) - 1) < 0 || fcntl(fd, F_GETFD) & FD_CLOEXEC || is_libfabrics(fd, what))
		return;
	fprintf(stderr, "descriptor %d (%s) would be inherited\n", fd, what);
	inherited++;
}

static void exchange_everything(void)
{
	char *near = memory(LONG), *far = memory(LONG);
	ptl_handle_eq_t eq = new_eq(16);

	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET,
					  PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, eq));

		put(md, PTL_NO_ACK_REQ, BITS);
		take(eq, PTL_EVENT_SEND_END);
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		get(md, BITS);
		take(eq, PTL_EVENT_REPLY_END);
	}
	barrier();
}

/* A program that this process executes would keep connections, queues and ports alive after our death. */
static void no_descriptor_outlives_exec(void)
{
	static struct inventory before;

	take_inventory(&before, NULL);
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	exchange_ids();
	drive_while_waiting();
	exchange_everything();
	take_inventory(&before, must_be_closed_on_exec);
	barrier();
	CHECK_EQUAL(inherited, 0);
}

const struct test process_tests[] = {
	{.name = "a_killed_peer_raises_no_signal",
	 .run = a_killed_peer_raises_no_signal,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NIGHTLY,
	 .environment = "PTL_CONNECT_TIMEOUT=2s PTL_PEER_TIMEOUT=2s PTL_LOG=off"},
	{.name = "no_descriptor_outlives_exec",
	 .run = no_descriptor_outlives_exec,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_BARE},
	{0},
};
