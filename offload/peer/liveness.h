/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a peer still there? */
#ifndef PORTALS_OFFLOAD_LIVENESS_H
#define PORTALS_OFFLOAD_LIVENESS_H

#include "offload/peer/peer.h"

void liveness_tick(struct nic *, struct peer *, uint64_t now);

#endif
