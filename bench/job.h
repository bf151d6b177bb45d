/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptlbench started by a launcher, mpirun for example: several processes that would each measure for themselves, at the
 * same time.  Ranks 0 and 1 become the pair instead.
 */
#ifndef PTLBENCH_JOB_H
#define PTLBENCH_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/*
 * Whether the environment says that a launcher started this process as one of several, or as rank 0 of it is not known how
 * many (`ranks` 0: the library knows once an interface is open).
 */
bool job_find(uint32_t *rank, uint32_t *ranks);

/* From now on this process, and what it forks, is on its own. */
void job_leave(void);

/*
 * With the interface of ranks 0 and 1 open: makes their control channel.  False: the launcher started no other, and
 * nothing was done.
 */
bool job_meet(struct session *session);

#endif
