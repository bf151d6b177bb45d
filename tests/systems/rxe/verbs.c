/* SPDX-License-Identifier: BSD-3-Clause */
/* What only memory that is really pinned, and devices that are really opened, can show.  Runs in a guest: see run.sh. */
#include "tests/support/peers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BEYOND_ONE_MESSAGE ((size_t)9 << 20) /* verbs moves 8 MiB at a time */

/* ---- Messages ---- */

static void one_message_longer_than_the_provider_moves_at_a_time(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(BEYOND_ONE_MESSAGE), *far = memory(BEYOND_ONE_MESSAGE);
	fill_pattern(near, BEYOND_ONE_MESSAGE, 1);
	if (am_target())
		open_window(BITS,
			    md_over(far, BEYOND_ONE_MESSAGE,
				    PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
				    in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, BEYOND_ONE_MESSAGE, PTL_MD_EVENT_START_DISABLE, out));
		put(md, PTL_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_ACK);
		memset(near, 0, BEYOND_ONE_MESSAGE);
		get(md, BITS);
		take(out, PTL_EVENT_REPLY_END);
		CHECK_PATTERN(near, BEYOND_ONE_MESSAGE, 1);
	}
	barrier();
	if (am_target())
		CHECK_PATTERN(far, BEYOND_ONE_MESSAGE, 1);
}

/* ---- fork: a pinned page that parent and child share must stay the parent's ---- */

/* Writes to everything the parent has registered, until it is told to end: the parent's bytes must not change. */
static void spoil(char *bytes, size_t length, int until)
{
	char end;
	do {
		memset(bytes, 0x5a, length);
		usleep(1000);
	} while (read(until, &end, 1) < 0);
	_exit(0);
}

static void exchange_long(ptl_handle_md_t md, ptl_handle_eq_t out, ptl_handle_eq_t in, char *near, const char *far,
			  unsigned seed)
{
	fill_pattern(near, LONG, seed);
	barrier();
	if (am_initiator()) {
		put(md, PTL_ACK_REQ, BITS);
		take(out, PTL_EVENT_SEND_END);
		take(out, PTL_EVENT_ACK);
	}
	if (am_target()) {
		take(in, PTL_EVENT_PUT_END);
		CHECK_PATTERN(far, LONG, seed);
	}
	barrier();
	if (am_initiator()) {
		memset(near, 0, LONG);
		get(md, BITS);
		take(out, PTL_EVENT_REPLY_END);
		CHECK_PATTERN(near, LONG, seed);
	}
	if (am_target())
		take(in, PTL_EVENT_GET_END);
	barrier();
}

/* Both sides fork, with descriptors exposed before, and both children write to their copies meanwhile. */
static void a_parents_traffic_is_right_after_fork(void)
{
	ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
	char *near = memory(LONG), *far = memory(LONG);
	int pipe_to_child[2];
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (am_target())
		open_window(BITS, md_over(far, LONG, options, in));
	ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, out));
	exchange_long(md, out, in, near, far, 1);
	CHECK(pipe2(pipe_to_child, O_NONBLOCK) == 0);
	pid_t child = fork_child();
	if (child == 0) {
		close(pipe_to_child[1]);
		spoil(am_target() ? far : near, LONG, pipe_to_child[0]);
	}
	for (unsigned seed = 2; seed < 6; seed++)
		exchange_long(md, out, in, near, far, seed);
	CHECK(write(pipe_to_child[1], "", 1) == 1);
	join_child(child);
}

/* Devices opened before a fork are of no use behind it. */
static void a_forked_child_is_told_that_it_cannot_open_verbs_again(void)
{
	CHECK_OK(PtlNicReady(ni));
	pid_t child = fork_child();
	if (child == 0) {
		int interfaces;
		PtlFini();
		CHECK_OK(PtlInit(&interfaces));
		CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID);
		CHECK(strstr(PtlNicErrorText(), "fork") != NULL);
		_exit(0);
	}
	join_child(child);
}

/* ---- RLIMIT_MEMLOCK; run.sh takes away the capability to ignore it ---- */

/* Bytes that this process has pinned. */
static size_t pinned(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");
	CHECK(status != NULL);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPin: %lu kB", &kib) == 1)
			break;
	fclose(status);
	return (size_t)kib << 10;
}

static void lock_no_more_than(size_t bytes)
{
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
	getrlimit(RLIMIT_MEMLOCK, &limit);
	limit.rlim_cur = bytes;
	CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

static void an_interface_without_memory_to_lock_says_so(void)
{
	int interfaces;
	lock_no_more_than(64 << 10);
	CHECK_OK(PtlInit(&interfaces));
	CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_SPACE);
	if (!strstr(PtlNicErrorText(), "RLIMIT_MEMLOCK"))
		FAIL("\"%s\" does not name RLIMIT_MEMLOCK", PtlNicErrorText());
}

/* Ten times as much as there is room for: first at the initiator, then at the target. */
static void a_message_without_memory_to_lock_fails_and_the_next_one_does_not(void)
{
	enum { ROOM = 1 << 20, MUCH = 10 << 20, FITS = 64 << 10 };
	for (int side = 0; side < 2; side++) {
		ptl_handle_eq_t out = new_eq(8), in = new_eq(8);
		char *near = memory(MUCH), *far = memory(MUCH);
		struct window window = {0};
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
		fill_pattern(near, FITS, 1);
		if (am_target())
			window = open_window(BITS, md_over(far, MUCH, options, in));
		open_door();
		barrier();
		if (am_initiator())
			ping(target_id());
		barrier();
		if (side == 0 ? am_initiator() : am_target())
			lock_no_more_than(pinned() + ROOM);
		barrier();
		if (am_initiator()) {
			ptl_handle_md_t md = bind_md(md_over(near, MUCH, PTL_MD_EVENT_START_DISABLE, out));
			CHECK_OK(PtlPutRegion(md, 0, MUCH, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			take_failed(out, PTL_EVENT_SEND_END);
			CHECK_OK(PtlPutRegion(md, 0, FITS, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
			take(out, PTL_EVENT_SEND_END);
			take(out, PTL_EVENT_ACK);
		}
		barrier();
		if (am_target()) {
			if (side == 1)
				take_failed(in, PTL_EVENT_PUT_END);
			take(in, PTL_EVENT_PUT_END);
			CHECK_PATTERN(far, FITS, 1);
			close_window(window);
		}
		lock_no_more_than(RLIM_INFINITY);
		barrier();
	}
}

static const struct test tests[] = {
	TWO(one_message_longer_than_the_provider_moves_at_a_time),
	TWO(a_parents_traffic_is_right_after_fork),
	ALONE(a_forked_child_is_told_that_it_cannot_open_verbs_again),
	{.name = "an_interface_without_memory_to_lock_says_so",
	 .run = an_interface_without_memory_to_lock_says_so,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	TWO(a_message_without_memory_to_lock_fails_and_the_next_one_does_not),
	{0},
};

int main(int argc, char **argv)
{
	const struct test *const tables[] = {tests, NULL};
	return peers_main(argc, argv, tables, list_names);
}
