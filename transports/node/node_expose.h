/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that peers may read. */
#ifndef PORTALS_TRANSPORTS_NODE_EXPOSE_H
#define PORTALS_TRANSPORTS_NODE_EXPOSE_H

#include "transports/node/node_copy.h"

int node_register(struct transport *, void *base, size_t length, unsigned uses, struct memory_region *);
void node_deregister(struct transport *, struct memory_region *);
/* The exposed memory [address, address + length) under that key.  NULL: there is none. */
const uint8_t *node_exposed(const struct node_copies *, uint64_t key, uint64_t address, uint64_t length);

#endif
