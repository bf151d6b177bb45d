/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes on each of two hosts: by shared memory to the neighbour, by the network to the others. */
#include "tests/faults/hosts/hosts.h"

#include <stdio.h>
#include <string.h>

#include "tests/faults/hosts/traffic.h"

static int neighbour(void)
{
	return (my_rank + HOSTS) % process_count;
}

/* How many processes we have met in shared memory, as the interface itself tells. */
static int met_on_node(void)
{
	char text[8192];
	int met = -1;
	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	for (const char *at = text; met < 0 && (at = strstr(at, "shared memory")); at++) {
		const char *peers = strstr(at, " peers,");
		while (peers && peers > at && peers[-1] != ' ')
			peers--;
		if (peers)
			sscanf(peers, "%d", &met);
	}
	return met;
}

static void everybody_reaches_neighbours_and_others(void)
{
	traffic_open(12);
	traffic_finish();
	barrier();
	CHECK_EQUAL(met_on_node(), over_transport("auto") ? 1 : -1);
}

/* With the cable pulled, what goes on needs no network, and what does not go on does. */
static void without_the_network_neighbours_still_meet(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_event_t event;
	int which;
	open_door();
	barrier();
	for (int rank = 0; rank < process_count; rank++)
		if (rank != my_rank)
			ping(id_of[rank]);
	barrier();
	if (my_rank == 0)
		wire_cut(0);
	barrier();
	for (int i = 0; i < 100; i++)
		ping(id_of[neighbour()]);
	ptl_handle_md_t md = bind_md(md_over(NULL, 0, QUIET, eq));
	int other = my_rank ^ 1;
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, id_of[other], INDEX_SIDE, 0, 0xd00f, 0, 0));
	CHECK_RC(PtlEQPoll(&eq, 1, 300, &event, &which), PTL_EQ_EMPTY);
	barrier();
	if (my_rank == 0)
		wire_join(0);
	take(eq, PTL_EVENT_ACK);
}

const struct test together_tests[] = {
	FOUR(everybody_reaches_neighbours_and_others),
	FOUR(without_the_network_neighbours_still_meet),
	{0},
};
