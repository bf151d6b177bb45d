/* SPDX-License-Identifier: BSD-3-Clause */
/* All peers. */
#ifndef PORTALS_OFFLOAD_PEERS_H
#define PORTALS_OFFLOAD_PEERS_H

#include "offload/peer/peer.h"

/* Timers of all busy peers and their retries; returns how much was done. */
void peers_tick(struct nic *, uint64_t now);
int peers_flush(struct nic *);
bool peers_have_unsent(struct nic *);

#endif
