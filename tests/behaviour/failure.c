/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that stand still, or whose connections outlive them.  What becomes of operations whose peer dies is a chapter of the
 * conformance suite.
 */
#include "tests/behaviour/behaviour.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG ((size_t)(UNDER_SANITIZER ? 64 : 256) << 20) /* killed on its START, its sender is in the middle */

static void a_stopped_peer_is_not_dead(ptl_time_t stop_ms)
{
	ptl_handle_eq_t eq = new_eq(32), in = new_eq(32);
	char *near = memory(LONG), *far = memory(LONG);
	fill_pattern(near, LONG, 1);
	open_door();
	if (am_target())
		open_window(BITS, md_over(far, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, in));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(near, LONG, PTL_MD_EVENT_START_DISABLE, eq));
		ptl_event_t event;
		int which, acks = 0, sends = 0, replies = 0;
		ping(target_id());
		stop_process(1);
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, 8, target_id(), INDEX, 0, BITS, 0));
		take(eq, PTL_EVENT_SEND_END); /* the short put has left */
		CHECK_RC(PtlEQPoll(&eq, 1, stop_ms, &event, &which), PTL_EQ_EMPTY);
		continue_process(1);
		while (acks < 2 || sends < 1 || replies < 1) {
			event = take_any(eq);
			CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
			acks += event.type == PTL_EVENT_ACK;
			sends += event.type == PTL_EVENT_SEND_END;
			replies += event.type == PTL_EVENT_REPLY_END;
		}
		ping(target_id());
	}
	barrier();
	if (am_target())
		CHECK_PATTERN(far, LONG, 1);
}

static void a_peer_stopped_for_5_seconds_is_not_dead(void)
{
	a_stopped_peer_is_not_dead(5000);
}

static void a_peer_stopped_for_30_seconds_is_not_dead(void)
{
	a_stopped_peer_is_not_dead(30000);
}

/*
 * As much as finds room leaves at once, whatever becomes of it; the memory of the rest stays in use, however it is to be sent,
 * until the target goes on or is dead.
 */
/* Is a payload sent from its place, by all means?  Then those behind the one that is stuck are copied, and end before it. */
static bool overtakes(void)
{
	const char *placed = getenv("PTL_OFI_PLACED");

	return placed && strcmp(placed, "always") == 0 && over_transport("ofi:net");
}

static void puts_to_a_stopped_peer_keep_their_memory(bool goes_on)
{
	enum { LENGTH = 32 << 10, PUTS = 1024, STUCK = 256 }; /* more than sockets and queues have room for */
	ptl_handle_eq_t eq = new_eq(PUTS);
	char *bytes = memory(LENGTH + PUTS); /* each put from an offset of its own */
	if (am_target())
		open_window(BITS, md_over(bytes, LENGTH, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	open_door();
	barrier();
	if (!goes_on)
		expect_death(1);
	if (am_target() && !goes_on) {
		for (;;)
			lend_time();
	}
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, LENGTH + PUTS, PTL_MD_EVENT_START_DISABLE, eq));
		int puts = 0, ended = 0;
		bool overtaken = false;
		ptl_event_t event;
		ping(target_id());
		stop_process(1);
		for (; puts < PUTS && puts - ended < STUCK; puts++) {
			CHECK_OK(PtlPutRegion(md, (ptl_size_t)puts, LENGTH, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS,
					      0, 0));
			if (PtlEQGet(eq, &event) == PTL_OK)
				overtaken |= event.offset > (ptl_size_t)ended++;
		}
		CHECK(overtaken || !overtakes());
		CHECK_RC(PtlMDUnlink(md), PTL_MD_IN_USE);
		if (goes_on)
			continue_process(1);
		else
			CHECK(kill(pid_of(1), SIGKILL) == 0);
		for (; ended < puts; ended++) {
			event = take_any(eq);
			CHECK_EQUAL(event.type, PTL_EVENT_SEND_END);
			CHECK(event.ni_fail_type == PTL_NI_OK || !goes_on);
		}
		CHECK_OK(PtlMDUnlink(md));
	}
	barrier();
}

