/* SPDX-License-Identifier: BSD-3-Clause */
/* CPUs for NIC threads are claimed for the life of an interface, not of the process. */
#include "tests/behaviour/threads/threads.h"

#include <p3utils.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/host.h"

#define NOWHERE 1023 /* no machine has so many CPUs */

/*
 * Two CPUs that no other test claims: the names of claims are those of a network namespace.  One that is not there is
 * passed over.
 */
static void open_with_cpus(void)
{
	char list[64];
	cpu_set_t given;
	int cpus[2], count = 0;
	CHECK(sched_getaffinity(0, sizeof(given), &given) == 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET(cpu, &given))
			cpus[count++] = cpu;
	if (count < 2 || !host_alone(true))
		skip_test("two CPUs and a network namespace are needed");
	snprintf(list, sizeof(list), "%d,%d,%d", NOWHERE, cpus[0], cpus[1]);
	setenv("PTL_NIC_CPUS", list, 1);
	setenv("PTL_IFACE", "lo", 1);
	open_interface(PTL_PID_ANY);
}

/* Which CPU the NIC thread of an interface opened now is given. */
static int cpu_of_nic(void)
{
	char text[4096];
	int cpu = -1;
	CHECK_OK(PtlNicInfo(ni, text, sizeof(text)));
	const char *line = strstr(text, "NIC thread: CPU ");
	CHECK(line != NULL && sscanf(line, "NIC thread: CPU %d", &cpu) == 1);
	return cpu;
}

static void a_reopened_interface_gets_its_cpu_again(void)
{
	open_with_cpus();
	const int cpu = cpu_of_nic();
	for (int i = 0; i < 4; i++) {
		if (i % 2)
			CHECK_OK(PtlNIFini(ni));
		else
			PtlFini();
		open_interface(PTL_PID_ANY);
		CHECK_EQUAL(cpu_of_nic(), cpu);
	}
}

static void two_interfaces_of_a_process_get_two_cpus(void)
{
	open_with_cpus();
	const int cpu = cpu_of_nic();
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(cpu_of_nic() != cpu);
}

/* It never calls Portals, but has a copy of every descriptor. */
static void a_forked_child_does_not_hold_its_parents_cpu(void)
{
	int until[2], there[2];
	char byte = 0;
	CHECK(pipe(until) == 0 && pipe(there) == 0);
	open_with_cpus();
	const int cpu = cpu_of_nic();
	pid_t child = fork_child();
	if (child == 0) {
		close(until[1]);
		CHECK(write(there[1], &byte, 1) == 1); /* fork is over here too: until then the lock is a copy */
		_exit(read(until[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(until[0]);
	CHECK(read(there[0], &byte, 1) == 1);
	PtlFini();
	open_interface(PTL_PID_ANY);
	CHECK_EQUAL(cpu_of_nic(), cpu);
	close(until[1]);
	join_child(child);
}

static void cpus_that_nobody_has_are_told_and_not_used(void)
{
	char *text = NULL, info[4096];
	size_t length;
	setenv("PTL_NIC_CPUS", "1023", 1);
	setenv("PTL_LOG", "warn", 1);
	p3_out = open_memstream(&text, &length);
	open_interface(PTL_PID_ANY);
	fflush(p3_out);
	CHECK(strstr(text, "PTL_NIC_CPUS=1023: this process may run on no CPU of the list") != NULL);
	CHECK(strstr(text, "cannot run") == NULL);
	CHECK_OK(PtlNicInfo(ni, info, sizeof(info)));
	CHECK(strstr(info, "NIC thread: any CPU, none of PTL_NIC_CPUS can be used\n") != NULL);
}

static int first_cpu_of_node(int node)
{
	char path[64];
	int cpu = -1;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	FILE *file = fopen(path, "r");
	CHECK(file != NULL && fscanf(file, "%d", &cpu) == 1);
	fclose(file);
	return cpu;
}

/* A sender on the other node touches the pages first. */
static void the_queue_of_a_process_lies_on_the_numa_node_of_its_nic(void)
{
	cpu_set_t one;
	char line[1024], list[16];
	int found = 0;
	const int node = am_target();
	const int cpu = first_cpu_of_node(node);
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	snprintf(list, sizeof(list), "%d", cpu);
	if (am_target())
		setenv("PTL_NIC_CPUS", list, 1);
	open_interface(PTL_PID_ANY);
	exchange_ids();
	open_door();
	barrier();
	for (int i = 0; am_initiator() && i < 1000; i++)
		ping(target_id());
	barrier();
	FILE *maps = fopen("/proc/self/numa_maps", "r");
	CHECK(maps != NULL);
	while (am_target() && fgets(line, sizeof(line), maps))
		if (strstr(line, "portals3-node") && strstr(line, "prefer:1")) {
			CHECK(strstr(line, " N1=") != NULL && strstr(line, " N0=") == NULL);
			found++;
		}
	fclose(maps);
	CHECK_EQUAL(found, am_target());
}

#define WITH_CPUS(test)                                                                                                \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .traits = TRAIT_BARE | TRAIT_NIC_THREAD,                   \
		.environment = "PTL_LOG=error"                                                                         \
	}

const struct test cpu_tests[] = {
	WITH_CPUS(a_reopened_interface_gets_its_cpu_again),
	WITH_CPUS(two_interfaces_of_a_process_get_two_cpus),
	WITH_CPUS(cpus_that_nobody_has_are_told_and_not_used),
	WITH_CPUS(a_forked_child_does_not_hold_its_parents_cpu),
	{.name = "the_queue_of_a_process_lies_on_the_numa_node_of_its_nic",
	 .run = the_queue_of_a_process_lies_on_the_numa_node_of_its_nic,
	 .processes = 2,
	 .traits = TRAIT_BARE | TRAIT_SEVERAL | TRAIT_NODE | TRAIT_NIC_THREAD | TRAIT_NUMA},
	{0},
};
