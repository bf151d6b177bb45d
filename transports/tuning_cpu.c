/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/tuning_cpu.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CPUINFO_MAX 4096

/* What follows "key : " in /proc/cpuinfo's text, if it is there, is appended to `model`. */
static void append_field(const char *cpuinfo, const char *key, char *model, size_t size)
{
	const char *line = strstr(cpuinfo, key), *value = line ? strchr(line, ':') : NULL;
	size_t used = strlen(model);

	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	for (; used + 1 < size && *value && *value != '\n'; value++)
		if (isprint((unsigned char)*value) && *value != '"' && *value != '\\')
			model[used++] = *value;
	model[used] = '\0';
}

void tuning_cpu(char *model, size_t size)
{
	char text[CPUINFO_MAX + 1];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, CPUINFO_MAX) : 0;
	struct utsname system;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	model[0] = '\0';
	append_field(text, "model name", model, size);
	append_field(text, "CPU implementer", model, size); /* aarch64 has numbers */
	append_field(text, "CPU part", model, size);
	if (!*model && uname(&system) == 0)
		snprintf(model, size, "%.64s", system.machine);
}
