/* SPDX-License-Identifier: BSD-3-Clause */
/* The three programs, in a job that a launcher has started: mpirun -n 4 --oversubscribe build/examples/split-c */
#include <p3rt/p3rt.h>

#include <stdio.h>

#include <portals3_nic.h>

#include "programs.h"
#include "splitc.h"

#define KEYS 20000
#define EDGE 96

static int fail(const char *what)
{
	fprintf(stderr, "splitc: %s: %s\n", what, PtlNicErrorText());
	return 1;
}

static int told(const char *what, bool good)
{
	if (sc_rank() == 0)
		printf("%s, %u processes: %s\n", what, sc_size(), good ? "right" : "WRONG");
	return !good;
}

int main(void)
{
	int interfaces, status = 0;
	ptl_handle_ni_t ni;
	unsigned rank = 0, size = 1;
	ptl_process_id_t ids[SC_PROCESSES];
	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni))
		return fail("no interface");
	if (PtlGetRank(ni, &rank, &size) || size == 1) {
		size = 1; /* not started as a job */
		PtlGetId(ni, &ids[0]);
	}
	for (unsigned i = 0; size > 1 && i < size && i < SC_PROCESSES; i++)
		if (PtlGetRankId(ni, i, &ids[i]))
			return fail("the job is incomplete");
	if (sc_init(ni, rank, size, ids, 2 * SORT_SEGMENT(KEYS, size) + MATRIX_SEGMENT(EDGE, size)))
		return fail("no global memory");
	if (PtlNicFence(ni, PTL_TIME_FOREVER))
		return fail("the job does not come together");
	status |= told("sample sort", sample_sort(KEYS, 1));
	status |= told("radix sort", radix_sort(KEYS, 2));
	status |= told("matrix multiplication", matrix_multiply(EDGE, 3));
	if (sc_barrier())
		status = 1;
	sc_end();
	PtlFini();
	return status;
}
