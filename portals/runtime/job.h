/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of a launched job tell each other about an interface: its id, and, if its transport cannot compute
 * addresses, where it is (struct address_book, transports/transport.h).
 * Threads: any; job_look_up_id() waits and is not to be called under process_lock().
 */
#ifndef PORTALS_RUNTIME_JOB_H
#define PORTALS_RUNTIME_JOB_H

#include <portals3.h>

/* Tells the job the id of the interface of this process.  0 or a negative errno value, reported. */
int job_publish_id(uint32_t interface, ptl_process_id_t);

/* The id of a rank; waits until the rank has published it.  0, -ETIMEDOUT or another negative errno value, reported. */
int job_look_up_id(uint32_t interface, unsigned rank, unsigned timeout_s, ptl_process_id_t *);

/* The addresses in a job of `size`; they last as long as the process.  NULL: no memory.  Under process_lock(). */
struct address_book *job_addresses(uint32_t interface, unsigned size);

#endif
