/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tuning file says of the node transport. */
#ifndef PORTALS_TRANSPORTS_NODE_TUNING_H
#define PORTALS_TRANSPORTS_NODE_TUNING_H

#include "transports/node/node_copy.h"

/* Takes figures and choices from it. */
void node_tuning_apply(struct node_copies *, const struct tuning *);
/* Writes them, and a short limit that was set, to the file that PTL_TUNING_SAVE names.  What fails is reported. */
void node_tuning_save(const struct node_copies *, const struct transport_limits *, const char *path);

#endif
