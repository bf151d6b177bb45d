/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory files: they have no name that could stay behind, vanish with their last user, and can be sealed. */
#ifndef PORTALS_TRANSPORTS_NODE_MEMORY_H
#define PORTALS_TRANSPORTS_NODE_MEMORY_H

#include <stddef.h>

/* An empty one, or -1: see errno. */
int node_memory_file(const char *name);
/* Its first bytes, shared with all that map it; not with children.  NULL: see errno. */
void *node_memory_map(int fd, size_t length, int protection);

#endif
