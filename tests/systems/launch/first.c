/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: mpirun -n N first [fence|cnos]
 * What a program's first lines are, and nothing that would repeat them: the next rank, a match entry, a put to that
 * rank, its acknowledgement, and what the rank before has put.  Without PTL_HOLD=1 its first message may come before the
 * match entry does, and be lost; with `fence` it does not go before all have attached theirs.  `cnos` does
 * the same as a program for the Cray XT.
 *
 * Prints "rank R of N: done" at the end; what is wrong ends the process with status 1.
 */
#include <catamount/cnos_mpi_os.h>
#include <p3rt/p3rt.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX       4
#define BITS        0xf125ull
#define PATIENCE_MS 40000

#define CHECK(call) check(call, #call)

static void check(int code, const char *call)
{
	if (code == PTL_OK)
		return;
	fprintf(stderr, "%s: %s (%s)\n", call, PtlErrorStr((unsigned)code), PtlNicErrorText());
	exit(1);
}

/* There is one of both, in any order. */
static void await_both(ptl_handle_eq_t queue)
{
	unsigned seen = 0;

	while (seen != (1u << PTL_EVENT_PUT_END | 1u << PTL_EVENT_ACK)) {
		ptl_event_t event;
		int which;

		CHECK(PtlEQPoll(&queue, 1, PATIENCE_MS, &event, &which));
		if (event.ni_fail_type != PTL_NI_OK) {
			fprintf(stderr, "%s: failure %u\n", PtlEventKindStr(event.type), event.ni_fail_type);
			exit(1);
		}
		seen |= 1u << event.type;
	}
}

/* Twice, for a barrier is none that lets the second through because of the first. */
static void meet_by_cnos(unsigned rank, unsigned size, ptl_process_id_t next)
{
	cnos_nidpid_map_t *map;
	unsigned after = (rank + 1) % size;

	if (cnos_barrier() || cnos_get_rank() != (int)rank || cnos_get_size() != (int)size ||
	    cnos_get_nidpid_map(&map) != (int)size || map[after].nid != next.nid || map[after].pid != next.pid ||
	    cnos_barrier()) {
		fprintf(stderr, "cnos: %s\n", PtlNicErrorText());
		exit(1);
	}
}

int main(int count, char **arguments)
{
	static uint64_t from = 1, to;
	ptl_process_id_t next, any = {PTL_NID_ANY, PTL_PID_ANY};
	unsigned rank, size;
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	ptl_handle_me_t entry;
	ptl_handle_md_t target, source;
	ptl_md_t md = {.length = sizeof(to), .threshold = PTL_MD_THRESH_INF};

	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlGetRank(ni, &rank, &size));
	CHECK(PtlGetRankId(ni, (rank + 1) % size, &next));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));
	md.eq_handle = queue;
	md.start = &to;
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMEAttach(ni, INDEX, any, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_RETAIN, &target));
	if (count > 1 && strcmp(arguments[1], "fence") == 0)
		CHECK(PtlNicFence(ni, PATIENCE_MS));
	else if (count > 1)
		meet_by_cnos(rank, size, next);
	md.start = &from;
	md.options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &source));
	CHECK(PtlPut(source, PTL_ACK_REQ, next, INDEX, 0, BITS, 0, 0));
	await_both(queue);
	if (to != from)
		return 1;
	printf("rank %u of %u: done\n", rank, size);
	PtlFini();
	return 0;
}