static void puts_to_a_stopped_peer_keep_their_memory_until_it_goes_on(void)
{
	puts_to_a_stopped_peer_keep_their_memory(true);
}

static void puts_to_a_stopped_peer_keep_their_memory_until_it_is_dead(void)
{
	puts_to_a_stopped_peer_keep_their_memory(false);
}

/* A program that the target executes inherits the provider's sockets: only the target's port tells that it is dead. */
static pid_t spawn_sleeper(void)
{
	char name[] = "sleep", seconds[] = "60", *arguments[] = {name, seconds, NULL}, *environment[] = {NULL};
	pid_t pid;
	CHECK_EQUAL(posix_spawn(&pid, "/bin/sleep", NULL, NULL, arguments, environment), 0);
	return pid;
}

struct reads {
	int begun, ended;
	ptl_ni_fail_t failure; /* of the last that failed */
};

static void take_read_event(struct reads *reads, ptl_handle_eq_t eq)
{
	ptl_event_t event = take_any(eq);
	if (event.type == PTL_EVENT_PUT_START) {
		reads->begun++;
		return;
	}
	CHECK_EQUAL(event.type, PTL_EVENT_PUT_END);
	reads->ended++;
	if (event.ni_fail_type != PTL_NI_OK)
		reads->failure = event.ni_fail_type;
}

static void reads_end_though_a_program_keeps_the_dead_ones_connections(void)
{
	enum { PUTS = 32 }; /* many, so that some are still read when the sender is dead */
	atomic_int *sleeper = shared_memory();
	ptl_handle_eq_t eq = new_eq(2 * PUTS);
	char *bytes = memory(BIG);
	if (am_initiator())
		open_window(BITS, md_over(bytes, BIG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
	open_door();
	barrier();
	if (am_target())
		ping(initiator_id());
	barrier();
	expect_death(1);
	if (am_target()) {
		atomic_store(sleeper, spawn_sleeper());
		ptl_handle_md_t md = bind_md(md_over(bytes, BIG, QUIET, PTL_EQ_NONE));
		for (int i = 0; i < PUTS; i++)
			CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, initiator_id(), INDEX, 0, BITS, 0, 0));
		for (;;)
			lend_time();
	}
	struct reads reads = {0};
	while (reads.begun < PUTS)
		take_read_event(&reads, eq);
	CHECK(kill(pid_of(1), SIGKILL) == 0);
	while (reads.ended < PUTS)
		take_read_event(&reads, eq);
	CHECK(kill(atomic_load(sleeper), SIGKILL) == 0);
	if (reads.failure == PTL_NI_OK)
		lose_race("the puts were over before their sender was dead");
	CHECK_EQUAL(reads.failure, PTL_NI_PEER_DIED);
}

/*
 * The target stands still from the START of a long put until its initiator has given it up and uses the memory for
 * something else.  Its reads may end well all the same, with anything.
 */
