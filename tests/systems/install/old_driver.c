/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program between the Cray XT and Lustre, as C89 and as C++98: interfaces by bridge and network layer, ranks without an
 * interface, events with `unlinked`, the job from the light-weight kernel if that is there (WITH_CNOS).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_CNOS
#include <catamount/cnos_mpi_os.h>
#endif
#define PTL_RANK_WITHOUT_INTERFACE
#include <portals/p3rt/p3rt.h>
#define PTL_EVENT_UNLINKED
#include <portals/p30.h>

static void check(int code, const char *what)
{
	if (code == PTL_OK || code == PTL_IFACE_DUP)
		return;
	fprintf(stderr, "%s: %s\n", what, code == PTL_AGAIN || code == PTL_INV_EQ_SIZE ? "theirs" : ptl_err_str[code]);
	exit(1);
}
#define CHECK(call) check(call, #call)

static ptl_handle_ni_t ni;

static void find_job(void)
{
	ptl_process_id_t self, found;
	unsigned rank, size;
#ifdef WITH_CNOS
	cnos_nidpid_map_t *map;
#endif

	CHECK(PtlGetId(ni, &self));
	CHECK(PtlGetRank(&rank, &size));
	CHECK(PtlGetRankId(rank, &found));
	if (size != 1 || found.pid != self.pid)
		exit(1);
#ifdef WITH_CNOS
	if (cnos_get_rank() != 0 || cnos_get_size() != 1 || cnos_get_nidpid_map(&map) != 1 || map[0].pid != self.pid ||
	    cnos_barrier() != 0)
		exit(1);
#endif
}

static void fill_a_buffer(ptl_process_id_t self)
{
	static char from[8] = "lustre", to[8];
	ptl_process_id_t any;
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md;
	ptl_event_t event;
	int which;

	any.nid = PTL_NID_ANY;
	any.pid = PTL_PID_ANY;
	memset(&md, 0, sizeof(md));
	CHECK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
	CHECK(PtlMEAttach(ni, 9, any, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	md.start = to;
	md.length = sizeof(to);
	md.threshold = 1;
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	md.eq_handle = eq;
	CHECK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
	md.start = from;
	md.options = 0;
	md.eq_handle = PTL_EQ_NONE;
	CHECK(PtlMDBind(ni, md, PTL_UNLINK, &handle));
	CHECK(PtlPut(handle, PTL_NOACK_REQ, self, 9, 0, 1, 0, 0));
	do {
		CHECK(PtlEQPoll(&eq, 1, 20000, &event, &which));
		if (event.unlinked != (event.type == PTL_EVENT_UNLINK))
			exit(1);
	} while (!event.unlinked);
	if (strcmp(from, to) != 0)
		exit(1);
}

int main(void)
{
	ptl_process_id_t self;
	ptl_nid_t nid;
	ptl_pid_t pid;
	int interfaces;

	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS), PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlNIInit(CRAY_QK_NAL, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlGetId(ni, &self));
	nid = self.nid;
	pid = self.pid;
	CHECK(PtlSetRank(ni, 0, 1));
	CHECK(PtlSetNIDMap(ni, &nid, 1));
	CHECK(PtlSetPIDMap(ni, &pid, 1));
	find_job();
	fill_a_buffer(self);
	PtlFini();
	return 0;
}
