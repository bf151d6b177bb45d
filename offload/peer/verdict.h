/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom we have given up. */
#ifndef PORTALS_OFFLOAD_VERDICT_H
#define PORTALS_OFFLOAD_VERDICT_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

struct nic;

#define NIC_VERDICTS 256 /* on peers that are gone, remembered: verdict.c */

/* On a process that we have given up. */
struct peer_verdict {
	ptl_process_id_t id;
	const char *why;
};

struct verdicts {
	struct peer_verdict ring[NIC_VERDICTS];
	uint32_t next, count;
	struct event_queue *eq; /* who wants to be told, or NULL */
};

/* The process is gone, for that reason (which is not copied): remembers it, and tells who has asked to be told. */
void verdict_pass(struct nic *, ptl_process_id_t, ptl_uid_t, ptl_jid_t, const char *why);
/* It, or its successor, was met. */
void verdict_withdraw(struct nic *, ptl_process_id_t);
/* The reason, or NULL if there is no verdict, or none any more. */
const char *verdict_on(struct nic *, ptl_process_id_t);

#endif
