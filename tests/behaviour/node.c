/* SPDX-License-Identifier: BSD-3-Clause */
/* Sixty-four processes of one node: each reaches each, and those that sleep cost the others nothing. */
#include "tests/faults/containers/containers.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { CROWD = 64, PARENTS = 8, ROUNDS = 3, IN_FLIGHT = 16, LONG_EVERY = 16, TALK_MS = 1000 /* of its CPU */ };

#define AREA     ((size_t)64 << 10)
#define GO_HOME  (BITS + 1)
#define MOST_CPU 5 /* percent: of all sleepers together, of what the two that talk use */

/* Behind what meet() uses. */
struct crowd {
	_Alignas(64) char used_by_meet[1024];
	ptl_process_id_t ids[CROWD];
	_Atomic uint64_t cpu_ns[CROWD];
};

static struct crowd *crowd;
static unsigned me;
static ptl_handle_eq_t in, out;
static uint8_t *area; /* a part for each of the others */

/* --- all to all --- */

static void open_place(void)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;

	open_interface(PTL_PID_ANY);
	area = memory(CROWD * AREA);
	in = new_eq(CROWD);
	out = new_eq(4 * IN_FLIGHT);
	open_window(BITS, md_over(area, CROWD * AREA, options | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE));
	open_window(GO_HOME, md_over(NULL, 0, options, in));
	CHECK_OK(PtlGetId(ni, &crowd->ids[me]));
}

static size_t length_to(unsigned peer)
{
	return (me + peer) % LONG_EVERY == 0 ? AREA : 1 + peer * 3;
}

static void put_to(unsigned peer, ptl_handle_md_t md)
{
	CHECK_OK(PtlPutRegion(md, 0, length_to(peer), PTL_ACK_REQ, crowd->ids[peer], INDEX, 0, BITS, me * AREA, 0));
}

static void put_to_all(ptl_handle_md_t md)
{
	unsigned begun = 0, ended = 0;

	while (ended < CROWD - 1) {
		while (begun < CROWD - 1 && begun - ended < IN_FLIGHT)
			put_to((me + ++begun) % CROWD, md); /* not all to the same one */
		take(out, PTL_EVENT_ACK);
		ended++;
	}
}

static void check_from_all(void)
{
	for (unsigned peer = 0; peer < CROWD; peer++)
		if (peer != me)
			CHECK_PATTERN(area + peer * AREA, (me + peer) % LONG_EVERY == 0 ? AREA : 1 + me * 3, peer);
}

static void talk_to_all(void)
{
	uint8_t *bytes = memory(AREA);
	ptl_handle_md_t md = bind_md(md_over(bytes, AREA, QUIET, out));

	fill_pattern(bytes, AREA, me);
	for (int round = 0; round < ROUNDS; round++)
		put_to_all(md);
	meet(CROWD);
	check_from_all();
	CHECK_EQUAL(drops(), 0);
}

/* --- two talk, the others sleep --- */

static void send_home(unsigned peer, ptl_handle_md_t md)
{
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, crowd->ids[peer], INDEX, 0, GO_HOME, 0, 0));
	take(out, PTL_EVENT_ACK);
}

static void talk_to_each_other(void)
{
	uint64_t until = cpu_ns() + TALK_MS * 1000000ull;
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, out));

	while (cpu_ns() < until) {
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, crowd->ids[1 - me], INDEX, 0, BITS, 0, 0));
		take(out, PTL_EVENT_ACK);
	}
	for (unsigned peer = 2; me == 0 && peer < CROWD; peer++)
		send_home(peer, md);
}

static void sleep_while_two_talk(void)
{
	ptl_event_t event;

	meet(CROWD);
	uint64_t before = cpu_ns();

	if (me < 2)
		talk_to_each_other();
	else
		CHECK_OK(PtlEQWait(in, &event)); /* for as long as the two may need on a busy machine */
	atomic_store(&crowd->cpu_ns[me], cpu_ns() - before);
	meet(CROWD);
	if (me != 0)
		return;
	uint64_t talking = crowd->cpu_ns[0] + crowd->cpu_ns[1], sleeping = 0;

	for (unsigned peer = 2; peer < CROWD; peer++)
		sleeping += crowd->cpu_ns[peer];
	CHECK_LESS(sleeping * 100, talking * MOST_CPU);
}

/* --- */

static void be_one_of_many(unsigned number)
{
	me = number;
	crowd = shared_memory();
	open_place();
	meet(CROWD);
	talk_to_all();
	sleep_while_two_talk();
	PtlFini();
	_exit(0);
}

static void sixty_four_processes_reach_each_other_and_cost_nothing_asleep(void)
{
	enum { CHILDREN = CROWD / PARENTS };
	pid_t children[CHILDREN];

	for (unsigned i = 0; i < CHILDREN; i++)
		if ((children[i] = fork_child()) == 0)
			be_one_of_many((unsigned)my_rank * CHILDREN + i);
	for (unsigned i = 0; i < CHILDREN; i++)
		join_child(children[i]);
}

const struct test node_tests[] = {
	{.name = "sixty_four_processes_reach_each_other_and_cost_nothing_asleep",
	 .run = sixty_four_processes_reach_each_other_and_cost_nothing_asleep,
	 .processes = PARENTS,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_NIC_THREAD | TRAIT_SLEEPS},
	{0},
};
