/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/resources.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/peers.h"

#define PF_EXITING 4 /* of a thread's flags: linux/sched.h, which is the kernel's own */

static int entries_of(const char *directory)
{
	int count = -2; /* . and .. */
	DIR *entries = opendir(directory);
	CHECK(entries != NULL);
	while (readdir(entries))
		count++;
	closedir(entries);
	return count;
}

int open_descriptors(void)
{
	return entries_of("/proc/self/fd") - 1; /* opendir's own */
}

/* pthread_join() returns when its thread has begun to exit, which may be long before the kernel has forgotten it. */
static bool lives(const char *thread)
{
	char path[64], line[512] = "";
	unsigned flags = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", thread);
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return false;
	size_t got = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[got] = 0;
	const char *name_end = strrchr(line, ')');
	return name_end && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && !(flags & PF_EXITING);
}

int living_threads(void)
{
	int count = 0;
	DIR *threads = opendir("/proc/self/task");
	CHECK(threads != NULL);
	for (const struct dirent *entry; (entry = readdir(threads)) != NULL;)
		count += entry->d_name[0] != '.' && lives(entry->d_name);
	closedir(threads);
	return count;
}

int mappings_of(const char *name)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, name) != NULL;
	fclose(file);
	return count;
}

uint64_t resident_bytes(void)
{
	uint64_t pages = 0;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	FILE *file = fopen("/proc/self/statm", "r");
	CHECK(file != NULL && fscanf(file, "%*d %" SCNu64, &pages) == 1);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

unsigned shared_mappings(void)
{
	char line[512];
	unsigned count = 0;
	FILE *file = fopen("/proc/self/maps", "r");
	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, "/memfd:portals3") != NULL;
	fclose(file);
	return count;
}

uint64_t page_faults(void)
{
	struct rusage used;
	CHECK(getrusage(RUSAGE_SELF, &used) == 0);
	return (uint64_t)used.ru_minflt + (uint64_t)used.ru_majflt;
}

/* A line of /proc/self/task/THREAD/status, read with scanf's format. */
static void read_status(pid_t thread, const char *format, void *value)
{
	char path[64], line[256];
	int found = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
	FILE *file = fopen(path, "r");
	CHECK(file != NULL);
	while (found != 1 && fgets(line, sizeof(line), file))
		found = sscanf(line, format, value);
	fclose(file);
	CHECK_EQUAL(found, 1);
}

void await_sleep(pid_t thread)
{
	char state = 0;
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	for (;;) {
		read_status(thread, "State: %c", &state);
		if (state == 'S')
			return;
		CHECK(now_ns() < deadline);
		sched_yield();
	}
}

long blocked_so_far(pid_t thread)
{
	long blocked = 0;
	read_status(thread, "voluntary_ctxt_switches: %ld", &blocked);
	return blocked;
}
