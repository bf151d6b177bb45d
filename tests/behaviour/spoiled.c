/* SPDX-License-Identifier: BSD-3-Clause */
/* A process of our user writes nonsense to the control words of others' shared memory; those are to outlive it. */
#include "tests/behaviour/behaviour.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transports/node/node.h"

enum { MISBEHAVING = 1 };

/* Calls `spoil` for each segment that this process has mapped, but for its own. */
static unsigned for_each_segment(void (*spoil)(struct node_segment *))
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned count = 0;
	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		void *start;
		if (!strstr(line, "memfd:portals3-node") || sscanf(line, "%p", &start) != 1)
			continue;
		struct node_segment *segment = start;
		if (segment->pid == id_of[MISBEHAVING].pid)
			continue;
		spoil(segment);
		count++;
	}
	fclose(file);
	return count;
}

static void spoil_head(struct node_segment *segment)
{
	atomic_store(&segment->head, UINT64_MAX / 3);
}

static void spoil_tail(struct node_segment *segment)
{
	atomic_store(&segment->tail, UINT64_MAX / 5);
}

static void spoil_head_and_tail(struct node_segment *segment)
{
	spoil_head(segment);
	spoil_tail(segment);
}

static void spoil_attention(struct node_segment *segment)
{
	atomic_store(&segment->attention, NODE_CLOSED);
}

/* So that a peer that has to be met anew cannot be. */
static void spoil_constants(struct node_segment *segment)
{
	segment->incarnation[0] ^= 1;
	spoil_head_and_tail(segment);
}

static void (*const ways[])(struct node_segment *) = {spoil_head, spoil_tail, spoil_head_and_tail, spoil_attention,
						      spoil_constants};

static void talk_to_each_other(void)
{
	if (my_rank != MISBEHAVING)
		ping_until_answered(my_rank == 0 ? target_id() : initiator_id());
}

static unsigned renewals(void)
{
	char text[1024];
	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	const char *place = strstr(text, "renewed ");
	CHECK(place != NULL);
	return (unsigned)atoi(place + strlen("renewed "));
}

static void two_can_talk_after_a_third_has_spoiled_their_queues(void)
{
	open_door();
	drive_while_waiting();
	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		barrier();
		talk_to_each_other();
		if (my_rank == MISBEHAVING)
			for (int rank = 0; rank < process_count; rank += 2)
				ping_until_answered(id_of[rank]);
		barrier();
		if (my_rank == MISBEHAVING)
			CHECK_EQUAL(for_each_segment(ways[way]), 2);
		barrier();
		talk_to_each_other();
	}
	barrier();
	if (my_rank == MISBEHAVING)
		CHECK_OK(PtlNIFini(ni));
	barrier();
	talk_to_each_other();
	if (my_rank != MISBEHAVING)
		CHECK_LESS(0, renewals());
	barrier();
}

/* What the honest say meanwhile may be lost, but not for ever, and they spend no time on being met again and again. */
static void nobody_talks_less_for_ever_because_of_one_that_goes_on_spoiling(void)
{
	enum { SECONDS = 2 };
	const uint64_t began = now_ns(), until = began + SECONDS * 1000000000ull;
	ptl_handle_eq_t eq = new_eq(64);
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, eq));
	open_door();
	drive_while_waiting();
	barrier();
	talk_to_each_other();
	for (int rank = 0; my_rank == MISBEHAVING && rank < process_count; rank += 2)
		ping_until_answered(id_of[rank]);
	barrier();
	while (now_ns() < until) {
		if (my_rank == MISBEHAVING) {
			for_each_segment(ways[now_ns() % 5]);
			ping_until_answered(target_id());
		} else {
			ptl_event_t event;
			int which;
			CHECK_OK(PtlPut(md, PTL_ACK_REQ, my_rank ? initiator_id() : target_id(), INDEX, 0, BITS, 0, 0));
			PtlEQPoll(&eq, 1, 1, &event, &which);
		}
	}
	barrier();
	if (my_rank == MISBEHAVING) {
		expect_death(MISBEHAVING);
		kill(getpid(), SIGKILL);
	}
	talk_to_each_other();
	CHECK_LESS(renewals(), 100 * (1 + (now_ns() - began) / 1000000000));
	barrier();
}

#define THREE(test)                                                                                                    \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 3, .traits = TRAIT_SEVERAL | TRAIT_NODE,                      \
		.environment = "PTL_CONNECT_TIMEOUT=2s"                                                                \
	}

const struct test spoiled_tests[] = {
	THREE(two_can_talk_after_a_third_has_spoiled_their_queues),
	THREE(nobody_talks_less_for_ever_because_of_one_that_goes_on_spoiling),
	{0},
};
