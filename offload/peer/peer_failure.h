/* SPDX-License-Identifier: BSD-3-Clause */
/* Which peers we have given up, and why. */
#ifndef PORTALS_OFFLOAD_PEER_FAILURE_H
#define PORTALS_OFFLOAD_PEER_FAILURE_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

struct nic;

#define NIC_PEER_FAILURES 256 /* remembered at a time: peer_failure.c */

/* A process that we have given up, and why. */
struct peer_failure {
	ptl_process_id_t id;
	const char *why;
};

struct failures {
	struct peer_failure ring[NIC_PEER_FAILURES];
	uint32_t next, count;
	struct event_queue *eq; /* the queue that gets the events, or NULL */
};

/*
 * The process is gone, for that reason (which is not copied): remembers it, and tells the queue that has asked for it.
 */
void peer_failure_record(struct nic *, ptl_process_id_t, ptl_uid_t, ptl_jid_t, const char *why);
/* It, or its successor, was met. */
void peer_failure_clear(struct nic *, ptl_process_id_t);
/* The reason, or NULL if there is none, or none any more. */
const char *peer_failure_of(struct nic *, ptl_process_id_t);

#endif
