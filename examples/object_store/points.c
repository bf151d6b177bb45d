/* SPDX-License-Identifier: BSD-3-Clause */
#include "points.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *wanted;
static size_t wanted_length;
static atomic_long remaining;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void read_variable(void)
{
	const char *text = getenv("OBJECT_STORE_CRASH");
	const char *colon = text ? strchr(text, ':') : NULL;
	if (!colon)
		return;
	wanted = text;
	wanted_length = (size_t)(colon - text);
	remaining = strtol(colon + 1, NULL, 10);
}

void object_point(const char *name)
{
	pthread_once(&read_once, read_variable);
	if (!wanted || strlen(name) != wanted_length || memcmp(name, wanted, wanted_length) != 0)
		return;
	if (atomic_fetch_sub(&remaining, 1) == 1)
		kill(getpid(), SIGKILL);
}
