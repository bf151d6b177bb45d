/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include <p3rt/p3rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct job job;

/* The launcher's job (mpirun, srun, minimpirun), or a job of one. */
static void find_ranks(void)
{
	unsigned rank = 0, size = 1;
	const int code = PtlGetRank(job.ni, &rank, &size);
	if (size == 0)
		job_fail("PtlGetRank", "a job of no processes");
	job.rank = (int)rank;
	job.size = (int)size;
	job.peers = job_memory(size * sizeof(*job.peers));
	for (unsigned i = 0; i < size; i++) {
		job.peers[i] = (struct peer){0};
		if (code == PTL_OK)
			PORTALS(PtlGetRankId(job.ni, i, &job.peers[i].id));
		else
			PORTALS(PtlGetId(job.ni, &job.peers[i].id));
	}
	const unsigned share = JOB_SENT / size < 4 ? 4 : JOB_SENT / size;
	job.window[LANE_COLLECTIVE] = share / 4;
	job.most_counted = share / 4 < 16 ? share / 4 : 16;
	/* Less than either window: what waits for its receive must not fill one. */
	job.most_held = share / 8;
	job.most_calls = JOB_CALLED / size < 1 ? 1 : JOB_CALLED / size;
	job.window[LANE_PROGRAM] = share - job.window[LANE_COLLECTIVE] - job.most_counted;
}

/*
 * A put that meets no match entry is dropped, and MPI has no word for that.  So what others send waits at their side until
 * this process has attached its entries and says so: that is what PTL_HOLD is for.  Settings are read by PtlInit.
 */
void job_open(void)
{
	int interfaces;
	setenv("PTL_HOLD", "1", 1);
	PORTALS(PtlInit(&interfaces));
	PORTALS(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &job.ni));
	find_ranks();
}

void job_ready(void)
{
	PORTALS(PtlNicReadyToReceive(job.ni));
	job.state = JOB_OPEN;
}

void job_close(void)
{
	job.state = JOB_CLOSED;
	PORTALS(PtlNIFini(job.ni));
	PtlFini();
	free(job.peers);
}

int job_find(ptl_process_id_t id)
{
	for (int i = 0; i < job.size; i++)
		if (job.peers[i].id.nid == id.nid && job.peers[i].id.pid == id.pid)
			return i;
	return -1;
}

_Noreturn void job_abort(int code)
{
	fflush(NULL);
	_exit(code & 0xff ? code : 1); /* a status has eight bits: a multiple of 256 would be success */
}

_Noreturn void job_fail(const char *what, const char *why)
{
	const char *more = PtlNicErrorText();
	fprintf(stderr, "minimpi: rank %d: %s: %s%s%s\n", job.rank, what, why, *more ? ": " : "", more);
	job_abort(1);
}

void *job_memory(size_t size)
{
	void *memory = malloc(size ? size : 1);
	if (!memory)
		job_fail("malloc", "no memory");
	return memory;
}
