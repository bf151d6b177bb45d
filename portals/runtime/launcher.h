/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher that started this process, if it speaks PMIx (mpirun of Open MPI, srun --mpi=pmix, prterun).
 * Threads: any; launcher_join() under the process lock, launcher_look_up() outside it, for it waits.
 */
#ifndef PORTALS_RUNTIME_LAUNCHER_H
#define PORTALS_RUNTIME_LAUNCHER_H

#include <portals3.h>
#include <stdbool.h>

struct launcher_job {
	unsigned rank, size;             /* of the job */
	unsigned local_rank, local_size; /* on this node; size 0: not known */
	ptl_jid_t jid;
};

/*
 * 1: joined, now or before.  0: nobody launched this process, or PTL_LAUNCH=none.  Negative errno, reported: the
 * environment says that it is one of several, but the launcher cannot be asked.
 */
int launcher_join(struct launcher_job *);

/* Tells the job who this process is: the id of its interface. */
int launcher_publish(uint32_t interface, ptl_process_id_t);

/* Who a rank is; waits until it has said so.  0, -ETIMEDOUT or another negative errno value, reported. */
int launcher_look_up(unsigned rank, uint32_t interface, unsigned timeout_s, ptl_process_id_t *);

/* In a forked child, which is not the process that was launched if that had joined, or was about to. */
void launcher_forked(bool in_use);

/* At exit: the launcher must not take the end for a crash. */
void launcher_leave(void);

#endif
