/* SPDX-License-Identifier: BSD-3-Clause */
/* The network and RDMA devices of this host, a line each, for people. */
#ifndef PTLBENCH_DEVICES_H
#define PTLBENCH_DEVICES_H

#include <stdio.h>

/* Addresses, state, MTU; the queueing discipline where it is not the device's usual one (netem, for example). */
void devices_network(FILE *out);

/* Ports, their state and what they run on; one line that says so if there are none. */
void devices_rdma(FILE *out);

/* First line of a file of /proc or /sys; "" if there is none. */
void devices_read(const char *path, char *text, size_t size);

#endif
