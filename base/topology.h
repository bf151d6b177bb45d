/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which CPUs there are, how near they are to each other, and which of them this process may use.  Reading it from the
 * system is one thing; what follows from it is a matter of pure functions, so that machines which are not at hand can
 * be tried (tests/unit/test_topology.c).
 *
 * WHERE THINGS GO.
 * The NIC thread: on the first CPU of PTL_NIC_CPUS that exists, that no cpuset forbids, and that no other NIC thread of the
 * user has; it need not be among those that the process was started with.  Without PTL_NIC_CPUS it has those.
 * PTL_NIC_MODE=auto: dedicated if PTL_NIC_CPUS is set, for then the CPUs of the node have been assigned; else shared.
 * Memory that peers write and we read (the segment of transport node): on the NUMA node of the NIC thread's CPU, or of
 * all CPUs of the process, if that is one; else on that of the thread that touches a page first, which is the sender.
 */
#ifndef PORTALS_BASE_TOPOLOGY_H
#define PORTALS_BASE_TOPOLOGY_H

#include <sched.h>
#include <stdbool.h>

#include "base/settings.h"

#define TOPOLOGY_UNKNOWN (-1)

struct topology {
	/* By the CPU's number.  `cache`: the least number of those with which it shares its last cache. */
	struct {
		int core, package, cache, node;
	} cpu[CPU_SETSIZE];
	cpu_set_t online;    /* there are */
	cpu_set_t permitted; /* no cpuset forbids */
	cpu_set_t given;     /* the process was started with */
};

/* How far what one CPU has written is from another. */
enum cpu_distance { CPU_SAME, CPU_SAME_CORE, CPU_NEAR, CPU_SAME_NODE, CPU_FAR };

/* Reads what `sys`, "/sys" but in tests, tells; all that are online are permitted and given.  What it does not tell is unknown. */
void topology_read(struct topology *, const char *sys);

/* Is there more than one NUMA node?  Costs one file. */
bool topology_has_nodes(const char *sys);

/* "1,3-5": writes the CPUs in their order, at most `room`, and returns how many. */
unsigned topology_list(const char *list, int *cpus, unsigned room);

enum cpu_distance topology_distance(const struct topology *, int one, int other);

/* Of the list those on which a NIC thread can run, in its order: at most `room`; returns how many. */
unsigned topology_nic_cpus(const struct topology *, const char *list, int *cpus, unsigned room);

/* What PTL_NIC_MODE means where PTL_NIC_CPUS is that list. */
enum nic_mode topology_mode(enum nic_mode wanted, const char *list);

/* The NUMA node of memory that others write and we read; `nic_cpu` -1: the NIC thread has all that are given.  UNKNOWN: any. */
int topology_home(const struct topology *, int nic_cpu);

/* Have the process's own threads no CPU but the NIC thread's, or its core's? */
bool topology_oversubscribed(const struct topology *, int nic_cpu);

#endif
