/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host vanishes: its cable is pulled, its processes are killed, its namespace is gone.  No segment, no ICMP message
 * ever says so, only silence does.  Whatever was under way with the process that lived there, issued by whichever side,
 * ends in failure within PTL_PEER_TIMEOUT; the others do not notice; and a new process of the same nid and pid, on the
 * host that came back, is reached like any other.
 */
#include "tests/faults/hosts/hosts.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The third host has rank FAR, the vanishing one VICTIM and COMPANION, and SUCCESSOR once it is back. */
enum { SURVIVOR, VICTIM, THIRD, FAR, SUCCESSOR, COMPANION, PARTS };

#define BIG     ((size_t)32 << 20) /* not moved before the host vanishes, with the delay below */
#define DELAY   100000             /* microseconds: what is begun has a second to be cut off */
#define TIMEOUT 3000               /* ms, as VANISH() sets it */
/*
 * ms that a failure may take beyond it: two ticks, and this machine's moods; less than it again.  A busy machine takes
 * longer: a try that is late is given up, and the next one must be in time.
 */
#define LATER      (TIMEOUT - 500)
#define UNTROUBLED (TIMEOUT - 500) /* ms: longest time between others, which do not notice */
#define PUT_BITS   0x100
#define GET_BITS   0x200
#define SWAP_BITS  0x300

static int lost = VICTIM; /* the peer that is lost to this process */

/* What a survivor has under way with the victim. */
enum under_way { LONG_PUT, LONG_GET, SHORT_PUT, SHORT_GET, SWAP, THEIR_PUT, THEIR_GET, KINDS };

static struct {
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	char *bytes;
	size_t length;
	bool ended;
} under_way[KINDS];

static bool is_survivor(int rank)
{
	return rank == SURVIVOR || rank == THIRD || rank == FAR;
}

static void ping_all(void)
{
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank && rank != SUCCESSOR)
			ping(id_of[rank]);
}

/* The two that will be lost make the connections, so that only TCP can tell which of them is whose. */
static void set_up(void)
{
	bool vanishes = my_rank == VICTIM || my_rank == COMPANION;
	if (my_rank == FAR)
		wire_enter(2);
	if (my_rank != SUCCESSOR) {
		open_interface(PTL_PID_ANY);
		open_door();
	}
	exchange_ids();
	if (vanishes)
		ping_all();
	barrier();
	if (my_rank == SURVIVOR)
		wire_delay(DELAY);
	barrier();
	if (!vanishes && my_rank != SUCCESSOR)
		ping_all();
	barrier();
}

static void prepare(enum under_way what, size_t length, unsigned options)
{
	under_way[what].eq = new_eq(16);
	under_way[what].bytes = memory(length);
	under_way[what].length = length;
	under_way[what].md = bind_md(md_over(under_way[what].bytes, length, options, under_way[what].eq));
}

static void prepare_window(enum under_way what, ptl_match_bits_t bits, unsigned options)
{
	under_way[what].eq = new_eq(16);
	under_way[what].bytes = memory(BIG);
	under_way[what].length = BIG;
	under_way[what].md = open_window(bits, md_over(under_way[what].bytes, BIG, options, under_way[what].eq)).md;
}

static void prepare_survivor(void)
{
	prepare(LONG_PUT, BIG, PTL_MD_EVENT_START_DISABLE);
	prepare(LONG_GET, BIG, 0);
	prepare(SHORT_PUT, 64, PTL_MD_EVENT_START_DISABLE);
	prepare(SHORT_GET, 64, PTL_MD_EVENT_START_DISABLE);
	prepare(SWAP, 8, PTL_MD_EVENT_START_DISABLE);
	prepare_window(THEIR_PUT, PUT_BITS, PTL_MD_OP_PUT);
	prepare_window(THEIR_GET, GET_BITS, PTL_MD_OP_GET);
}

