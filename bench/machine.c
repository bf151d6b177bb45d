/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <limits.h>
#include <math.h>
#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

#define NEEDED_CPUS 2   /* of a pair */
#define BEGINNING   0.5 /* what the program that started us may have left in the load average */

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
}

/* Threads that want to run, this one apart, and the load average.  False: the kernel does not tell. */
static bool read_load(double *average, unsigned *runnable)
{
	FILE *file = fopen("/proc/loadavg", "re");
	bool told = file && fscanf(file, "%lf %*s %*s %u/", average, runnable) == 2;

	if (file)
		fclose(file);
	if (told && *runnable > 0)
		--*runnable;
	return told;
}

/* False: the kernel does not tell. */
static bool read_times(double *busy_s, double *stolen_s)
{
	unsigned long long user, nice, system, interrupt, soft, stolen;
	FILE *file = fopen("/proc/stat", "re");
	bool told = file && fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system, &interrupt,
				   &soft, &stolen) == 6;
	double ticks = (double)sysconf(_SC_CLK_TCK);

	if (file)
		fclose(file);
	if (!told)
		return false;
	*busy_s = (double)(user + nice + system + interrupt + soft) / ticks;
	*stolen_s = (double)stolen / ticks;
	return true;
}

void machine_load(struct machine_load *load)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*load = (struct machine_load){.average = NAN, .busy_s = NAN, .stolen_s = NAN};
	load->clock_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	read_load(&load->average, &load->runnable);
	read_times(&load->busy_s, &load->stolen_s);
}

/* A thread that is runnable at every look is at work; one look may find any thread. */
void machine_warn_if_busy(void)
{
	const struct timespec between = {.tv_nsec = 10000000};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned runnable = 0, least = UINT_MAX;
	double average = 0;

	for (int look = 0; look < 5; look++) {
		if (!read_load(&average, &runnable))
			return;
		least = runnable < least ? runnable : least;
		nanosleep(&between, NULL);
	}
	output_fact("load", "average %.2f, %u other runnable threads", average, least);
	if ((double)least + NEEDED_CPUS > (double)cpus || average + NEEDED_CPUS > (double)cpus + BEGINNING)
		fprintf(stderr,
			"ptlbench: warning: this machine is busy (load average %.2f, %u other runnable threads, %ld "
			"CPUs "
			"online, %d wanted free): figures will be worse than it can do\n",
			average, least, cpus, NEEDED_CPUS);
}
