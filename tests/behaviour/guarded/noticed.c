/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard itself (points.c): a cancellation point that is called where cancellation would do harm ends the process, and
 * its name is printed; one that is called where it does none, or with cancellation forbidden, ends nothing.  And what no
 * program of tests comes to reliably, called here by name.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netdb.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "offload/drive.h"
#include "offload/nic.h"
#include "offload/own.h"
#include "portals/process.h"
#include "tests/support/harness.h"
#include "transports/node/node.h"

#define PATIENCE (60000000000u * SLOWNESS) /* ns until something that must happen is missed */

#define ROW(test)                                                                                                      \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1                                                             \
	}

static void open_on(const char *transport, ptl_handle_ni_t *ni, unsigned count)
{
	int most;

	setenv("PTL_TRANSPORT", transport, 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	CHECK_EQUAL(PtlInit(&most), PTL_OK);
	for (unsigned i = 0; i < count; i++)
		CHECK_EQUAL(PtlNIInit(i, PTL_PID_ANY, NULL, NULL, &ni[i]), PTL_OK);
}

/* --- points --- */

static void look_away(void)
{
	const struct timespec no_time = {0};

	nanosleep(&no_time, NULL);
}

static void read_line(void)
{
	char *line = NULL;
	size_t room = 0;
	FILE *file = tmpfile();

	if (!file)
		return;
	getdelim(&line, &room, '\n', file);
	free(line);
	fclose(file);
}

static int no_entry(const struct dirent *entry)
{
	(void)entry;
	return 0;
}

static void list_folder(void)
{
	struct dirent **entries;

	CHECK_LESS(scandir("/nowhere/at/all", &entries, no_entry, alphasort), 0);
}

static void name_address(void)
{
	const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char name[64];

	getnameinfo((const struct sockaddr *)&loopback, sizeof(loopback), name, sizeof(name), NULL, 0, NI_NUMERICHOST);
}

static void complain_aloud(void)
{
	perror("not meant");
}

static void print_number(void)
{
	fprintf(stderr, "%d\n", 1);
}

static void close_nothing(void)
{
	close(-1);
}

static const struct point {
	const char *name;
	void (*call)(void);
} points[] = {
	{"close", close_nothing},      {"nanosleep", look_away},   {"getdelim", read_line},  {"scandir", list_folder},
	{"getnameinfo", name_address}, {"perror", complain_aloud}, {"printf", print_number},
};
#define POINTS (sizeof(points) / sizeof(*points))

/* --- places --- */

static ptl_handle_ni_t ni[2];

static int call_point(struct nic *nic, void *point)
{
	(void)nic;
	((const struct point *)point)->call();
	return 0;
}

static int call_point_guarded(struct nic *nic, void *point)
{
	UNCANCELLED;

	return call_point(nic, point);
}

static void under_ownership(const struct point *point)
{
	nic_call(process_ni(ni[0]), call_point, (void *)(uintptr_t)point);
}

static void under_ownership_guarded(const struct point *point)
{
	nic_call(process_ni(ni[0]), call_point_guarded, (void *)(uintptr_t)point);
}

static void under_the_lock(const struct point *point)
{
	CHECK(process_lock());
	point->call();
	process_unlock();
}

static void outside(const struct point *point)
{
	point->call();
}

/* --- what becomes of a process that calls a point in such a place --- */

static _Noreturn void be_the_caller(void (*place)(const struct point *), const struct point *point, int errors)
{
	const struct rlimit none = {0};

	setrlimit(RLIMIT_CORE, &none);
	dup2(errors, STDERR_FILENO);
	open_on("self", ni, 1);
	place(point);
	_exit(0);
}

/* Its status; what it has printed is in `text`. */
static int call_in(void (*place)(const struct point *), const struct point *point, char *text, size_t size)
{
	int ends[2], status;
	size_t length = 0;
	ssize_t got;

	CHECK_EQUAL(pipe(ends), 0);
	pid_t child = fork_child();

	if (child == 0)
		be_the_caller(place, point, ends[1]);
	close(ends[1]);
	while (length + 1 < size && (got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	return status;
}

static void check_noticed(void (*place)(const struct point *))
{
	char text[8192];

	for (size_t i = 0; i < POINTS; i++) {
		int status = call_in(place, &points[i], text, sizeof(text));

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
			FAIL("%s() was not noticed: status %#x, %s", points[i].name, (unsigned)status, text);
		if (!strstr(text, "cancellation point ") || !strstr(text, points[i].name))
			FAIL("%s() is not named: %s", points[i].name, text);
	}
}

static void check_let_pass(void (*place)(const struct point *))
{
	char text[8192];

	for (size_t i = 0; i < POINTS; i++) {
		int status = call_in(place, &points[i], text, sizeof(text));

		if (status != 0)
			FAIL("%s() was taken for harmful: status %#x, %s", points[i].name, (unsigned)status, text);
	}
}

static void an_unguarded_point_under_ownership_is_noticed(void)
{
	check_noticed(under_ownership);
}

static void a_guarded_point_under_ownership_is_let_pass(void)
{
	check_let_pass(under_ownership_guarded);
}

static void a_point_under_the_lock_of_the_process_which_forbids_it_is_let_pass(void)
{
	check_let_pass(under_the_lock);
}

static void a_point_outside_of_portals_is_let_pass(void)
{
	check_let_pass(outside);
}

/* --- a peer that lives is lost --- */

static int drive(struct nic *nic, void *unused)
{
	(void)unused;
	return nic_drive(nic) < 0;
}

static struct node *node_in(ptl_handle_ni_t handle)
{
	return node_of(process_ni(handle)->transports[PATH_NODE]);
}

static void drive_until(bool (*reached)(const struct node *))
{
	uint64_t deadline = now_ns() + PATIENCE;

	while (!reached(node_in(ni[0]))) {
		for (int i = 0; i < 2; i++)
			CHECK_EQUAL(nic_call(process_ni(ni[i]), drive, NULL), 0);
		CHECK(now_ns() < deadline);
	}
}

static bool has_doorbell(const struct node *node)
{
	return node->peer_count == 1 && node->peers[0]->meeting == NODE_OPEN && node->peers[0]->doorbell >= 0;
}

static bool has_none(const struct node *node)
{
	return node->peers[0]->doorbell < 0;
}

static int note_failure(struct nic *nic, void *unused)
{
	struct node *node = node_of(nic->transports[PATH_NODE]);

	(void)unused;
	node->peers[0]->failed = node->any_failed = true;
	return 0;
}

/* Its process goes on, so that its pidfd stays and only the doorbell is closed, by the thread that drives. */
static void the_doorbell_of_a_peer_that_lives_is_closed_guarded(void)
{
	static char byte;
	const ptl_md_t md = {.start = &byte, .length = 1, .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE};
	ptl_process_id_t other;
	ptl_handle_md_t handle;

	open_on("node", ni, 2);
	CHECK_EQUAL(PtlGetId(ni[1], &other), PTL_OK);
	CHECK_EQUAL(PtlMDBind(ni[0], md, PTL_RETAIN, &handle), PTL_OK);
	CHECK_EQUAL(PtlPut(handle, PTL_NO_ACK_REQ, other, 0, 0, 0, 0, 0), PTL_OK);
	drive_until(has_doorbell);
	CHECK_EQUAL(nic_call(process_ni(ni[0]), note_failure, NULL), 0);
	drive_until(has_none);
	PtlFini();
}

static const struct test tests[] = {
	ROW(an_unguarded_point_under_ownership_is_noticed),
	ROW(a_point_under_the_lock_of_the_process_which_forbids_it_is_let_pass),
	ROW(a_guarded_point_under_ownership_is_let_pass),
	ROW(a_point_outside_of_portals_is_let_pass),
	ROW(the_doorbell_of_a_peer_that_lives_is_closed_guarded),
	{0},
};

int main(int argc, char **argv)
{
	static const struct test *const tables[] = {tests, NULL};
	const struct harness harness = {.tables = tables, .only = argc > 1 ? argv[1] : NULL};

	return harness_run(&harness);
}
