/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets, at both ends.  Owner only. */
#ifndef PORTALS_OFFLOAD_GET_H
#define PORTALS_OFFLOAD_GET_H

#include "offload/operation.h"

/* At the initiator.  0 or -ENOMEM; nothing has happened on an error. */
int get_issue(struct nic *, const struct put_arguments *);

/* At the target. */
void get_arrived(struct nic *, struct peer *, const struct wire_message *);

#endif
