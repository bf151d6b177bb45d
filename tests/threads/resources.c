/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel tells of this process. */
#include "tests/threads/threads.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>

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

int living_threads(void)
{
	return entries_of("/proc/self/task");
}

/* A line of /proc/self/task/THREAD/status, read with scanf's format. */
static void read_status(pid_t thread, const char *format, void *value)
{
	char path[64], line[256];
	int found = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
	FILE *file = fopen(path, "r");
	CHECK(file != NULL);
	while (found != 1 && fgets(line, sizeof line, file))
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
