/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host vanishes: its cable is pulled, its processes are killed, its namespace is gone.  No segment, no ICMP message
 * ever says so, only silence does.  Whatever was under way with the process that lived there, issued by whichever side,
 * ends in failure within PTL_PEER_TIMEOUT; the others do not notice; and a new process of the same nid and pid, on the
 * host that came back, is reached like any other.
 */
#include "tests/hosts/hosts.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The third host has rank FAR, the vanishing one VICTIM, and SUCCESSOR once it is back. */
enum { SURVIVOR, VICTIM, THIRD, FAR, SUCCESSOR, PARTS };

#define BIG        ((size_t)32 << 20)      /* not moved before the host vanishes, with the delay below */
#define DELAY      20000                   /* microseconds */
#define TIMEOUT    3000                    /* ms, as VANISH() sets it */
#define LATER      (500 + 1000 * SLOWNESS) /* ms that a verdict may take beyond it: two ticks, and this machine's moods */
#define UNTROUBLED (1000 * SLOWNESS)       /* ms: longest time between others that do not notice */
#define PUT_BITS   0x100
#define GET_BITS   0x200
#define SWAP_BITS  0x300

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

static void set_up(void)
{
	if (my_rank == FAR)
		wire_enter(2);
	if (my_rank != SUCCESSOR) {
		open_interface(PTL_PID_ANY);
		open_door();
	}
	exchange_ids();
	if (my_rank == SURVIVOR)
		wire_delay(DELAY);
	barrier();
	for (int rank = 0; rank < SUCCESSOR && my_rank != SUCCESSOR; rank++)
		if (rank != my_rank)
			knock(id_of[rank]);
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
	ptl_process_id_t victim = id_of[VICTIM];
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
	ptl_process_id_t victim = id_of[VICTIM];
	CHECK_OK(PtlPut(under_way[SHORT_PUT].md, PTL_ACK_REQ, victim, INDEX, 0, PUT_BITS, 0, 0));
	CHECK_OK(PtlGet(under_way[SHORT_GET].md, victim, INDEX, 0, GET_BITS, 0));
	CHECK_OK(PtlGetPut(under_way[SWAP].md, under_way[SWAP].md, victim, INDEX, 0, SWAP_BITS, 0, 0));
}

/* A SEND_END may be well: only ACK and REPLY prove anything.  The first failure ends the operation. */
static void look_after(int what, uint64_t since)
{
	ptl_event_t event;
	while (!under_way[what].ended && PtlEQGet(under_way[what].eq, &event) == PTL_OK) {
		if (event.ni_fail_type == PTL_NI_OK) {
			CHECK(event.type == PTL_EVENT_SEND_END || event.type == PTL_EVENT_REPLY_START);
			continue;
		}
		CHECK_EQUAL(event.ni_fail_type, PTL_NI_PEER_DIED);
		CHECK_LESS((now_ns() - since) / 1000000, TIMEOUT + LATER);
		under_way[what].ended = true;
	}
}

static bool all_ended(uint64_t since)
{
	bool all = true;
	for (int what = 0; what < KINDS; what++) {
		look_after(what, since);
		all = all && under_way[what].ended;
	}
	return all;
}

static void name_the_unended(void)
{
	char text[64] = "";
	for (int what = 0; what < KINDS; what++)
		if (!under_way[what].ended)
			text[strlen(text)] = (char)('0' + what);
	FAIL("operations %s (see enum under_way) have not ended", text);
}

static void knock_in_time(int rank)
{
	uint64_t began = now_ns();
	knock(id_of[rank]);
	CHECK_LESS((now_ns() - began) / 1000000, UNTROUBLED);
}

/* The survivors talk with each other all the time and notice nothing. */
static void outlive(uint64_t since)
{
	while (!all_ended(since)) {
		if ((now_ns() - since) / 1000000 > TIMEOUT + LATER)
			name_the_unended();
		for (int rank = 0; rank < SUCCESSOR; rank++)
			if (is_survivor(rank) && rank != my_rank)
				knock_in_time(rank);
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

static uint64_t make_it_vanish(void)
{
	uint64_t *since = shared_memory();
	if (my_rank == SURVIVOR) {
		*since = now_ns();
		wire_vanish(1);
		murder(VICTIM);
		wire_delay(0);
	}
	barrier(); /* the victim is dead: the runner has buried it */
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
			knock(id_of[rank]);
		if (is_survivor(my_rank))
			knock(id_of[rank]);
	}
}

static void lose_the_host(bool stopped)
{
	set_up();
	if (my_rank == VICTIM)
		be_the_victim();
	if (my_rank == SUCCESSOR) {
		barrier();
		barrier();
	} else {
		prepare_survivor();
		begin_long_ones();
	}
	if (stopped && my_rank == SURVIVOR)
		stop_process(VICTIM);
	uint64_t since = make_it_vanish();
	if (is_survivor(my_rank)) {
		issue_short_ones();
		outlive(since);
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

#define VANISH(test)                                                                                                   \
	{                                                                                                              \
		.name = #test, .run = test, .processes = PARTS,                                                        \
		.traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_NIC_THREAD, .environment = "PTL_PEER_TIMEOUT=3s",         \
		.seconds = 60                                                                                          \
	}

const struct test vanish_tests[] = {
	VANISH(operations_with_a_host_that_vanished_fail_in_time),
	VANISH(operations_with_a_host_that_stood_still_and_vanished_fail_in_time),
	{0},
};
