/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs for the Cray XT as they were: interfaces by bridge and network layer, PTL_IFACE_DUP, codes that only they know, the job
 * from the light-weight kernel; and the runtime of 3.3.0, whose PtlGetRank takes no interface.
 */
#include <catamount/cnos_mpi_os.h>
#include <p3nal_utcp.h>
#include <portals/nal.h>
#include <portals3.h>
#define PTL_RANK_WITHOUT_INTERFACE
#include <p3rt/p3rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/behaviour/clients/clients.h"

static const char *word_for(int code)
{
	switch (code) {
	case PTL_OK:
		return "up";
	case PTL_IFACE_DUP:
		return "up before";
	case PTL_IFACE_INVALID:
		return "none";
	default:
		return "down";
	}
}

/* Initialisers and case labels. */
static const ptl_interface_t names[] = {
	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS),
	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS),
	CRAY_UK_SSNAL,
	CRAY_QK_NAL,
	CRAY_USER_NAL,
	CRAY_KERN_NAL,
};

static void every_bridge_leads_to_the_same_interface(void)
{
	ptl_handle_ni_t first, again;
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &first));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK_STRING(word_for(PtlNIInit(names[i], PTL_PID_ANY, NULL, NULL, &again)), "up");
		CHECK_EQUAL(again, first);
	}
}

/* The environment says what the job is; on the machine it was the kernel. */
static void describe_job(void)
{
	unsigned nid = 0;
	char rank[16], nids[MAX_PROCESSES * 16] = "", pids[MAX_PROCESSES * 16] = "";
	CHECK_EQUAL(p3tcp_my_nid("lo", &nid), 0);
	const ptl_process_id_t mine = {nid, own_pid(9)};
	gather(&mine, sizeof(mine), id_of);
	for (int i = 0; i < process_count; i++) {
		snprintf(nids + strlen(nids), 16, "%s%u", i ? ":" : "", id_of[i].nid);
		snprintf(pids + strlen(pids), 16, "%s%u", i ? ":" : "", id_of[i].pid);
	}
	snprintf(rank, sizeof(rank), "%d", my_rank);
	setenv("PTL_MY_RID", rank, 1);
	setenv("PTL_NIDMAP", nids, 1);
	setenv("PTL_PIDMAP", pids, 1);
	setenv("PTL_IFACE", "lo", 1);
}

static void the_light_weight_kernel_knows_the_job(void)
{
	cnos_nidpid_map_t *map = NULL;
	describe_job();
	ptl_process_id_t self;
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	CHECK_OK(PtlNIInit(CRAY_UK_SSNAL, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_EQUAL(cnos_register_ptlid(self), 0);
	CHECK_EQUAL(cnos_barrier_init(ni), 0);
	CHECK_EQUAL(cnos_get_rank(), my_rank);
	CHECK_EQUAL(cnos_get_size(), process_count);
	CHECK_EQUAL(cnos_get_nidpid_map(NULL), -1);
	CHECK_EQUAL(cnos_get_nidpid_map(&map), process_count);
	for (int i = 0; i < process_count; i++) {
		CHECK_EQUAL(map[i].nid, id_of[i].nid);
		CHECK_EQUAL(map[i].pid, id_of[i].pid);
	}
	/* No launcher counts the processes that come; tests/systems/launch has one. */
	CHECK_EQUAL(cnos_barrier(), process_count == 1 ? 0 : -1);
	CHECK_RC(PtlNicFence(ni, PTL_TIME_FOREVER), process_count == 1 ? PTL_OK : PTL_FAIL);
	barrier();
}

static void who_has_no_job_is_alone(void)
{
	cnos_nidpid_map_t *map = NULL;
	CHECK_EQUAL(cnos_get_rank(), 0);
	CHECK_EQUAL(cnos_get_size(), 1);
	CHECK_EQUAL(cnos_barrier(), -1); /* no interface is open */
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK_EQUAL(cnos_barrier(), 0);
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_EQUAL(cnos_get_nidpid_map(&map), 1);
	CHECK_EQUAL(map[0].pid, self.pid);
	CHECK_OK(PtlNicFence(ni, 0));
	CHECK_RC(PtlNicFence(PTL_INVALID_HANDLE, 0), PTL_NI_INVALID);
}

static void ranks_need_no_interface(void)
{
	unsigned rank = 77, size = 0;
	ptl_process_id_t id;
	int interfaces;
	describe_job();
	CHECK_OK(PtlInit(&interfaces));
	for (int turn = 0; turn < 2; turn++) { /* before the interface is open, and after */
		if (turn == 1)
			CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
		CHECK_OK(PtlGetRank(&rank, &size));
		CHECK_EQUAL(rank, my_rank);
		CHECK_EQUAL(size, process_count);
		for (int i = 0; i < process_count; i++) {
			CHECK_OK(PtlGetRankId((unsigned)i, &id));
			CHECK_ID(id, id_of[i]);
		}
	}
	barrier();
}

const struct test cray_tests[] = {
	{.name = "every_bridge_leads_to_the_same_interface",
	 .run = every_bridge_leads_to_the_same_interface,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{.name = "the_light_weight_kernel_knows_the_job",
	 .run = the_light_weight_kernel_knows_the_job,
	 .processes = 3,
	 .traits = TRAIT_BARE | TRAIT_SEVERAL},
	{.name = "who_has_no_job_is_alone", .run = who_has_no_job_is_alone, .processes = 1, .traits = TRAIT_BARE},
	{.name = "ranks_need_no_interface",
	 .run = ranks_need_no_interface,
	 .processes = 2,
	 .traits = TRAIT_BARE | TRAIT_SEVERAL},
	{0},
};