/* The victim puts to and gets from every survivor, and serves all of them. */
static void be_the_victim(void)
{
	char *bytes = memory(BIG);
	unsigned quiet = QUIET | PTL_MD_ACK_DISABLE;
	open_window(PUT_BITS, md_over(bytes, BIG, quiet | PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	open_window(GET_BITS, md_over(bytes, BIG, quiet | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	ptl_handle_md_t md = bind_md(md_over(bytes, BIG, quiet, PTL_EQ_NONE));
	for (int rank = 0; rank < SUCCESSOR; rank++) {
		if (!is_survivor(rank))
			continue;
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[rank], INDEX, 0, PUT_BITS, 0, 0));
		CHECK_OK(PtlGet(md, id_of[rank], INDEX, 0, GET_BITS, 0));
	}
	barrier();
	for (;;)
		pause();
}

/* All long transfers have begun when this returns, and none has ended. */
static void begin_long_ones(void)
{
	ptl_process_id_t victim = id_of[lost];
	barrier();
	CHECK_OK(PtlGet(under_way[LONG_GET].md, victim, INDEX, 0, GET_BITS, 0));
	CHECK_OK(PtlPut(under_way[LONG_PUT].md, PTL_ACK_REQ, victim, INDEX, 0, PUT_BITS, 0, 0));
	take(under_way[LONG_GET].eq, PTL_EVENT_REPLY_START);
	take(under_way[THEIR_PUT].eq, PTL_EVENT_PUT_START);
	take(under_way[THEIR_GET].eq, PTL_EVENT_GET_START);
	barrier();
}

static void issue_short_ones(void)
{
	ptl_process_id_t victim = id_of[lost];
	CHECK_OK(PtlPut(under_way[SHORT_PUT].md, PTL_ACK_REQ, victim, INDEX, 0, PUT_BITS, 0, 0));
	CHECK_OK(PtlGet(under_way[SHORT_GET].md, victim, INDEX, 0, GET_BITS, 0));
	CHECK_OK(PtlGetPut(under_way[SWAP].md, under_way[SWAP].md, victim, INDEX, 0, SWAP_BITS, 0, 0));
}

/* A SEND_END may be well: only ACK and REPLY prove anything.  The first failure ends the operation. */
static void look_after(int what)
{
	ptl_event_t event;
	while (!under_way[what].ended && PtlEQGet(under_way[what].eq, &event) == PTL_OK) {
		if (event.ni_fail_type == PTL_NI_OK) {
			CHECK(event.type == PTL_EVENT_SEND_END || event.type == PTL_EVENT_REPLY_START);
			continue;
		}
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_PEER_DIED);
		under_way[what].ended = true;
	}
}

#define ALL     ((1u << KINDS) - 1)
#define READING (1u << LONG_GET | 1u << THEIR_PUT) /* the other one's memory */

/* Of the kinds in the set, one bit each, those that have not. */
static unsigned not_ended(unsigned kinds)
{
	unsigned left = 0;
	for (int what = 0; what < KINDS; what++) {
		look_after(what);
		left |= under_way[what].ended ? 0 : kinds & 1u << what;
	}
	return left;
}

static void ping_in_time(int rank)
{
	uint64_t began = now_ns();
	ping(id_of[rank]);
	if ((now_ns() - began) / 1000000 >= UNTROUBLED)
		lose_race("one beside those who were lost waited too long, for them or for its processor");
}

static _Noreturn void lose_late(unsigned left)
{
	static char reason[80];
	snprintf(reason, sizeof(reason), "operations 0x%x (see enum under_way) have not ended in time", left);
	lose_race(reason);
}

/* Until these kinds have ended, which must be in time, the survivors talk with each other and notice nothing. */
static void outlive(unsigned kinds, uint64_t since)
{
	for (unsigned left; (left = not_ended(kinds)) != 0;) {
		if ((now_ns() - since) / 1000000 > TIMEOUT + LATER)
			lose_late(left);
		for (int rank = 0; rank < process_count; rank++)
			if (is_survivor(rank) && rank != my_rank)
				ping_in_time(rank);
	}
}

/* Their memory is ours again, and stays as we leave it. */
static void take_memory_back(void)
{
	for (int what = 0; what < KINDS; what++) {
		if (what != THEIR_PUT && what != THEIR_GET)
			CHECK_OK(PtlMDUnlink(under_way[what].md));
		memset(under_way[what].bytes, 0x5a, under_way[what].length);
	}
}

static void check_memory(void)
{
	for (int what = 0; what < KINDS; what++) {
		const char *bytes = under_way[what].bytes;
		CHECK(bytes[0] == 0x5a && memcmp(bytes, bytes + 1, under_way[what].length - 1) == 0);
	}
}

static void murder(int rank)
{
	expect_death(rank);
	CHECK(kill(pid_of(rank), SIGKILL) == 0);
}

static uint64_t pull_the_cable_and_kill(void)
{
	uint64_t *since = shared_memory();
	if (my_rank == SURVIVOR) {
		*since = now_ns();
		wire_cut(1);
		murder(VICTIM);
		murder(COMPANION);
	}
	barrier(); /* they are dead: the runner has reaped them */
	return *since;
}

/* The host is back, and so is a process of the same nid and pid. */
static void come_back(void)
{
	if (my_rank == SURVIVOR)
		wire_return(1);
	barrier();
	if (my_rank == SUCCESSOR) {
		wire_enter(1);
		open_interface(id_of[VICTIM].pid);
		open_door();
	}
	barrier();
	for (int rank = 0; rank < SUCCESSOR; rank++) {
		if (is_survivor(rank) && my_rank == SUCCESSOR)
			ping(id_of[rank]);
		if (is_survivor(my_rank))
			ping(id_of[rank]);
	}
}

static void lose_the_host(bool stopped)
{
	set_up();
	if (my_rank == VICTIM)
		be_the_victim();
	if (is_survivor(my_rank)) {
		prepare_survivor();
		begin_long_ones();
	} else {
		barrier();
		barrier();
	}
	while (my_rank == COMPANION)
		pause();
	if (stopped && my_rank == SURVIVOR)
		stop_process(VICTIM);
	uint64_t since = pull_the_cable_and_kill();
	if (is_survivor(my_rank))
		issue_short_ones();
	if (my_rank == SURVIVOR) {
		wire_vanish(1);
		wire_delay(0);
	}
	barrier(); /* taking a device away takes time, in which the wire carries nothing */
	if (is_survivor(my_rank)) {
		outlive(ALL, since);
		take_memory_back();
	}
	barrier();
	come_back();
	if (is_survivor(my_rank))
		check_memory();
	barrier();
}

static void operations_with_a_host_that_vanished_fail_in_time(void)
{
	lose_the_host(false);
}

/* The host's kernel took what we sent until it vanished: nothing waits for an acknowledgement of TCP's. */
static void operations_with_a_host_that_stood_still_and_vanished_fail_in_time(void)
{
	lose_the_host(true);
}

/*
 * No process dies, the network is away for too long: both sides fail what was under way, and nothing that comes after it.
 * All kinds of request meet their likes: each process is to the other what the victim is to a survivor.
 */
static void an_outage_longer_than_the_timeout_fails_only_what_was_under_way(void)
{
	uint64_t *since = shared_memory();
	lost = 1 - my_rank;
	open_interface(PTL_PID_ANY);
	open_door();
	exchange_ids();
	ping(id_of[lost]);
	prepare_survivor();
	if (my_rank == 0)
		wire_delay(DELAY);
	begin_long_ones();
	if (my_rank == 0) {
		*since = now_ns();
		wire_cut(0);
	}
	barrier();
	issue_short_ones();
	for (unsigned left; (left = not_ended(ALL)) != 0;) {
		if ((now_ns() - *since) / 1000000 > TIMEOUT + LATER)
			lose_late(left);
		lend_time();
	}
	take_memory_back();
	barrier();
	if (my_rank == 0) {
		wire_join(0);
		wire_delay(0);
	}
	barrier();
	ping(id_of[lost]);
	check_memory();
	barrier();
}

/* What the survivors of a process that lives tell each other, since it comes to no barrier. */
struct vigil {
	uint64_t since;
	_Atomic bool stopped;
	_Atomic int in_time, over; /* survivors whose operations have ended, all but reads and all */
};
#define MOURNERS 2 /* SURVIVOR and THIRD, on one host; the victim's neighbour is on the victim's */

/* Many long messages both ways, all of which succeed: the provider, too, has survived what was severed. */
static bool talk_at_length(int rank)
{
	enum { MESSAGES = 8 };
	ptl_handle_eq_t eq = new_eq(4 * MESSAGES);
	ptl_handle_md_t md = bind_md(md_over(memory(LONG), LONG, PTL_MD_EVENT_START_DISABLE, eq));
	for (int i = 0; i < MESSAGES; i++) {
		CHECK_OK(PtlGet(md, id_of[rank], INDEX, 0, GET_BITS, 0));
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, id_of[rank], INDEX, 0, PUT_BITS, 0, 0));
	}
	int succeeded = 0;
	for (int i = 0; i < 2 * MESSAGES; i++)
		succeeded += take_any(eq).ni_fail_type == PTL_NI_OK;
	return succeeded == 2 * MESSAGES;
}

