/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process: the table of its interfaces and the lock around it.  For process.c, init.c and hooks.c alone; the others
 * ask process.h.
 */
#ifndef PORTALS_PROCESS_TABLE_H
#define PORTALS_PROCESS_TABLE_H

#include <pthread.h>

#include "portals/process.h"

/* Closed interfaces: so many are kept, and all for so long.  See hazard.c. */
#define CLOSED_KEPT    64
#define CLOSED_REST_NS UINT64_C(1000000000)

struct process_table {
	pthread_mutex_t lock; /* of everything below; the atomics are read without it */
	_Atomic bool ready;
	_Atomic bool forked;
	bool hooked, finishing;
	struct settings settings;
	_Atomic(struct nic *) interfaces[MAX_INTERFACES];
	_Atomic uint32_t lives[MAX_INTERFACES]; /* how often each was opened: the generation of its NI handle */
	uint32_t generations[MAX_INTERFACES];   /* with which the objects of its next life begin */
	struct nic *ending[MAX_INTERFACES];     /* handles find it no longer, but it still sends: close_interface() */
	pthread_cond_t ended;                   /* one of these is NULL now, or `finishing` false */
	ptl_jid_t job;
};
extern struct process_table process_table;

/* process_lock() for callers that know that this thread is not inside a Portals call already. */
void process_lock_outside(void);
bool process_holds_lock(void);

/* Lets others have the lock for a while; a signal handler of this thread is refused as if it were held all the time. */
void process_lend_lock(void);
void process_reclaim_lock(void);

/* Has the process's fork and exit handled from now on.  0 or -ENOMEM; once is enough. */
int hooks_install(void);

#endif
