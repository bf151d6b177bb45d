/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <rdma/fabric.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "output.h"

/* Intel and AMD name the model so; elsewhere the architecture has to do. */
static void cpu_model(char *model, size_t size, const char *architecture)
{
	char line[256];
	FILE *cpuinfo = fopen("/proc/cpuinfo", "re");

	snprintf(model, size, "%s", architecture);
	while (cpuinfo && fgets(line, sizeof line, cpuinfo)) {
		const char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		snprintf(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
		break;
	}
	if (cpuinfo)
		fclose(cpuinfo);
}

void machine_facts(void)
{
	struct utsname system;
	char model[128];
	uint32_t version = fi_version();

	uname(&system);
	cpu_model(model, sizeof model, system.machine);
	output_fact("version", "%s", PTLBENCH_VERSION);
	output_fact("cpu", "%s, %ld online", model, sysconf(_SC_NPROCESSORS_ONLN));
	output_fact("kernel", "%s %s", system.sysname, system.release);
	output_fact("libfabric", "%u.%u", FI_MAJOR(version), FI_MINOR(version));
}
