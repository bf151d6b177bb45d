/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of figures. */
#ifndef PORTALS_TRANSPORTS_NODE_TUNING_H
#define PORTALS_TRANSPORTS_NODE_TUNING_H

#include "transports/node/node_copy.h"

/* Takes figures from the file that PTL_TUNING_FILE names.  What cannot be used is warned about and left out. */
void node_tuning_read(struct node_copies *, const char *path);
/* Writes figures to the file that PTL_TUNING_SAVE names, if there are any.  0, or a negative errno value, reported. */
int node_tuning_write(const struct node_copies *, const char *path);

#endif
