/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A word of shared memory that tells other processes, by one load, that this process is still there: the kernel changes it when
 * the thread that holds it ends, in whatever way.
 *
 * It is a robust futex that nothing waits for (set_robust_list(2)).  A thread gives the kernel a list of such words; when it
 * exits, and when an execve() ends it, the kernel sets ROBUST_DIED in each that holds the thread's id, before it lets go of
 * the thread's memory.  No process outlives its last thread, no image of one its execve(), and no process id is given out
 * again before: so while the word is as it was, both are the same.  If a page that the kernel needs for it is not there, and no memory
 * is left to get it, the word stays as it was: so both the word and *robust should lie in locked memory.
 *
 * The list of a thread is one; libc keeps one for robust mutexes.  So the thread has to be one of ours, which takes none (nor do
 * the libraries that it calls; if one did, only the end of that thread would go unnoticed by those who wait for that mutex).
 */
#ifndef PORTALS_BASE_ROBUST_H
#define PORTALS_BASE_ROBUST_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>

#define ROBUST_DIED FUTEX_OWNER_DIED

struct robust {
	struct robust_list_head head;
	struct robust_list entry;
};

/*
 * The calling thread holds `word`, which becomes its id, or stays 0 if the system has no such lists.  *robust and `word`
 * stay where they are until the thread has ended.  Once for each thread.
 */
void robust_hold(struct robust *robust, _Atomic uint32_t *word);

#endif
