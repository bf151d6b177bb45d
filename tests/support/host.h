/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts: network namespaces of this machine, each with one Ethernet device and an address of its own.  They exist as
 * long as a process of the test holds them, so nothing is left behind, however the test ends.  All of it needs root.
 */
#ifndef TESTS_HOSTS_HOST_H
#define TESTS_HOSTS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_DEVICE "portals0" /* its name on every host, for PTL_IFACE */

/* The nid of a host's processes. */
uint32_t host_nid(int host);

/*
 * A new namespace in which only the loopback is up: a descriptor that keeps it, or -1.  The calling process stays where
 * it is.
 */
int host_create(void);

/* Moves the calling thread there; from then on its sockets are that host's.  0, or -1. */
int host_enter(int namespace);

/* Takes the calling thread away from every network, its own loopback apart if that is to be up.  False: not allowed. */
bool host_alone(bool loopback);

/* On the host that the calling thread is on: hardware address, address, up.  0, or -1. */
int host_configure(int host);

/* Two hosts joined by a pair of veth devices, for the rest of this process's life.  NULL, or why not. */
const char *hosts_make_pair(void);
#define HOSTS_IN_PAIR 2
/* Descriptor of one of the two, which forked processes inherit. */
int host_of_pair(int host);

#endif
