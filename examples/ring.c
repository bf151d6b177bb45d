/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token goes once around all processes of a job, each of which puts it into the memory of the next.  Nothing but
 * PtlGetRank and PtlGetRankId says which they are; the launcher knows:
 *
 *     mpirun -n 4 --oversubscribe build/examples/ring
 *     srun --mpi=pmix -n 4 build/examples/ring
 *
 * A process that was not launched as part of a job is a ring of its own.
 */
#include <p3rt/p3rt.h>

#include "hello.h"

#define INDEX    4
#define BITS     0x1c6u
#define RETRY_MS 20

/* What goes around: incremented by every process, so that the first can see that none was left out. */
static uint32_t token;

/* The launcher's job, or a job of one. */
static void find_job(ptl_handle_ni_t ni, unsigned *rank, unsigned *size)
{
	if (PtlGetRank(ni, rank, size) == PTL_OK)
		return;
	ptl_process_id_t self;
	CHECK(PtlGetId(ni, &self));
	CHECK(PtlSetRank(ni, 0, 1));
	CHECK(PtlSetNIDMap(ni, &self.nid, 1));
	CHECK(PtlSetPIDMap(ni, &self.pid, 1));
	CHECK(PtlGetRank(ni, rank, size));
}

/* A window for one put: further ones are dropped, so that a sender may repeat itself. */
static void open_window(ptl_handle_ni_t ni, ptl_handle_eq_t arrivals)
{
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t entry;
	ptl_handle_md_t memory;
	ptl_md_t md = {.start = &token, .length = sizeof(token), .threshold = 1, .eq_handle = arrivals};
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_UNLINK, &memory));
}

/* A put to a process that has not opened its window yet is dropped and never acknowledged: then again. */
static void pass_on(ptl_handle_ni_t ni, ptl_process_id_t next)
{
	static uint32_t copy; /* the window may be written while this is sent: a ring of one */
	ptl_handle_eq_t queue;
	ptl_handle_md_t memory;
	ptl_event_t event;
	int which, code;
	copy = token + 1;
	CHECK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &queue));
	ptl_md_t md = {.start = &copy, .length = sizeof(copy), .threshold = PTL_MD_THRESH_INF, .eq_handle = queue};
	md.options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &memory));
	do {
		CHECK(PtlPut(memory, PTL_ACK_REQ, next, INDEX, 0, BITS, 0, 0));
		code = PtlEQPoll(&queue, 1, RETRY_MS, &event, &which);
	} while (code == PTL_EQ_EMPTY);
	CHECK(code);
	if (event.ni_fail_type != PTL_NI_OK) {
		fprintf(stderr, "the next process is lost: %s\n", PtlNIFailStr(ni, event.ni_fail_type));
		exit(1);
	}
}

int main(void)
{
	int interfaces;
	unsigned rank, size;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t arrivals;
	ptl_process_id_t self, next;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	find_job(ni, &rank, &size);
	CHECK(PtlGetId(ni, &self));
	CHECK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &arrivals));
	open_window(ni, arrivals);
	CHECK(PtlGetRankId(ni, (rank + 1) % size, &next));
	if (rank == 0)
		pass_on(ni, next);
	next_event(arrivals);
	printf("rank %u of %u, %u:%u, has the token: %u\n", rank, size, self.nid, self.pid, token);
	if (rank > 0)
		pass_on(ni, next);
	int whole = rank > 0 || token == size;
	PtlFini();
	return whole ? 0 : 1;
}
