/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts calls that get memory, from any library of the process, while asked to. */
#ifndef TESTS_ALLOCATIONS_H
#define TESTS_ALLOCATIONS_H

void allocations_watch(void);

struct allocations {
	unsigned ours;   /* called from the library under test */
	unsigned others; /* from anywhere else: libfabric, libc, the test */
};

/* Stops watching; what was seen. */
struct allocations allocations_seen(void);

#endif
