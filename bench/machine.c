/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <limits.h>
#include <math.h>
#include <rdma/fabric.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "output.h"

/* Intel and AMD name the model so; elsewhere the architecture has to do. */
static void cpu_model(char *model, size_t size, const char *architecture)
{
	char line[256];
	FILE *cpuinfo = fopen("/proc/cpuinfo", "re");

	snprintf(model, size, "%s", architecture);
	while (cpuinfo && fgets(line, sizeof(line), cpuinfo)) {
		const char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		snprintf(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
		break;
	}
	if (cpuinfo)
		fclose(cpuinfo);
}

/* How fast TCP goes depends on it more than on us: bbr differs by a factor of two from run to run. */
static void congestion_fact(void)
{
	char name[32] = "";
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_congestion_control", "re");

	if (file && fscanf(file, "%31s", name) == 1)
		output_fact("congestion_control", "%s", name);
	if (file)
		fclose(file);
}

void machine_facts(void)
{
	struct utsname system;
	char model[128];
	uint32_t version = fi_version();

	uname(&system);
	cpu_model(model, sizeof(model), system.machine);
	output_fact("version", "%s", PTLBENCH_VERSION);
	output_fact("cpu", "%s, %ld online", model, sysconf(_SC_NPROCESSORS_ONLN));
	output_fact("kernel", "%s %s", system.sysname, system.release);
	output_fact("libfabric", "%u.%u", FI_MAJOR(version), FI_MINOR(version));
	congestion_fact();
}

void machine_load(struct machine_load *load)
{
	struct timespec now;
	FILE *loadavg = fopen("/proc/loadavg", "re"), *stat = fopen("/proc/stat", "re");

	clock_gettime(CLOCK_MONOTONIC, &now);
	load->clock_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	busy_read(load, loadavg, stat);
	if (loadavg)
		fclose(loadavg);
	if (stat)
		fclose(stat);
}

static long allowed; /* CPUs, of this process before it pins itself */

void machine_count_cpus(void)
{
	cpu_set_t mask;

	allowed = sched_getaffinity(0, sizeof(mask), &mask) ? sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&mask);
}

static struct machine_load first_look; /* of machine_warn_if_busy() */

/* A thread that is runnable at every look is at work; one look may find any thread. */
static void look(struct machine_load *load)
{
	const struct timespec between = {.tv_nsec = 10000000};
	unsigned least = UINT_MAX;

	for (int i = 0; i < 5; i++) {
		machine_load(load);
		least = load->runnable < least ? load->runnable : least;
		nanosleep(&between, NULL);
	}
	load->runnable = least;
}

static void warn_if(const struct machine_load *begin, const struct machine_load *end, const char *consequence)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	const double stolen = busy_stolen_percent(begin, end, online);

	if (!busy_spoils(begin, end, online, allowed))
		return;
	fprintf(stderr, "ptlbench: warning: this machine is busy (");
	if (!isnan(end->average))
		fprintf(stderr, "load average %.2f, ", end->average);
	fprintf(stderr, "%u other runnable threads, ", end->runnable);
	if (!isnan(stolen))
		fprintf(stderr, "%.1f %% of the CPUs' time stolen by the host, ", stolen);
	fprintf(stderr, "%ld CPUs online, %ld allowed, %d wanted free): %s\n", online, allowed, BUSY_NEEDED_CPUS,
		consequence);
}

/* A child's load average is of its parent's tests before, and the parent looked before they began. */
void machine_warn_if_busy(void)
{
	struct machine_load now;

	machine_load(&first_look);
	look(&now);
	if (!isnan(now.average))
		output_fact("load", "average %.2f, %u other runnable threads", now.average, now.runnable);
	if (child_is_one())
		now.average = NAN;
	warn_if(&first_look, &now, "figures will be worse than it can do");
}

void machine_warn_of_outcome(void)
{
	struct machine_load now;

	look(&now);
	now.average = NAN; /* we are in it */
	warn_if(first_look.clock_s > 0 ? &first_look : &now, &now, "the outcome is of a busy machine");
}
