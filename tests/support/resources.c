/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/resources.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
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

/* A line of /proc/THREAD/status, read with scanf's format. */
static void read_status(pid_t thread, const char *format, void *value)
{
	char path[64], line[256];
	int found = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", thread);
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

static pid_t thread_named(const char *name)
{
	char path[64], found[32] = "";
	pid_t thread = 0;
	DIR *threads = opendir("/proc/self/task");
	CHECK(threads != NULL);
	for (const struct dirent *entry; thread == 0 && (entry = readdir(threads)) != NULL;) {
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", entry->d_name);
		FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
		if (file && fscanf(file, "%31s", found) == 1 && strcmp(found, name) == 0)
			thread = (pid_t)strtol(entry->d_name, NULL, 10);
		if (file)
			fclose(file);
	}
	closedir(threads);
	return thread;
}

pid_t await_thread(const char *name)
{
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	for (pid_t thread;;) {
		if ((thread = thread_named(name)) != 0)
			return thread;
		CHECK(now_ns() < deadline);
		sched_yield();
	}
}

void await_rest(pid_t thread, uint64_t ns)
{
	const struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	long before, after;
	do {
		CHECK(now_ns() < deadline);
		await_sleep(thread);
		before = blocked_so_far(thread);
		nanosleep(&pause, NULL);
		await_sleep(thread);
		after = blocked_so_far(thread);
	} while (after != before);
}
