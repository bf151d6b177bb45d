/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where NIC threads, modes and memory go, on machines that are not at hand: what their /sys says is written below a folder
 * of our own and read from there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/topology.h"

/* CPU c is thread c / cores of its core, as x86 counts; packages, nodes and caches have neighbouring cores. */
struct machine {
	int packages, cores, threads; /* cores: of all packages */
	int nodes;                    /* 0: the kernel knows no NUMA */
	int cores_a_cache;            /* that share the last one; 0: /sys does not say */
	const char *online;           /* NULL: all */
};

static const struct machine two_cores = {.packages = 1, .cores = 2, .threads = 1, .nodes = 1, .cores_a_cache = 2};
static const struct machine eight_cores = {.packages = 1, .cores = 8, .threads = 1, .nodes = 1, .cores_a_cache = 4};
static const struct machine hyperthreads = {.packages = 1, .cores = 4, .threads = 2, .nodes = 1, .cores_a_cache = 4};
static const struct machine two_sockets = {.packages = 2, .cores = 32, .threads = 2, .nodes = 2, .cores_a_cache = 8};
static const struct machine sixty_four = {.packages = 1, .cores = 64, .threads = 1, .nodes = 4, .cores_a_cache = 8};
static const struct machine secretive = {.packages = 1, .cores = 4, .threads = 1};
static const struct machine half_off = {
	.packages = 2, .cores = 8, .threads = 1, .nodes = 2, .cores_a_cache = 4, .online = "0-3,6"};

static char root[] = "/tmp/topology-XXXXXX";

static void make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
}

static void __attribute__((format(printf, 2, 3))) record(const char *text, const char *format, ...)
{
	char path[PATH_MAX], name[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	snprintf(path, sizeof(path), "%s/devices/system/%s", root, name);
	make_folders(path);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "%s\n", text);
	assert_int_equal(fclose(file), 0);
}

static void record_number(int number, const char *file, int cpu)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	record(text, "cpu/cpu%d/%s", cpu, file);
}

/* Cores first to first + count - 1 with all their threads. */
static void list_cores(const struct machine *machine, int first, int count, char *list, size_t size)
{
	size_t used = 0;

	for (int thread = 0; thread < machine->threads; thread++)
		used += (size_t)snprintf(list + used, size - used, "%s%d-%d", thread ? "," : "",
					 thread * machine->cores + first, thread * machine->cores + first + count - 1);
}

static void record_cpu(const struct machine *machine, int cpu)
{
	int core = cpu % machine->cores, together = machine->cores_a_cache;
	char list[256];

	record_number(core % (machine->cores / machine->packages), "topology/core_id", cpu);
	record_number(core * machine->packages / machine->cores, "topology/physical_package_id", cpu);
	if (!together)
		return;
	list_cores(machine, core - core % together, together, list, sizeof(list));
	record_number(3, "cache/index0/level", cpu);
	record(list, "cpu/cpu%d/cache/index0/shared_cpu_list", cpu);
	record_number(1, "cache/index1/level", cpu);
	list_cores(machine, core, 1, list, sizeof(list));
	record(list, "cpu/cpu%d/cache/index1/shared_cpu_list", cpu);
}

static struct topology read_machine(const struct machine *machine)
{
	struct topology topology;
	char list[256], command[64];

	snprintf(command, sizeof(command), "rm -rf %s/devices", root);
	assert_int_equal(system(command), 0);
	snprintf(list, sizeof(list), "0-%d", machine->cores * machine->threads - 1);
	record(machine->online ? machine->online : list, "cpu/online");
	for (int cpu = 0; cpu < machine->cores * machine->threads; cpu++)
		record_cpu(machine, cpu);
	for (int node = 0, each = machine->nodes ? machine->cores / machine->nodes : 0; node < machine->nodes; node++) {
		list_cores(machine, node * each, each, list, sizeof(list));
		record(list, "node/node%d/cpulist", node);
	}
	snprintf(list, sizeof(list), "0-%d", machine->nodes - 1);
	if (machine->nodes)
		record(machine->nodes > 1 ? list : "0", "node/online");
	topology_read(&topology, root);
	assert_int_equal(topology_has_nodes(root), machine->nodes > 1);
	return topology;
}

static void restrict_to(cpu_set_t *set, const char *list)
{
	int cpus[CPU_SETSIZE];
	unsigned count = topology_list(list, cpus, CPU_SETSIZE);

	CPU_ZERO(set);
	for (unsigned i = 0; i < count; i++)
		CPU_SET((size_t)cpus[i], set);
}

/* --- */

static void assert_nic_cpus(const struct topology *topology, const char *list, const char *expected)
{
	int cpus[CPU_SETSIZE];
	unsigned count = topology_nic_cpus(topology, list, cpus, CPU_SETSIZE);
	char text[1024] = "";

	for (unsigned i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "", cpus[i]);
	assert_string_equal(text, expected);
}

static void a_list_is_taken_in_its_order(void **state)
{
	struct topology topology = read_machine(&eight_cores);

	(void)state;
	assert_nic_cpus(&topology, "", "");
	assert_nic_cpus(&topology, "5,1-3,0", "5 1 2 3 0");
	assert_nic_cpus(&topology, "7-1", "");
}

