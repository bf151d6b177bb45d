/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/census.h"

#include <dirent.h>
#include <portals3_nic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 5000000

_Noreturn void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is */
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", PtlNicErrorText());
	exit(1);
}

pid_t begin_process(void (*run)(void))
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		die("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		run();
		_exit(0);
	}
	return child;
}

void rest(void)
{
	const struct timespec pause = {0, LOOK_NS};

	nanosleep(&pause, NULL);
}

long number_of(pid_t process, const char *file, const char *name)
{
	char path[64], line[256];
	size_t length = strlen(name);
	long number = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", process, file);
	FILE *lines = fopen(path, "re");

	while (lines && fgets(line, sizeof(line), lines))
		if (strncmp(line, name, length) == 0 && line[length] == ':' &&
		    sscanf(line + length + 1, "%ld", &number) == 1)
			break;
	if (lines)
		fclose(lines);
	return number;
}

long descriptors_of(pid_t process)
{
	char path[64];
	long count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", process);
	DIR *directory = opendir(path);

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count - 2; /* . and .. */
}
