/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel tells of this process. */
#ifndef TESTS_RESOURCES_H
#define TESTS_RESOURCES_H

#include <sys/types.h>

/* How many descriptors this process has open, and how many threads: without those that have begun to exit. */
int open_descriptors(void);
int living_threads(void);
/* Waits until a thread of this process, named by gettid(), is asleep in the kernel. */
void await_sleep(pid_t thread);
/* How often a thread has given up its core because it had nothing to do. */
long blocked_so_far(pid_t thread);

#endif