static void who_stood_still_too_long_takes_nothing_wrong_for_right(void)
{
	enum { LENGTH = 1 << 20 }; /* all of it is asked for at once */
	struct {
		atomic_bool given_up, goes_on;
	} *shared = shared_memory();
	ptl_handle_eq_t eq = new_eq(8);
	char *bytes = memory(LENGTH);
	open_door();
	if (am_target())
		open_window(BITS, md_over(bytes, LENGTH, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
	else
		fill_pattern(bytes, LENGTH, 1);
	barrier();
	if (am_target())
		/* It makes the connection, which the initiator cannot tell from others'. */
		ping_until_answered(initiator_id());
	barrier();
	if (am_initiator()) {
		CHECK_OK(PtlPut(bind_md(md_over(bytes, LENGTH, PTL_MD_EVENT_START_DISABLE, eq)), PTL_NO_ACK_REQ,
				target_id(), INDEX, 0, BITS, 0, 0));
		ptl_event_t end = take_any(eq);
		CHECK_EQUAL(end.type, PTL_EVENT_SEND_END);
		atomic_store(&shared->given_up, end.ni_fail_type != PTL_NI_OK);
		fill_pattern(bytes, LENGTH, 2);
		while (!atomic_load(&shared->goes_on)) /* the put may be over before its target stops */
			continue_process(1);
	}
	if (am_target()) {
		take(eq, PTL_EVENT_PUT_START);
		kill(getpid(), SIGSTOP);
		atomic_store(&shared->goes_on, true);
		ptl_event_t end = take_any(eq);
		CHECK_EQUAL(end.type, PTL_EVENT_PUT_END);
		if (end.ni_fail_type == PTL_NI_OK) {
			CHECK(!atomic_load(&shared->given_up));
			CHECK_PATTERN(bytes, LENGTH, 1);
		}
	}
	barrier();
}

static ptl_nic_peer_state_t known_of(ptl_process_id_t id, const char **evidence)
{
	ptl_nic_peer_state_t state;
	CHECK_OK(PtlNicPeerState(ni, id, &state, evidence));
	return state;
}

/* The survivor sleeps on its descriptor, or in PtlEQPoll where no other thread drives meanwhile. */
static ptl_event_t next_death(ptl_handle_eq_t eq)
{
	struct pollfd wait = {.events = POLLIN};
	ptl_event_t event;
	int which, rc;
	if (in_mode("host")) {
		CHECK_OK(PtlEQPoll(&eq, 1, PATIENCE, &event, &which));
		return event;
	}
	CHECK_OK(PtlNicEventFd(eq, &wait.fd));
	while ((rc = PtlEQGet(eq, &event)) == PTL_EQ_EMPTY)
		CHECK_EQUAL(poll(&wait, 1, PATIENCE), 1);
	CHECK_EQUAL(rc, PTL_OK);
	return event;
}

static void a_peer_is_known_to_be_unknown_connected_or_dead_and_an_event_tells_of_its_death(void)
{
	ptl_handle_eq_t deaths = new_eq(4), eq = new_eq(8);
	const char *evidence = NULL;
	open_door();
	CHECK_EQUAL(known_of(nobody(), &evidence), PTL_NIC_PEER_UNKNOWN);
	CHECK_STRING(evidence, "");
	barrier();
	expect_death(1);
	if (am_target()) {
		for (;;)
			lend_time(); /* where there is no NIC thread */
	}
	CHECK_OK(PtlNicPeerEvents(ni, deaths));
	ping(target_id());
	CHECK_EQUAL(known_of(target_id(), &evidence), PTL_NIC_PEER_CONNECTED);
	CHECK_STRING(evidence, "");
	stop_process(1);
	ptl_handle_md_t md = bind_md(md_over(memory(64), 64, PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlGet(md, target_id(), INDEX_SIDE, 0, BITS,
			0)); /* under way, so that every transport looks after it */
	CHECK(kill(pid_of(1), SIGKILL) == 0);
	ptl_event_t event = next_death(deaths);
	CHECK_EQUAL(event.type, PTL_NIC_EVENT_PEER_DIED);
	CHECK_STRING(PtlEventKindStr(event.type), "PTL_NIC_EVENT_PEER_DIED");
	CHECK_ID(event.initiator, target_id());
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_PEER_DIED);
	CHECK_EQUAL(event.md_handle, PTL_INVALID_HANDLE);
	CHECK_EQUAL(known_of(target_id(), &evidence), PTL_NIC_PEER_DEAD);
	CHECK(*evidence != '\0');
	take_failed(eq, PTL_EVENT_REPLY_END);
	CHECK_EMPTY(deaths);
	/* It is asked for again, and for no more events. */
	CHECK_OK(PtlNicPeerEvents(ni, PTL_EQ_NONE));
	CHECK_OK(PtlGet(md, target_id(), INDEX_SIDE, 0, BITS, 0));
	CHECK_EQUAL(known_of(target_id(), NULL), PTL_NIC_PEER_CONTACTING);
	CHECK_EMPTY(deaths);
}

static void questions_about_peers_return_the_right_code(void)
{
	ptl_nic_peer_state_t state;
	CHECK_RC(PtlNicPeerState(ni, nobody(), NULL, NULL), PTL_SEGV);
	CHECK_RC(PtlNicPeerState(PTL_INVALID_HANDLE, nobody(), &state, NULL), PTL_NI_INVALID);
	CHECK_RC(PtlNicPeerEvents(PTL_INVALID_HANDLE, PTL_EQ_NONE), PTL_NI_INVALID);
	CHECK_RC(PtlNicPeerEvents(ni, PTL_INVALID_HANDLE), PTL_EQ_INVALID);
	ptl_handle_eq_t eq = new_eq(4);
	CHECK_OK(PtlNicPeerEvents(ni, eq));
	CHECK_OK(PtlEQFree(eq));
	CHECK_RC(PtlNicPeerEvents(ni, eq), PTL_EQ_INVALID);
	CHECK_OK(PtlNicPeerEvents(ni, PTL_EQ_NONE));
}

/* The provider's connections: this process has no others. */
static void for_each_connection(void (*act)(int fd))
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_in name = {0};
		socklen_t length = sizeof(name);
		int type = 0;
		if (getpeername(fd, (struct sockaddr *)&name, &length) != 0 || name.sin_family != AF_INET)
			continue;
		length = sizeof(type);
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM)
			act(fd);
	}
}

