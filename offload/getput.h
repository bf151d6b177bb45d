/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic swaps, at both ends.  Owner only. */
#ifndef PORTALS_OFFLOAD_GETPUT_H
#define PORTALS_OFFLOAD_GETPUT_H

#include "offload/operation.h"

/* At the initiator.  0 or -ENOMEM; nothing has happened on an error. */
int getput_issue(struct nic *, const struct put_arguments *);

/* At the target. */
void getput_arrived(struct nic *, struct peer *, const struct wire_message *);

#endif
