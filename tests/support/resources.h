/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel tells of this process. */
#ifndef TESTS_RESOURCES_H
#define TESTS_RESOURCES_H

#include <stdint.h>
#include <sys/types.h>

/* How many descriptors this process has open, and how many threads: without those that have begun to exit. */
int open_descriptors(void);
int living_threads(void);
/* How many mappings it has whose line in /proc/self/maps contains that. */
int mappings_of(const char *name);
/* How much memory it has: of malloc's only what is in use. */
uint64_t resident_bytes(void);
/* How often it has met a page that it did not have. */
unsigned shared_mappings(void); /* of segments of node: a leaked one is no descriptor */
uint64_t page_faults(void);
/* Waits until a thread of this process, which may just have begun, has given itself that name. */
pid_t await_thread(const char *name);
/* Waits until a thread of any process, named by its gettid(), is asleep in the kernel. */
void await_sleep(pid_t thread);
/* ... and has been for so long. */
void await_rest(pid_t thread, uint64_t ns);
/* How often a thread has given up its core because it had nothing to do. */
long blocked_so_far(pid_t thread);

#endif
