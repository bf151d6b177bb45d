/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three processes of one node talk to each other, and one of them is killed or stopped at a point that was chosen
 * before: what the parts of this program share.
 *
 * Roles are ranks: two survivors and between them the victim.  A fourth process watches: it lets a stopped victim go on,
 * or takes the place of a dead one, under its id.
 */
#ifndef TESTS_CRASH_H
#define TESTS_CRASH_H

#include <stdatomic.h>
#include <stdint.h>

#include "tests/support/peers.h"

enum role { FIRST, VICTIM, THIRD, ROLES, WATCHER = ROLES, PROCESSES };

/* What is to happen; set before the processes are forked. */
struct plan {
	uint64_t seed;
	const char *point;
	unsigned traits; /* enum trait_of_point */
	unsigned passage;
	bool kill;   /* or stop */
	bool refuse; /* process_vm_readv() and process_vm_writev() */
	bool stage;  /* long messages go through slabs nevertheless */
	const char *mode;
};
extern struct plan plan;

/* What does happen; memory shared with the runner. */
struct stage {
	_Atomic bool reached;            /* the point was */
	_Atomic bool died;               /* the victim, before the traffic was over */
	_Atomic bool talking[ROLES];     /* the traffic has begun */
	_Atomic bool over;               /* the traffic is */
	_Atomic bool finished[ROLES];    /* with what it had to say */
	_Atomic unsigned more;           /* operations of the survivors with each other, beyond the usual number */
	_Atomic unsigned between[ROLES]; /* that they have finished */
	ptl_process_id_t ids[ROLES];
};
extern struct stage *stage;

uint64_t next_number(uint64_t *random);

/* --- traffic.c --- */

enum { USUAL_OPERATIONS = 10, MOST_OPERATIONS = 48, SUCCESSOR_OPERATIONS = 6 };

/* Opens the windows for the others' messages; `role` is what we are to them. */
void traffic_open(enum role role);
/* Sends every kind of message to both others, until all have finished and `over` is true. */
void traffic_run(void);
/* The same once more, with the successor of the victim. */
void traffic_run_with_successor(void);
/* Nothing came twice, and no memory has changed since it was its user's again. */
void traffic_check(void);

/* --- play.c --- */

/* What each of the processes does. */
void play(void);

#endif
