/* SPDX-License-Identifier: BSD-3-Clause */
/* What dumps for people print, as text. */
#ifndef PORTALS_DUMP_H
#define PORTALS_DUMP_H

#include <stdio.h>

#include "offload/nic.h"

/* All of an interface: event queues, match lists, peers and what is under way with them; at most so many of a kind. */
#define DUMP_AT_MOST 64
void dump_interface(struct nic *, FILE *);

/* Peers, and operations, each with what it waits for (dump_peers.c).  Owner only. */
void dump_peers(const struct nic *, FILE *);

#endif
