/* SPDX-License-Identifier: BSD-3-Clause */
#include "fail.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void complain(const char *format, va_list arguments)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, arguments);
	fflush(stdout);
	fprintf(stderr, "ptlbench: %s\n", line);
}

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(format, arguments);
	va_end(arguments);
	exit(1);
}

void fail_usage(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(format, arguments);
	va_end(arguments);
	exit(2);
}

static char watchdog_line[80]; /* made beforehand: a signal handler may only write it */

static void watchdog_barks(int signal_number)
{
	(void)signal_number;
	if (write(STDERR_FILENO, watchdog_line, strlen(watchdog_line)) < 0)
		_exit(1);
	_exit(1);
}

void watchdog_start(unsigned seconds)
{
	struct sigaction action = {.sa_handler = watchdog_barks};

	snprintf(watchdog_line, sizeof(watchdog_line), "ptlbench: not done after %u s (--timeout)\n", seconds);
	sigaction(SIGALRM, &action, NULL);
	alarm(seconds);
}
