/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points at which a test can make this process die or stand still: FAULT_POINT(name) is nothing unless the build has
 * them (-Dfaults=true).  Then PORTALS_FAULT=NAME:N:KILL or :STOP chooses one, and the N-th passage through it (the first
 * is 1) ends in SIGKILL or SIGSTOP.  tests/faults/crash/points.h lists the names, and what each of them stands before or after.
 */
#ifndef PORTALS_BASE_FAULT_H
#define PORTALS_BASE_FAULT_H

#ifdef PORTALS_FAULTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Each point counts for itself; a point is passed by one thread at a time, the owner of the engine. */
static inline void fault_pass(const char *name, unsigned long *passages)
{
	const char *chosen = getenv("PORTALS_FAULT");
	size_t length = strlen(name);
	char *action;

	if (!chosen || strncmp(chosen, name, length) != 0 || chosen[length] != ':')
		return;
	if (++*passages == strtoul(chosen + length + 1, &action, 10))
		raise(strcmp(action, ":KILL") == 0 ? SIGKILL : SIGSTOP);
}

#define FAULT_POINT(name)                                                                                              \
	do {                                                                                                           \
		static unsigned long passages;                                                                         \
		fault_pass(name, &passages);                                                                           \
	} while (0)

#else
#define FAULT_POINT(name) ((void)0)
#endif

#endif