/* Whatever comes to it is dropped, unseen and unacknowledged. */
static void make_deaf(int fd)
{
	struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
	struct sock_fprog filter = {.len = 1, .filter = &nothing};
	CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)), 0);
}

static void hang_up(int fd)
{
	CHECK_EQUAL(shutdown(fd, SHUT_RDWR), 0);
}

/* Both live, and meet again without a word; what `deaf` was told last is lost. */
static void what_is_lost_with_a_connection_fails(int deaf)
{
	ptl_handle_eq_t eq = new_eq(16);
	open_door();
	if (am_target())
		open_window(BITS, md_over(memory(LONG), LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
					  PTL_EQ_NONE));
	ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	if (am_initiator())
		ping_until_answered(target_id());
	barrier();
	if (my_rank == deaf)
		for_each_connection(make_deaf);
	barrier();
	if (am_initiator()) {
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, 8, target_id(), INDEX, 0, BITS, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).mlength, 8);
	}
	barrier();
	if (my_rank == deaf)
		for_each_connection(hang_up);
	if (am_initiator()) {
		for (int i = 0; i < 3; i++)
			CHECK(take_any(eq).ni_fail_type != PTL_NI_OK);
		CHECK_OK(PtlPutRegion(md, 0, 8, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).mlength, 8);
		take(eq, PTL_EVENT_ACK);
	}
	barrier();
}

static void requests_lost_with_a_connection_fail(void)
{
	what_is_lost_with_a_connection_fails(1);
}

static void answers_lost_with_a_connection_fail(void)
{
	what_is_lost_with_a_connection_fails(0);
}

const struct test failure_tests[] = {
	{.name = "requests_lost_with_a_connection_fail",
	 .run = requests_lost_with_a_connection_fail,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_OFI | TRAIT_NIC_THREAD},
	{.name = "answers_lost_with_a_connection_fail",
	 .run = answers_lost_with_a_connection_fail,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_OFI | TRAIT_NIC_THREAD},
	TWO(a_peer_is_known_to_be_unknown_connected_or_dead_and_an_event_tells_of_its_death),
	ALONE(questions_about_peers_return_the_right_code),
	{.name = "who_stood_still_too_long_takes_nothing_wrong_for_right",
	 .run = who_stood_still_too_long_takes_nothing_wrong_for_right,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NIC_THREAD,
	 .environment = "PTL_PEER_TIMEOUT=2s"},
	TWO(reads_end_though_a_program_keeps_the_dead_ones_connections),
	TWO(puts_to_a_stopped_peer_keep_their_memory_until_it_goes_on),
	TWO(puts_to_a_stopped_peer_keep_their_memory_until_it_is_dead),
	TWO(a_peer_stopped_for_5_seconds_is_not_dead),
	{.name = "a_peer_stopped_for_30_seconds_is_not_dead",
	 .run = a_peer_stopped_for_30_seconds_is_not_dead,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_NIGHTLY | TRAIT_STANDING},
	{0},
};