/*
 * libfabric's net (1.17) does not survive it: a connection that breaks while the answer to a read is coming in ends that
 * read twice, and at times leaves the endpoint losing messages.  There the victim dies instead.
 */
static bool victim_goes_on(void)
{
	return !over_transport("ofi:net");
}

static void release_the_victim(void)
{
	if (victim_goes_on())
		continue_process(VICTIM);
	else
		murder(VICTIM);
}

static void mourn(struct vigil *vigil)
{
	prepare_survivor();
	begin_long_ones();
	if (my_rank == SURVIVOR) {
		stop_process(VICTIM);
		vigil->since = now_ns();
		wire_delay(0);
		atomic_store(&vigil->stopped, true);
	}
	while (!atomic_load(&vigil->stopped))
		lend_time();
	issue_short_ones();
	outlive(ALL & ~READING, vigil->since);
	if (atomic_fetch_add(&vigil->in_time, 1) == MOURNERS - 1)
		release_the_victim();
	while (not_ended(ALL))
		lend_time();
	take_memory_back();
	if (victim_goes_on()) {
		ping(id_of[VICTIM]);
		CHECK(talk_at_length(VICTIM));
	}
}

static void live_beside_the_victim(const struct vigil *vigil)
{
	barrier();
	barrier();
	while (atomic_load(&vigil->in_time) < MOURNERS)
		for (int rank = 0; rank < process_count; rank++)
			if (rank != VICTIM && rank != my_rank)
				ping_in_time(rank);
}

