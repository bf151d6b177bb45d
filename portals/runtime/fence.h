/* SPDX-License-Identifier: BSD-3-Clause */
/* A fence of all processes of a launched job. */
#ifndef PORTALS_RUNTIME_FENCE_H
#define PORTALS_RUNTIME_FENCE_H

#include <stdint.h>

/*
 * Waits until every process of the job has come to this fence; not under process_lock().  `progress` is called about every
 * millisecond meanwhile; NULL: nothing needs to be driven.
 *   0
 *   -ETIMEDOUT    not within timeout_ns (UINT64_MAX: for ever); the next call waits for the same fence
 *   another negative errno value, reported: the launcher knows no fence, or it failed; the next call begins another
 */
int fence_wait(uint64_t timeout_ns, void (*progress)(void *), void *argument);

#endif
