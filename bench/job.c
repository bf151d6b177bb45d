/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a job become the two sides of a run.  Rank 1 opens a TCP port at the address of its interface and puts
 * the port's number to rank 0, again and again until that is acknowledged: a put that arrives before rank 0 has attached
 * its entry is dropped, and Portals reports nothing.
 */
#include "job.h"

#include <p3rt/p3rt.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "session.h"

#define AGAIN_MS 100

/* Rank of the process and size of the job, as launchers tell; some tell no size. */
static const struct {
	const char *rank, *size;
} launchers[] = {
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	{"PMI_RANK", "PMI_SIZE"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
	{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
	{"PALS_RANKID", NULL},
	{"ALPS_APP_PE", NULL},
	{"PMIX_RANK", NULL},
};

static uint32_t number_in(const char *variable)
{
	const char *text = variable ? getenv(variable) : NULL;

	return text ? (uint32_t)strtoul(text, NULL, 0) : 0;
}

/* PTL_MY_RID and the maps: a job without a launcher. */
static bool find_in_maps(uint32_t *rank, uint32_t *ranks)
{
	const char *map = getenv("PTL_NIDMAP");

	if (!getenv("PTL_MY_RID") || !map)
		return false;
	*rank = number_in("PTL_MY_RID");
	for (*ranks = 1; (map = strchr(map, ':')) != NULL; map++)
		++*ranks;
	return *ranks > 1;
}

bool job_find(uint32_t *rank, uint32_t *ranks)
{
	const char *launch = getenv("PTL_LAUNCH");

	*rank = *ranks = 0;
	if (launch && !strcmp(launch, "none"))
		return false;
	if (getenv("PTL_MY_RID"))
		return find_in_maps(rank, ranks);
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (!getenv(launchers[i].rank))
			continue;
		*rank = number_in(launchers[i].rank);
		*ranks = number_in(launchers[i].size);
		if (*ranks)
			return *ranks > 1;
	}
	/* SLURM_PROCID is 0 in a batch script, too, which is no step. */
	return *rank > 0 || getenv("PMIX_RANK");
}

void job_leave(void)
{
	setenv("PTL_LAUNCH", "none", 1);
	unsetenv("PTL_MY_RID");
}

/* Takes events until there is one of this kind.  False: nothing came for so many milliseconds. */
static bool await(struct session *session, ptl_handle_eq_t eq, int timeout, ptl_event_kind_t kind)
{
	ptl_event_t *event = &session->event;
	int which;

	do {
		int code = PtlEQPoll(&eq, 1, timeout, event, &which);
		if (code == PTL_EQ_EMPTY)
			return false;
		portals_require(code, "PtlEQPoll");
		if (event->ni_fail_type != PTL_NI_OK)
			fail("rank %d cannot be reached: %s says %s", session->peers.role == INITIATOR,
			     PtlEventKindStr(event->type), PtlNIFailStr(session->ni, event->ni_fail_type));
	} while (event->type != kind);
	return true;
}

/* Rank 1. */
static void tell_port(struct session *session, ptl_handle_eq_t eq, uint16_t port)
{
	ptl_md_t md = {.threshold = PTL_MD_THRESH_INF, .eq_handle = eq};
	ptl_handle_md_t handle = session_bind(session, md, PTL_RETAIN);
	int code;

	do
		PTL(PtlPut(handle, PTL_ACK_REQ, session->other, BENCH_PT_INDEX, 0, BITS_PORT, 0, port));
	while (!await(session, eq, AGAIN_MS, PTL_EVENT_ACK));
	while ((code = PtlMDUnlink(handle)) == PTL_MD_IN_USE)
		await(session, eq, AGAIN_MS, PTL_EVENT_UNLINK);
	portals_require(code, "PtlMDUnlink");
}

/* Rank 0. */
static uint16_t learn_port(struct session *session, ptl_handle_eq_t eq)
{
	ptl_md_t md = {.threshold = 1, .options = PTL_MD_OP_PUT, .eq_handle = eq};
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, session->other, BITS_PORT, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	PTL(PtlMDAttach(me, md, PTL_UNLINK, &handle));
	await(session, eq, (int)PTL_TIME_FOREVER, PTL_EVENT_PUT_END);
	return (uint16_t)session->event.hdr_data;
}

bool job_meet(struct session *session)
{
	unsigned rank, ranks;
	ptl_handle_eq_t eq;

	PTL(PtlGetRank(session->ni, &rank, &ranks));
	if (ranks < 2)
		return false;
	session->peers.role = rank == 0 ? INITIATOR : TARGET;
	PTL(PtlGetRankId(session->ni, !rank, &session->other));
	PTL(PtlEQAlloc(session->ni, 64, PTL_EQ_HANDLER_NONE, &eq));
	if (rank == 0) {
		peers_connect(&session->peers, session->other.nid, learn_port(session, eq));
	} else {
		uint16_t port = 0;
		int listener = peers_open_port(session->self.nid, &port);
		tell_port(session, eq, port);
		peers_accept(&session->peers, listener);
	}
	PTL(PtlEQFree(eq));
	return true;
}
