/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages in the timeline of an interface: see FLOWS in timeline.h.  Owner only, and only while the stage clocks are on. */
#ifndef PORTALS_OFFLOAD_FLOW_H
#define PORTALS_OFFLOAD_FLOW_H

#include "offload/operation.h"

/* The transport has taken it; asking that took from `start` on. */
void flow_sent(const struct nic *, const struct peer *, const struct wire_message *, uint64_t start);

/* It is what is being handled now. */
void flow_arrived(const struct nic *, const struct peer *, const struct wire_message *);

/* It is for no operation. */
void flow_dropped(const struct nic *);

/* Of what is being handled now, to be remembered until its END.  0: there is no timeline. */
uint64_t flow_current(const struct nic *);

/* A put has had its PUT_END: that of the operation, or (NULL) what is being handled now. */
void flow_landed(const struct nic *, const struct operation *);

#endif