static void be_one_beside_who_stands_still(void)
{
	struct vigil *vigil = shared_memory();
	open_interface(PTL_PID_ANY);
	open_door();
	exchange_ids();
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			ping(id_of[rank]);
	if (my_rank == SURVIVOR)
		wire_delay(DELAY);
	barrier();
	if (my_rank == VICTIM)
		be_the_victim();
	if (my_rank == FAR)
		live_beside_the_victim(vigil);
	else
		mourn(vigil);
	if (my_rank == FAR)
		while (atomic_load(&vigil->over) < MOURNERS)
			lend_time();
	else if (atomic_fetch_add(&vigil->over, 1) == MOURNERS - 1 && victim_goes_on())
		murder(VICTIM);
	barrier(); /* it is dead */
	if (my_rank != FAR)
		check_memory();
	barrier();
}

/*
 * Its host lives, so there is no telling its connection from its neighbour's if both were made from there: reads from it
 * may wait until it goes on.  Everything else ends in time, its neighbour notices nothing, and it is reached again.
 */
static void one_that_stands_still_too_long_does_its_neighbour_no_harm(void)
{
	be_one_beside_who_stands_still();
}

/* Where its connections are known they are severed while it stands still; going on, it finds its end of them dead. */
static void one_that_stood_still_too_long_goes_on_among_the_living(void)
{
	enum { ALONE_ON_ITS_HOST = 3 };
	CHECK_EQUAL(process_count, ALONE_ON_ITS_HOST);
	be_one_beside_who_stands_still();
}

#define VANISH(test, count)                                                                                            \
	{                                                                                                              \
		.name = #test, .run = test, .processes = (count),                                                      \
		.traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_NIC_THREAD, .environment = "PTL_PEER_TIMEOUT=3s"          \
	}

const struct test vanish_tests[] = {
	VANISH(operations_with_a_host_that_vanished_fail_in_time, PARTS),
	VANISH(operations_with_a_host_that_stood_still_and_vanished_fail_in_time, PARTS),
	VANISH(an_outage_longer_than_the_timeout_fails_only_what_was_under_way, 2),
	VANISH(one_that_stands_still_too_long_does_its_neighbour_no_harm, 4),
	VANISH(one_that_stood_still_too_long_goes_on_among_the_living, 3),
	{0},
};
