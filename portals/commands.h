/* SPDX-License-Identifier: BSD-3-Clause */
/* How several calls run their commands, which are offload's. */
#ifndef PORTALS_COMMANDS_H
#define PORTALS_COMMANDS_H

#include "portals/process.h"

/* The interface that a call with a result is about; or the code to return, reported. */
int commands_interface(ptl_handle_ni_t, const void *result, struct nic **);

/*
 * Runs the command, charging it to the host stage "post receive": posting is PtlME... and PtlMDAttach, or PtlMEMDPost.
 * Returns its PTL_* code; `invalid` is what -EINVAL means to this call, as for process_code().
 */
int commands_post_receive(struct nic *, nic_command *, void *arguments, int invalid);

/*
 * What the command's code is in the end: a queue that another interface's handle names is one of that interface, or none, and only the
 * process knows that.
 */
int commands_queue_code(const struct nic *, int code, bool foreign_queue, ptl_handle_eq_t);

#endif
