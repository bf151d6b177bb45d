/* SPDX-License-Identifier: BSD-3-Clause */
/* CPUs for NIC threads are claimed for the life of an interface, not of the process. */
#include "tests/threads/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Four CPUs that no other test claims until this process ends.  Most machines do not have them: then nothing is pinned. */
static int reserve_cpus(void)
{
	enum { FIRST = 16, BLOCKS = 225, IN_BLOCK = 4 };
	const int reservation = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(reservation >= 0);
	for (int i = 0; i < BLOCKS; i++) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		const int block = (getpid() + i) % BLOCKS;
		snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "portals3-test-cpus-%d", block);
		if (bind(reservation, (const struct sockaddr *)&name, sizeof name) == 0)
			return FIRST + block * IN_BLOCK;
	}
	FAIL("%d tests claim CPUs", BLOCKS);
}

static void open_with_cpus(void)
{
	char list[32];
	const int first = reserve_cpus();
	snprintf(list, sizeof list, "%d-%d", first, first + 3);
	setenv("PTL_NIC_CPUS", list, 1);
	open_interface(PTL_PID_ANY);
}

/* Which CPU the NIC thread of an interface opened now is given. */
static int cpu_of_nic(void)
{
	char text[4096];
	int cpu = -1;
	CHECK_OK(PtlNicInfo(ni, text, sizeof text));
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

#define WITH_CPUS(test)                                                                                                \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .traits = TRAIT_BARE | TRAIT_NIC_THREAD,                   \
		.environment = "PTL_LOG=error"                                                                         \
	}

const struct test cpu_tests[] = {
	WITH_CPUS(a_reopened_interface_gets_its_cpu_again),
	WITH_CPUS(two_interfaces_of_a_process_get_two_cpus),
	WITH_CPUS(a_forked_child_does_not_hold_its_parents_cpu),
	{0},
};
