/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/topology.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES  64 /* NUMA nodes that are looked for */
#define MOST_CACHES 8  /* of a CPU: levels, and instructions' */
#define LINE        4096

/* --- reading --- */

/* The first line of a file below `sys`, of the CPU or node with a number or, with -1, of all.  False: there is none. */
static bool read_line(const char *sys, const char *group, int number, const char *file, char *line)
{
	char path[PATH_MAX];

	if (number >= 0)
		snprintf(path, sizeof(path), "%s/devices/system/%s%d/%s", sys, group, number, file);
	else
		snprintf(path, sizeof(path), "%s/devices/system/%s/%s", sys, group, file);
	FILE *opened = fopen(path, "re");
	bool read = opened && fgets(line, LINE, opened);

	if (opened)
		fclose(opened);
	return read;
}

static int read_number(const char *sys, int cpu, const char *file)
{
	char line[LINE];

	return read_line(sys, "cpu/cpu", cpu, file, line) ? (int)strtol(line, NULL, 10) : TOPOLOGY_UNKNOWN;
}

/* The first of those that share the cache of the greatest level, whichever place that has. */
static int read_cache(const char *sys, int cpu)
{
	char file[64], line[LINE];
	int greatest = 0, last = TOPOLOGY_UNKNOWN, first;

	for (int i = 0; i < MOST_CACHES; i++) {
		snprintf(file, sizeof(file), "cache/index%d/level", i);
		int level = read_number(sys, cpu, file);

		snprintf(file, sizeof(file), "cache/index%d/shared_cpu_list", i);
		if (level <= greatest || !read_line(sys, "cpu/cpu", cpu, file, line) ||
		    topology_list(line, &first, 1) == 0)
			continue;
		greatest = level;
		last = first;
	}
	return last;
}

static void read_nodes(struct topology *topology, const char *sys)
{
	int cpus[CPU_SETSIZE];
	char line[LINE];

	for (int node = 0; node < MOST_NODES; node++) {
		unsigned count =
			read_line(sys, "node/node", node, "cpulist", line) ? topology_list(line, cpus, CPU_SETSIZE) : 0;

		for (unsigned i = 0; i < count; i++)
			topology->cpu[cpus[i]].node = node;
	}
}

void topology_read(struct topology *topology, const char *sys)
{
	int cpus[CPU_SETSIZE];
	char line[LINE];

	*topology = (struct topology){0};
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		topology->cpu[cpu].core = topology->cpu[cpu].package = topology->cpu[cpu].cache =
			topology->cpu[cpu].node = TOPOLOGY_UNKNOWN;
	unsigned count = read_line(sys, "cpu", -1, "online", line) ? topology_list(line, cpus, CPU_SETSIZE) : 0;

	for (unsigned i = 0; i < count; i++) {
		int cpu = cpus[i];

		CPU_SET((size_t)cpu, &topology->online);
		topology->cpu[cpu].core = read_number(sys, cpu, "topology/core_id");
		topology->cpu[cpu].package = read_number(sys, cpu, "topology/physical_package_id");
		topology->cpu[cpu].cache = read_cache(sys, cpu);
	}
	read_nodes(topology, sys);
	topology->permitted = topology->given = topology->online;
}

bool topology_has_nodes(const char *sys)
{
	int nodes[2];
	char line[LINE];

	return read_line(sys, "node", -1, "online", line) && topology_list(line, nodes, 2) > 1;
}

/* --- deciding --- */

unsigned topology_list(const char *list, int *cpus, unsigned room)
{
	unsigned count = 0;

	while (*list) {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (end == list)
			break;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long cpu = first; cpu >= 0 && cpu <= last && cpu < CPU_SETSIZE && count < room; cpu++)
			cpus[count++] = (int)cpu;
		list = *end == ',' ? end + 1 : end + strlen(end);
	}
	return count;
}

static bool alike(int one, int other)
{
	return one != TOPOLOGY_UNKNOWN && one == other;
}

enum cpu_distance topology_distance(const struct topology *topology, int one, int other)
{
	bool package = alike(topology->cpu[one].package, topology->cpu[other].package);

	if (one == other)
		return CPU_SAME;
	if (package && alike(topology->cpu[one].core, topology->cpu[other].core))
		return CPU_SAME_CORE;
	if (alike(topology->cpu[one].cache, topology->cpu[other].cache))
		return CPU_NEAR;
	if (package || alike(topology->cpu[one].node, topology->cpu[other].node))
		return CPU_SAME_NODE;
	return CPU_FAR;
}

unsigned topology_nic_cpus(const struct topology *topology, const char *list, int *cpus, unsigned room)
{
	int named[CPU_SETSIZE];
	unsigned count = topology_list(list, named, CPU_SETSIZE), usable = 0;

	for (unsigned i = 0; i < count && usable < room; i++)
		if (CPU_ISSET((size_t)named[i], &topology->permitted))
			cpus[usable++] = named[i];
	return usable;
}

enum nic_mode topology_mode(enum nic_mode wanted, const char *list)
{
	if (wanted != NIC_MODE_AUTO)
		return wanted;
	return *list ? NIC_MODE_DEDICATED : NIC_MODE_SHARED;
}

int topology_home(const struct topology *topology, int nic_cpu)
{
	int home = TOPOLOGY_UNKNOWN;

	if (nic_cpu >= 0)
		return topology->cpu[nic_cpu].node;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int node = topology->cpu[cpu].node;

		if (node == TOPOLOGY_UNKNOWN || !CPU_ISSET((size_t)cpu, &topology->given))
			continue;
		if (home != TOPOLOGY_UNKNOWN && home != node)
			return TOPOLOGY_UNKNOWN;
		home = node;
	}
	return home;
}

bool topology_oversubscribed(const struct topology *topology, int nic_cpu)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &topology->given) &&
		    topology_distance(topology, cpu, nic_cpu) > CPU_SAME_CORE)
			return false;
	return true;
}
