/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine pays for knowing many: for each message and for each of them.  All are made up (synthetic.c), so it is
 * the engine's own time, and the script's, which is shown beside.  Messages of peers chosen at random find nothing of theirs
 * in the caches: from some number of peers on, that is what grows.
 */
#include "scale.h"

#include <portals3_nic.h>

#include "fail.h"
#include "synthetic.h"

#define MESSAGES 200000u
#define DRIVES   20000u
#define FEW      16u
#define EVENTS   1024u

static ptl_handle_ni_t ni;
static ptl_handle_md_t source;
static uint64_t word;

enum { CONTACT, PUT, PUT_OF_FEW, PUT_ACK, OUR_PUT, DRIVE, SCRIPT, END };

static void open_window(void)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_md_t md = {.start = &word,
		       .length = sizeof(word),
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE};
	ptl_handle_me_t me;
	ptl_handle_md_t window;

	if (PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &md.eq_handle) ||
	    PtlMEAttach(ni, SYNTHETIC_INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me) ||
	    PtlMDAttach(me, md, PTL_RETAIN, &window))
		fail("a window: %s", PtlNicErrorText());
	md.eq_handle = PTL_EQ_NONE;
	if (PtlMDBind(ni, md, PTL_RETAIN, &source))
		fail("PtlMDBind: %s", PtlNicErrorText());
}

static void puts_of_anybody(uint32_t peers)
{
	synthetic_put(MESSAGES, peers, 0, false);
}

static void puts_of_few(uint32_t peers)
{
	synthetic_put(MESSAGES, peers < FEW ? peers : FEW, 0, false);
}

static void acknowledged_puts(uint32_t peers)
{
	synthetic_put(MESSAGES, peers, 0, true);
}

/* Evenly over all of them. */
static void our_puts(uint32_t peers)
{
	for (uint64_t i = 0; i < MESSAGES; i++)
		if (PtlPut(source, PTL_NO_ACK_REQ, synthetic_id((uint32_t)(i * UINT64_C(2654435761) % peers)), 0, 0, 0,
			   0, 0))
			fail("PtlPut: %s", PtlNicErrorText());
}

static void script_alone(uint32_t peers)
{
	synthetic_rehearse(MESSAGES, peers);
}

static void idle_drives(uint32_t peers)
{
	(void)peers;
	synthetic_idle(DRIVES);
}

/* ns of one of `count` things. */
static double each(void (*act)(uint32_t), uint32_t peers, uint32_t count)
{
	double ns[SCALE_RUNS];

	for (int run = 0; run < SCALE_RUNS; run++) {
		double began = scale_now();

		act(peers);
		ns[run] = (scale_now() - began) / count;
	}
	return scale_median(ns);
}

static double once(void (*act)(uint32_t, uint32_t), uint32_t peers)
{
	double began = scale_now();

	act(0, peers);
	return (scale_now() - began) / peers;
}

static void measure(uint32_t peers, bool compact, double *times, double *memory)
{
	ni = synthetic_open(peers, compact);
	open_window();
	synthetic_idle(1);
	double before = scale_resident();

	times[CONTACT] = once(synthetic_greet, peers);
	memory[0] = (scale_resident() - before) / peers;
	if (synthetic_accepted() != peers)
		fail("of %u first puts the engine has accepted %llu", peers, (unsigned long long)synthetic_accepted());
	if (synthetic_asked())
		fail("every drive asks %u peers that have nothing to be sent", synthetic_asked());
	times[PUT] = each(puts_of_anybody, peers, MESSAGES);
	times[PUT_OF_FEW] = each(puts_of_few, peers, MESSAGES);
	times[PUT_ACK] = each(acknowledged_puts, peers, MESSAGES);
	times[OUR_PUT] = each(our_puts, peers, MESSAGES);
	times[DRIVE] = each(idle_drives, peers, DRIVES);
	times[SCRIPT] = each(script_alone, peers, MESSAGES);
	if (synthetic_accepted() != peers + UINT64_C(3) * SCALE_RUNS * MESSAGES)
		fail("the engine has dropped puts");
	times[END] = once(synthetic_leave, peers);
	synthetic_idle(DRIVES);
	memory[1] = (scale_resident() - before) / 1024;
	synthetic_close();
}

void scale_peers(uint32_t most, bool compact)
{
	struct figure times = {.name = compact ? "peers-node" : "peers-network",
			       .title = compact ? "Time by peers met, messages as over node"
						: "Time by peers met, messages as over a network",
			       .x_title = "peers",
			       .unit = "ns each",
			       .curves = {[CONTACT] = "first contact",
					  [PUT] = "a put",
					  [PUT_OF_FEW] = "of 16 of them",
					  [PUT_ACK] = "put and ACK",
					  [OUR_PUT] = "PtlPut to one",
					  [DRIVE] = "idle drive",
					  [SCRIPT] = "(script)",
					  [END] = compact ? "an end" : NULL}};
	struct figure memory = {
		.name = compact ? "memory-node" : "memory-network",
		.title = "Memory by peers met",
		.x_title = "peers",
		.unit = compact ? "bytes, and KiB" : "bytes",
		.curves = {"bytes a peer", compact ? "KiB, all gone" : NULL}}; /* no network tells which peer ends */

	for (uint32_t peers = 1000; peers <= most; peers *= 10) {
		times.x[times.points] = memory.x[memory.points] = peers;
		measure(peers, compact, times.y[times.points++], memory.y[memory.points++]);
	}
	scale_show(&times);
	scale_show(&memory);
}
