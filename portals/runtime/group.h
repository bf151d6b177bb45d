/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of processes, as rank.c keeps one for each interface. */
#ifndef PORTALS_RUNTIME_GROUP_H
#define PORTALS_RUNTIME_GROUP_H

#include <portals3.h>

enum source { PROGRAM, ENVIRONMENT, LAUNCHER };
enum map { NIDS, PIDS, MAPS };

struct group {
	unsigned rank, size;             /* size 0: no group */
	unsigned local_rank, local_size; /* on this node; size 0: not known */
	enum source source;
	ptl_jid_t jid;        /* LAUNCHER */
	uint32_t *maps[MAPS]; /* of all ranks, or NULL: not set; LAUNCHER: it has them */
};

void group_clear(struct group *);

/*
 * Read when asked for, not by PtlInit: launchers' glue sets the variables between the two.  Sets the job's id too.  0,
 * -ENOENT: one of them is missing, or another negative errno value, reported.
 */
int group_from_environment(struct group *);

#endif
