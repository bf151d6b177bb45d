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
 * 1: joined, now or before.  0: this process was not launched, or PTL_LAUNCH=none.  Negative errno, reported: the
 * environment says that it is one of several, but the launcher cannot be asked.
 */
int launcher_join(struct launcher_job *);

/* Tells the job something.  0 or a negative errno value, reported. */
int launcher_publish(const char *key, const void *bytes, size_t length);

/*
 * What a rank has published; waits until it has.  Returns the length of what is now in `bytes`; -ETIMEDOUT, -EMSGSIZE
 * (there is no room for it) or another negative errno value.
 */
int launcher_look_up(unsigned rank, const char *key, unsigned timeout_s, void *bytes, size_t room);

/*
 * The same without waiting: 0, and answered() is called by a thread of the launcher's library, with length 0 if the rank
 * has published no such thing (yet).  A negative errno value: it never will be.
 */
typedef void launcher_answered(void *context, const void *bytes, size_t length);
int launcher_ask(unsigned rank, const char *key, launcher_answered *, void *context);

/*
 * All processes of the job come to a fence; at most one at a time.  0, and ended() is called by a thread of the launcher's
 * library once they have, with 0, or with a negative errno value if they never will.  A negative errno value: ended() will
 * not be called.
 */
typedef void launcher_fence_ended(int result);
int launcher_fence(launcher_fence_ended *);

/* In a forked child, which is not the process that was launched if that had joined, or was about to. */
void launcher_forked(bool in_use);

/* At exit: the launcher must not take the end for a crash. */
void launcher_leave(void);

#endif
