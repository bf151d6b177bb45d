/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process knows of its interfaces, and how errors become return codes. */
#ifndef PORTALS_PROCESS_H
#define PORTALS_PROCESS_H

#include "base/settings.h"
#include "offload/handle.h"

/* True between PtlInit and PtlFini, but not in a forked child. */
bool process_ready(void);
const struct settings *process_settings(void);

/*
 * Around whatever changes interfaces and groups; fork waits for it.  False, reported: called from a signal handler that
 * interrupted such a change, or another Portals call, of this thread, and would wait for itself.
 */
bool process_lock(void);
void process_unlock(void);

/* The job id of interfaces opened from now on.  PTL_OK; PTL_FAIL: one is open.  Under process_lock(). */
int process_set_job(ptl_jid_t);

/* The interface a handle of any kind belongs to, or NULL.  It stays, closed or not, until this thread asks for the next of that number. */
struct nic *process_nic(ptl_handle_any_t handle);

/* The interface that an NI handle names, or NULL; a stale NI handle finds nothing. */
struct nic *process_ni(ptl_handle_ni_t handle);

/* The handle of an open interface. */
ptl_handle_ni_t process_ni_handle(const struct nic *);

/*
 * The one place where results of commands (offload/refusal.h) become return codes; -EINVAL means what the call says it
 * means.
 */
int process_code(int result, int invalid);

#endif