static void what_is_not_there_or_forbidden_is_passed_over(void **state)
{
	struct topology topology = read_machine(&two_cores);

	(void)state;
	assert_nic_cpus(&topology, "0-1023", "0 1");
	assert_nic_cpus(&topology, "9,1", "1");
	topology = read_machine(&half_off);
	assert_nic_cpus(&topology, "0-7", "0 1 2 3 6");
	restrict_to(&topology.permitted, "2,6"); /* a cpuset */
	assert_nic_cpus(&topology, "0-7", "2 6");
	restrict_to(&topology.given, "2"); /* taskset, which binds hosts only */
	assert_nic_cpus(&topology, "6,2", "6 2");
}

static void auto_is_dedicated_where_a_list_is_given(void **state)
{
	(void)state;
	assert_int_equal(topology_mode(NIC_MODE_AUTO, ""), NIC_MODE_SHARED);
	assert_int_equal(topology_mode(NIC_MODE_AUTO, "3"), NIC_MODE_DEDICATED);
	assert_int_equal(topology_mode(NIC_MODE_SHARED, "3"), NIC_MODE_SHARED);
	assert_int_equal(topology_mode(NIC_MODE_HOST, "3"), NIC_MODE_HOST);
	assert_int_equal(topology_mode(NIC_MODE_DEDICATED, ""), NIC_MODE_DEDICATED);
}

static void assert_distance(const struct topology *topology, int a, int b, enum cpu_distance distance)
{
	assert_int_equal(topology_distance(topology, a, b), distance);
	assert_int_equal(topology_distance(topology, b, a), distance);
}

static void cpus_are_as_far_as_what_they_share(void **state)
{
	struct topology topology = read_machine(&two_cores);

	(void)state;
	assert_distance(&topology, 1, 1, CPU_SAME);
	assert_distance(&topology, 0, 1, CPU_NEAR);
	topology = read_machine(&eight_cores);
	assert_distance(&topology, 0, 3, CPU_NEAR);
	assert_distance(&topology, 3, 4, CPU_SAME_NODE);
	topology = read_machine(&hyperthreads);
	assert_distance(&topology, 1, 5, CPU_SAME_CORE);
	assert_distance(&topology, 1, 4, CPU_NEAR);
	topology = read_machine(&two_sockets);
	assert_distance(&topology, 0, 32, CPU_SAME_CORE);
	assert_distance(&topology, 0, 16, CPU_FAR); /* cores of two packages have the same number */
	assert_distance(&topology, 0, 39, CPU_NEAR);
	assert_distance(&topology, 0, 8, CPU_SAME_NODE);
	topology = read_machine(&sixty_four);
	assert_distance(&topology, 56, 63, CPU_NEAR);
	assert_distance(&topology, 0, 63, CPU_SAME_NODE); /* of a package */
	topology = read_machine(&secretive);
	assert_distance(&topology, 0, 3, CPU_SAME_NODE);
}

static void memory_is_where_the_nic_thread_is(void **state)
{
	struct topology topology = read_machine(&two_sockets);

	(void)state;
	assert_int_equal(topology_home(&topology, 3), 0);
	assert_int_equal(topology_home(&topology, 17), 1);
	assert_int_equal(topology_home(&topology, 63), 1);
	topology = read_machine(&sixty_four);
	assert_int_equal(topology_home(&topology, 16), 1);
	assert_int_equal(topology_home(&topology, 63), 3);
	topology = read_machine(&secretive);
	assert_int_equal(topology_home(&topology, 3), TOPOLOGY_UNKNOWN);
}

static void without_a_cpu_of_its_own_memory_is_where_all_of_the_process_is(void **state)
{
	struct topology topology = read_machine(&two_sockets);

	(void)state;
	assert_int_equal(topology_home(&topology, -1), TOPOLOGY_UNKNOWN);
	restrict_to(&topology.given, "16-31,48");
	assert_int_equal(topology_home(&topology, -1), 1);
	restrict_to(&topology.given, "0,16");
	assert_int_equal(topology_home(&topology, -1), TOPOLOGY_UNKNOWN);
	restrict_to(&topology.given, "");
	assert_int_equal(topology_home(&topology, -1), TOPOLOGY_UNKNOWN);
}

static void a_process_without_another_core_is_oversubscribed(void **state)
{
	struct topology topology = read_machine(&hyperthreads);

	(void)state;
	assert_false(topology_oversubscribed(&topology, 1));
	restrict_to(&topology.given, "1,5");
	assert_true(topology_oversubscribed(&topology, 5));
	assert_true(topology_oversubscribed(&topology, 1));
	assert_false(topology_oversubscribed(&topology, 2));
}

static void a_system_that_tells_nothing_has_no_cpus(void **state)
{
	struct topology topology;

	(void)state;
	topology_read(&topology, "/nowhere");
	assert_int_equal(CPU_COUNT(&topology.online), 0);
	assert_false(topology_has_nodes("/nowhere"));
	assert_int_equal(topology_home(&topology, -1), TOPOLOGY_UNKNOWN);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_taken_in_its_order),
		cmocka_unit_test(what_is_not_there_or_forbidden_is_passed_over),
		cmocka_unit_test(auto_is_dedicated_where_a_list_is_given),
		cmocka_unit_test(cpus_are_as_far_as_what_they_share),
		cmocka_unit_test(memory_is_where_the_nic_thread_is),
		cmocka_unit_test(without_a_cpu_of_its_own_memory_is_where_all_of_the_process_is),
		cmocka_unit_test(a_process_without_another_core_is_oversubscribed),
		cmocka_unit_test(a_system_that_tells_nothing_has_no_cpus),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
