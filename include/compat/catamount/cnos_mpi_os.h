/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs for the Cray XT ask its light-weight kernel: the job, and a barrier.  Here it is the job that PtlGetRank knows
 * (p3rt/p3rt.h), of the interface named last to cnos_barrier_init(), else of interface 0; a process without a job is
 * rank 0 of 1.  In libcnos.a (meson option cnos); link -lcnos before -lportals3.  Not for several threads at a time.
 */
#ifndef CNOS_MPI_OS_H
#define CNOS_MPI_OS_H

#include <portals3.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	ptl_nid_t nid;
	ptl_pid_t pid;
} cnos_nidpid_map_t;

/* Both may be called before PtlInit, which they do.  -1: Portals does not start. */
int cnos_get_rank(void);
int cnos_get_size(void);

/*
 * The ids of all ranks, in an array that belongs to this library and lasts as long as the process.  Once the own interface
 * is open; waits for ranks that have not opened theirs, as PtlGetRankId does.  The number of ranks, or -1.
 */
int cnos_get_nidpid_map(cnos_nidpid_map_t **map);

/* Remembers the interface.  0. */
int cnos_barrier_init(ptl_handle_ni_t ni_handle);

/* The runtime knows this process: nothing happens.  0. */
int cnos_register_ptlid(ptl_process_id_t id);

/* PtlNicFence, for as long as it takes.  0; -1: it failed, or no interface is open, or a job of several was not launched. */
int cnos_barrier(void);

#ifdef __cplusplus
}
#endif

#endif
