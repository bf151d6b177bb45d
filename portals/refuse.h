/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that many calls share: each keeps a text for PtlNicErrorText() and returns the code. */
#ifndef PORTALS_REFUSE_H
#define PORTALS_REFUSE_H

#include "base/report.h"
#include "offload/handle.h"

/* PTL_NO_INIT. */
int refuse_uninitialised(void);

/* PTL_SEGV: `argument` is what the call calls the pointer, or the pointers, of which one is NULL. */
int refuse_null(const char *argument);

/* One of the PTL_*_INVALID codes: `handle` is no live object of the kind that the code names. */
int refuse_handle(int code, ptl_handle_any_t handle);

/* PTL_PROCESS_INVALID: a wildcard where one process has to be named. */
int refuse_wildcard(ptl_process_id_t);

/* PTL_PT_INDEX_INVALID. */
int refuse_pt_index(const struct nic *, ptl_pt_index_t);

#endif
